/* stored_responses.h -- responses that can be requested again, and the messages that led to each,
 * so that the next request can continue from it (previous_response_id). The newest responses are
 * kept, limited in number and size, for the life of the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_STORED_RESPONSES_H
#define PDL_SERVE_STORED_RESPONSES_H

#include "base/str.h"
#include "value/val.h"

typedef struct conversations conversations;

conversations *pdl_serve_conversations_new(void);
void pdl_serve_conversations_free(conversations *c); /* c may be NULL */
/* Stores messages, a list, and the response, a dict; takes both. A conversation that is too large
 * alone is not stored. */
void pdl_serve_conversations_put(conversations *c, pdl_str id, pdl_val messages, pdl_val response);
/* These functions return the messages, or the response, of the response with that id. The result is
 * borrowed until the next put or remove. It is absent when the response is unknown or was
 * dropped. */
pdl_vref pdl_serve_conversations_messages(const conversations *c, pdl_str id);
pdl_vref pdl_serve_conversations_response(const conversations *c, pdl_str id);
/* Returns false when no response with this id is stored. */
bool pdl_serve_conversations_remove(conversations *c, pdl_str id);

#endif
