/* conversation.h -- the messages up to a response, so that the next request can continue from it
 * (previous_response_id). The newest are kept, limited in number and size, for the life of the
 * process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_CONVERSATION_H
#define PDL_SERVE_CONVERSATION_H

#include "base/str.h"
#include "value/val.h"

typedef struct conversations conversations;

conversations *pdl_serve_conversations_new(void);
void pdl_serve_conversations_free(conversations *c); /* NULL is fine */
/* Takes messages, a list. Does not keep one that is too large by itself. */
void pdl_serve_conversations_put(conversations *c, pdl_str id, pdl_val messages);
/* Borrowed until the next put; absent: it is not, or no longer, there. */
pdl_vref pdl_serve_conversations_find(const conversations *c, pdl_str id);

#endif
