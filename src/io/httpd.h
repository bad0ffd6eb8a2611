/* httpd.h -- an HTTP/1.1 server on the loop. The only user of libmicrohttpd, which is opened when a server
 * starts.
 *
 * A request is handed over when all of it has arrived; its answer may be given at once, later, or in pieces.
 * Nothing here waits for a client: one that sends or takes nothing is let go after a time, and a server has a
 * limit of connections.
 */
#ifndef PDL_IO_HTTPD_H
#define PDL_IO_HTTPD_H

#include "base/debug.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

typedef struct pdl_httpd pdl_httpd;
typedef struct pdl_exchange pdl_exchange; /* a request and its answer */

/* Everything is borrowed for the life of the server. */
typedef struct pdl_httpd_options {
    const char *host;        /* name or address to listen at */
    uint16_t port;           /* 0: any that is free */
    size_t max_body;         /* longer bodies are refused with 413 */
    unsigned max_connections;
    uint64_t receive_ms;     /* for a request to arrive; also for a connection to be idle */
    unsigned send_seconds;   /* for a client that takes nothing of an answer */
    const pdl_debug *debug;  /* category http; may be NULL */
    void *user;
    void (*request)(void *user, pdl_exchange *x);
    /* The exchange is over, answered or not: x ends with this call. Once for each request. Never from inside
     * request, answer, begin, put and end. */
    void (*over)(void *user, pdl_exchange *x);
} pdl_httpd_options;

/* Error: PDL_E_io with the address and the reason; PDL_E_io when libmicrohttpd is missing. */
PDL_MUST bool pdl_httpd_start(pdl_loop *loop, const pdl_httpd_options *opt, pdl_httpd **out, pdl_err *err);
uint16_t pdl_httpd_port(const pdl_httpd *h);
/* Ends all exchanges. NULL is fine. */
void pdl_httpd_free(pdl_httpd *h);

/* The request: borrowed from x. */
pdl_str pdl_exchange_method(const pdl_exchange *x);
pdl_str pdl_exchange_path(const pdl_exchange *x); /* without the query */
pdl_str pdl_exchange_header(const pdl_exchange *x, const char *name); /* p == NULL: absent */
pdl_str pdl_exchange_body(const pdl_exchange *x);

/* What the user keeps with it. */
void pdl_exchange_set(pdl_exchange *x, void *data);
void *pdl_exchange_get(const pdl_exchange *x);

/* A header of an answer; static or borrowed for the call. */
typedef struct pdl_answer_header {
    const char *name, *value;
} pdl_answer_header;

/* The whole answer; body is copied. Once an exchange. */
void pdl_exchange_answer(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n,
                         pdl_str body);
/* Or in pieces: begin, then put (copied), then end. */
void pdl_exchange_begin(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n);
void pdl_exchange_put(pdl_exchange *x, pdl_str bytes);
void pdl_exchange_end(pdl_exchange *x);
/* Bytes put that the client has not taken yet. */
size_t pdl_exchange_pending(const pdl_exchange *x);

#endif
