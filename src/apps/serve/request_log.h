/* request_log.h -- the facts of each request, for the request log and the metrics. Private to
 * serve.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_REQUEST_LOG_H
#define PDL_SERVE_REQUEST_LOG_H

#include "serve/serve_impl.h"

typedef struct record {
    uint64_t began_ns;
    const route *route; /* NULL when the path is unknown */
    /* NULL when no model was named, or the named model does not exist */
    const pdl_served *model;
    int64_t prompt, completion; /* tokens */
    char id
        /* x-request-id: the id that the client sent, if it is safe to display, or else a new one */
        [64];
    char error[32]; /* kind of the error; empty when there is no error */
} record;

/* Begins the record when the headers have arrived; r may be NULL. Adds x-request-id to the
 * answer. */
void pdl_serve_record_begin(pdl_serve *s, pdl_exchange *x, const route *r);
void pdl_serve_record_model(pdl_exchange *x, const pdl_served *m);
/* Notes an error; only the first one is kept. */
void pdl_serve_record_error(pdl_exchange *x, const char *kind);
void pdl_serve_record_tokens(pdl_exchange *x, int64_t prompt, int64_t completion);
/* Logs a connection that sent no valid request (httpd.h). */
void pdl_serve_record_refused(void *user, const char *peer, int status, const char *why);
/* Ends the record of an exchange: writes a line of the log, and counts it in the metrics. */
void pdl_serve_record_end(pdl_serve *s, pdl_exchange *x);

/* metrics.c */
typedef struct metrics metrics;
metrics *pdl_serve_metrics_new(size_t n_models);
void pdl_serve_metrics_free(metrics *m); /* m may be NULL */
void pdl_serve_metrics_count(metrics *m, const pdl_serve *s, const record *r, int status,
                             double seconds);
void pdl_serve_show_metrics(pdl_serve *s, pdl_exchange *x);

/* cors.c. Adds the CORS headers. Returns true when x was a preflight request, which is then
 * answered. */
bool pdl_serve_cors_head(pdl_serve *s, pdl_exchange *x);
/* Returns true when a page of the origin may read answers (--allow-origin). */
bool pdl_serve_cors_allows(const pdl_serve *s, pdl_str origin);

#endif
