/* stage_dump.h -- writes PDL_DEBUG lines about programs: the result of each stage for a file.
 * Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_STAGE_DUMP_H
#define PDL_API_STAGE_DUMP_H

#include "base/debug.h"
#include "compile/code.h"

/* Writes the lines of the categories nodes, expr, types and blocks. debug may be NULL. */
void pdl_api_debug_program(const pdl_debug *debug, const pdl_program *p);
/* Writes the lines of the category `code`. A function is compiled when it is first called, so
 * functions that were not called yet are compiled here. */
void pdl_api_debug_code(const pdl_debug *debug, pdl_code *c);

#endif
