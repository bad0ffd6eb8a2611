/* http.h -- HTTP requests over the loop. Only this code uses libcurl, which is opened at the first
 * request.
 *
 * A transfer is named by an id. It ends with exactly one call of done, or with a cancel, after
 * which no callback runs. Redirects are not followed, because keys would be sent to another host.
 * Proxy variables are honoured as libcurl does. Thousands of transfers may be open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_HTTP_H
#define PDL_IO_HTTP_H

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

typedef struct pdl_http pdl_http;

/* Members that are zero mean the defaults. */
typedef struct pdl_http_options {
    /* Certificates to trust instead of the system's (SSL_CERT_FILE); borrowed. */
    const char *ca_file;
    /* Used when libcurl was built without a default and the system has none; borrowed. */
    const char *ca_fallback;
    const pdl_debug *debug; /* for the category http; borrowed */
    size_t max_reply_bytes; /* 0 means PDL_MAX_REPLY_BYTES */
} pdl_http_options;

/* Makes libcurl allocate through base/alloc.h from now on. A transfer is dozens of small blocks,
 * which a pool serves faster and keeps together. Called once, before the first request, in a
 * process where no other code uses libcurl, because the setting is for the whole process. */
void pdl_http_use_alloc(void);

/* Makes a client that uses the loop. The loop is borrowed, and must outlive the client. Making a
 * client is cheap, because nothing is loaded before the first request. */
pdl_http *pdl_http_new(pdl_loop *loop, const pdl_http_options *opt);
/* Cancels open transfers. NULL is allowed. */
void pdl_http_free(pdl_http *h);

typedef enum {
    /* an answer arrived, with any status; a long or slow refusal may be cut */
    PDL_HTTP_OK,
    PDL_HTTP_TIMEOUT,     /* a time limit has passed; see limit */
    PDL_HTTP_CONNECT,     /* name, connection, TLS or proxy failed: there was no answer */
    PDL_HTTP_BROKEN,      /* the connection broke before the answer was complete */
    PDL_HTTP_TOO_LARGE,   /* the answer passed a ceiling */
    PDL_HTTP_BAD_REQUEST, /* the URL is malformed, or libcurl is missing */
    PDL_HTTP_STOPPED,     /* the data callback returned false */
} pdl_http_end;

/* The time limit that has passed. */
typedef enum {
    PDL_HTTP_NO_LIMIT,
    PDL_HTTP_CONNECT_MS,
    PDL_HTTP_FIRST_MS,
    PDL_HTTP_IDLE_MS,
    PDL_HTTP_TOTAL_MS
} pdl_http_limit;

/* The result of a transfer. Borrowed during the call. */
typedef struct pdl_http_reply {
    pdl_http_end end;
    pdl_http_limit limit; /* the limit that was exceeded, when end is PDL_HTTP_TIMEOUT */
    int status;           /* 0 when no answer arrived */
    /* the bytes that the data callback did not get; not necessarily valid UTF-8 */
    pdl_str body;
    pdl_str header_text; /* header lines as received */
    const char *why;     /* one phrase that explains every result but OK */
} pdl_http_reply;

/* Returns the value of the last header with this name, whose case is ignored. Returns a slice whose
 * p is NULL when there is no such header. */
pdl_str pdl_http_header(const pdl_http_reply *r, const char *name);
/* Reads a duration such as "1m30.5s", "120ms", "2s", "6h" or "12", in seconds. Returns a negative
 * number for other texts. */
double pdl_http_span(pdl_str s);
/* Returns the seconds from Retry-After. They are 0 for a date that has passed, and negative when
 * the header is absent or makes no sense. Sets *is_date when the header has a date. now_s is in
 * seconds since the epoch. */
double pdl_http_retry_after(const pdl_http_reply *r, double now_s, bool *is_date);

typedef struct pdl_http_request {
    const char *method;         /* "GET", "POST", ...; static */
    const char *url;            /* copied */
    const char *const *headers; /* "Name: value" lines, copied; values without CR and LF */
    size_t n_headers;
    /* borrowed until the end of the transfer; p is NULL when there is no body */
    pdl_str body;
    uint64_t connect_ms; /* 0 means 5000 */
    uint64_t total_ms;   /* 0 means no limit */
    uint64_t first_ms;   /* limit from the start to the first byte of the body; 0 means no limit */
    uint64_t idle_ms;    /* limit between bytes of the body; 0 means no limit */
    bool insecure;       /* TLS certificates are not checked */
    bool compressed;     /* accept a compressed answer */
    /* uses a new connection, since libcurl may send a request twice on a used one */
    bool once;
    void *user;
    /* Called with pieces of the body of a 2xx answer as they arrive. Returning false ends the
     * transfer with PDL_HTTP_STOPPED. When the function is NULL, done gets the whole body. */
    bool (*data)(void *user, pdl_str bytes);
    void (*done)(void *user, const pdl_http_reply *r);
} pdl_http_request;

/* Returns a header of a transfer in flight. Called only from the data callback of the transfer. The
 * result is valid until the callback returns. */
pdl_str pdl_http_seen(const pdl_http *h, uint64_t id, const char *name);

/* A carrier takes requests in place of libcurl, for instance to send many of them together later.
 * Its functions have the contracts of pdl_http_start and pdl_http_cancel. When the answer to a
 * request has arrived, the carrier calls `done` of this request. */
typedef struct pdl_http_carrier {
    void *user;
    uint64_t (*start)(void *user, const pdl_http_request *req);
    void (*cancel)(void *user, uint64_t id);
} pdl_http_carrier;

/* Starts a transfer. This function never fails and never calls back from inside. Returns the id of
 * the transfer, which is not 0. */
uint64_t pdl_http_start(pdl_http *h, const pdl_http_request *req);
/* Ends a transfer; its callbacks do not run any more. Unknown ids are ignored. */
void pdl_http_cancel(pdl_http *h, uint64_t id);
/* Appends the version of libcurl and of its TLS library. Returns false when it cannot be opened;
 * the reason is then appended. */
bool pdl_http_library(pdl_buf *out);
/* Returns the number of open transfers. */
size_t pdl_http_open(const pdl_http *h);

#endif
