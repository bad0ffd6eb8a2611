/* program_text.h -- private to viewer: the program text beside the boxes.
 *
 * A trace holds no source text. Its program is written from its blocks, without the facts of the
 * execution, or it is the file that the user names. So it is with every file that it includes or
 * imports, for which boxes inside of the box of the include have their lines. All are read back as
 * YAML, whose nodes have places, and every box finds its lines by walking the steps from the root
 * of its file: loops share the lines of their body.
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
    pdl_str name;         /* empty: the program, which was written from the trace */
    pdl_str text;         /* lives in the arena */
    const pdl_node *root; /* NULL: it cannot be read */
    bool written;         /* from the blocks of the trace */
} pdl_view_file;

/* Where the block of a box is; first 0: not known. */
typedef struct pdl_view_lines {
    uint32_t file, first, last; /* lines from 1 on */
    uint32_t column, width;     /* of what failed: where it is on the first line; 0: not known */
} pdl_view_lines;

typedef struct pdl_view_source {
    pdl_arena *arena;
    PDL_VEC(pdl_view_file) files; /* at least one, the program */
    pdl_view_lines *lines;        /* of each box */
} pdl_view_source;

/* The program of d. Never fails: without a readable program the text is there and no box has a
 * line. */
pdl_view_source *pdl_view_source_new(const pdl_doc *d, const pdl_view_program *p);
void pdl_view_source_free(pdl_view_source *s); /* NULL is fine */

/* A value of a trace without what its execution added; owned. */
pdl_val pdl_view_source_value(pdl_vref v);
/* The same of a block, as YAML; appended. */
void pdl_view_source_write(pdl_vref block, pdl_buf *out);

/* "source_name", "source" and, where there are others, "included" as members of an object. */
void pdl_view_source_json(const pdl_view_source *s, pdl_buf *out);

#endif
