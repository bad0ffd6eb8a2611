/* http_wasi.c -- see http.h. A module of WebAssembly has no sockets: each transfer ends without an
 * answer, at the next turn of the loop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http.h"

#include "base/idmap.h"

#include "base/banned.h"

typedef struct no_transfer {
    struct no_http *h;
    uint64_t id;
    pdl_timer *timer;
    void *user;
    void (*done)(void *user, const pdl_http_reply *r);
} no_transfer;

/* The client of this platform, which callers know as a pdl_http. */
typedef struct no_http {
    pdl_loop *loop;
    pdl_idmap open; /* the transfers that have not ended, by id; owned */
    uint64_t last;
} no_http;

static no_http *of(pdl_http *h) { return (no_http *)(void *)h; }

void pdl_http_use_alloc(void) {}

pdl_http *pdl_http_new(pdl_loop *loop, const pdl_http_options *opt) {
    no_http *n = PDL_NEW(no_http);
    (void)opt;
    n->loop = loop;
    return (pdl_http *)(void *)n;
}

void pdl_http_free(pdl_http *h) {
    if (!h) return;
    pdl_idmap *open = &of(h)->open;
    for (size_t i = 0; i < pdl_idmap_places(open); i++) {
        no_transfer *t = pdl_idmap_at(open, i);
        if (t) pdl_timer_stop(t->timer);
        pdl_free(t);
    }
    pdl_idmap_fini(open);
    pdl_free(h);
}

static void end(void *user) {
    no_transfer t = *(no_transfer *)user;
    const pdl_http_reply none = {
        .end = PDL_HTTP_BAD_REQUEST,
        .why = "web servers cannot be asked here: the program runs in WebAssembly"};
    pdl_idmap_del(&t.h->open, (uintptr_t)t.id);
    pdl_free(user);
    t.done(t.user, &none);
}

uint64_t pdl_http_start(pdl_http *h, const pdl_http_request *req) {
    no_transfer *t = PDL_NEW(no_transfer);
    *t = (no_transfer){of(h), ++of(h)->last, NULL, req->user, req->done};
    t->timer = pdl_timer_start(t->h->loop, 0, end, t);
    pdl_idmap_put(&t->h->open, (uintptr_t)t->id, t);
    return t->id;
}

void pdl_http_cancel(pdl_http *h, uint64_t id) {
    no_transfer *t = pdl_idmap_find(&of(h)->open, (uintptr_t)id);
    if (!t) return;
    pdl_idmap_del(&of(h)->open, (uintptr_t)id);
    pdl_timer_stop(t->timer);
    pdl_free(t);
}

/* No transfer has headers. */
pdl_str pdl_http_header(const pdl_http_reply *r, const char *name) {
    (void)r, (void)name;
    return (pdl_str){0};
}

pdl_str pdl_http_seen(const pdl_http *h, uint64_t id, const char *name) {
    (void)h, (void)id, (void)name;
    return (pdl_str){0};
}

bool pdl_http_library(pdl_buf *out) {
    (void)out;
    return false;
}

size_t pdl_http_open(const pdl_http *h) { return ((const no_http *)(const void *)h)->open.n; }
