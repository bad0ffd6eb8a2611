/* curl_sockets.h -- the sockets of libcurl on the loop. Private to io.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_CURL_SOCKETS_H
#define PDL_IO_CURL_SOCKETS_H

#include <curl/curl.h>

#include "base/vec.h"
#include "io/loop.h"

typedef struct pdl_curl_socket pdl_curl_socket;

typedef struct pdl_curl_sockets {
    pdl_loop *loop;
    /* the poller of all sockets (pdl_os_poller); it is made together with watch */
    int poller;
    pdl_watch *watch;             /* the watch of the poller; NULL before it is made */
    struct pdl_curl_batch *batch; /* the batch that is being reported; NULL at other times */
    /* number of watched sockets; while it is not 0, the watch keeps the loop open */
    size_t n_watched;
    /* Called when a socket is ready, with the user of its watch and libcurl's mask. */
    void (*ready)(void *user, curl_socket_t fd, int mask);
    PDL_VEC(pdl_curl_socket *) by_fd;
} pdl_curl_sockets;

/* Makes libcurl wait for the events of fd that CURL_POLL_... names. Returns the result that libcurl
 * expects, which is not 0 when fd cannot be watched. */
int pdl_curl_socket_watch(pdl_curl_sockets *s, curl_socket_t fd, int what, void *user);
/* Registers memory that is read after the socket was reported, so that it can be fetched into the
 * cache first. The memory may be freed at any time, because fetching accepts any address. */
enum { PDL_CURL_NEAR = 3 };
typedef struct pdl_curl_near {
    const void *p;
    size_t n;
} pdl_curl_near;
void pdl_curl_socket_near(pdl_curl_sockets *s, curl_socket_t fd,
                          const pdl_curl_near near[PDL_CURL_NEAR]);
/* These are CURLOPT_OPENSOCKETFUNCTION and CURLOPT_CLOSESOCKETFUNCTION, with s as their data. */
curl_socket_t pdl_curl_socket_open(void *s, curlsocktype purpose, struct curl_sockaddr *a);
int pdl_curl_socket_close(void *s, curl_socket_t fd);
/* Called after libcurl has closed all sockets. */
void pdl_curl_sockets_fini(pdl_curl_sockets *s);

#endif
