/* box_json.h -- private to viewer: boxes as the JSON that the page reads.
 *
 * A page shows many boxes and few in detail. So a box has two forms: a line with the beginning of
 * its text for the tree, and everything that is known of it, which is asked for when a person
 * chooses the box. page/source.js is the reader.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_BOX_JSON_H
#define PDL_VIEWER_BOX_JSON_H

#include "base/buf.h"
#include "value/json_put.h"
#include "viewer/doc.h"
#include "viewer/program_text.h"

enum {
    PDL_BOX_PREVIEW_BYTES = 600,   /* of the result of a box in the tree */
    PDL_BOX_MEMBER_BYTES = 262144, /* of one value among the details */
};

/* Each appends one JSON object. s may be NULL. */
void pdl_box_json_line(const pdl_doc *d, const pdl_view_source *s, uint32_t i, pdl_buf *out);
void pdl_box_json_details(const pdl_doc *d, const pdl_view_source *s, uint32_t i, pdl_buf *out);
/* The result of box i as text: a text as it is, other values as indented JSON. */
void pdl_box_result_text(const pdl_doc *d, uint32_t i, pdl_buf *out);
/* The parameters of a function: "(a, b)". Appended. */
void pdl_box_signature(const pdl_box *b, pdl_buf *out);
/* The variable that the box defines, cut to what people read; empty: none. Borrowed from b. */
pdl_str pdl_box_variable(const pdl_box *b);

/* Tokens of the prompt and the answer of a call. */
int64_t pdl_box_tokens(const pdl_box *b);
int64_t pdl_usage_tokens(pdl_vref usage); /* absent: none */
/* One count of it, "prompt_tokens"; what is no count of tokens is 0. */
int64_t pdl_usage_count(pdl_vref usage, const char *key);

/* Totals of the run: {"boxes", "failed", "micros", "calls", "prompt_tokens", "completion_tokens"}
 * as members, without braces. */
void pdl_doc_json_totals(const pdl_doc *d, pdl_buf *out);

#endif
