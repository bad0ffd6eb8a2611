/* access_token.c -- exchanges keys for tokens, one exchange for all calls that need the same token;
 * see access_token.h (spec providers 12).
 *
 * A run that maps over a thousand items starts a thousand calls with the same key. If each call
 * exchanged the key for itself, the service would refuse these exchanges. So the cache has one
 * entry per address and key, with one exchange at a time and a list of waiting calls. An exchange
 * belongs to the cache and not to the call that began it: a call that is cancelled or times out
 * leaves the list, and the exchange continues for the others. A token counts as expired EARLY_S
 * seconds before it really expires, because a request takes time to arrive. Keys and tokens are
 * wiped from memory when they are released.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/access_token.h"

#include "base/os.h"
#include "io/clock.h"
#include "value/json_read.h"

#include "base/banned.h"

enum { EARLY_S = 10, SHORT_S = 3600, LONG_S = 86400, EXCHANGE_MS = 60000 };

struct pdl_access_token {
    pdl_tokens *tokens;
    pdl_access_token *next;
    pdl_buf url, id, form, text;
    uint64_t until_ns;
    uint64_t http_id;               /* the exchange in flight, or 0 */
    pdl_token_wait *waiting, **end; /* the calls that wait for the token, in order of arrival */
};

static pdl_access_token *find(pdl_tokens *t, pdl_str url, pdl_str id) {
    for (pdl_access_token *k = t->first; k; k = k->next)
        if (pdl_str_eq(pdl_buf_str(&k->url), url) && pdl_str_eq(pdl_buf_str(&k->id), id)) return k;
    return NULL;
}

static void wipe(pdl_buf *b) {
    if (b->p) pdl_os_wipe(b->p, b->cap);
    pdl_buf_fini(b);
}

pdl_str pdl_token_find(pdl_tokens *t, pdl_str url, pdl_str id) {
    pdl_access_token *k = find(t, url, id);
    if (!k || k->text.len == 0 || pdl_clock_ns() >= k->until_ns) return (pdl_str){0};
    return pdl_buf_str(&k->text);
}

void pdl_token_forget(pdl_tokens *t, pdl_str url, pdl_str id) {
    pdl_access_token *k = find(t, url, id);
    if (k) wipe(&k->text);
}

void pdl_token_cancel(pdl_token_wait *w) {
    if (!w->token) return;
    *w->prev = w->next;
    if (w->next)
        w->next->prev = w->prev;
    else
        w->token->end = w->prev;
    w->token = NULL;
}

/* --- the exchange ----------------------------------------------------------------------------- */

static pdl_vref get(pdl_vref v, const char *key) {
    return pdl_is_dict(v) ? pdl_dict_getz(v, key) : pdl_absent();
}

static bool take_token(pdl_access_token *k, pdl_str body) {
    pdl_val json;
    pdl_err err = {0};
    if (!pdl_json_read_document(body, PDL_JSON_PYTHON, &json, &err)) {
        pdl_err_fini(&err);
        return false;
    }
    pdl_vref text = get(json, "access_token"), s = get(json, "expires_in");
    bool ok = pdl_is_str(text) && pdl_str_get(text).n;
    int64_t seconds = pdl_is(s, PDL_V_INT) ? pdl_int_of(s) : SHORT_S;
    seconds = seconds > LONG_S ? LONG_S : seconds < 0 ? 0 : seconds;
    wipe(&k->text);
    k->text = PDL_BUF;
    if (ok) pdl_buf_put(&k->text, pdl_str_get(text));
    k->until_ns = pdl_clock_ns() +
                  (seconds > EARLY_S ? (uint64_t)(seconds - EARLY_S) * UINT64_C(1000000000) : 0);
    /* Even a token that expires within EARLY_S is used for the calls that wait for it now. */
    if (seconds <= EARLY_S) k->until_ns += UINT64_C(1000000000);
    pdl_drop(json);
    return ok;
}

/* Makes the fault of an exchange that failed. The statuses from 400 to 499, except 408 and 429, are
 * authentication errors. */
static void fault_of(const pdl_http_reply *r, pdl_fault *f) {
    if (r->end != PDL_HTTP_OK) {
        pdl_fault_of_transport(r, false, f);
    } else if (r->status < 200 || r->status > 299) {
        pdl_fault_of_status(r, f);
        if (r->status >= 400 && r->status < 500 && r->status != 429 && r->status != 408)
            f->kind = PDL_E_auth;
    } else {
        pdl_fault_set(f, PDL_E_auth, r->status,
                      "the answer to the exchange of the key has no access_token");
    }
}

static void on_done(void *user, const pdl_http_reply *r) {
    pdl_access_token *k = user;
    k->http_id = 0;
    bool ok =
        r->end == PDL_HTTP_OK && r->status >= 200 && r->status <= 299 && take_token(k, r->body);
    for (pdl_token_wait *w; (w = k->waiting);) {
        pdl_fault f = {0};
        pdl_token_cancel(w);
        if (!ok) fault_of(r, &f);
        w->fn(w->user, ok ? NULL : &f);
    }
}

static void exchange(pdl_access_token *k) {
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
                                          "Accept: application/json"};
    pdl_http_request req = {
        .method = "POST",
        .url = pdl_buf_z(&k->url),
        .headers = headers,
        .n_headers = 2,
        .body = pdl_buf_str(&k->form),
        .total_ms = EXCHANGE_MS,
        .user = k,
        .done = on_done,
    };
    k->http_id = pdl_http_start(k->tokens->http, &req);
}

void pdl_token_acquire(pdl_tokens *t, pdl_str url, pdl_str id, pdl_str form, pdl_token_wait *w) {
    pdl_access_token *k = find(t, url, id);
    if (!k) {
        k = PDL_NEW(pdl_access_token);
        *k = (pdl_access_token){.tokens = t,
                                .next = t->first,
                                .url = PDL_BUF,
                                .id = PDL_BUF,
                                .form = PDL_BUF,
                                .text = PDL_BUF};
        pdl_buf_put(&k->url, url);
        pdl_buf_put(&k->id, id);
        t->first = k;
        k->end = &k->waiting;
    }
    w->token = k;
    w->next = NULL;
    w->prev = k->end;
    *k->end = w;
    k->end = &w->next;
    if (k->http_id) return;
    wipe(&k->form);
    k->form = PDL_BUF;
    pdl_buf_put(&k->form, form);
    exchange(k);
}

void pdl_tokens_fini(pdl_tokens *t) {
    for (pdl_access_token *k; (k = t->first);) {
        t->first = k->next;
        if (k->http_id) pdl_http_cancel(t->http, k->http_id);
        pdl_buf_fini(&k->url);
        wipe(&k->id);
        wipe(&k->form);
        wipe(&k->text);
        pdl_free(k);
    }
}
