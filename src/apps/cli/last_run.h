/* last_run.h -- finds the last run of a program that kept a journal, of which an editor shows
 * values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_LAST_RUN_H
#define PDL_CLI_LAST_RUN_H

#include "base/buf.h"

/* The result of the last search: a journal is read again when it has changed. All-zero at first. */
typedef struct last_run {
    char *program; /* the program of the last search; owned */
    int64_t asked; /* time of the last search, ns */
    char *journal; /* owned; NULL when there is none */
    int64_t changed;
    bool has_trace;
    pdl_buf trace;
} last_run;

void pdl_cli_last_run_fini(last_run *l);

/* Finds the trace of the last run of the program at this absolute path: from the newest journal or
 * recording beside it, or from the folder of durable runs. l owns it until the next call. *when:
 * when it was last written, ns since the epoch. Returns false when there is none. */
bool pdl_cli_last_run(void *l, const char *program, pdl_str *trace, int64_t *when);

#endif
