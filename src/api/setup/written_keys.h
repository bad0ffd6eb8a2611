/* written_keys.h -- finds keys that are written in the text of a program. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_WRITTEN_KEYS_H
#define PDL_API_WRITTEN_KEYS_H

#include "effect/secret.h"
#include "lang/program.h"
#include "yaml/node.h"

/* Registers the secrets under `parameters` of the program, before the program (or an error with one
 * of its lines) is shown. Works for programs with errors, too. */
void pdl_api_note_program(pdl_secrets *secrets, const pdl_program *p);

#endif
