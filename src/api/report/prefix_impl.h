/* prefix_impl.h -- the types and functions that the files of the prefix report share. Private to
 * api.
 *
 *   prefix_report.c the calls as units in the order of the provider, and shared beginnings
 *   prefix_cause.c  the value of the program that made a piece of text
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_PREFIX_IMPL_H
#define PDL_API_PREFIX_IMPL_H

#include "api/prefix_report.h"
#include "base/vec.h"

/* A text that a block made, or a list or an object with texts. */
typedef struct made_text {
    pdl_val value; /* it may be a promise, or have promises inside */
    const pdl_block *block;
    const pdl_tree *tree; /* how the program writes a list or an object; NULL for a text */
    char *place;
    bool is_reply; /* the answer of a model */
} made_text;

typedef struct made_texts {
    PDL_VEC(made_text) all;
    PDL_VEC(const pdl_block *) loops; /* the loops and maps that the run has entered */
} made_texts;
void pdl_made_texts_take(made_texts *m, const pdl_event *e);
void pdl_made_texts_clear(made_texts *m);

/* Finds the block that made the bytes from `at` on in a text of a request. is_json says whether the
 * text is JSON. Returns {block, variable, file, line, used, origin}; owned; absent when it is
 * unknown. Sets *end to the offset at which the value ends, when that is known. */
pdl_val pdl_made_by(const made_texts *m, pdl_str text, bool is_json, size_t at, size_t *end);

#endif
