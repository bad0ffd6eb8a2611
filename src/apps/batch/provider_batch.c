/* provider_batch.c -- keeps the requests that wait, uploads them together, and passes on their
 * answers; see provider_batch.h. The state of every upload is written to the journal before the
 * batch waits, because the process may be killed during the hours in which the provider works.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/provider_batch.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/pace.h"
#include "batch/provider_impl.h"
#include "io/clock.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

static const char uploads_key[] = "uploads";

/* --- requests --------------------------------------------------------------------------------- */

static void item_free(item *i) {
    for (size_t k = 0; k < i->headers.n; k++) pdl_free(i->headers.p[k]);
    pdl_vec_fini(&i->headers);
    pdl_free(i->url);
    pdl_free(i->body);
    pdl_free(i);
}

/* Names a request in an upload. The name is made from the content, and from the number of earlier
 * requests with the same content: an upload must not contain a name twice. */
static void name_item(pdl_batch_provider *p, item *i) {
    pdl_buf text = PDL_BUF;
    char hex[65];
    pdl_buf_putf(&text, "%s\n%s", i->url, i->body);
    pdl_hash_hex(pdl_buf_str(&text), hex);
    hex[PROVIDER_HASH] = 0;
    pdl_vref n = pdl_dict_getz(p->asked, hex);
    int64_t before = pdl_is(n, PDL_V_INT) ? pdl_int_of(n) : 0;
    p->asked = pdl_dict_putz(p->asked, hex, pdl_int(before + 1));
    snprintf(i->name, sizeof i->name, "%.*s-%lld", PROVIDER_HASH, hex, (long long)before);
    pdl_buf_fini(&text);
}

static uint64_t start(void *user, const pdl_http_request *req) {
    pdl_batch_provider *p = user;
    item *i = PDL_NEW(item);
    *pdl_vec_push(&p->items) = i;
    *i = (item){.id = ++p->last_id, .done = req->done, .user = req->user};
    i->url = pdl_str_dup(pdl_str_of(req->url));
    i->body = pdl_str_dup(req->body);
    for (size_t k = 0; k < req->n_headers; k++)
        *pdl_vec_push(&i->headers) = pdl_str_dup(pdl_str_of(req->headers[k]));
    name_item(p, i);
    return i->id;
}

static void take_out(pdl_batch_provider *p, size_t at) {
    item_free(p->items.p[at]);
    p->items.p[at] = p->items.p[--p->items.n];
}

static void cancel(void *user, uint64_t id) {
    pdl_batch_provider *p = user;
    for (size_t i = 0; i < p->items.n; i++)
        if (p->items.p[i]->id == id) {
            p->items.p[i]->is_gone = true;
            if (!p->waits) take_out(p, i);
            return;
        }
}

static void take_out_gone(pdl_batch_provider *p) {
    for (size_t i = p->items.n; i-- > 0;)
        if (p->items.p[i]->is_gone) take_out(p, i);
}

static bool has_open(const pdl_batch_provider *p) {
    for (size_t i = 0; i < p->items.n; i++)
        if (!p->items.p[i]->is_gone) return true;
    return false;
}

pdl_batch_provider *pdl_batch_provider_new(void) {
    pdl_batch_provider *p = PDL_NEW(pdl_batch_provider);
    p->carrier = (pdl_http_carrier){p, start, cancel};
    p->why = PDL_BUF;
    p->asked = pdl_dict_new(0);
    p->answers = pdl_dict_new(0);
    p->uploads = pdl_list_new(0);
    return p;
}

void pdl_batch_provider_free(pdl_batch_provider *p) {
    if (!p) return;
    while (p->items.n) take_out(p, p->items.n - 1);
    pdl_vec_fini(&p->items);
    pdl_buf_fini(&p->why);
    pdl_drop(p->asked);
    pdl_drop(p->answers);
    pdl_drop(p->uploads);
    pdl_free(p);
}

const pdl_http_carrier *pdl_batch_provider_carrier(pdl_batch_provider *p) { return &p->carrier; }
size_t pdl_batch_provider_open(const pdl_batch_provider *p) { return p->items.n; }

