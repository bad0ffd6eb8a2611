/* cancel.h -- cooperative cancellation of long operations.
 *
 * A run that a signal or the time of a budget ends must also end in the middle of one long
 * operation. The machine enters the scope of its run while it works; whatever goes through items by
 * the million checks on its way and fails when it is cancelled. The size of a value says nothing
 * about how long a walk over it takes: a list that is put into itself twice, forty times over, has
 * forty objects and 2^40 leaves. Every walk that goes down into values therefore checks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_CANCEL_H
#define PDL_BASE_CANCEL_H

#include "base/err.h"

/* The number of the signal that asked for the end, 0 before. A sig_atomic_t, whose header declares
 * too much. */
typedef const volatile int pdl_cancel_flag;

/* What can cancel the work of a thread. All-zero: nothing. */
typedef struct pdl_cancel {
    pdl_cancel_flag *flag; /* borrowed, or NULL */
    bool (*check_time)(void *user,
                       pdl_err *err); /* false: the time is over, and err says so; or NULL */
    void *user;
} pdl_cancel;

/* This thread checks c (borrowed; NULL: nothing cancels) until it enters another scope. Returns the
 * one before, to be entered again at the end. */
const pdl_cancel *pdl_cancel_enter(const pdl_cancel *c);

/* Returns false when the work of this thread is cancelled; err says why. No handler of a program
 * catches a signal. */
PDL_MUST bool pdl_check_cancel(pdl_err *err);

/* The same for what is called once for each of many small items: the time is looked at now and
 * then. */
PDL_MUST bool pdl_check_cancel_often(pdl_err *err);

/* The same for the i-th of many small items, most of which are not checked. */
enum { PDL_CANCEL_EVERY = 4096 };
PDL_MUST static inline bool pdl_check_cancel_at(size_t i, pdl_err *err) {
    return PDL_LIKELY(i % PDL_CANCEL_EVERY) || pdl_check_cancel(err);
}

/* What tells of a run is also written after its cancellation, but not for ever: a value may have
 * 2^40 leaves. Between these, what the scope of before says counts only PDL_GRACE_MS after it said
 * it first. */
enum { PDL_GRACE_MS = 100 };
typedef struct pdl_cancel_grace {
    pdl_cancel scope;
    const pdl_cancel *outer;
    uint64_t end_ns; /* 0: not cancelled yet */
} pdl_cancel_grace;
void pdl_cancel_enter_grace(pdl_cancel_grace *g);
void pdl_cancel_leave_grace(const pdl_cancel_grace *g);

/* A walk without an error channel (equality, hashes) counts its steps. When it is cancelled it
 * gives up with any result, which its caller must not use: whoever has an error channel checks
 * pdl_check_walk after it. Natives and operators of the machine are checked by the machine. */
typedef struct pdl_steps {
    size_t n;
} pdl_steps; /* since the last check */
PDL_COLD bool pdl_cancel_walk(void);
PDL_COLD bool pdl_steps_check(pdl_steps *s);
/* Returns false when the walk has to give up, and from then on. */
PDL_MUST static inline bool pdl_steps_may_continue(pdl_steps *s) {
    return PDL_LIKELY(++s->n < PDL_CANCEL_EVERY) || pdl_steps_check(s);
}

extern _Thread_local bool pdl_walk_cancelled; /* read it through pdl_check_walk */
PDL_COLD bool pdl_raise_walk_cancelled(pdl_err *err);
/* The same when there is nobody to tell: what was computed may be wrong. */
static inline bool pdl_is_walk_cancelled(void) { return PDL_UNLIKELY(pdl_walk_cancelled); }
/* Returns false when a walk of this thread gave up since the last check; err says why. */
PDL_MUST static inline bool pdl_check_walk(pdl_err *err) {
    return PDL_LIKELY(!pdl_walk_cancelled) || pdl_raise_walk_cancelled(err);
}

#endif
