/* curl_sockets.c -- see curl_sockets.h.
 *
 * libcurl wants its socket watched when a request has been sent, and not any more when the answer
 * is there: with a watch begun and ended each time, the next request on that connection took four
 * system calls more than those that carry it. So the watch of a connection rests in between
 * (pdl_watch_rest). That is safe only while the descriptor stays the same socket, which libcurl
 * does not say of connections that wait for a request: it opens and closes them through the
 * functions here. Other descriptors, such as those of a resolver's thread, do not rest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/curl_sockets.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"

struct pdl_curl_socket {
    pdl_curl_sockets *all;
    void *user;
    curl_socket_t fd;
    pdl_watch *watch; /* NULL: it was never watched */
    bool is_ours;     /* opened by pdl_curl_socket_open */
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

static void drop(pdl_curl_socket *one) {
    if (!one) return;
    one->all->by_fd.p[one->fd] = NULL;
    pdl_watch_stop(one->watch);
    pdl_free(one);
}

static void on_ready(void *user, int events) {
    const pdl_curl_socket *one = user; /* the call may drop it */
    one->all->ready(one->user, one->fd,
                    (events & PDL_WATCH_READ ? CURL_CSELECT_IN : 0) |
                        (events & PDL_WATCH_WRITE ? CURL_CSELECT_OUT : 0));
}

static void forget(pdl_curl_socket *one) {
    if (one && one->is_ours && one->watch)
        pdl_watch_rest(one->watch);
    else if (one && !one->is_ours)
        drop(one);
}

int pdl_curl_socket_watch(pdl_curl_sockets *s, curl_socket_t fd, int what, void *user) {
    pdl_curl_socket *one = find(s, fd);
    int events =
        (what & CURL_POLL_IN ? PDL_WATCH_READ : 0) | (what & CURL_POLL_OUT ? PDL_WATCH_WRITE : 0);
    if (what == CURL_POLL_REMOVE) {
        forget(one);
        return 0;
    }
    if (!one) one = add(s, fd);
    one->user = user;
    if (one->watch) {
        pdl_watch_set(one->watch, events);
        return 0;
    }
    one->watch = pdl_watch_start(s->loop, fd, events, on_ready, one);
    if (one->watch) return 0;
    if (!one->is_ours) drop(one);
    return -1;
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
    pdl_vec_fini(&s->by_fd);
}
