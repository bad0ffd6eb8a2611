/* last_run.h -- finds the last run of a program that kept a journal, so that an editor can show
 * values of that run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_LAST_RUN_H
#define PDL_CLI_LAST_RUN_H

#include "base/buf.h"

/* The result of the last search, which is used until the journal changes. All members are zero
 * before the first search. */
typedef struct last_run {
    char *program; /* the program of the last search; owned */
    int64_t asked; /* time of the last search, in ns */
    char *journal; /* the journal that was found; owned; may be NULL */
    int64_t changed;
    bool has_trace;
    pdl_buf trace;
} last_run;

void pdl_cli_last_run_fini(last_run *l);

/* Finds the trace of the last run of the program at this absolute path: from the newest journal or
 * recording beside it, or from the folder of durable runs. l owns the trace until the next call.
 * *when: the time at which the journal was last written, in ns since the epoch. Returns false when
 * the program has no such run. */
bool pdl_cli_last_run(void *l, const char *program, pdl_str *trace, int64_t *when);

#endif
