/* loading.h -- how a program that another one includes fails to load, as its run reports it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_LOADING_H
#define PDL_API_LOADING_H

#include "lang/program.h"

/* Fails with the errors of a program. The place of the error outlives the program, so its source is
 * copied into arena. *errors: a list of lines, owned, when the program does not respect the
 * schema. */
void pdl_program_failed(pdl_arena *arena, const pdl_program *p, pdl_val *errors, pdl_err *err);

#endif
