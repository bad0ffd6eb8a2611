/* httpd.h -- an HTTP/1.1 server on the loop.
 *
 * Its user is the code that answers requests. The user sees the headers of a request before any
 * byte of the body is stored, and may answer at once; otherwise the request is handed over when all
 * of it has arrived. The answer may be given at once, later, or in pieces. The server never waits
 * for a client: a connection that sends or takes nothing is closed after a time limit; connections
 * and bodies have ceilings, and idle connections make room for new ones.
 *
 * SPDX-License-Identifier: Apache-2.0
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
    const char *host; /* name or address to listen at */
    uint16_t port;    /* 0 means any free port */
    size_t max_body;  /* longer bodies are refused with 413 */
    /* maximum size of all bodies together; when it is exceeded, requests get 503 */
    size_t max_bodies;
    /* maximum number of connections; never more than half of the descriptors of the process */
    unsigned max_connections;
    uint64_t receive_ms;    /* time limit for a request to arrive, and for an idle connection */
    uint64_t send_ms;       /* time limit for a client that takes nothing of its answer */
    const pdl_debug *debug; /* for the category http; may be NULL */
    void *user;
    /* Called when the headers have arrived. It may answer; the body is then discarded. When the
     * function is NULL, every body is taken. */
    void (*head)(void *user, pdl_exchange *x);
    /* Called when the whole request has arrived and head did not answer. */
    void (*request)(void *user, pdl_exchange *x);
    /* Called when a client sent something that is not a request, or when a request did not arrive
     * in time. The client was answered with status and why. May be NULL. */
    void (*refused)(void *user, const char *peer, int status, const char *why);
    /* Called once for each exchange whose headers have arrived, when it ends with or without an
     * answer. x is invalid afterwards. Never called from inside of head, request, answer, begin,
     * put and end. */
    void (*over)(void *user, pdl_exchange *x);
} pdl_httpd_options;

/* Starts a server. The errors name the address and the reason. They are PDL_E_usage when this
 * machine does not have the address, and otherwise PDL_E_io. */
PDL_MUST bool pdl_httpd_start(pdl_loop *loop, const pdl_httpd_options *opt, pdl_httpd **out,
                              pdl_err *err);
uint16_t pdl_httpd_port(const pdl_httpd *h);
/* Appends "http://HOST:PORT"; host is a name or an address, and that of IPv6 gets its brackets. */
void pdl_httpd_put_origin(pdl_str host, uint16_t port, pdl_buf *out);
unsigned pdl_httpd_connections(const pdl_httpd *h); /* number of open connections */
/* Ends all exchanges. NULL is allowed. */
void pdl_httpd_free(pdl_httpd *h);

/* These return parts of the request, borrowed from x. */
pdl_str pdl_exchange_method(const pdl_exchange *x);
pdl_str pdl_exchange_path(
    const pdl_exchange *x); /* decoded, without the query; UTF-8 without control characters */
/* Appends the decoded value of a parameter of the query. Returns false when there is no such
 * parameter. */
bool pdl_exchange_parameter(const pdl_exchange *x, const char *name, pdl_buf *out);
/* p is NULL when there is no such header */
pdl_str pdl_exchange_header(const pdl_exchange *x, const char *name);
pdl_str pdl_exchange_body(const pdl_exchange *x);
bool pdl_exchange_has_body(const pdl_exchange *x); /* a body follows or was received */
/* Writes the address of the client to out. */
void pdl_exchange_peer(const pdl_exchange *x, char *out, size_t size);

/* Sets the user's data of this exchange. */
void pdl_exchange_set(pdl_exchange *x, void *data);
void *pdl_exchange_get(const pdl_exchange *x);
void pdl_exchange_set_record(pdl_exchange *x, void *record);
void *pdl_exchange_record(const pdl_exchange *x);

/* A header of an answer; static, or borrowed for the call. */
typedef struct pdl_answer_header {
    const char *name, *value;
} pdl_answer_header;

/* Adds a header to the answer, which copies it. */
void pdl_exchange_add_header(pdl_exchange *x, const char *name, const char *value);
/* Sends the whole answer; body is copied. Called once for an exchange. */
void pdl_exchange_answer(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n,
                         pdl_str body);
/* Sends an answer in pieces: begin, then put (copied), then end. */
void pdl_exchange_begin(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n);
void pdl_exchange_put(pdl_exchange *x, pdl_str bytes);
void pdl_exchange_end(pdl_exchange *x);
/* Returns the number of bytes that were put and that the client has not taken yet. */
size_t pdl_exchange_pending(const pdl_exchange *x);
/* These return the status of x's answer, which is 0 before the answer, and the number of bytes of
 * the answer's body so far. */
int pdl_exchange_status(const pdl_exchange *x);
uint64_t pdl_exchange_sent(const pdl_exchange *x);

#endif
