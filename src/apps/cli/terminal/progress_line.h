/* progress_line.h -- shows the progress of a run: one line on a terminal, and the steps of
 * --verbose.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_PROGRESS_LINE_H
#define PDL_CLI_PROGRESS_LINE_H

#include "api/prefix_report.h"
#include "api/session.h"
#include "cli/options.h"
#include "cli/run_output.h"
#include "trace/progress.h"

typedef struct progress {
    pdl_progress numbers;
    pdl_sink next;               /* receives every event, too */
    pdl_session *const *session; /* borrowed; *session is NULL until the session is made */
    const term *term;            /* borrowed */
    pdl_str program;             /* the name of the program's file; empty when it is unknown */
    /* kinds of progress that are shown; when both are false, nothing is shown */
    bool has_line, has_steps;
    /* compares the calls that steps show; NULL when no steps are shown */
    pdl_prefix *prefix;
    pdl_buf drawn; /* the text of the line */
    /* the time at which the run began, and the delay after which the line appears */
    uint64_t start_ns, delay_ns;
} progress;

/* Begins the progress that the options request. Returns the sink that the run gets instead of
 * next. */
pdl_sink pdl_cli_progress_init(progress *p, const arguments *a, const term *t,
                               pdl_session *const *session, pdl_sink next);
/* Runs the session to its end and shows its progress. */
pdl_step pdl_cli_progress_run(progress *p, pdl_session *s);
void pdl_cli_progress_fini(progress *p);

/* Removes the line from the terminal, if there is one. Called before other text is written to the
 * terminal. */
void pdl_cli_progress_clear(void);

#endif
