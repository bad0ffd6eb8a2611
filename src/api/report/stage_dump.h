/* stage_dump.h -- PDL_DEBUG lines about programs: the result of each stage for a file. Private to
 * api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_DEBUG_H
#define PDL_API_DEBUG_H

#include "base/debug.h"
#include "compile/code.h"

/* Writes the categories nodes, expr, types, blocks. debug may be NULL. */
void pdl_api_debug_program(const pdl_debug *debug, const pdl_program *p);
/* Writes the category `code`. Functions are compiled when they are first called, so functions that
 * wait for a call are compiled here. */
void pdl_api_debug_code(const pdl_debug *debug, pdl_code *c);

#endif
