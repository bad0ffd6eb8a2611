/* grammar.h -- what the program allows as an answer, as a grammar of llama.cpp (GBNF; spec
 * providers 15.1). Inside of model only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_GRAMMAR_H
#define PDL_MODEL_GRAMMAR_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"

/* One of the texts of a list; values that are no texts as JSON. Error: bad_request when there is
 * none. */
PDL_MUST bool pdl_grammar_of_choice(pdl_vref choices, pdl_buf *out, pdl_err *err);

/* The whole answer fits the regular expression (Python's syntax). Errors: bad_request for what a
 * grammar cannot say (lookaround, references, word boundaries, flags, anchors inside) and for
 * broken syntax; msg names the place. */
PDL_MUST bool pdl_grammar_of_regex(pdl_str regex, pdl_buf *out, pdl_err *err);

#endif
