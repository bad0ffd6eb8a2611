/* messages.h -- from the background of a program to the messages of a service. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_MESSAGES_H
#define PDL_MODEL_MESSAGES_H

#include "base/buf.h"
#include "value/val.h"

/* OpenAI's form of the list (spec providers 4.5; execution 8.2, R16): without pdl__defsite and null
 * contents; a content is a text, a list of typed parts, or else its JSON text. quirks:
 * PDL_Q_NO_NAME, PDL_Q_FLAT, PDL_Q_TAKES_...: what replies brought goes only to who takes it back
 * (spec providers 4.5). developer: the model knows this role; else it is the system. Messages that
 * need no change are shared. */
pdl_val pdl_messages_chat(pdl_vref messages, unsigned quirks, bool developer);

/* Is it a key that the message of a reply keeps? Others stay in the response. */
bool pdl_message_is_reply_key(pdl_str key);

/* The same messages in which each call has an id and each result of a tool the id of its call (spec
 * providers 6): those that lack one get it, in order. nine: ids are nine letters or digits; others
 * are replaced by one that follows from them. */
pdl_val pdl_messages_identified(pdl_vref messages, bool nine);

/* An id of nine letters or digits that follows from another one. */
pdl_val pdl_id_short(pdl_str id);

/* Append the text of a content: a text as it is, the texts of a list of parts, JSON of anything
 * else. */
void pdl_message_text(pdl_vref content, pdl_buf *out);

/* Is it a list of objects with `type`? */
bool pdl_message_is_parts(pdl_vref content);

/* The role of a message or "". Borrowed. */
pdl_str pdl_message_role(pdl_vref message);

/* Append the base64 data of the images of a content to list (taken), without "data:...;base64,". */
pdl_val pdl_message_images(pdl_vref content, pdl_val list);

/* Prompt by the template of the `roles` parameters (spec providers 11.3). */
void pdl_messages_by_roles(pdl_vref messages, pdl_vref params, pdl_buf *out);

#endif