void pdl_batch_provider_begin(pdl_batch_provider *p, const pdl_batch_provider_use *use) {
    p->use = *use;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void give(pdl_batch_provider *p, size_t k, pdl_vref answer) {
    item *i = p->items.p[k];
    pdl_val kept = pdl_keep(answer);
    pdl_str body = pdl_str_get(pdl_list_at(kept, 1));
    p->items.p[k] = p->items.p[--p->items.n];
    i->done(i->user, &(pdl_http_reply){.end = PDL_HTTP_OK,
                                       .status = (int)pdl_int_of(pdl_list_at(kept, 0)),
                                       .body = body});
    pdl_drop(kept);
    item_free(i);
}

/* Passes on all answers. An answer may add requests to the list and cancel others, so requests may
 * move within the list. A request that is missed for this reason is found in the next pass. */
static size_t give_all(pdl_batch_provider *p) {
    size_t n = 0, before;
    do {
        before = n;
        for (size_t k = 0; k < p->items.n;) {
            pdl_vref answer = pdl_dict_getz(p->answers, p->items.p[k]->name);
            if (pdl_is_absent(answer) || p->items.p[k]->is_gone) {
                k++;
            } else {
                give(p, k, answer);
                n++;
            }
        }
    } while (n > before);
    return n;
}

static bool is_good(int64_t status) { return status >= 200 && status <= 299; }

void pdl_batch_provider_answer(pdl_batch_provider *p, pdl_str name, int status, pdl_str body) {
    pdl_vref before = pdl_dict_gets(p->answers, name);
    if (p->only_good && !is_good(status)) return;
    if (!pdl_is_absent(before) && is_good(pdl_int_of(pdl_list_at(before, 0)))) return;
    pdl_val pair = pdl_list_push(pdl_list_new(2), pdl_int(status));
    p->answers = pdl_dict_puts(p->answers, name, pdl_list_push(pair, pdl_text(body)));
}

/* --- uploads ---------------------------------------------------------------------------------- */

static bool save(pdl_batch_provider *p, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    bool ok = pdl_json_write(p->uploads, 0, 0, &text, err) &&
              pdl_ledger_put_fact(p->use.ledger, uploads_key, pdl_buf_str(&text), err) &&
              pdl_ledger_commit(p->use.ledger, err);
    pdl_buf_fini(&text);
    return ok;
}

/* Restores the uploads of earlier processes. All of their answers are fetched, even answers that an
 * earlier process had fetched. That process kept the answers of unfinished rows only in memory, and
 * such a row starts again with its first call. */
static bool restore(pdl_batch_provider *p, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    pdl_val list;
    if (p->restored) return true;
    p->restored = true;
    bool ok = pdl_ledger_get_fact(p->use.ledger, uploads_key, &text, err);
    if (ok && text.len && pdl_json_read(pdl_buf_str(&text), 0, &list, NULL, err)) {
        for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
            if (!pdl_is_dict(pdl_list_at(list, i))) continue;
            pdl_val upload = pdl_dict_merge(pdl_dict_new(6), pdl_list_at(list, i));
            upload = pdl_dict_putz(upload, "fetched", pdl_bool(false));
            p->uploads = pdl_list_push(p->uploads, upload);
            p->n_waiting++;
        }
        pdl_drop(list);
    }
    ok = ok && !err->kind;
    pdl_buf_fini(&text);
    return ok;
}

static bool has(pdl_vref upload, const char *what) {
    pdl_vref v = pdl_dict_getz(upload, what);
    return pdl_is_bool(v) && pdl_bool_of(v);
}

bool pdl_batch_provider_retry(pdl_ledger *l, pdl_err *err) {
    pdl_buf text = PDL_BUF, flagged = PDL_BUF;
    pdl_val list = pdl_absent(), marked = pdl_list_new(4);
    bool ok = pdl_ledger_get_fact(l, uploads_key, &text, err);
    bool any = ok && text.len && pdl_json_read(pdl_buf_str(&text), 0, &list, NULL, err);
    for (size_t i = 0; any && pdl_is_list(list) && i < pdl_list_len(list); i++)
        marked = pdl_list_push(
            marked, pdl_dict_putz(pdl_keep(pdl_list_at(list, i)), "retried", pdl_bool(true)));
    ok = ok && !err->kind;
    if (any)
        ok = ok && pdl_json_write(marked, 0, 0, &flagged, err) &&
             pdl_ledger_put_fact(l, uploads_key, pdl_buf_str(&flagged), err);
    if (!pdl_is_absent(list)) pdl_drop(list);
    pdl_drop(marked);
    pdl_buf_fini(&flagged);
    pdl_buf_fini(&text);
    return ok;
}

