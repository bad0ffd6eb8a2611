/* dap.h -- the debugger: Debug Adapter Protocol on standard input and output.
 *
 * The debugger is one of the sinks of an ordinary run. When the run reports the beginning of a
 * block at which it has to stop, the sink does not return: it handles messages of the client until
 * one of them says to continue. The machine knows nothing about the debugger, so a program behaves
 * in the same way without it, and a model call that is in flight stays in flight. Expressions of
 * the client are evaluated by a second run that sends no request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_DAP_DAP_H
#define PDL_DAP_DAP_H

/* Serves standard input and output until the client disconnects or the input ends. Meanwhile,
 * standard input of the process is what the client types in its console, and standard output goes
 * to standard error. So code of a program cannot write into the protocol. Returns the exit code. */
int pdl_dap_serve(void);

#endif
