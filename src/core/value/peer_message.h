/* peer_message.h -- finds the text with which a model server, a tool server or a trace collector
 * explains its failure. The bodies of their answers have different forms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_PEER_MESSAGE_H
#define PDL_VALUE_PEER_MESSAGE_H

#include "base/buf.h"
#include "value/val.h"

/* Appends the explanation in a body (spec providers 9). Returns false, and appends nothing, when
 * the body has no explanation. */
bool pdl_peer_words(pdl_vref body, pdl_buf *out);
/* Appends the explanation in the bytes of a body: the whole explanation in its JSON, or else the
 * first `most` bytes of the text. Invalid bytes are replaced. Returns false when the explanation is
 * empty. */
bool pdl_peer_words_in(pdl_str bytes, size_t most, pdl_buf *out);

/* Returns true when a body reports a failure: it has an `error` or `errors` with content. Some
 * servers add an empty `error` to ordinary messages. */
bool pdl_peer_fails(pdl_vref body);
/* Returns true when a body has `message` or `detail` with words. This alone is no failure, because
 * services add notes to ordinary answers. */
bool pdl_peer_has_note(pdl_vref body);
/* Returns true for an object whose members have the names of a failure, or hold a code of failure
 * with an explanation: {code: 500, message: ..}. Codes of failure are 400 to 599, negative numbers
 * and words such as `failed`; services write other codes into ordinary answers. */
bool pdl_peer_is_failure(pdl_vref object);
/* Returns true when a body reports a failure in any form, itself or in a member that should hold a
 * part of the answer. Call it only when no answer was found in the body, because an answer may have
 * members with the same names. */
bool pdl_peer_fails_within(pdl_vref body);

#endif
