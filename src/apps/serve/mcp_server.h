/* mcp_server.h -- programs as tools of the Model Context Protocol: each message of a client gets at
 * most one answer. The transport is HTTP (POST /mcp) without sessions, or standard input and output
 * with one message per line. Private to serve.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_MCP_SERVER_H
#define PDL_SERVE_MCP_SERVER_H

#include "serve/form.h"

/* Handles a message of a client (taken). x is its HTTP request; it is NULL when the message came as
 * a line. */
void pdl_serve_mcp_take(pdl_serve *s, pdl_exchange *x, pdl_val message);
/* Refuses text that is not JSON. */
void pdl_serve_mcp_refuse_text(pdl_serve *s, pdl_exchange *x);
/* Answers POST /mcp. */
void pdl_serve_answer_mcp(pdl_serve *s, pdl_exchange *x);

/* mcp_stdio.c. Starts to read lines from the two descriptors. Error: io, when they cannot be
 * polled. */
PDL_MUST bool pdl_serve_mcp_stdio_start(pdl_serve *s, int in, int out, pdl_err *err);
/* Sends a message; takes v. */
void pdl_serve_mcp_stdio_put(pdl_serve *s, pdl_val v);
/* Returns true when the client has closed its end and every request is answered. */
bool pdl_serve_mcp_stdio_is_over(const pdl_serve *s);
void pdl_serve_mcp_stdio_free(pdl_serve *s);

#endif
