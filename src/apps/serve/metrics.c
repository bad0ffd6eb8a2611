/* metrics.c -- GET /metrics: counts of requests in the text form of Prometheus. A label has only a
 * few values: the path of a route, or an offered model. A client must not be able to create many
 * values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "serve/request_log.h"

#include "base/banned.h"

static const double second_bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                       2.5,   5,    10,    30,   60,  300,  600};
static const double token_bounds[] = {1,    10,    50,    100,    500,    1000,
                                      5000, 10000, 50000, 100000, 1000000};
enum {
    N_SECONDS = sizeof second_bounds / sizeof second_bounds[0],
    N_TOKENS = sizeof token_bounds / sizeof token_bounds[0],
    MAX_BOUNDS = N_SECONDS > N_TOKENS ? N_SECONDS : N_TOKENS,
    MAX_KINDS = 64, /* maximum number of kinds that are counted */
};

typedef struct histogram {
    /* for each bound: how many values are above the previous bound and at most this one */
    uint64_t at_most[MAX_BOUNDS];
    uint64_t n;
    double sum;
} histogram;

typedef struct counter {
    const route *route; /* NULL when the path is unknown */
    int status;
    uint64_t n;
} counter;

typedef struct error_count {
    char kind[32];
    uint64_t n;
} error_count;

struct metrics {
    PDL_VEC(counter) requests; /* a count for each route and status that has occurred */
    PDL_VEC(error_count) errors;
    histogram seconds;
    histogram *prompt, *completion; /* one histogram for each model */
};

metrics *pdl_serve_metrics_new(size_t n_models) {
    metrics *m = PDL_NEW(metrics);
    m->prompt = PDL_NEW_N(histogram, n_models);
    m->completion = PDL_NEW_N(histogram, n_models);
    return m;
}

void pdl_serve_metrics_free(metrics *m) {
    if (!m) return;
    pdl_vec_fini(&m->requests);
    pdl_vec_fini(&m->errors);
    pdl_free(m->prompt);
    pdl_free(m->completion);
    pdl_free(m);
}

/* --- counting --------------------------------------------------------------------------------- */

static void observe(histogram *h, const double *bounds, size_t n, double value) {
    size_t i = 0;
    while (i < n && value > bounds[i]) i++;
    if (i < n) h->at_most[i]++;
    h->n++;
    h->sum += value;
}

static void count_request(metrics *m, const route *r, int status) {
    size_t i = 0;
    while (i < m->requests.n && (m->requests.p[i].route != r || m->requests.p[i].status != status))
        i++;
    if (i == m->requests.n) *pdl_vec_push(&m->requests) = (counter){r, status, 0};
    m->requests.p[i].n++;
}

static void count_error(metrics *m, const char *kind) {
    size_t i = 0;
    while (i < m->errors.n && strcmp(m->errors.p[i].kind, kind) != 0) i++;
    if (i == MAX_KINDS) return;
    if (i == m->errors.n) {
        error_count *e = pdl_vec_push(&m->errors);
        e->n = 0;
        snprintf(e->kind, sizeof e->kind, "%s", kind);
    }
    m->errors.p[i].n++;
}