/* Returns true when the request is in an upload. An ended upload does not count when only its
 * successful answers are used. */
static bool is_uploaded(const pdl_batch_provider *p, const item *i) {
    for (size_t k = 0; k < pdl_list_len(p->uploads); k++) {
        pdl_vref upload = pdl_list_at(p->uploads, k), names = pdl_dict_getz(upload, "names");
        if (has(upload, "retried") && has(upload, "fetched")) continue;
        if (pdl_is_dict(names) && !pdl_is_absent(pdl_dict_getz(names, i->name))) return true;
    }
    return false;
}

/* Uploads together the requests that go to the same address and are in no upload yet. */
static bool upload_some(pdl_batch_provider *p, bool *any, pdl_err *err) {
    enum { MAX_ITEMS = 50000, MAX_BYTES = 90 << 20 };
    PDL_VEC(const item *) some = {0};
    size_t bytes = 0;
    for (size_t k = 0; k < p->items.n && some.n < MAX_ITEMS && bytes < MAX_BYTES; k++) {
        const item *i = p->items.p[k];
        if (i->is_gone || is_uploaded(p, i)) continue;
        if (some.n && strcmp(some.p[0]->url, i->url) != 0) continue;
        *pdl_vec_push(&some) = i;
        bytes += strlen(i->body);
    }
    pdl_val made = pdl_absent();
    bool ok = true;
    *any = some.n > 0;
    if (some.n) ok = pdl_batch_provider_upload(p, some.p, some.n, &made, err);
    if (ok && some.n) {
        p->uploads = pdl_list_push(p->uploads, made);
        p->n_waiting++;
        ok = save(p, err);
    }
    pdl_vec_fini(&some);
    return ok;
}

/* Fails the requests that got no answer from an ended upload. */
static void answer_rest(pdl_batch_provider *p, pdl_vref upload) {
    pdl_vref names = pdl_dict_getz(upload, "names");
    pdl_buf message = PDL_BUF, body = PDL_BUF;
    PDL_PUT(&message, "the batch of the provider ended without an answer");
    if (p->why.len) pdl_buf_putf(&message, ": %s", pdl_buf_z(&p->why));
    pdl_json_open(&body, '{');
    pdl_json_put_key(&body, "error");
    pdl_json_open(&body, '{');
    pdl_json_put_text(&body, "message", pdl_buf_str(&message));
    PDL_PUT(&body, "}}");
    for (size_t i = 0; i < pdl_dict_len(names); i++) {
        pdl_str name = pdl_str_get(pdl_dict_key_at(names, i));
        if (pdl_is_absent(pdl_dict_gets(p->answers, name)))
            pdl_batch_provider_answer(p, name, 400, pdl_buf_str(&body));
    }
    pdl_buf_fini(&message);
    pdl_buf_fini(&body);
}

/* Polls an upload, and fetches its answers when it has ended. Providers forget batches after some
 * weeks; a forgotten batch counts as ended, too. */
static bool fetch(pdl_batch_provider *p, pdl_vref upload, bool *ended, pdl_err *err) {
    if (pdl_batch_provider_fetch(p, upload, ended, err)) return true;
    if (err->kind != PDL_E_not_found) return false;
    pdl_buf_clear(&p->why);
    pdl_buf_put(&p->why, pdl_str_of(err->msg));
    pdl_err_fini(err);
    return *ended = true;
}

