/* call_table.h -- private to viewer: the calls of models as a table and on the strip of time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_CALL_TABLE_H
#define PDL_VIEWER_CALL_TABLE_H

#include "viewer/reading/reading.h"

/* Appends at most n calls: {"items": [{"call", "who", "model", "text", "start", "end", "took",
 * "waited", "tokens_in", "tokens_out", "cost", "state", "box"}], "tools": [{"name", "start",
 * "end"}], "total"}. Times are in microseconds after the start of the run. `who` is the tool or
 * variable for which the model was called. sort names the member by which calls are sorted, with
 * the largest value first. When sort is empty, calls are in the order of their numbers. */
void pdl_call_table(const pdl_reading *r, pdl_str sort, uint32_t n, pdl_buf *out);

/* Returns how long the call was on the network, in ns; 0 when that is unknown. */
int64_t pdl_call_network(const pdl_reading *r, uint32_t box);
/* Appends "tokens_in", "tokens_out" and "cost" of a box, as far as they are known. */
void pdl_put_usage(const pdl_box *b, pdl_buf *out);

#endif
