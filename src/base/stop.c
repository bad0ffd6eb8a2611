/* stop.c -- see stop.h. */
#include "base/stop.h"

#include <assert.h>
#include <signal.h>

#include "base/banned.h"

static_assert(_Generic((sig_atomic_t)0, int: 1, default: 0), "a pdl_stop_flag is a sig_atomic_t");

static _Thread_local pdl_stop_flag *current;

pdl_stop_flag *pdl_stop_enter(pdl_stop_flag *flag) {
    pdl_stop_flag *before = current;
    current = flag;
    return before;
}

bool pdl_goes_on(pdl_err *err) {
    int sig = PDL_LIKELY(!current) ? 0 : *current;
    return PDL_LIKELY(!sig) || pdl_err_signal(err, sig);
}
