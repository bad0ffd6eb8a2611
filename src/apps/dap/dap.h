/* dap.h -- the debugger: Debug Adapter Protocol on standard input and output.
 *
 * The program runs on the machine that runs it always; the debugger is one of its sinks. When the
 * run reports the begin of a block at which it is to stop, the sink does not return: it handles
 * messages of the client until one of them continues. Nothing in the machine knows of it, a program
 * behaves as without it, and a request to a model that is in flight stays in flight. Expressions
 * that the client asks for are evaluated by a second run that sends no request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_DAP_DAP_H
#define PDL_DAP_DAP_H

/* Serves standard input and output until the client disconnects or the input ends. While it runs,
 * standard input of the process is what the client types in its console, and standard output goes
 * to error output, so that code of a program cannot write into the protocol. Returns the exit
 * code. */
int pdl_dap_serve(void);

#endif
