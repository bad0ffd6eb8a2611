/* request_log.h -- private to serve: facts of each request, for the request log and the metrics.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_REQUEST_LOG_H
#define PDL_SERVE_REQUEST_LOG_H

#include "serve/serve_impl.h"

typedef struct record {
    uint64_t began_ns;
    const route *route;         /* NULL: the path is unknown */
    const pdl_served *model;    /* NULL: none was named, or it does not exist */
    int64_t prompt, completion; /* tokens */
    char id
        /* x-request-id: the client's, if it is safe to display, else ours */
        [64];
    char error[32]; /* its kind; "": no error */
} record;

/* Called when the headers have arrived; r may be NULL. Adds x-request-id to the answer. */
void pdl_serve_record_begin(pdl_serve *s, pdl_exchange *x, const route *r);
void pdl_serve_record_model(pdl_exchange *x, const pdl_served *m);
/* The first one counts. */
void pdl_serve_record_error(pdl_exchange *x, const char *kind);
void pdl_serve_record_tokens(pdl_exchange *x, int64_t prompt, int64_t completion);
/* What was no request (httpd.h). */
void pdl_serve_record_refused(void *user, const char *peer, int status, const char *why);
/* The exchange is over: a line of the log, and the metrics. */
void pdl_serve_record_end(pdl_serve *s, pdl_exchange *x);

/* metrics.c */
typedef struct metrics metrics;
metrics *pdl_serve_metrics_new(size_t n_models);
void pdl_serve_metrics_free(metrics *m); /* NULL is fine */
void pdl_serve_metrics_count(metrics *m, const pdl_serve *s, const record *r, int status,
                             double seconds);
void pdl_serve_show_metrics(pdl_serve *s, pdl_exchange *x);

/* cors.c: whether a page of another origin may read the answer (--allow-origin). */
/* Adds the CORS headers. Returns true when x was a preflight request, which is then answered. */
bool pdl_serve_cors_head(pdl_serve *s, pdl_exchange *x);
bool pdl_serve_cors_allows(const pdl_serve *s, pdl_str origin);

#endif
