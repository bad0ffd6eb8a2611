/* program_text.h -- private to viewer: the program text beside the boxes.
 *
 * A trace holds no source text. Its program is made from its blocks, without the facts of the
 * execution, or it is the file that the user names; likewise every file that the program includes
 * or imports. All are read back as YAML, whose nodes have places, and every box finds its lines by
 * walking the steps from the root of its file: iterations of a loop share the lines of its body.
 *
 * Which files are read follows from the text of the user's own program, never from a trace: a trace
 * that a stranger wrote cannot have a file of the user shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PROGRAM_TEXT_H
#define PDL_VIEWER_PROGRAM_TEXT_H

#include "viewer/doc.h"
#include "viewer/viewer.h"
#include "yaml/node.h"

typedef struct pdl_view_file {
    pdl_str name;         /* empty for the program that is made from the trace */
    /* A module of the library is shown as programs import it, with its suffix. Of any other file
     * the base name is shown. */
    pdl_str shown;
    pdl_str text;         /* lives in the arena */
    const pdl_node *root; /* NULL when it cannot be read */
    bool written;         /* made from the blocks of the trace */
} pdl_view_file;

/* The lines of a box's block; `first` is 0 when they are unknown. */
typedef struct pdl_view_lines {
    uint32_t file, first, last; /* lines are counted from 1 */
    uint32_t column, width;     /* position in the first line of what failed; 0 when unknown */
} pdl_view_lines;

typedef struct pdl_view_source {
    pdl_arena *arena;
    PDL_VEC(pdl_view_file) files; /* has at least one file, the program */
    pdl_view_lines *lines;        /* indexed by box */
} pdl_view_source;

/* Returns the program of d. Never fails: for an unreadable program there is text, but no box has
 * lines. */
pdl_view_source *pdl_view_source_new(const pdl_doc *d, const pdl_view_program *p);
void pdl_view_source_free(pdl_view_source *s); /* NULL is fine */

/* Returns a value of a trace without the facts of the execution; owned. */
pdl_val pdl_view_source_value(pdl_vref v);
/* Appends such a value of a block as YAML. */
void pdl_view_source_write(pdl_vref block, pdl_buf *out);

/* Appends "source_name", "source" and, if there are other files, "included", as members of an
 * object. */
void pdl_view_source_json(const pdl_view_source *s, pdl_buf *out);

#endif
