/* idempotency.c -- handles requests with an Idempotency-Key; see idempotency.h. The journal has the
 * rows of each choice and the pieces of the answer, so that a request with a known key can be
 * answered from it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/idempotency.h"

#include <string.h>

#include "api/policy.h"
#include "base/vec.h"
#include "serve/form.h"
#include "serve/request_log.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

struct keyed {
    work *owner; /* the request that is running; NULL until it is started */
    keyed *next; /* the next entry in the list of the server */
    pdl_buf key; /* token, path and model of the request, and the client's key */
    pdl_buf body;
    pdl_durable **runs; /* journal of each choice */
    uint32_t n;
    pdl_buf sent; /* the part of the answer that was made so far */
    bool over;    /* the journal has the complete answer */
    /* other exchanges that have sent the same key and wait for the answer */
    PDL_VEC(pdl_exchange *) others;
};

static const pdl_answer_header stream_headers[] = {{"Content-Type", "text/event-stream"},
                                                   {"Cache-Control", "no-cache"}};
static const pdl_answer_header json_header = {"Content-Type", "application/json"};
static const pdl_answer_header replayed = {"Idempotent-Replayed", "true"};

/* --- the answer ------------------------------------------------------------------------------- */

bool pdl_serve_out_any(const work *w) { return w->x || w->keyed; }

void pdl_serve_out_each(work *w, void (*fn)(void *user, pdl_exchange *x), void *user) {
    if (w->x) fn(user, w->x);
    for (size_t i = 0; w->keyed && i < w->keyed->others.n; i++) fn(user, w->keyed->others.p[i]);
}

static void begin_one(void *user, pdl_exchange *x) {
    (void)user;
    pdl_exchange_begin(x, 200, stream_headers, 2);
}

void pdl_serve_out_begin(work *w) { pdl_serve_out_each(w, begin_one, NULL); }

static void put_one(void *user, pdl_exchange *x) { pdl_exchange_put(x, *(const pdl_str *)user); }

void pdl_serve_out_put(work *w, pdl_str bytes) {
    if (w->keyed) pdl_buf_put(&w->keyed->sent, bytes);
    pdl_serve_out_each(w, put_one, &bytes);
}

static void end_one(void *user, pdl_exchange *x) {
    (void)user;
    pdl_exchange_end(x);
}

void pdl_serve_out_end(work *w) { pdl_serve_out_each(w, end_one, NULL); }

static void keep_one(void *user, pdl_exchange *x) {
    (void)user;
    if (!pdl_exchange_pending(x)) pdl_exchange_put(x, PDL_STR(": keep-alive\n\n"));
}

void pdl_serve_out_keep_alive(work *w) { pdl_serve_out_each(w, keep_one, NULL); }

static void answer_one(void *user, pdl_exchange *x) {
    pdl_exchange_answer(x, 200, &json_header, 1, *(const pdl_str *)user);
}

void pdl_serve_out_whole(work *w, pdl_val v) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (!w->keyed) {
        pdl_serve_answer_json(w->x, v);
        return;
    }
    if (pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_NAN_NULL | PDL_JSON_CUT, 0, &b, &err)) {
        pdl_str text = pdl_buf_str(&b);
        pdl_buf_put(&w->keyed->sent, text);
        pdl_serve_out_each(w, answer_one, &text);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(v);
}

/* --- finding ---------------------------------------------------------------------------------- */

static keyed *find_live(const pdl_serve *s, pdl_str key) {
    keyed *k = s->keyed;
    while (k && !pdl_str_eq(pdl_buf_str(&k->key), key)) k = k->next;
    return k;
}

/* Refuses a request that has the same key and a different body, because the client must not get the
 * answer to another request. Always returns true. */
static bool refuse_other(pdl_exchange *x) {
    pdl_serve_answer_error(x, 422, SERVE_INVALID, "idempotency_key_reused",
                           PDL_STR("this Idempotency-Key was used with another request"));
    return true;
}

static void join(keyed *k, pdl_exchange *x) {
    work *w = k->owner;
    pdl_exchange_set(x, w);
    if (w->begun) {
        pdl_exchange_begin(x, 200, stream_headers, 2);
        pdl_exchange_put(x, pdl_buf_str(&k->sent));
    }
    if (w->x)
        *pdl_vec_push(&k->others) = x;
    else
        w->x = x;
}

