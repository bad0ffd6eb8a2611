/* loop.c -- the event loop, on top of libuv; see loop.h.
 *
 * This file counts open objects itself, because libuv's count includes idle watches. Timers and
 * watches are freed in libuv's close callbacks, since libuv still uses them until then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/loop.h"

#include <assert.h>
#include <signal.h>

#include "io/loop_uv.h"

#include "base/banned.h"

/* Invariant: `wake` is always referenced, so that uv_run(ONCE) waits in the kernel. */
struct pdl_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t limit; /* ends a wait that has a limit */
    size_t open;
    bool firing; /* the callback of a timer is running */
};

struct pdl_timer {
    uv_timer_t uv;
    pdl_loop *loop;
    bool background; /* the timer does not keep the loop open */
    void (*fn)(void *user);
    void *user;
};

struct pdl_watch {
    uv_poll_t uv;
    pdl_loop *loop;
    bool background; /* the watch does not keep the loop open */
    int events;
    /* the events that the kernel polls: those of `events`, and more while the watch rests */
    int polled;
    void (*fn)(void *user, int events);
    void *user;
};

static inline bool timer_ok(const pdl_timer *t) { return t->loop && t->fn && t->uv.data == t; }
static inline bool watch_ok(const pdl_watch *w) { return w->loop && w->fn && w->uv.data == w; }

uv_loop_t *pdl_loop_uv(pdl_loop *l) { return &l->uv; }

void pdl_loop_ref(pdl_loop *l, int delta) {
    assert(delta > 0 || l->open > 0);
    l->open += (size_t)delta;
}

static void on_wake(uv_async_t *a) { (void)a; }

static void on_limit(uv_timer_t *t) { (void)t; }

/* Ignores SIGPIPE, unless the process handles it. A write to a pipe or socket without a reader then
 * fails, and the process does not end. */
