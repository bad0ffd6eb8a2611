/* explain.h -- a world that sends nothing: it records the requests to models, and answers only
 * effects that are allowed. An effect without an answer is a promise that is never filled, so the
 * run continues until all its fibers wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_EXPLAIN_H
#define PDL_API_EXPLAIN_H

#include "effect/budget.h"
#include "effect/effect.h"
#include "model/prices.h"
#include "vm/vm.h"

/* The kinds of effects that may really be executed. Program text, the clock and random numbers may
 * always be read. */
enum {
    PDL_ALLOW_code = 1,
    PDL_ALLOW_command = 2,
    PDL_ALLOW_read = 4,
    PDL_ALLOW_write = 8,
    PDL_ALLOW_input = 16,
    PDL_ALLOW_tool = 32,
    PDL_ALLOW_http = 64,
};
/* Reads a text such as "code,command,read" as a set of these permissions. Error: usage. */
PDL_MUST bool pdl_allow_read(pdl_str words, unsigned *out, pdl_err *err);

/* Finds out which request would be sent for an effect. *request is null when the host program
 * answers the effect; *problem is a text when no request could be sent. Both are owned. */
typedef void pdl_explain_preview_fn(pdl_world *outside, const pdl_effect *e, pdl_val *request,
                                    pdl_val *problem);

/* Makes a world before `outside`, which is borrowed. prices may be NULL. preview may be NULL when
 * the host program answers all calls. Values that the redaction (borrowed, may be NULL) covers are
 * redacted in the record. */
pdl_world *pdl_explain_world_new(pdl_world *outside, unsigned allowed, const pdl_prices *prices,
                                 pdl_explain_preview_fn *preview, const pdl_redaction *redaction);

/* Keeps the error with which a policy would refuse this effect, for the record of the effect.
 * Returns false for an effect that is allowed and so really executed. */
bool pdl_explain_foresee(pdl_world *w, const pdl_effect *e, const pdl_err *refusal);

/* Returns the record so far, in the order of the requests: {calls: [...], totals, not_done: [...]}.
 * Owned. docs/manual/calls.md has the forms. */
pdl_val pdl_explain_notes(pdl_world *w);
/* Adds to notes (taken) the number of requests that the notes lack, because a cache answered these
 * requests. */
pdl_val pdl_explain_cached(pdl_val notes, size_t answered);
/* Adds to notes (taken) how many calls and tokens and how much cost a budget allows, together with
 * what is known of the program's use. A negative number means no limit. */
pdl_val pdl_explain_budget(pdl_val notes, const double limit[PDL_BUDGET_COUNT]);
/* Returns the reason why a fiber waits for this effect, such as "the reply of call 2" or "code,
 * which was not allowed". Owned text; absent when the effect was answered. */
pdl_val pdl_explain_reason(const pdl_world *w, uint32_t id);

/* The blocks that a run has reached; see unreached.c. */
typedef struct pdl_reached pdl_reached;
pdl_reached *pdl_reached_new(void);
void pdl_reached_free(pdl_reached *r); /* r may be NULL */
pdl_sink pdl_reached_sink(pdl_reached *r);
/* Adds to notes (taken) two lists: not_known, the answers for which fibers of the run wait, and
 * not_reached, the outermost blocks after the places where the fibers wait. w is the world of the
 * run. */
pdl_val pdl_explain_waits(const pdl_world *w, const pdl_run *run, const pdl_reached *r,
                          pdl_val notes);

#endif
