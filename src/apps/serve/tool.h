/* tool.h -- describes a program as a tool: its name, its description, and the schema of its
 * parameters. Private to serve.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_TOOL_H
#define PDL_SERVE_TOOL_H

#include "serve/serve_impl.h"

/* A tool. When the program is a function, the tool has the parameters of that function. Otherwise
 * its parameters are the variables that the program uses and does not define; variables that it
 * tests with `default` or `is defined` are optional. A program without such variables has the
 * parameter `question`, the user's message. */
typedef struct tool {
    pdl_val card; /* {name, description?, inputSchema} */
    /* The program that calls the function, owned; NULL when the program is not a function. */
    pdl_program *wrapper;
    pdl_code *code; /* the code that runs */
} tool;

/* Makes one tool for each program, owned; the code borrows s. */
tool *pdl_serve_tools_new(pdl_serve *s);
void pdl_serve_tools_free(pdl_serve *s); /* s->tools may be NULL */

/* Checks that the required arguments are present. Refuses other arguments, which could set
 * variables of the interpreter. Returns false with the reason in why. */
bool pdl_serve_tool_takes(const tool *t, pdl_vref arguments, pdl_buf *why);
/* Returns the variables of a run with these arguments, owned. */
pdl_val pdl_serve_tool_variables(const pdl_serve *s, const tool *t, pdl_vref arguments);

#endif
