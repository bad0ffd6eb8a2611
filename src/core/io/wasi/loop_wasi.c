/* loop_wasi.c -- see loop.h. A module of WebAssembly cannot wait: its host waits, for at most
 * pdl_loop_deadline_ms, and then lets the loop run. It has only timers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/loop.h"

#include "io/clock.h"

#include "base/banned.h"

enum { NS_OF_MS = 1000000 };

struct pdl_timer {
    pdl_loop *loop;
    uint64_t due_ns;
    void (*fn)(void *user);
    void *user;
    pdl_timer *next;
};

struct pdl_loop {
    pdl_timer *first; /* the timers, in the order in which they are due */
};

pdl_loop *pdl_loop_new(void) { return PDL_NEW(pdl_loop); }
void pdl_loop_free(pdl_loop *l) { pdl_free(l); }
bool pdl_loop_is_open(const pdl_loop *l) { return l->first != NULL; }

pdl_timer *pdl_timer_start(pdl_loop *l, uint64_t ms, void (*fn)(void *user), void *user) {
    pdl_timer *t = PDL_NEW(pdl_timer), **at = &l->first;
    *t = (pdl_timer){l, pdl_clock_ns() + ms * NS_OF_MS, fn, user, NULL};
    while (*at && (*at)->due_ns <= t->due_ns) at = &(*at)->next;
    t->next = *at;
    *at = t;
    return t;
}

void pdl_timer_stop(pdl_timer *t) {
    if (!t) return;
    pdl_timer **at = &t->loop->first;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    pdl_free(t);
}

/* The host waits, so timeout_ms has no effect. */
bool pdl_loop_run(pdl_loop *l, int timeout_ms) {
    (void)timeout_ms;
    for (uint64_t now = pdl_clock_ns(); l->first && l->first->due_ns <= now;) {
        pdl_timer due = *l->first;
        pdl_timer_stop(l->first);
        due.fn(due.user);
    }
    return pdl_loop_is_open(l);
}

int pdl_loop_deadline_ms(const pdl_loop *l) {
    if (!l->first) return -1;
    uint64_t now = pdl_clock_ns(), due = l->first->due_ns;
    uint64_t ms = due > now ? (due - now + NS_OF_MS - 1) / NS_OF_MS : 0;
    return ms < INT32_MAX ? (int)ms : INT32_MAX;
}
