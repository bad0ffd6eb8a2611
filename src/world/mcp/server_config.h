/* server_config.h -- the configuration file of tool servers. Private to mcp.
 *
 *      {"mcpServers": {"NAME": {"command": "...", "args": [], "env": {}, "cwd": "..."}
 *                            | {"url": "...", "headers": {}}}}
 *
 * Both forms may also have these keys:
 *      "allow"         list of names or globs with *; only these tools may be called
 *      "timeout"       seconds that a call may take
 *      "startTimeout"  seconds that the start of the server may take
 *      "parallel"      false for a server that gets one call at a time
 *      "sandbox"       true or a profile, for a command: confines the process. When the run has a
 *                      sandbox, both apply.
 *
 * ${NAME} in a text is replaced by the variable of that name. Unknown keys belong to other programs
 * and are ignored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MCP_SERVER_CONFIG_H
#define PDL_MCP_SERVER_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "mcp/mcp.h"

/* One server. The caller's arena owns everything. */
typedef struct server_config {
    const char *name;
    const char *const *argv; /* NULL-terminated; NULL when the server is reached over HTTP */
    /* NULL-terminated "NAME=value": the complete environment of the process */
    const char *const *env;
    const char *cwd; /* NULL means the working directory of this process */
    const char *url;
    const char *const *headers; /* n_headers lines "Name: value" */
    size_t n_headers;
    const pdl_str *allow; /* n_allow names or globs; when it is NULL, every tool is allowed */
    size_t n_allow;
    uint64_t timeout_ms, start_ms;
    /* confines the process; borrowed; NULL when the process is not confined */
    const struct pdl_sandbox *sandbox;
    bool one_by_one; /* each call is sent after the previous one has ended */
} server_config;

/* Reads the entry of server `name`. Errors: PDL_E_usage when the file cannot be read; PDL_E_runtime
 * for a mistake in the file, with server, file, line and column; those of opt->confine. */
PDL_MUST bool pdl_mcp_config_read(const pdl_mcp_options *opt, pdl_str name, pdl_arena *a,
                                  server_config *out, pdl_err *err);
bool pdl_mcp_config_allows(const server_config *c, pdl_str tool);

#endif
