/* source.h -- private to the room: the program text beside the boxes.
 *
 * A trace holds no source text. Its program is written from its blocks, without the facts of the
 * execution, or it is the file that the user names. Both are read back as YAML, whose nodes have
 * places, and every box finds its line by walking the steps from the root: loops share the line of
 * their body.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_SOURCE_H
#define PDL_VIEWER_SOURCE_H

#include "viewer/doc.h"

typedef struct pdl_view_source {
    pdl_arena *arena;
    pdl_str name;    /* of the file; empty: written from the trace */
    pdl_str text;    /* lives in the arena */
    uint32_t *lines; /* of each box its first line, from 1 on; 0: not known */
    uint32_t *ends;  /* its last line */
} pdl_view_source;

/* The program of d; file: the name and text of the source, or empty. Never fails: without a
 * readable program the text is there and no box has a line. */
pdl_view_source *pdl_view_source_new(const pdl_doc *d, pdl_str name, pdl_str file);
void pdl_view_source_free(pdl_view_source *s); /* NULL is fine */

/* A value of a trace without what its execution added; owned. */
pdl_val pdl_view_source_value(pdl_vref v);

#endif
