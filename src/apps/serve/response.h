/* response.h -- the form of a response: /v1/responses. Private to response*.c.
 *
 * The makers of items serve both a whole answer and a stream, so that the last event of a stream
 * repeats what the whole answer would have been. The id of an item is made from that of the
 * response and from i, the position of the item in the output.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_RESPONSE_H
#define PDL_SERVE_RESPONSE_H

#include "serve/form.h"

/* response_input.c. Stores the request as a chat. Returns false when the request was refused. */
bool pdl_serve_response_read(pdl_serve *s, pdl_exchange *x, pdl_vref body, pdl_val *asked);

/* response.c. Makes the response as an object. error is {code, message}, taken, or absent. */
pdl_val pdl_serve_response_of(const work *w, const char *status, pdl_val error);
const char *pdl_serve_response_status(const work *w);
/* Returns the reason why the response is incomplete; NULL when it is complete. */
const char *pdl_serve_response_reason(const work *w);
/* Stores the whole response, and the messages without the instructions, which apply to one request
 * only. */
void pdl_serve_response_keep(const work *w, const answer *a, pdl_str text);

/* These functions make items and their parts; owned. */
pdl_val pdl_serve_typed(const char *type); /* makes {type} */
pdl_val pdl_serve_item_id(const work *w, const char *prefix, size_t i);
pdl_val pdl_serve_text_part(pdl_str text, pdl_vref logprobs);
pdl_val pdl_serve_refusal_part(pdl_vref refusal);
/* Makes an item of a message. part is its only part, taken; it is absent when there is no part
 * yet. */
pdl_val pdl_serve_message_item(const work *w, size_t i, const char *status, pdl_val part);
/* text is absent when there is no text yet */
pdl_val pdl_serve_reasoning_item(const work *w, size_t i, pdl_vref text);
pdl_val pdl_serve_call_item(const work *w, size_t i, const char *status, pdl_vref id, pdl_vref name,
                            pdl_vref arguments);
/* Returns true for a well-formed function call; programs may return anything. */
bool pdl_serve_is_function(pdl_vref call);

/* response_stream.c. The functions of form.h for a stream. */
void pdl_serve_response_begin(work *w, pdl_buf *out);
void pdl_serve_response_text(choice *c, pdl_str text, pdl_buf *out);
void pdl_serve_response_extra(choice *c, pdl_vref extra, pdl_buf *out);
void pdl_serve_response_end(choice *c, const answer *a, pdl_buf *out);
void pdl_serve_response_finish(work *w, pdl_buf *out);
void pdl_serve_response_fail(work *w, pdl_str message, const char *type, const char *code,
                             pdl_buf *out);
/* Frees the items of a stream. */
void pdl_serve_response_fini(work *w);

#endif