/* Returns true when the answer was made under all policies of this server. The text of an answer
 * has no labels, so a policy that was added later could neither redact nor refuse a part of it. */
static bool knows_policies(const pdl_serve *s, pdl_vref kept) {
    pdl_vref known = pdl_is_dict(kept) ? pdl_dict_getz(kept, "policies") : pdl_absent();
    pdl_val now = pdl_session_policy_digests(s->opt.session);
    bool all = true;
    for (size_t i = 0; i < pdl_list_len(now); i++) {
        bool found = false;
        for (size_t k = 0; pdl_is_list(known) && k < pdl_list_len(known); k++)
            found = found || pdl_val_eq(pdl_list_at(known, k), pdl_list_at(now, i));
        all = all && found;
    }
    pdl_drop(now);
    return all;
}

/* Sends the stored answer again. kept is {stream, body, policies}, which pdl_serve_keyed_succeeded
 * has written. */
static void answer_again(const pdl_serve *s, pdl_exchange *x, pdl_str kept) {
    pdl_val v = pdl_absent();
    pdl_err err = {0};
    bool ok = pdl_json_read(kept, 0, &v, NULL, &err) && pdl_is_dict(v) &&
              pdl_is_str(pdl_dict_getz(v, "body"));
    if (ok && !knows_policies(s, v)) {
        pdl_serve_answer_error(x, 409, "conflict", "policy",
                               PDL_STR("the answer to this Idempotency-Key was made without a "
                                       "policy that the server has now: ask with another key"));
    } else if (ok) {
        bool stream = pdl_serve_ask_is_true(v, "stream");
        pdl_answer_header headers[] = {stream ? stream_headers[0] : json_header, replayed};
        pdl_exchange_answer(x, 200, headers, 2, pdl_str_get(pdl_dict_getz(v, "body")));
    } else {
        pdl_serve_answer_error(x, 500, "server_error", NULL,
                               PDL_STR("the answer in the journal cannot be read"));
    }
    pdl_err_fini(&err);
    pdl_drop(v);
}

static bool fail(pdl_serve *s, pdl_exchange *x, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool stops = err->kind == PDL_E_runtime;
    pdl_session_redact(s->opt.session, pdl_str_of(err->msg), &b);
    pdl_serve_answer_error(x, stops ? 409 : 500, stops ? "conflict" : "server_error",
                           pdl_err_kind_name(err->kind), pdl_buf_str(&b));
    pdl_err_fini(err);
    pdl_buf_fini(&b);
    return true;
}

static void free_parts(keyed *k) {
    for (uint32_t i = 0; i < k->n; i++) pdl_durable_close(k->runs[i]);
    pdl_free(k->runs);
    pdl_buf_fini(&k->key);
    pdl_buf_fini(&k->body);
    pdl_buf_fini(&k->sent);
    pdl_vec_fini(&k->others);
    pdl_free(k);
}

static keyed *keyed_new(pdl_str key, pdl_str body, uint32_t n) {
    keyed *k = PDL_NEW(keyed);
    k->key = k->body = k->sent = PDL_BUF;
    pdl_buf_put(&k->key, key);
    pdl_buf_put(&k->body, body);
    k->runs = PDL_NEW_N(pdl_durable *, n);
    k->n = n;
    return k;
}

static bool start_runs(pdl_serve *s, pdl_exchange *x, keyed *k) {
    pdl_err err = {0};
    for (uint32_t i = 0; i < k->n; i++)
        if (!pdl_durable_join(s->opt.journal, pdl_buf_str(&k->key), pdl_buf_str(&k->body), i,
                              &k->runs[i], &err)) {
            free_parts(k);
            (void)fail(s, x, &err);
            return false;
        }
    return true;
}

/* Appends the key together with its client and program, so that equal keys of two clients or of two
 * programs differ. */
static void put_key(const pdl_exchange *x, const request *r, pdl_str key, pdl_buf *out) {
    pdl_str token = pdl_exchange_header(x, "Authorization"), path = pdl_exchange_path(x);
    pdl_buf_putf(out, "%.*s\n%.*s\n%.*s\n%.*s", PDL_FMT(token), PDL_FMT(path),
                 PDL_FMT(r->model->name), PDL_FMT(key));
}

/* Searches the journal for the key. Returns true when x was answered. Otherwise *out gets the entry
 * of a run that the caller starts. */
