/* host_answers.h -- turns the answers of a host program, in the forms that pdl.h allows, into the
 * replies that the machine expects. Handlers of the library (hooks.c) and the module for browsers
 * (apps/wasm) use it, so both accept the same forms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_HOST_ANSWERS_H
#define PDL_API_HOST_ANSWERS_H

#include "effect/effect.h"

/* Turns an answer into the reply to e. all_pieces is the text that was streamed before. Error:
 * protocol. */
PDL_MUST bool pdl_host_answer(const pdl_effect *e, pdl_vref v, pdl_str all_pieces, pdl_val *out,
                              pdl_err *err);
/* Returns the reply to an effect of kind code. v is the value of `result`, and all_pieces is the
 * output that was streamed. */
pdl_val pdl_host_answer_of_code(pdl_vref v, pdl_str all_pieces);

/* Returns the kind of error with this name; runtime for NULL and for an unknown name. */
pdl_err_kind pdl_error_kind_of(const char *name);

#endif