static void ignore_sigpipe(void) {
    struct sigaction old, ignore = {.sa_handler = SIG_IGN};
    if (sigaction(SIGPIPE, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(SIGPIPE, &ignore, NULL);
}

void pdl_loop_use_alloc(void) {
    /* the call fails only for NULL */
    uv_replace_allocator(pdl_alloc, pdl_realloc, pdl_calloc, pdl_free);
}

pdl_loop *pdl_loop_try(void) {
    ignore_sigpipe();
    pdl_loop *l = PDL_NEW(pdl_loop);
    bool begun = uv_loop_init(&l->uv) == 0;
    if (begun && uv_async_init(&l->uv, &l->wake, on_wake) == 0) {
        uv_timer_init(&l->uv, &l->limit); /* cannot fail */
        return l;
    }
    if (begun) uv_loop_close(&l->uv);
    pdl_free(l);
    return NULL;
}

pdl_loop *pdl_loop_new(void) {
    pdl_loop *l = pdl_loop_try();
    if (!l) PDL_BUG("no event loop: the system is out of descriptors");
    return l;
}

void pdl_loop_free(pdl_loop *l) {
    if (!l) return;
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->limit, NULL);
    /* runs the close callbacks, which release objects that were stopped */
    uv_run(&l->uv, UV_RUN_NOWAIT);
    uv_loop_close(&l->uv);
    pdl_free(l);
}

bool pdl_loop_run(pdl_loop *l, int timeout_ms) {
    assert(!l->firing || timeout_ms == 0);
    if (timeout_ms == 0 || l->open == 0) {
        uv_run(&l->uv, UV_RUN_NOWAIT);
        return l->open > 0;
    }
    if (timeout_ms > 0) {
        uv_update_time(&l->uv);
        uv_timer_start(&l->limit, on_limit, (uint64_t)timeout_ms, 0);
    }
    uv_run(&l->uv, UV_RUN_ONCE);
    if (timeout_ms > 0) uv_timer_stop(&l->limit);
    return l->open > 0;
}

bool pdl_loop_is_open(const pdl_loop *l) { return l->open > 0; }

void pdl_loop_wake(pdl_loop *l) { uv_async_send(&l->wake); }

int pdl_loop_fd(const pdl_loop *l) { return uv_backend_fd(&l->uv); }

int pdl_loop_deadline_ms(const pdl_loop *l) { return uv_backend_timeout(&l->uv); }

/* called when libuv no longer uses a timer that was stopped or has fired */

static void timer_closed(uv_handle_t *h) { pdl_free(h->data); }

static void timer_fired(uv_timer_t *h) {
    assert(timer_ok(h->data));
    pdl_timer *t = h->data;
    pdl_loop *l = t->loop;
    if (!t->background) pdl_loop_ref(l, -1);
    uv_close((uv_handle_t *)&t->uv, timer_closed);
    l->firing = true;
    t->fn(t->user);
    l->firing = false;
}

/* Returns the time from libuv's clock to the end of a timer that runs for ms. libuv fires timers
 * until no timer is due, so a timer that restarts itself in its callback could keep the loop from
 * all other work. Inside a callback the clock is therefore not updated. Instead, the time by which
 * the clock is late is added to the distance. A timer that is started in a callback ends at least 1
 * ms after the clock. */
static uint64_t distance(pdl_loop *l, uint64_t ms) {
    if (!l->firing) {
        uv_update_time(&l->uv); /* the clock was not updated while the program computed */
        return ms;
    }
    uint64_t real = uv_hrtime() / 1000000, then = uv_now(&l->uv);
    ms += real > then ? real - then : 0;
    return ms ? ms : 1;
}

static pdl_timer *timer_new(pdl_loop *l, uint64_t ms, void (*fn)(void *user), void *user) {
    assert(fn);
    pdl_timer *t = PDL_NEW(pdl_timer);
    t->loop = l;
    t->fn = fn;
    t->user = user;
    uv_timer_init(&l->uv, &t->uv);
    t->uv.data = t;
    uv_timer_start(&t->uv, timer_fired, distance(l, ms), 0);
    return t;
}

pdl_timer *pdl_timer_start(pdl_loop *l, uint64_t ms, void (*fn)(void *user), void *user) {
    pdl_timer *t = timer_new(l, ms, fn, user);
    pdl_loop_ref(l, 1);
    return t;
}

pdl_timer *pdl_timer_background(pdl_loop *l, uint64_t ms, void (*fn)(void *user), void *user) {
    pdl_timer *t = timer_new(l, ms, fn, user);
    t->background = true;
    uv_unref((uv_handle_t *)&t->uv);
    return t;
}

void pdl_timer_stop(pdl_timer *t) {
    assert(!t || timer_ok(t));
    if (!t) return;
    if (!t->background) pdl_loop_ref(t->loop, -1);
    uv_close((uv_handle_t *)&t->uv, timer_closed);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static int uv_events(int events) {
    return (events & PDL_WATCH_READ ? UV_READABLE : 0) |
           (events & PDL_WATCH_WRITE ? UV_WRITABLE : 0);
}

static void watch_closed(uv_handle_t *h) { pdl_free(h->data); }

static void watch_fired(uv_poll_t *h, int status, int events);

static void poll_for(pdl_watch *w, int events) {
    if (events == w->polled) return;
    w->polled = events;
    if (events)
        uv_poll_start(&w->uv, uv_events(events), watch_fired);
    else
        uv_poll_stop(&w->uv);
}

static void watch_fired(uv_poll_t *h, int status, int events) {
    assert(watch_ok(h->data));
    pdl_watch *w = h->data;
    /* the watch rests; without this the kernel would report the event again and again */
    if (!w->events) {
        poll_for(w, 0);
        return;
    }
    int got = status < 0 ? w->events
                         : (events & UV_READABLE ? PDL_WATCH_READ : 0) |
                               (events & UV_WRITABLE ? PDL_WATCH_WRITE : 0);
    w->fn(w->user, got);
}

static pdl_watch *watch_new(pdl_loop *l, int fd, void (*fn)(void *user, int events), void *user) {
    assert(fn);
    assert(fd >= 0);
    pdl_watch *w = PDL_NEW(pdl_watch);
    w->loop = l;
    w->fn = fn;
    w->user = user;
    if (uv_poll_init(&l->uv, &w->uv, fd) != 0) {
        pdl_free(w);
        return NULL;
    }
    w->uv.data = w;
    return w;
}

pdl_watch *pdl_watch_start(pdl_loop *l, int fd, int events, void (*fn)(void *user, int events),
                           void *user) {
    pdl_watch *w = watch_new(l, fd, fn, user);
    if (w) pdl_watch_set(w, events);
    return w;
}

pdl_watch *pdl_watch_background(pdl_loop *l, int fd, void (*fn)(void *user, int events),
                                void *user) {
    pdl_watch *w = watch_new(l, fd, fn, user);
    if (!w) return NULL;
    w->background = true;
    uv_unref((uv_handle_t *)&w->uv);
    pdl_watch_set(w, PDL_WATCH_READ);
    return w;
}

static void set_events(pdl_watch *w, int events) {
    assert(watch_ok(w));
    if (!w->events && events && !w->background) pdl_loop_ref(w->loop, 1);
    if (w->events && !events && !w->background) pdl_loop_ref(w->loop, -1);
    w->events = events;
}

void pdl_watch_set(pdl_watch *w, int events) {
    set_events(w, events);
    poll_for(w, events);
}

void pdl_watch_rest(pdl_watch *w) {
    set_events(w, 0);
    if (w->polled != PDL_WATCH_READ) poll_for(w, 0);
}

void pdl_watch_stop(pdl_watch *w) {
    assert(!w || watch_ok(w));
    if (!w) return;
    pdl_watch_set(w, 0);
    uv_close((uv_handle_t *)&w->uv, watch_closed);
}
