/* tool.h -- a program as a tool: its name, what it is for, and the schema of its parameters.
 * Private to the room.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_TOOL_H
#define PDL_SERVE_TOOL_H

#include "serve/serve_impl.h"

/* Parameters are those of a program that is a function; else the variables that a program uses and
 * does not define, those that it asks for with `default` or `is defined` being optional. A program
 * without any takes `question`, the message of the user. */
typedef struct tool {
    pdl_val card; /* {name, description?, inputSchema} */
    pdl_program
        *wrapper;   /* owned: the program that calls the function; NULL: the program is none */
    pdl_code *code; /* that runs */
} tool;

/* One for each program, owned; code borrows s. */
tool *pdl_serve_tools_new(pdl_serve *s);
void pdl_serve_tools_free(pdl_serve *s); /* with the programs that were not all made, too */

/* Are the required arguments there, and no others than parameters, which could set variables of the
 * interpreter? False: why says it. */
bool pdl_serve_tool_takes(const tool *t, pdl_vref arguments, pdl_buf *why);
/* Variables of a run with these arguments, owned. */
pdl_val pdl_serve_tool_variables(const pdl_serve *s, const tool *t, pdl_vref arguments);

#endif
