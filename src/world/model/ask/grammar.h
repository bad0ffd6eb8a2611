/* grammar.h -- the answers that the program allows, as a grammar of llama.cpp in GBNF (spec
 * providers 15.1). Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_GRAMMAR_H
#define PDL_MODEL_GRAMMAR_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"

/* Writes a grammar that allows one of the texts in the list `choices`. For a value that is not a
 * text, its JSON is allowed. Error: bad_request for an empty list. */
PDL_MUST bool pdl_grammar_of_choice(pdl_vref choices, pdl_buf *out, pdl_err *err);

/* Writes a grammar for answers that match the whole regular expression (Python's syntax).
 * Errors: bad_request for constructs that a grammar cannot express (lookaround, references, word
 * boundaries, flags, anchors inside) and for broken syntax; msg has the position. */
PDL_MUST bool pdl_grammar_of_regex(pdl_str regex, pdl_buf *out, pdl_err *err);

#endif
