/* peer_words.h -- a peer's words about its failure: those in the body of a model server, a tool
 * server or a collector, whose forms differ.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_PEER_WORDS_H
#define PDL_VALUE_PEER_WORDS_H

#include "base/buf.h"
#include "value/val.h"

/* Appends the words in a body (spec providers 9). Returns false, and appends nothing, when it has
 * none. */
bool pdl_peer_words(pdl_vref body, pdl_buf *out);
/* Appends the words in the bytes of a body: those of its JSON when it has some, else the beginning
 * of the text as valid UTF-8, at most `most` bytes. Returns false when that is empty. */
bool pdl_peer_words_in(pdl_str bytes, size_t most, pdl_buf *out);

/* Returns true when a body reports a failure: it has an `error` or `errors` with content. Some
 * servers add an empty one to ordinary messages. */
bool pdl_peer_fails(pdl_vref body);

#endif
