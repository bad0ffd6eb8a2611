/* cli.h -- shared by the commands. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_CLI_H
#define PDL_CLI_CLI_H

#include "api/session.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/options.h"
#include "io/tty.h"

#define PDL_MAX_SOURCE_BYTES_SIZE ((size_t)PDL_MAX_SOURCE_BYTES)

/* The bytes of a program; "-" is standard input. */
PDL_MUST bool pdl_cli_read_program(pdl_str file, pdl_buf *out, pdl_err *err);
/* Variables of --data-file and --data as a dict. */
PDL_MUST bool pdl_cli_read_data(const arguments *a, pdl_val *vars, pdl_err *err);

/* run_limits.c: options that limit and log the calls of a run. Fills those members of o, which
 * borrow l. Returns 0, or the exit code of a wrong command line. */
typedef struct run_limits {
    double budget[PDL_BUDGET_COUNT];
    void *wire; /* FILE *; NULL: none */
    pdl_str wire_name;
    bool wire_failed;
} run_limits;
int pdl_cli_run_limits_read(const arguments *a, run_limits *l, pdl_session_options *o);
void pdl_cli_run_limits_fini(run_limits *l);

/* signals.c: calls fn(user, sig) from the loop at the first signal that ends a command; the next
 * one ends the process and its children at once. SIGHUP stays ignored when it is (nohup). */
pdl_signals *pdl_cli_watch_signals(pdl_loop *loop, void (*fn)(void *user, int sig), void *user);
const volatile sig_atomic_t *pdl_cli_signal_received(void); /* 0 before */

/* put.c. Secrets of s (may be NULL) are replaced. A terminal gets control characters neutralised.
 */
/* Writes text to standard output and flushes. Returns the exit code: 0; 141 when nobody reads; 1
 * after a message. */
int pdl_cli_put_stdout(pdl_str text);
void pdl_cli_put_stderr(pdl_str text, const pdl_session *s);
/* A line that has no secrets. */
PDL_PRINTF(1, 2) void pdl_cli_note(const char *fmt, ...);
void pdl_cli_print_error(const pdl_err *err, const pdl_session *s);
/* Why a program does not load. */
void pdl_cli_print_load_errors(const pdl_program *p, const pdl_session *s);
/* A wrong command line: usage and message. Returns 2. */
int pdl_cli_refuse(const arguments *a, const char *message);
/* After a failed write with errno e: prints a message, unless nobody reads. Returns the exit code.
 */
int pdl_cli_write_failed(int e);

#endif