void pdl_serve_metrics_count(metrics *m, const pdl_serve *s, const record *r, int status,
                             double seconds) {
    count_request(m, r->route, status);
    if (r->error[0]) count_error(m, r->error);
    observe(&m->seconds, second_bounds, N_SECONDS, seconds);
    if (!r->model) return;
    size_t i = (size_t)(r->model - s->opt.models);
    observe(&m->prompt[i], token_bounds, N_TOKENS, (double)r->prompt);
    observe(&m->completion[i], token_bounds, N_TOKENS, (double)r->completion);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_head(pdl_buf *b, const char *name, const char *type, const char *help) {
    pdl_buf_putf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_label(pdl_buf *b, pdl_str value) {
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\n')
            PDL_PUT(b, "\\n");
        else {
            if (value.p[i] == '"' || value.p[i] == '\\') pdl_buf_putc(b, '\\');
            pdl_buf_putc(b, value.p[i]);
        }
    }
}

static void put_number(pdl_buf *b, double v) {
    char number[PDL_NUM_MAX];
    size_t n = pdl_num_double(v, number);
    pdl_buf_put(b, (pdl_str){number, n});
}

/* Writes a line of a histogram without its value. model.p is NULL when the line has no label
 * `model`. */
static void put_series(pdl_buf *b, const char *name, const char *suffix, pdl_str model,
                       const double *bound, bool last) {
    pdl_buf_putf(b, "%s%s", name, suffix);
    bool labels = model.p || bound || last;
    if (labels) pdl_buf_putc(b, '{');
    if (model.p) {
        PDL_PUT(b, "model=\"");
        put_label(b, model);
        pdl_buf_putf(b, "\"%s", bound || last ? "," : "");
    }
    if (bound || last) PDL_PUT(b, "le=\"");
    if (bound)
        put_number(b, *bound);
    else if (last)
        PDL_PUT(b, "+Inf");
    if (bound || last) pdl_buf_putc(b, '"');
    if (labels) pdl_buf_putc(b, '}');
    pdl_buf_putc(b, ' ');
}

static void put_histogram(pdl_buf *b, const char *name, pdl_str model, const histogram *h,
                          const double *bounds, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += h->at_most[i];
        put_series(b, name, "_bucket", model, &bounds[i], false);
        pdl_buf_putf(b, "%llu\n", (unsigned long long)sum);
    }
    put_series(b, name, "_bucket", model, NULL, true);
    pdl_buf_putf(b, "%llu\n", (unsigned long long)h->n);
    put_series(b, name, "_sum", model, NULL, false);
    put_number(b, h->sum);
    pdl_buf_putc(b, '\n');
    put_series(b, name, "_count", model, NULL, false);
    pdl_buf_putf(b, "%llu\n", (unsigned long long)h->n);
}

static void put_tokens(const pdl_serve *s, pdl_buf *b, const char *name, const char *help,
                       const histogram *of) {
    put_head(b, name, "histogram", help);
    for (size_t i = 0; i < s->opt.n_models; i++)
        put_histogram(b, name, s->opt.models[i].name, &of[i], token_bounds, N_TOKENS);
}

static void put_gauge(pdl_buf *b, const char *name, const char *help, size_t value) {
    put_head(b, name, "gauge", help);
    pdl_buf_putf(b, "%s %zu\n", name, value);
}

static size_t length(const works *l) {
    size_t n = 0;
    for (const work *w = l->first; w; w = w->next) n++;
    return n;
}

static void put_counters(const metrics *m, pdl_buf *b) {
    put_head(b, "pdl_requests_total", "counter",
             "Requests that are over, by route and status; 499: the client went away.");
    for (size_t i = 0; i < m->requests.n; i++) {
        const counter *c = &m->requests.p[i];
        pdl_buf_putf(b, "pdl_requests_total{method=\"%s\",path=\"%s\",status=\"%d\"} %llu\n",
                     c->route ? c->route->method : "", c->route ? c->route->path : "", c->status,
                     (unsigned long long)c->n);
    }
    put_head(b, "pdl_errors_total", "counter", "Requests that ended with an error, by its kind.");
    for (size_t i = 0; i < m->errors.n; i++)
        pdl_buf_putf(b, "pdl_errors_total{kind=\"%s\"} %llu\n", m->errors.p[i].kind,
                     (unsigned long long)m->errors.p[i].n);
}

void pdl_serve_show_metrics(pdl_serve *s, pdl_exchange *x) {
    static const pdl_answer_header type = {"Content-Type",
                                           "text/plain; version=0.0.4; charset=utf-8"};
    const metrics *m = s->metrics;
    pdl_buf b = PDL_BUF;
    put_counters(m, &b);
    put_gauge(&b, "pdl_requests_open", "Requests whose program runs.", length(&s->going));
    put_gauge(&b, "pdl_requests_waiting", "Requests that wait for their turn.", s->n_waiting);
    put_gauge(&b, "pdl_connections_open", "Connections of clients.",
              pdl_httpd_connections(s->httpd));
    put_head(&b, "pdl_request_seconds", "histogram",
             "From the headers of a request to the end of its answer.");
    put_histogram(&b, "pdl_request_seconds", (pdl_str){0}, &m->seconds, second_bounds, N_SECONDS);
    put_tokens(s, &b, "pdl_prompt_tokens", "Tokens of prompts in a request.", m->prompt);
    put_tokens(s, &b, "pdl_completion_tokens", "Tokens of completions in a request.",
               m->completion);
    pdl_exchange_answer(x, 200, &type, 1, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}
