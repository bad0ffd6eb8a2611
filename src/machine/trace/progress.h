/* progress.h -- the progress of a run in a few numbers, which are shown to people while it runs.
 *
 * Like all reports, the numbers are computed from the events of the run. So the line on a terminal,
 * the lines of --verbose and the summary of a batch cannot disagree with the trace. Only what takes
 * time counts: calls of models, tools, code and commands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_PROGRESS_H
#define PDL_TRACE_PROGRESS_H

#include "base/idmap.h"
#include "trace/event.h"

typedef struct pdl_progress {
    uint64_t done, open, failed; /* numbers of calls that ended well, are open, or failed */
    /* number of failures that the program handles, by another attempt or a fallback */
    uint64_t retried;
    uint64_t asking; /* number of questions to a person that wait for an answer */
    int64_t tokens;  /* sum of the tokens of prompts and answers */
    double cost;     /* sum of the costs of calls whose prices are known */
    pdl_buf latest;  /* the call that began last, such as "model openai/x" */
    pdl_idmap begun; /* open effects -> when they began, in nanoseconds */
    double seconds;  /* duration of the call that ended last */
    /* Returns the part of a value that may be shown, owned. When the function is NULL, values are
     * shown as they are. */
    pdl_val (*shown)(void *user, pdl_vref v);
    void *shown_user;
} pdl_progress;

void pdl_progress_init(pdl_progress *p);
void pdl_progress_fini(pdl_progress *p);

/* Returns true when e is the end of a call. The caller then passes e to
 * pdl_progress_describe_end. */
bool pdl_progress_take(pdl_progress *p, const pdl_event *e);

/* Describes an event for which pdl_progress_take returned true, in one line without a line end: the
 * call, its duration, and its result. Secrets are not removed. */
void pdl_progress_describe_end(const pdl_progress *p, const pdl_event *e, pdl_buf *out);

/* Appends "3 done, 2 open, 1 failed, 1 handled, 1500 tokens, 0.02 $", without numbers that are
 * zero. */
void pdl_progress_numbers(const pdl_progress *p, pdl_buf *out);

#endif
