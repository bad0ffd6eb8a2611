/* messages.h -- turns the background messages of a program into the messages of a service, whose
 * rules for roles, contents, names and ids differ. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_MESSAGES_H
#define PDL_MODEL_MESSAGES_H

#include "base/buf.h"
#include "value/val.h"

/* Returns `messages` in OpenAI's form (spec providers 4.5; execution 8.2, R16), without
 * pdl__defsite and without null contents. A content becomes a text or a list of typed parts. Any
 * other value becomes its JSON text. quirks: PDL_Q_NO_NAME, PDL_Q_FLAT, and PDL_Q_TAKES_... for the
 * members of replies that the service accepts. traits: PDL_TRAIT_... of the model. Messages that
 * need no change are shared. */
enum {
    PDL_TRAIT_DEVELOPER = 1, /* knows the role developer, which otherwise becomes system */
    PDL_TRAIT_GOOGLE = 2,    /* wants the signatures of its thoughts back in calls */
};
pdl_val pdl_messages_chat(pdl_vref messages, unsigned quirks, unsigned traits);

/* Returns true for a member of a call in which Google's models send the signature of a thought:
 * extra_content, and members such as provider_specific_fields when they contain a signature. */
bool pdl_message_is_mark(pdl_vref key, pdl_vref v);

/* Returns true for a key that the message of a reply keeps. Other members stay in the response. */
bool pdl_message_is_reply_key(pdl_str key);

/* Returns the messages in the order that Mistral's service accepts: it wants a message of the
 * assistant between results and the user's next message, and a mark on a last message that it is to
 * continue. Takes messages. */
pdl_val pdl_messages_bridged(pdl_val messages);

/* Returns the messages with an id in each call and, in each result of a tool, the id of its call
 * (spec providers 6). Missing ids are added in order. nine: the service accepts only ids of nine
 * letters or digits, so any other id is replaced by one that is computed from it. */
pdl_val pdl_messages_identified(pdl_vref messages, bool nine);

/* Returns a call of a function with the member `type`, which services require and some servers
 * leave out. Takes call. */
pdl_val pdl_call_typed(pdl_val call);

/* Returns an id of nine letters or digits that is computed from id. */
pdl_val pdl_id_short(pdl_str id);

/* Appends the text of a content: a text as it is, the texts of a list of parts, or the JSON of
 * any other value. */
void pdl_message_text(pdl_vref content, pdl_buf *out);

/* Returns true for a list of objects with `type`. */
bool pdl_message_is_parts(pdl_vref content);

/* Returns the role of a message or "". Borrowed. */
pdl_str pdl_message_role(pdl_vref message);

/* Appends the base64 data of the images of a content to list (taken), without
 * "data:...;base64,". */
pdl_val pdl_message_images(pdl_vref content, pdl_val list);

/* Writes the prompt with the template of the `roles` parameters (spec providers 11.3). */
void pdl_messages_by_roles(pdl_vref messages, pdl_vref params, pdl_buf *out);

#endif
