/* curl_sockets.c -- see curl_sockets.h.
 *
 * libcurl wants its socket watched when a request has been sent, and not any more when the answer
 * is there: with a watch begun and ended each time, the next request on that connection took four
 * system calls more than those that carry it. So the watch of a connection rests in between, as
 * pdl_watch_rest does. That is safe only while the descriptor stays the same socket, which libcurl
 * does not say of connections that wait for a request: it opens and closes them through the
 * functions here. Other descriptors, such as those of a resolver's thread, do not rest.
 *
 * The loop watches one epoll, in which the sockets are, and takes a few that are ready from it at a
 * time. libuv would report a thousand in one turn: each answer of thousands of calls in flight is
 * read, reaches its run, and makes the run ask again, and with a pass over all of them for each
 * of these steps its memory had fallen out of the processor's cache before the next one. While a
 * call waits its memory leaves the cache, too: that of all sockets which are ready is fetched
 * before the first of them is reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/curl_sockets.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"

enum {
    AT_ONCE = 16, /* sockets a turn; half as many and twice as many were slower */
    MANY = 200,   /* the memory of so many calls stays in the processor's cache */
};

struct pdl_curl_socket {
    pdl_curl_sockets *all;
    void *user;
    curl_socket_t fd;
    uint32_t events; /* the ones that libcurl waits for */
    uint32_t polled; /* the ones that the kernel polls: more while the socket rests */
    bool is_ours;    /* opened by pdl_curl_socket_open */
    pdl_curl_near near[PDL_CURL_NEAR];
};

/* Sockets that are being reported. */
struct pdl_curl_batch {
    pdl_curl_socket *p[AT_ONCE]; /* NULL: dropped since */
    int n;
    struct pdl_curl_batch *outer; /* a report may run the loop */
};

static pdl_curl_socket *find(pdl_curl_sockets *s, curl_socket_t fd) {
    return fd >= 0 && (size_t)fd < s->by_fd.n ? s->by_fd.p[fd] : NULL;
}

static pdl_curl_socket *add(pdl_curl_sockets *s, curl_socket_t fd) {
    pdl_curl_socket *one = PDL_NEW(pdl_curl_socket);
    while (s->by_fd.n <= (size_t)fd) *pdl_vec_push(&s->by_fd) = NULL;
    one->all = s;
    one->fd = fd;
    return s->by_fd.p[fd] = one;
}

/* --- the poller ------------------------------------------------------------------------------- */

static bool poll_for(pdl_curl_socket *one, uint32_t events) {
    struct epoll_event e = {.events = events, .data = {.ptr = one}};
    int how = !events ? EPOLL_CTL_DEL : one->polled ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (events == one->polled) return true;
    if (epoll_ctl(one->all->poller, how, one->fd, &e) != 0 && events) return false;
    one->polled = events;
    return true;
}

/* The loop is open while one of them is watched. */
static void set_events(pdl_curl_socket *one, uint32_t events) {
    pdl_curl_sockets *s = one->all;
    bool before = s->n_watched > 0;
    s->n_watched += (size_t)(events && !one->events);
    s->n_watched -= (size_t)(!events && one->events);
    one->events = events;
    if (!before && s->n_watched) pdl_watch_set(s->watch, PDL_WATCH_READ);
    if (before && !s->n_watched) pdl_watch_rest(s->watch);
}

static void report(pdl_curl_socket *one, uint32_t events) {
    if (!one->events) { /* it rests: the report would come again and again */
        (void)poll_for(one, 0);
        return;
    }
    uint32_t got = events & (EPOLLERR | EPOLLHUP) ? one->events : events & one->events;
    int mask = (got & EPOLLIN ? CURL_CSELECT_IN : 0) | (got & EPOLLOUT ? CURL_CSELECT_OUT : 0);
    if (mask) one->all->ready(one->user, one->fd, mask);
}

static void prefetch(const struct pdl_curl_batch *batch) {
    for (int i = 0; i < batch->n; i++) pdl_prefetch(batch->p[i], sizeof *batch->p[i]);
    for (int i = 0; i < batch->n; i++)
        for (size_t k = 0; k < PDL_CURL_NEAR; k++)
            pdl_prefetch(batch->p[i]->near[k].p, batch->p[i]->near[k].n);
}

static void on_ready(void *user, int ignored) {
    pdl_curl_sockets *s = user;
    struct epoll_event got[AT_ONCE];
    struct pdl_curl_batch batch = {.n = epoll_wait(s->poller, got, AT_ONCE, 0), .outer = s->batch};
    (void)ignored;
    for (int i = 0; i < batch.n; i++) batch.p[i] = got[i].data.ptr;
    if (s->n_watched > MANY) prefetch(&batch);
    s->batch = &batch;
    for (int i = 0; i < batch.n; i++)
        if (batch.p[i]) report(batch.p[i], got[i].events);
    s->batch = batch.outer;
}

static bool open_poller(pdl_curl_sockets *s) {
    if (s->watch) return true;
    s->poller = epoll_create1(EPOLL_CLOEXEC);
    if (s->poller < 0) return false;
    s->watch = pdl_watch_start(s->loop, s->poller, 0, on_ready, s);
    if (!s->watch) close(s->poller);
    return s->watch != NULL;
}

static void drop(pdl_curl_socket *one) {
    if (!one) return;
    pdl_curl_sockets *s = one->all;
    for (struct pdl_curl_batch *b = s->batch; b; b = b->outer)
        for (int i = 0; i < b->n; i++)
            if (b->p[i] == one) b->p[i] = NULL;
    s->by_fd.p[one->fd] = NULL;
    set_events(one, 0);
    (void)poll_for(one, 0);
    pdl_free(one);
}

/* --- what libcurl says ------------------------------------------------------------------------ */

static void forget(pdl_curl_socket *one) {
    if (!one) return;
    if (!one->is_ours) {
        drop(one);
        return;
    }
    set_events(one, 0);
    if (one->polled != EPOLLIN) (void)poll_for(one, 0);
}

int pdl_curl_socket_watch(pdl_curl_sockets *s, curl_socket_t fd, int what, void *user) {
    pdl_curl_socket *one = find(s, fd);
    uint32_t events =
        (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (what == CURL_POLL_REMOVE) {
        forget(one);
        return 0;
    }
    if (!open_poller(s)) return -1;
    if (!one) one = add(s, fd);
    one->user = user;
    set_events(one, events);
    if (poll_for(one, events)) return 0;
    set_events(one, 0);
    if (!one->is_ours) drop(one);
    return -1;
}

void pdl_curl_socket_near(pdl_curl_sockets *s, curl_socket_t fd,
                          const pdl_curl_near near[PDL_CURL_NEAR]) {
    pdl_curl_socket *one = find(s, fd);
    if (one) memcpy(one->near, near, sizeof one->near);
}

curl_socket_t pdl_curl_socket_open(void *user, curlsocktype purpose, struct curl_sockaddr *a) {
    curl_socket_t fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    (void)purpose;
    if (fd < 0) return CURL_SOCKET_BAD;
    drop(find(user, fd)); /* a descriptor that libcurl closed by itself */
    add(user, fd)->is_ours = true;
    return fd;
}

int pdl_curl_socket_close(void *user, curl_socket_t fd) {
    drop(find(user, fd));
    return close(fd);
}

void pdl_curl_sockets_fini(pdl_curl_sockets *s) {
    for (size_t i = 0; i < s->by_fd.n; i++) drop(s->by_fd.p[i]);
    pdl_watch_stop(s->watch);
    if (s->watch) close(s->poller);
    s->watch = NULL;
    pdl_vec_fini(&s->by_fd);
}
