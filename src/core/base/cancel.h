/* cancel.h -- cooperative cancellation of long operations.
 *
 * A signal or a spent time budget must end a run even in the middle of one long operation. No other
 * thread can stop the operation safely, so it stops itself. The machine enters the scope of its run
 * while it works. Every loop over millions of items calls a check, and the check fails once the run
 * is cancelled. The size of a value is no bound for the time of a walk over it: forty lists, each
 * of which contains the next one twice, are forty objects, but a walk meets 2^40 leaves. Therefore
 * every walk that descends into values checks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_CANCEL_H
#define PDL_BASE_CANCEL_H

#include "base/err.h"

/* The number of the signal that asked for the end; 0 before that signal. The type `int` replaces
 * sig_atomic_t, because <signal.h> declares too much for this header. */
typedef const volatile int pdl_cancel_flag;

/* Everything that can cancel the work of a thread. When all members are zero, the work cannot be
 * cancelled. */
typedef struct pdl_cancel {
    pdl_cancel_flag *flag; /* borrowed, or NULL */
    bool (*check_time)(void *user,
                       /* Returns false with err set when the time is over. When the function is
                        * NULL, there is no time limit. */
                       pdl_err *err);
    void *user;
} pdl_cancel;

/* Makes the checks of this thread use c from now on. c is borrowed; when it is NULL, the work
 * cannot be cancelled. Returns the previous scope, which the caller enters again at the end. */
const pdl_cancel *pdl_cancel_enter(const pdl_cancel *c);

/* Sends SIGINT before check number `looks` of a flag, counted from now (PDL_STRESS=cancel:N). A
 * test can thus cancel an operation at each place where it checks. 0 sends no signal. Applies to
 * the whole process. */
void pdl_cancel_say_after(long looks);

/* Returns false when the work of this thread is cancelled; err holds the reason. When the reason is
 * a signal, programs cannot catch the error. */
PDL_MUST bool pdl_check_cancel(pdl_err *err);

/* Returns true when a signal has asked the work of this thread to end. */
bool pdl_is_signalled(void);

/* Does less than pdl_check_cancel, for functions that run once for each small item. Checks the
 * signal, reads the clock at every 64th call, and ignores pdl_alloc_low. */
PDL_MUST bool pdl_check_cancel_often(pdl_err *err);

/* Does what pdl_check_cancel does, for the i-th of many small items. Most items are not checked. */
enum { PDL_CANCEL_EVERY = 4096 };
PDL_MUST static inline bool pdl_check_cancel_at(size_t i, pdl_err *err) {
    return PDL_LIKELY(i % PDL_CANCEL_EVERY) || pdl_check_cancel(err);
}

/* Number of bytes that are copied or filled between two checks. Copying them takes about 0.1 ms, or
 * 1 ms when the system has to provide the memory. */
enum { PDL_CANCEL_BYTES = 1 << 20 };

/* Copies n bytes between areas that do not overlap. Returns false when the work is cancelled; only
 * a part is then copied. */
PDL_MUST bool pdl_copy_bytes(char *to, const char *from, size_t n, pdl_err *err);

/* The reports of a cancelled run are still written, but they may take PDL_GRACE_MS at most, because
 * a report of a value with 2^40 leaves would never end. Between enter and leave, a cancellation of
 * the outer scope takes effect only PDL_GRACE_MS after it was first seen. The struct is all-zero
 * before the first enter. A report that is written in parts enters the same struct again, so that
 * all its parts together may take PDL_GRACE_MS. */
enum { PDL_GRACE_MS = 100 };
typedef struct pdl_cancel_grace {
    pdl_cancel scope;
    const pdl_cancel *outer;
    uint64_t end_ns; /* 0 while the outer scope is not cancelled */
} pdl_cancel_grace;
void pdl_cancel_enter_grace(pdl_cancel_grace *g);
void pdl_cancel_leave_grace(const pdl_cancel_grace *g);

/* A walk that cannot report an error (equality, hashes) counts its steps. When the walk is
 * cancelled, it stops and returns an arbitrary result, which its caller must not use. The nearest
 * caller that can report an error calls pdl_check_walk afterwards. The machine makes this call for
 * natives and operators. */
typedef struct pdl_steps {
    size_t n;
} pdl_steps; /* number of steps since the last check */
PDL_COLD bool pdl_cancel_walk(void);
PDL_COLD bool pdl_steps_check(pdl_steps *s);
/* Returns false when the walk must stop. Later calls then return false, too. */
PDL_MUST static inline bool pdl_steps_may_continue(pdl_steps *s) {
    return PDL_LIKELY(++s->n < PDL_CANCEL_EVERY) || pdl_steps_check(s);
}

/* Does what pdl_steps_may_continue does, for the i-th of many small items. The first items are not
 * checked, so that a short walk is completed even while its run is ending. */
PDL_MUST static inline bool pdl_walk_may_continue_at(size_t i) {
    return PDL_LIKELY((i + 1) % PDL_CANCEL_EVERY) || !pdl_cancel_walk();
}

extern _Thread_local bool pdl_walk_cancelled; /* read through the functions below */
PDL_COLD bool pdl_raise_walk_cancelled(pdl_err *err);
/* Returns true when a walk was cancelled, so that a computed result may be wrong. Functions that
 * cannot report errors call this. */
static inline bool pdl_is_walk_cancelled(void) { return PDL_UNLIKELY(pdl_walk_cancelled); }
/* Returns false when a walk of this thread was cancelled since the last check; err holds the
 * reason. */
PDL_MUST static inline bool pdl_check_walk(pdl_err *err) {
    return PDL_LIKELY(!pdl_walk_cancelled) || pdl_raise_walk_cancelled(err);
}

#endif
