/* cancel.c -- see cancel.h. */
#include "base/cancel.h"

#include <assert.h>
#include <signal.h>

#include "base/banned.h"

static_assert(_Generic((sig_atomic_t)0, int: 1, default: 0), "a pdl_cancel_flag is a sig_atomic_t");

static _Thread_local const pdl_cancel *current;
static _Thread_local unsigned n_often;
static _Thread_local pdl_err why; /* why a walk gave up */
_Thread_local bool pdl_gave_up;

const pdl_cancel *pdl_cancel_enter(const pdl_cancel *c) {
    const pdl_cancel *before = current;
    current = c;
    if (pdl_gave_up) { /* nobody can use that result any more */
        pdl_gave_up = false;
        pdl_err_fini(&why);
    }
    return before;
}

bool pdl_check_cancel(pdl_err *err) {
    const pdl_cancel *c = current;
    if (PDL_LIKELY(!c)) return true;
    int sig = c->flag ? *c->flag : 0;
    if (PDL_UNLIKELY(sig)) return pdl_err_signal(err, sig);
    return PDL_LIKELY(!c->in_time) || c->in_time(c->user, err);
}

bool pdl_check_cancel_often(pdl_err *err) {
    enum { LOOK = 64 }; /* a look at the clock costs as much as a small filter */
    const pdl_cancel *c = current;
    if (PDL_LIKELY(!c)) return true;
    int sig = c->flag ? *c->flag : 0;
    if (PDL_UNLIKELY(sig)) return pdl_err_signal(err, sig);
    return PDL_LIKELY(!c->in_time || ++n_often % LOOK) || c->in_time(c->user, err);
}

bool pdl_give_up(void) {
    if (!pdl_gave_up) pdl_gave_up = !pdl_check_cancel(&why);
    return pdl_gave_up;
}

bool pdl_steps_check(pdl_steps *s) {
    bool go_on = !pdl_give_up();
    s->n = go_on ? 0 : PDL_CANCEL_EVERY;
    return go_on;
}

bool pdl_raise_gave_up(pdl_err *err) {
    pdl_gave_up = false;
    pdl_err_move(err, &why);
    return false;
}
