/* curl_sockets.c -- see curl_sockets.h.
 *
 * libcurl wants its socket watched from the moment a request has been sent until the answer is
 * there. If a watch began and ended each time, it would cost four system calls for each request,
 * more than the request itself needs. So the watch of a connection rests between two requests, like
 * a watch after pdl_watch_rest. That is safe only while the descriptor stays the same socket, and
 * libcurl does not report when it closes an idle connection; therefore libcurl opens and closes
 * sockets through the functions here. The watches of other descriptors, such as those of a
 * resolver's thread, never rest.
 *
 * The loop watches one poller that contains the sockets, and takes a few ready ones from it at a
 * time. libuv would report a thousand sockets in one turn. Each answer is read, reaches its run,
 * and makes the run send the next request. These steps are done call by call, because the memory
 * of a call is then still in the processor's cache. For the same reason the memory of all ready
 * sockets is fetched into the cache before the first socket is reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/curl_sockets.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"

#include "base/banned.h"

enum {
    /* number of sockets that are reported in a turn; half as many and twice as many were slower */
    AT_ONCE = 16,
    MANY = 200, /* number of calls whose memory stays in the processor's cache */
};

struct pdl_curl_socket {
    pdl_curl_sockets *all;
    void *user;
    curl_socket_t fd;
    unsigned events; /* events for which libcurl waits */
    /* events that the kernel polls; while the socket rests, also events for which libcurl does not
     * wait */
    unsigned polled;
    bool is_ours; /* opened by pdl_curl_socket_open */
    pdl_curl_near near[PDL_CURL_NEAR];
};

/* The sockets that are being reported now. */
struct pdl_curl_batch {
    pdl_curl_socket *p[AT_ONCE]; /* an item is NULL when the socket was dropped meanwhile */
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

static bool poll_for(pdl_curl_socket *one, unsigned events) {
    if (events == one->polled) return true;
    if (!pdl_os_poller_set(one->all->poller, one->fd, one->polled, events, one) && events)
        return false;
    one->polled = events;
    return true;
}

/* Changes the events of a socket. The loop stays open while any event is watched. */
static void set_events(pdl_curl_socket *one, unsigned events) {
    pdl_curl_sockets *s = one->all;
    bool before = s->n_watched > 0;
    s->n_watched += (size_t)(events && !one->events);
    s->n_watched -= (size_t)(!events && one->events);
    one->events = events;
    if (!before && s->n_watched) pdl_watch_set(s->watch, PDL_WATCH_READ);
    if (before && !s->n_watched) pdl_watch_rest(s->watch);
}

static void report(pdl_curl_socket *one, unsigned events) {
    /* the watch rests; without this the kernel would report the event again and again */
    if (!one->events) {
        (void)poll_for(one, 0);
        return;
    }
    unsigned got = events & PDL_OS_FAILED ? one->events : events & one->events;
    int mask =
        (got & PDL_OS_READ ? CURL_CSELECT_IN : 0) | (got & PDL_OS_WRITE ? CURL_CSELECT_OUT : 0);
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
    pdl_os_ready got[AT_ONCE];
    struct pdl_curl_batch batch = {.n = pdl_os_poller_take(s->poller, got, AT_ONCE),
                                   .outer = s->batch};
    (void)ignored;
    for (int i = 0; i < batch.n; i++) batch.p[i] = got[i].what;
    if (s->n_watched > MANY) prefetch(&batch);
    s->batch = &batch;
    for (int i = 0; i < batch.n; i++)
        if (batch.p[i]) report(batch.p[i], got[i].events);
    s->batch = batch.outer;
}

static bool open_poller(pdl_curl_sockets *s) {
    if (s->watch) return true;
    s->poller = pdl_os_poller();
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
    if (one->polled != PDL_OS_READ) (void)poll_for(one, 0);
}

int pdl_curl_socket_watch(pdl_curl_sockets *s, curl_socket_t fd, int what, void *user) {
    pdl_curl_socket *one = find(s, fd);
    unsigned events =
        (what & CURL_POLL_IN ? PDL_OS_READ : 0u) | (what & CURL_POLL_OUT ? PDL_OS_WRITE : 0u);
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
    curl_socket_t fd = pdl_os_socket(a->family, a->socktype, a->protocol, false);
    (void)purpose;
    if (fd < 0) return CURL_SOCKET_BAD;
    drop(find(user, fd)); /* libcurl has itself closed the descriptor */
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
