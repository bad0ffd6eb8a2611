/* box_json.h -- private to viewer: boxes as the JSON that the page reads.
 *
 * A page shows many boxes, and few of them in detail. So a box has two forms: a line for the tree,
 * with the beginning of its text, and all of its details, which are requested when a person chooses
 * the box. page/data.js is the reader.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_BOX_JSON_H
#define PDL_VIEWER_BOX_JSON_H

#include "base/buf.h"
#include "value/json_put.h"
#include "viewer/boxes.h"
#include "viewer/program_text.h"
#include "viewer/shared_values.h"

enum {
    PDL_BOX_PREVIEW_BYTES = 600,   /* maximum number of bytes of a box's result in the tree */
    PDL_BOX_MEMBER_BYTES = 262144, /* maximum number of bytes of one value among the details */
};

/* These functions append box i as a JSON object: the line for the tree, or all details. s may be
 * NULL, and so may shared. With shared the details are short. Long values are shared. A list of
 * messages that continues the list of another box has the number of that box, the name of its
 * member and only the messages that are new. A result that is a text is among the members, and is
 * not repeated. A place that continues the place of the box around it begins with the dot between
 * them. The block is left out when its lines are in the program. */
void pdl_box_json_line(const pdl_doc *d, const pdl_view_source *s, uint32_t i, pdl_buf *out);
void pdl_box_json_details(const pdl_doc *d, const pdl_view_source *s, uint32_t i,
                          pdl_shared_values *shared, pdl_buf *out);
/* Appends the result of box i: a text unchanged, other values as indented JSON. */
void pdl_box_result_text(const pdl_doc *d, uint32_t i, pdl_buf *out);
/* Appends the parameters of a function: "(a, b)". */
void pdl_box_signature(const pdl_box *b, pdl_buf *out);
/* Returns the variable that the box defines, cut to a readable length; empty when it defines none.
 * Borrowed from b. */
pdl_str pdl_box_variable(const pdl_box *b);

/* Returns the sum of the tokens of the prompt and of the answer of a call. */
int64_t pdl_box_tokens(const pdl_box *b);
/* Returns the sum of prompt_tokens and completion_tokens; usage may be absent. */
int64_t pdl_usage_tokens(pdl_vref usage);
/* Returns one count of the usage, such as "prompt_tokens"; 0 when it is not a count of tokens. */
int64_t pdl_usage_count(pdl_vref usage, const char *key);

/* Appends the totals of the run as members of an object, without braces: {"boxes", "failed",
 * "micros", "calls", "prompt_tokens", "completion_tokens"}. */
void pdl_doc_json_totals(const pdl_doc *d, pdl_buf *out);

#endif
