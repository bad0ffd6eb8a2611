/* program_text.h -- private to viewer: the program text beside the boxes.
 *
 * A trace has no source text. So the text of the program is made from the blocks of the trace,
 * without the facts of the execution, unless the user names a file. The same is done for every file
 * that the program includes or imports. Each text is read as YAML, whose nodes have places, and the
 * lines of a box are found by following its steps from the root of the file. Iterations of a loop
 * share the lines of its body.
 *
 * Only files that the user's own program names are read, never files that a trace names. So a trace
 * from a stranger cannot make this page show a file of the user.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PROGRAM_TEXT_H
#define PDL_VIEWER_PROGRAM_TEXT_H

#include "viewer/boxes.h"
#include "viewer/viewer.h"
#include "yaml/node.h"

typedef struct pdl_view_file {
    pdl_str name; /* empty for the program that is made from the trace */
    /* A module of the library is shown as programs import it, with its suffix. Any other file is
     * shown by its base name. */
    pdl_str shown;
    pdl_str text;         /* lives in the arena */
    const pdl_node *root; /* NULL when the text cannot be read as YAML */
    bool written;         /* the text was made from the blocks of the trace */
} pdl_view_file;

/* The lines of a box's block; `first` is 0 when they are unknown. */
typedef struct pdl_view_lines {
    uint32_t file, first, last; /* lines are counted from 1 */
    /* position of the failure in the first line; 0 when it is not known */
    uint32_t column, width;
} pdl_view_lines;

typedef struct pdl_view_source {
    pdl_arena *arena;
    PDL_VEC(pdl_view_file) files; /* has at least one file, the program */
    pdl_view_lines *lines;        /* indexed by box */
} pdl_view_source;

/* Returns the program of d. Never fails: when the program cannot be read, there is a text, but no
 * box has lines. */
pdl_view_source *pdl_view_source_new(const pdl_doc *d, const pdl_view_program *p);
void pdl_view_source_free(pdl_view_source *s); /* s may be NULL */

/* Returns a value of a trace without the facts of the execution, owned. */
pdl_val pdl_view_source_value(pdl_vref v);
/* Appends a block as YAML, without the facts of the execution. */
void pdl_view_source_write(pdl_vref block, pdl_buf *out);

/* Appends "source_name", "source" and, if there are other files, "included", as members of an
 * object. */
void pdl_view_source_json(const pdl_view_source *s, pdl_buf *out);

#endif