/* Polls each upload in progress, and fetches the uploads that have ended. */
static bool look(pdl_batch_provider *p, pdl_err *err) {
    pdl_val left = pdl_list_new(4);
    bool ok = true;
    for (size_t i = 0; i < pdl_list_len(p->uploads); i++) {
        pdl_vref u = pdl_list_at(p->uploads, i);
        bool ended = false, fetched = has(u, "fetched");
        p->only_good = has(u, "retried");
        ok = ok && (fetched || fetch(p, u, &ended, err));
        pdl_val kept = pdl_keep(u);
        if (ok && ended) {
            answer_rest(p, u);
            p->n_waiting--;
            pdl_val changed = pdl_dict_merge(pdl_dict_new(5), u);
            pdl_drop(kept);
            kept = pdl_dict_putz(changed, "fetched", pdl_bool(true));
        }
        left = pdl_list_push(left, kept);
    }
    p->only_good = false;
    pdl_drop(p->uploads);
    p->uploads = left;
    return ok;
}

static bool is_passing(pdl_err_kind kind) {
    return kind == PDL_E_connection || kind == PDL_E_timeout || kind == PDL_E_rate_limit ||
           kind == PDL_E_server;
}

void pdl_batch_provider_note_again(const pdl_batch_provider *p, const pdl_err *err) {
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, "%s; the provider is asked again", err->msg);
    if (p->use.note) p->use.note(p->use.user, pdl_buf_z(&text));
    pdl_buf_fini(&text);
}

/* Polls the uploads. Returns true even when a poll fails for a passing reason, because a batch may
 * take a day and a later poll may succeed. Returns false for any other failure, and when more than
 * MAX_MISSED polls fail in a row. */
static bool look_again(pdl_batch_provider *p, pdl_err *err) {
    enum { MAX_MISSED = 10 };
    if (look(p, err)) {
        p->n_missed = 0;
        return true;
    }
    if (!is_passing(err->kind) || ++p->n_missed > MAX_MISSED) return false;
    if (p->n_missed == 1) pdl_batch_provider_note_again(p, err);
    pdl_err_fini(err);
    return true;
}

bool pdl_batch_provider_interrupted(const pdl_batch_provider *p, pdl_err *err) {
    return p->use.cancel && *p->use.cancel && !pdl_err_signal(err, *p->use.cancel);
}

bool pdl_batch_provider_stopped(const pdl_batch_provider *p, pdl_err *err) {
    return pdl_batch_provider_interrupted(p, err) || !pdl_budget_check_clock(p->use.budget, err);
}

static void on_time(void *user) { *(bool *)user = true; }

bool pdl_batch_provider_rest(pdl_batch_provider *p, uint64_t ms, pdl_err *err) {
    enum { LOOK_MS = 100 };
    bool over = false;
    pdl_timer *t = pdl_timer_start(p->use.loop, pdl_pace_ms(ms), on_time, &over);
    bool stopped = false;
    while (!over && !stopped) {
        pdl_loop_run(p->use.loop, LOOK_MS);
        stopped = !over && pdl_batch_provider_stopped(p, err);
    }
    if (!over) pdl_timer_stop(t);
    return !stopped;
}

static bool wait_for_answers(pdl_batch_provider *p, pdl_err *err) {
    enum { FIRST_MS = 250, LONGEST_MS = 60000 };
    bool any = true;
    if (!restore(p, err)) return false;
    if (p->n_waiting && !look_again(p, err)) return false;
    if (give_all(p)) return true;
    while (any)
        if (pdl_batch_provider_stopped(p, err) || !upload_some(p, &any, err)) return false;
    for (uint64_t ms = FIRST_MS; p->n_waiting && has_open(p);
         ms = ms * 3 / 2 < LONGEST_MS ? ms * 3 / 2 : LONGEST_MS) {
        if (!pdl_batch_provider_rest(p, ms, err) || !look_again(p, err)) return false;
        if (give_all(p)) return true;
    }
    if (!has_open(p)) return true;
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                       "the provider has ended all batches, and %zu requests have no answer",
                       p->items.n);
}

bool pdl_batch_provider_wait(pdl_batch_provider *p, pdl_err *err) {
    p->waits = true;
    bool ok = wait_for_answers(p, err);
    p->waits = false;
    take_out_gone(p);
    return ok;
}
