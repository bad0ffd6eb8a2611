/* cancel.c -- checks whether the work of this thread is cancelled; see cancel.h.
 *
 * A check runs millions of times. So it first compares a pointer and a flag, and reads the clock
 * last. A walk that cannot report an error records its cancellation here, until a caller that can
 * report errors asks for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cancel.h"

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"

static_assert(sizeof(sig_atomic_t) == sizeof(int),
              "a pdl_cancel_flag is as wide as a sig_atomic_t");

static _Thread_local const pdl_cancel *current;
static _Thread_local unsigned n_often;
static _Thread_local pdl_err why; /* the reason why a walk was cancelled */
_Thread_local bool pdl_walk_cancelled;

/* number of checks before the process gets a signal; 0 when it gets no signal */
static atomic_long looks_left;

void pdl_cancel_say_after(long looks) { atomic_store(&looks_left, looks); }

PDL_COLD static void count_look(void) {
    if (atomic_fetch_sub(&looks_left, 1) == 1) (void)raise(SIGINT);
}

/* Returns the number of the signal that asked for the end, or 0. */
static int flag_of(const pdl_cancel *c) {
    if (!c->flag) return 0;
    if (PDL_UNLIKELY(atomic_load_explicit(&looks_left, memory_order_relaxed) > 0)) count_look();
    return *c->flag;
}

const pdl_cancel *pdl_cancel_enter(const pdl_cancel *c) {
    const pdl_cancel *before = current;
    current = c;
    if (pdl_walk_cancelled) { /* the result of the walk is not used any more */
        pdl_walk_cancelled = false;
        pdl_err_fini(&why);
    }
    return before;
}

static bool raise_low(pdl_err *err) {
    pdl_alloc_low = false; /* the memory that is released now may suffice for the rest of the run */
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "the machine has no memory left");
}

static bool check(const pdl_cancel *c, pdl_err *err) {
    if (PDL_LIKELY(!c)) return true;
    int sig = flag_of(c);
    if (PDL_UNLIKELY(sig)) return pdl_err_signal(err, sig);
    if (PDL_UNLIKELY(pdl_alloc_low)) return raise_low(err);
    return PDL_LIKELY(!c->check_time) || c->check_time(c->user, err);
}

bool pdl_check_cancel(pdl_err *err) { return check(current, err); }

bool pdl_is_signalled(void) { return current && current->flag && *current->flag; }

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_in_grace(void *user, pdl_err *err) {
    pdl_cancel_grace *g = user;
    if (check(g->outer, err)) return true;
    if (!g->end_ns) g->end_ns = now_ns() + PDL_GRACE_MS * 1000000u;
    if (now_ns() >= g->end_ns) return false;
    pdl_err_fini(err);
    return true;
}

void pdl_cancel_enter_grace(pdl_cancel_grace *g) {
    g->scope = (pdl_cancel){.check_time = is_in_grace, .user = g};
    g->outer = pdl_cancel_enter(&g->scope);
}

void pdl_cancel_leave_grace(const pdl_cancel_grace *g) { (void)pdl_cancel_enter(g->outer); }

bool pdl_check_cancel_often(pdl_err *err) {
    enum { LOOK = 64 }; /* reading the clock takes as long as a small filter */
    const pdl_cancel *c = current;
    if (PDL_LIKELY(!c)) return true;
    int sig = flag_of(c);
    if (PDL_UNLIKELY(sig)) return pdl_err_signal(err, sig);
    return PDL_LIKELY(!c->check_time || ++n_often % LOOK) || c->check_time(c->user, err);
}

bool pdl_copy_bytes(char *to, const char *from, size_t n, pdl_err *err) {
    for (size_t i = 0; i < n; i += PDL_CANCEL_BYTES) {
        if (i && !pdl_check_cancel(err)) return false;
        memcpy(to + i, from + i, n - i < PDL_CANCEL_BYTES ? n - i : PDL_CANCEL_BYTES);
    }
    return true;
}

bool pdl_cancel_walk(void) {
    if (!pdl_walk_cancelled) pdl_walk_cancelled = !pdl_check_cancel(&why);
    return pdl_walk_cancelled;
}

bool pdl_steps_check(pdl_steps *s) {
    bool may_continue = !pdl_cancel_walk();
    s->n = may_continue ? 0 : PDL_CANCEL_EVERY;
    return may_continue;
}

bool pdl_raise_walk_cancelled(pdl_err *err) {
    pdl_walk_cancelled = false;
    pdl_err_move(err, &why);
    return false;
}
