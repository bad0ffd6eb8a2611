/* last_run.h -- the last run of a program that kept a journal, for what an editor shows of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_LAST_RUN_H
#define PDL_CLI_LAST_RUN_H

#include "base/buf.h"

/* What was found last: a journal is asked again when it has changed. All-zero to start with. */
typedef struct last_run {
    char *program; /* the one that was asked for; owned */
    int64_t asked; /* when, ns */
    char *journal; /* owned; NULL: there is none */
    int64_t changed;
    bool has_trace;
    pdl_buf trace;
} last_run;

void pdl_cli_last_run_fini(last_run *l);

/* The trace of the last run of the program at this absolute path: of the newest journal or
 * recording beside it, or of the folder of durable runs. Belongs to l until the next call. *when:
 * when it was written last, ns since the epoch. Returns false when there is none. */
bool pdl_cli_last_run(void *l, const char *program, pdl_str *trace, int64_t *when);

#endif
