/* conversation.h -- what was said until a response, so that the next request can go on from it
 * (previous_response_id). The newest are kept, up to a number and a size; they end with the
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
/* Takes messages, a list. One that is too big by itself is not kept. */
void pdl_serve_conversations_put(conversations *c, pdl_str id, pdl_val messages);
/* Borrowed until the next put; absent: it is not, or no longer, there. */
pdl_vref pdl_serve_conversations_find(const conversations *c, pdl_str id);

#endif