static bool find_kept(pdl_serve *s, pdl_exchange *x, pdl_str key, pdl_str body, uint32_t n,
                      keyed **out) {
    pdl_keyed state;
    pdl_buf text = PDL_BUF;
    pdl_err err = {0};
    bool done = true;
    if (!pdl_durable_keyed(s->opt.journal, key, body, &state, &text, &err)) {
        (void)fail(s, x, &err);
    } else if (state == PDL_KEYED_OTHER) {
        (void)refuse_other(x);
    } else if (state == PDL_KEYED_ANSWERED) {
        answer_again(s, x, pdl_buf_str(&text));
    } else {
        keyed *k = keyed_new(key, body, n);
        done = !start_runs(s, x, k);
        if (!done) *out = k;
    }
    pdl_buf_fini(&text);
    return done;
}

bool pdl_serve_keyed_find(pdl_serve *s, pdl_exchange *x, const request *r, keyed **out) {
    enum { LONGEST = 1000 };
    pdl_str said = pdl_exchange_header(x, "Idempotency-Key"), body = pdl_exchange_body(x);
    pdl_buf key = PDL_BUF;
    *out = NULL;
    if (!s->opt.journal || !said.n) return false;
    if (said.n > LONGEST) {
        pdl_serve_answer_error(x, 400, SERVE_INVALID, NULL,
                               PDL_STR("the Idempotency-Key is longer than 1000 bytes"));
        return true;
    }
    put_key(x, r, said, &key);
    keyed *live = find_live(s, pdl_buf_str(&key));
    bool done = true;
    if (live && !pdl_str_eq(pdl_buf_str(&live->body), body))
        (void)refuse_other(x);
    else if (live)
        join(live, x);
    else
        done = find_kept(s, x, pdl_buf_str(&key), body, r->n, out);
    pdl_buf_fini(&key);
    return done;
}

void pdl_serve_keyed_own(work *w, keyed *k) {
    w->keyed = k;
    k->owner = w;
    k->next = w->s->keyed;
    w->s->keyed = k;
}

/* --- the life of a run ------------------------------------------------------------------------ */

pdl_durable *pdl_serve_keyed_run(const work *w, uint32_t i) {
    return w->keyed ? w->keyed->runs[i] : NULL;
}

bool pdl_serve_keyed_gone(work *w, const pdl_exchange *x) {
    keyed *k = w->keyed;
    if (!k) return false;
    if (w->x == x) w->x = k->others.n ? k->others.p[--k->others.n] : NULL;
    for (size_t i = 0; i < k->others.n; i++)
        if (k->others.p[i] == x) k->others.p[i] = k->others.p[--k->others.n];
    return true;
}

void pdl_serve_keyed_succeeded(work *w) {
    keyed *k = w->keyed;
    pdl_buf kept = PDL_BUF;
    pdl_err err = {0};
    if (!k) return;
    pdl_val v = pdl_dict_putz(pdl_dict_new(2), "stream", pdl_bool(w->stream));
    v = pdl_dict_putz(v, "body", pdl_text(pdl_buf_str(&k->sent)));
    v = pdl_dict_putz(v, "policies", pdl_session_policy_digests(w->s->opt.session));
    bool ok = pdl_json_write(v, PDL_JSON_NAN_NULL, 0, &kept, &err);
    for (uint32_t i = 0; i < k->n; i++)
        pdl_durable_answered(k->runs[i], ok ? pdl_buf_str(&kept) : (pdl_str){0}, NULL);
    k->over = true;
    pdl_err_fini(&err);
    pdl_buf_fini(&kept);
    pdl_drop(v);
}

void pdl_serve_keyed_failed(work *w, const pdl_err *why) {
    for (uint32_t i = 0; w->keyed && i < w->keyed->n; i++)
        pdl_durable_answered(w->keyed->runs[i], (pdl_str){0}, why);
}

void pdl_serve_keyed_leave(work *w) {
    for (uint32_t i = 0; w->keyed && !w->keyed->over && i < w->keyed->n; i++)
        pdl_durable_ends(w->keyed->runs[i]);
}

void pdl_serve_keyed_free(work *w) {
    keyed *k = w->keyed, **at = &w->s->keyed;
    if (!k) return;
    while (*at && *at != k) at = &(*at)->next;
    if (*at) *at = k->next;
    w->keyed = NULL;
    free_parts(k);
}
