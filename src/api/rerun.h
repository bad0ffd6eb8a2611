/* rerun.h -- repeats a durable run with a changed text of its program and with its recorded
 * answers.
 *
 * The journal of the run is only read. Each start copies the journal into a private folder, and the
 * changed program continues the copy. Requests that did not change are answered from the copy, and
 * other requests are sent.
 *
 * All runs use one loop. It belongs to a session without a program, whose worlds the sessions of
 * the runs share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_RERUN_H
#define PDL_API_RERUN_H

#include "api/session.h"

typedef struct pdl_rerun pdl_rerun;

/* An answer of the user that replaces the recorded answer of the block at this place. */
typedef struct pdl_rerun_answer {
    pdl_str place, text;
} pdl_rerun_answer;

/* The changes for one run. Everything is borrowed until the run has started, and the sink until the
 * run ends. */
typedef struct pdl_rerun_changes {
    pdl_str text;  /* the program */
    pdl_str place; /* the first block that is executed again */
    bool fresh;    /* requests of this block, and all later requests, are sent again */
    const pdl_rerun_answer *answers;
    size_t n_answers;
    const pdl_durable_edit *files; /* texts of files that the program includes */
    size_t n_files;
    pdl_sink sink;
} pdl_rerun_changes;

/* Opens the session whose worlds the runs share. o has the options of the run, and is borrowed
 * until close. journal is an absolute path. Errors: see pdl_session_new. */
PDL_MUST bool pdl_rerun_open(const pdl_session_options *o, pdl_str journal, pdl_rerun **out,
                             pdl_err *err);
struct pdl_loop *pdl_rerun_loop(pdl_rerun *r);
/* Prepares a run. The caller then starts its session; no other run may be in progress. Errors:
 * usage (nothing to send again, an answer of the wrong form), schema (the text of the program), io,
 * and the errors of pdl_durable_prepare. */
PDL_MUST bool pdl_rerun_open_run(pdl_rerun *r, const pdl_rerun_changes *c, pdl_err *err);
/* Returns the session of the run that is in progress or prepared; NULL when there is no run. */
pdl_session *pdl_rerun_session(const pdl_rerun *r);
void pdl_rerun_cancel(pdl_rerun *r, const char *why);
bool pdl_rerun_answer_input(pdl_rerun *r, uint32_t effect, pdl_str text);
/* Appends the recorded answer of the block at this place, without secrets. *json says whether the
 * answer is JSON. Errors: the errors of pdl_durable_answer_at. */
PDL_MUST bool pdl_rerun_answer_at(const pdl_rerun *r, pdl_str place, pdl_buf *text, bool *json,
                                  pdl_err *err);
/* Lets the run continue. Sets *ready when the run can continue without a wait on the loop. Returns
 * true when the run is over; its session stays until pdl_rerun_end. */
bool pdl_rerun_turn(pdl_rerun *r, bool *ready);
void pdl_rerun_end(pdl_rerun *r);
void pdl_rerun_close(pdl_rerun *r); /* r may be NULL */

#endif
