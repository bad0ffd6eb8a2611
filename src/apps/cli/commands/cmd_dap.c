/* cmd_dap.c -- pdl dap: starts the debugger on standard input and output. An editor starts this
 * command and speaks the debug protocol with it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "dap/dap.h"

#include "base/banned.h"

int pdl_cli_cmd_dap(const arguments *a) {
    if (a->files.n) return pdl_cli_refuse(a, "pdl dap takes no operands");
    return pdl_dap_serve();
}
