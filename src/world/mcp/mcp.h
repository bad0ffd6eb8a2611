/* mcp.h -- the world that answers TOOL effects: servers of the Model Context Protocol, each started
 * or reached at its first use (spec providers 19).
 *
 * The variable PDL_MCP_CONFIG names the configuration file that lists the servers. No other place
 * is searched, so that a folder cannot bring its own commands. Each server has one session, kept
 * for the life of the world.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MCP_MCP_H
#define PDL_MCP_MCP_H

#include "base/debug.h"
#include "effect/effect.h"
#include "io/loop.h"

struct pdl_sandbox;

/* Everything is borrowed, and must outlive the world. */
typedef struct pdl_mcp_options {
    /* Returns the value of a variable. When the function is NULL, no variable is set. */
    const char *(*env)(void *user, const char *name);
    void *user;
    /* Does what env does, but reads only the file `.env`, and not the environment of the process.
     * The result is the pointer that env returns, unless the process has the variable, too. When
     * the function is NULL, there is no such file. */
    const char *(*env_of_file)(void *user, const char *name);
    const pdl_debug *debug; /* categories mcp, http; may be NULL */
    /* Secrets that are removed from messages, before the messages are shortened; may be NULL. */
    const pdl_secrets *secrets;
    /* Finds the sandbox of a server that is a child process. own: the profile in the server's
     * configuration, with paths relative to folder; absent when the configuration has none. *out is
     * NULL when the server is not confined. When the function is NULL, no server is confined.
     */
    bool (*confine)(void *confine_user, pdl_vref own, pdl_str folder, pdl_vref profiles,
                    const struct pdl_sandbox **out, pdl_err *err);
    void *confine_user;
    /* the sandbox profiles of the blocks that use these servers; absent when no block has one */
    pdl_vref profiles;
    /* Writes the trace context of an effect, with a NUL at the end. tracestate is the state that
     * other programs keep in the trace. Both are put into `_meta` of the request. Returns false
     * when the effect has no trace context. The function may be NULL. */
    bool (*traceparent)(void *user, uint32_t effect, char out[56]);
    const char *tracestate;
} pdl_mcp_options;

/* Requests and replies of effects of kind tool; `server` is a name of the configuration:
 *
 *   {server, op: "list"}                    -> list of the allowed tools, as the server describes
 *                                              them: {name, description?, inputSchema, ...}
 *   {server, op: "call", name, arguments}   -> {content, structured, text, is_error}
 *   {server, op: "request", method, params} -> the result of that method
 *
 * Fails with PDL_E_runtime, "MCP error CODE: MESSAGE" for an error of the protocol, and with
 * PDL_E_timeout when a time limit has passed. Borrows loop. close ends the sessions in good order,
 * for which it runs the loop a few seconds at most. */
pdl_world *pdl_mcp_world_new(pdl_loop *loop, const pdl_mcp_options *opt);

/* Registers the secrets in the configuration: headers, addresses, and the variables and arguments
 * whose names indicate a secret. A missing or wrong file is not reported here, because the first
 * use of a server reports it. */
void pdl_mcp_secrets(const pdl_mcp_options *opt, pdl_secrets *secrets);

/* Returns the names of the servers in the configuration, an owned list. A missing or wrong file
 * gives the same error as the first use of a server. */
PDL_MUST bool pdl_mcp_servers(const pdl_mcp_options *opt, pdl_val *names, pdl_err *err);

/* Returns the process id of the server of this name, and 0 when that server is not running. For
 * tests. */
int pdl_mcp_pid(const pdl_world *w, pdl_str server);

#endif
