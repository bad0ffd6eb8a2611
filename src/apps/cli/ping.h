/* ping.h -- asks a running `pdl serve` whether it works. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_PING_H
#define PDL_CLI_PING_H

#include "cli/options.h"

/* The port of `pdl serve` when --port is not given. */
enum { PDL_CLI_SERVE_PORT = 8080 };

/* Asks the server at --host and --port for /health. Returns 0 when it answers within two seconds
 * with a status that means success. Otherwise prints the reason and returns 1, or 2 for wrong
 * options. */
int pdl_cli_ping(const arguments *a);

#endif
