/* loading.h -- reports that a program which a run includes cannot be loaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_LOADING_H
#define PDL_API_LOADING_H

#include "lang/program.h"

/* Sets the error of a program that has errors. The place of the error must outlive the program, so
 * the source of the place is copied into arena. When the program does not respect the schema,
 * *errors is an owned list of lines. */
void pdl_program_failed(pdl_arena *arena, const pdl_program *p, pdl_val *errors, pdl_err *err);

#endif
