/* http_impl.h -- transfers and lanes of http.c, and the setup of their handles (http_setup.c).
 * Private to these two.
 *
 * A handle costs as much as a short request, so the handle of a transfer that has ended is kept
 * with its options, and given to the next request that needs the same options. The setup is the
 * text by which two requests are compared. It may hold a key, so its memory is wiped before it is
 * freed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_HTTP_IMPL_H
#define PDL_IO_HTTP_IMPL_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/vec.h"
#include "io/certificates.h"
#include "io/curl_names.h"
#include "io/curl_sockets.h"
#include "io/http.h"

/* One multi handle, with the timers and sockets that it requested from the loop. */
typedef struct lane {
    pdl_http *http;
    CURLM *multi;
    pdl_timer *timer;
    bool tls;
    size_t n; /* number of transfers in the lane, at most lane_room */
} lane;

/* Invariants: lane is not NULL while libcurl knows easy. A queued transfer is in http->queue. No
 * callback may run for a dead transfer, which is released when it leaves the queue. */
typedef struct transfer {
    pdl_http *http;
    uint64_t id;
    CURL *easy; /* a spare transfer keeps its handle with all options of its setup */
    lane *lane;
    struct curl_slist *headers;
    pdl_buf setup; /* the setup of easy (pdl_http_put_setup); empty when easy has no options */
    pdl_http_request req;
    pdl_buf head, body;
    size_t got; /* bytes of body that have arrived */
    /* the times at which the transfer began and at which its last byte arrived */
    uint64_t start_ns, last_ns;
    pdl_timer *idle;
    struct transfer *next; /* the next one in the queue */
    pdl_http_end end;
    pdl_http_limit limit;
    int status;
    bool queued, dead, ended, in_callback;
    /* the reason that this code gives, static; it replaces libcurl's reason */
    const char *said;
    char why[CURL_ERROR_SIZE]; /* libcurl writes here until the end of the transfer */
} transfer;

struct pdl_http {
    pdl_loop *loop;
    pdl_http_options opt;
    pdl_curl curl;
    bool tried, ready; /* tried is set when libcurl was searched, ready when it was found */
    pdl_certificates certificates;
    CURLSH *share;
    pdl_curl_sockets sockets;
    PDL_VEC(lane *) lanes;
    lane *roomy; /* the lane that a transfer left last; NULL before that */
    PDL_VEC(transfer *) spare;
    pdl_buf setup; /* the setup of the request that is being started */
    /* owned; the last URL, and its parts as libcurl read them; NULL before the first request */
    char *address;
    CURLU *parts;
    PDL_VEC(transfer *) slots; /* id of a transfer = its number since the start << 32 | slot + 1 */
    PDL_VEC(uint32_t) vacant;
    uint32_t uses;
    size_t open;
    transfer *queue, **queue_end;
    pdl_timer *kick; /* delivers transfers that failed before libcurl got them */
    bool delivering;
};

/* Returns true when t is in the table of its http, and has a handle if it is in a lane. */
static inline bool transfer_ok(const transfer *t) {
    return t->http->slots.p[(uint32_t)t->id - 1] == t && (!t->lane || t->easy);
}

static inline size_t max_reply(const pdl_http *h) {
    return h->opt.max_reply_bytes ? h->opt.max_reply_bytes : (size_t)PDL_MAX_REPLY_BYTES;
}

static inline bool has_tls(const char *url) {
    return pdl_str_eq_nocase(pdl_str_sub(pdl_str_of(url), 0, 6), PDL_STR("https:"));
}

/* http.c: the functions that libcurl calls for the bytes of a transfer. */
size_t pdl_http_on_body(char *p, size_t size, size_t n, void *user);
size_t pdl_http_on_header(char *p, size_t size, size_t n, void *user);

/* http_setup.c: writes all settings of a handle except the body and the parts of the URL. */
void pdl_http_put_setup(const pdl_http_request *r, pdl_buf *out);
/* Sets all options that the handle does not have from the previous request. Returns false when
 * libcurl does not support an option. */
bool pdl_http_set_up(transfer *t, const pdl_http_request *r);
/* Erases the setup, which contains a key. */
void pdl_http_clear_setup(transfer *t);

#endif
