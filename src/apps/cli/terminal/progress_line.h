/* progress_line.h -- what is shown of a run while it continues: one line on a terminal, and the
 * steps of --verbose.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_PROGRESS_LINE_H
#define PDL_CLI_PROGRESS_LINE_H

#include "api/session.h"
#include "cli/options.h"
#include "cli/term.h"
#include "trace/progress.h"

typedef struct progress {
    pdl_progress numbers;
    pdl_sink next;               /* gets every event, too */
    pdl_session *const *session; /* borrowed; NULL until it is made */
    const term *term;            /* borrowed */
    pdl_str program;             /* file; empty: not known */
    bool has_line, has_steps;    /* what is shown; neither: it is not in the way of the run */
    pdl_buf drawn;               /* what the line says */
    uint64_t start_ns, delay_ns; /* the line appears so long after the start */
} progress;

/* What the options ask for. In place of next the run gets the sink that is returned. */
pdl_sink pdl_cli_progress_init(progress *p, const arguments *a, const term *t,
                               pdl_session *const *session, pdl_sink next);
/* Runs the session to its end and shows how far it is. */
pdl_step pdl_cli_progress_run(progress *p, pdl_session *s);
void pdl_cli_progress_fini(progress *p);

/* Removes the line from the terminal, if there is one: before anything else is written to it. */
void pdl_cli_progress_clear(void);

#endif
