/* host_answers.h -- the answers of a host program, in the forms that pdl.h allows, become the
 * replies that the machine expects: handlers of the library (hooks.c) and of the module (apps/wasm)
 * accept the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_HOST_ANSWERS_H
#define PDL_API_HOST_ANSWERS_H

#include "effect/effect.h"

/* Turns an answer into the reply to e. all_pieces: what was streamed before it. Error: protocol. */
PDL_MUST bool pdl_host_answer(const pdl_effect *e, pdl_vref v, pdl_str all_pieces, pdl_val *out,
                              pdl_err *err);
/* Returns the reply to code whose `result` is v. */
pdl_val pdl_host_answer_of_code(pdl_vref v, pdl_str all_pieces);

/* Returns the kind of an error by its name; NULL and unknown: runtime. */
pdl_err_kind pdl_error_kind_of(const char *name);

#endif
