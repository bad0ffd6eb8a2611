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

/* Everything is borrowed and must outlive the world. */
typedef struct pdl_mcp_options {
    const char *(*env)(void *user, const char *name); /* NULL: no variable is set */
    void *user;
    const pdl_debug *debug; /* categories mcp, http; may be NULL */
    /* Secrets that are removed from messages, also before those are shortened; NULL: none. */
    const pdl_secrets *secrets;
    /* Finds the sandbox for a server on stdio whose configuration has the profile own (absent:
     * none) with paths relative to folder; *out is NULL when nothing confines it. NULL: no server
     * is confined. */
    bool (*confine)(void *confine_user, pdl_vref own, pdl_str folder, pdl_vref profiles,
                    const struct pdl_sandbox **out, pdl_err *err);
    void *confine_user;
    /* profiles of the blocks that use these servers; absent when there are none */
    pdl_vref profiles;
    /* The trace context of an effect, with a NUL, and the state that other programs keep in the
     * trace: both are put into `_meta` of its request. False, NULL: there is none. */
    bool (*traceparent)(void *user, uint32_t effect, char out[56]);
    const char *tracestate;
} pdl_mcp_options;

/* Requests and replies of effects of kind tool; `server` is a name of the configuration:
 *
 * {server, op: "list"}                    -> list of tools as the server describes them: {name,
 *                                            description?, inputSchema, ...}, those that are
 *                                            allowed
 * {server, op: "call", name, arguments}   -> {content, structured, text, is_error}
 * {server, op: "request", method, params} -> the result of that method
 *
 * Fails with PDL_E_runtime, "MCP error CODE: MESSAGE" for an error of the protocol, and with
 * PDL_E_timeout when a time limit has passed. Borrows loop. close ends the sessions in good order,
 * for which it runs the loop a few seconds at most. */
pdl_world *pdl_mcp_world_new(pdl_loop *loop, const pdl_mcp_options *opt);

/* Registers the secrets in the configuration: headers, addresses, variables and arguments whose
 * names indicate it. Reports nothing when the file is missing or wrong: the first use does. */
void pdl_mcp_secrets(const pdl_mcp_options *opt, pdl_secrets *secrets);

/* Returns the names of the servers in the configuration: an owned list. The error is that of their
 * first use. */
PDL_MUST bool pdl_mcp_servers(const pdl_mcp_options *opt, pdl_val *names, pdl_err *err);

/* Returns the process id of the server of this name, 0 when it does not run (for tests). */
int pdl_mcp_pid(const pdl_world *w, pdl_str server);

#endif
