/* embedding_calls.c -- answers an effect `embed` with as many model calls as its texts need; see
 * embedding_calls.h. The wire formats are in embedding_wire.c.
 *
 *   effect {model, input, parameters}
 *     -> texts not known yet, each once -> batches -> a pdl_call each: the first, then some at once
 *     -> vectors by text -> {embeddings in the order of input, usage, model}
 *
 * A batch is a separate effect whose sink is the embedding, so that retries, tokens, fallbacks and
 * errors are those of every call. The first batch goes alone, so that a service which refuses the
 * key, the model or the parameters is asked once. The member `seq` of this effect is the index of
 * the first text of the batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/embedding_calls.h"

#include <assert.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/os.h"
#include "model/wire/message_parts.h"
#include "value/json_write.h"

#include "base/banned.h"

enum {
    /* texts per request; services differ, OpenAI allows 2048 (spec providers 18) */
    BATCH = 100,
    SMALL_BATCH = 10, /* the limit of DashScope */
    AT_ONCE = 8,      /* requests of one embedding that are open at a time, after the first */
};

/* Invariants: while busy is set, batches are being started, and their ends are only recorded.
 * vectors has a key for every text that is known or requested. */
struct pdl_embedding {
    pdl_calls *calls;
    pdl_embedding *next, **prev;
    pdl_effect *e;
    pdl_vref texts;  /* the texts of the effect, a list */
    pdl_val todo;    /* the texts that are still to be requested, a list without repetitions */
    pdl_val vectors; /* dict: text -> vector, or null while it is requested */
    pdl_val model;   /* str: the name of the model in the replies of the service, or absent */
    char settings[65];
    /* batch: texts per request; asked: how many texts of todo were requested so far */
    size_t batch, asked;
    size_t n_open;
    int64_t prompt, total; /* tokens that the service counted */
    bool uncounted;        /* the service sent a reply without usage */
    bool answered;         /* the service has answered a batch */
    bool busy, failed;
    pdl_err err;
    double seconds;
};

/* --- known vectors ---------------------------------------------------------------------------- */

/* Hashes the model and the parameters, so that keys among the parameters are not stored. */
static void hash_settings(pdl_embedding *m) {
    pdl_buf text = PDL_BUF;
    pdl_err err = {0};
    pdl_vref params = pdl_dict_getz(m->e->request, "parameters"),
             model = pdl_dict_getz(m->e->request, "model");
    if (pdl_is_str(model)) pdl_buf_put(&text, pdl_str_get(model));
    pdl_buf_putc(&text, '\n');
    if (pdl_is_dict(params) &&
        !pdl_json_write(params, PDL_JSON_LOOSE | PDL_JSON_NAN, 0, &text, &err))
        pdl_err_fini(&err);
    pdl_hash_hex(pdl_buf_str(&text), m->settings);
    if (text.p) pdl_os_wipe(text.p, text.cap);
    pdl_buf_fini(&text);
}

/* Returns the key under which the vector of a text is known for these settings. Owned. */
static pdl_val known_key(const pdl_embedding *m, pdl_vref text) {
    return pdl_textf("%s%.*s", m->settings, PDL_FMT(pdl_str_get(text)));
}

/* Returns the known vector of a text, or absent. Borrowed. */
static pdl_vref find_known(const pdl_embedding *m, pdl_vref text) {
    pdl_val key = known_key(m, text);
    pdl_vref v = pdl_dict_find(m->calls->embeddings.known, key);
    pdl_drop(key);
    return v;
}

/* Stores the vector. When the table is full, new vectors are not stored. */
static void remember(pdl_embedding *m, pdl_vref text, pdl_vref vector) {
    pdl_embeddings *all = &m->calls->embeddings;
    size_t n = pdl_list_len(vector);
    if (n > PDL_MAX_EMBED_NUMBERS - all->n_numbers) return;
    all->n_numbers += n;
    all->known = pdl_dict_put(all->known, known_key(m, text), pdl_keep(vector));
}

/* --- the end ---------------------------------------------------------------------------------- */

static void release(pdl_embedding *m) {
    *m->prev = m->next;
    if (m->next) m->next->prev = m->prev;
    pdl_drop(m->todo);
    pdl_drop(m->vectors);
    pdl_drop(m->model);
    pdl_err_fini(&m->err);
    pdl_free(m);
}

static void cancel_batches(pdl_embedding *m) {
    for (pdl_call *c = m->calls->first, *next; c; c = next) {
        next = c->next;
        if (c->e->sink.user == m) pdl_call_cancel(c);
    }
}

static pdl_val usage_of(const pdl_embedding *m) {
    if (m->uncounted) return pdl_null();
    pdl_val u = pdl_dict_putz(pdl_dict_new(2), "prompt_tokens", pdl_int(m->prompt));
    return pdl_dict_putz(u, "total_tokens", pdl_int(m->total));
}

static void finish(pdl_embedding *m) {
    size_t n = pdl_list_len(m->texts);
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++)
        list = pdl_list_push(list, pdl_keep(pdl_dict_find(m->vectors, pdl_list_at(m->texts, i))));
    pdl_val out = pdl_dict_putz(pdl_dict_new(3), "embeddings", list);
    out = pdl_dict_putz(out, "usage", usage_of(m));
    pdl_vref name = pdl_is_absent(m->model) ? pdl_dict_getz(m->e->request, "model") : m->model;
    out = pdl_dict_putz(out, "model", pdl_keep(name));
    pdl_effect *e = m->e;
    double seconds = m->seconds;
    release(m);
    pdl_effect_answer(e, out, seconds);
}

static void fail(pdl_embedding *m) {
    pdl_effect *e = m->e;
    pdl_err err = {0};
    cancel_batches(m);
    pdl_err_move(&err, &m->err);
    release(m);
    pdl_effect_refuse(e, &err);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void pump(pdl_embedding *m);

static void count(pdl_embedding *m, pdl_vref usage) {
    if (!pdl_is_dict(usage)) {
        m->uncounted = true;
        return;
    }
    m->prompt += pdl_count_of(usage, "prompt_tokens", 0);
    m->total += pdl_count_of(usage, "total_tokens", 0);
}

static void on_batch(void *user, const pdl_effect *e, const pdl_reply *r) {
    pdl_embedding *m = user;
    assert(m->n_open > 0);
    m->n_open--;
    m->seconds += r->seconds;
    if (r->err.kind != PDL_E_NONE) {
        if (!m->failed) pdl_err_copy(&m->err, &r->err);
        m->failed = true;
    } else {
        m->answered = true;
        pdl_vref list = pdl_dict_getz(r->value, "embeddings");
        for (size_t i = 0; i < pdl_list_len(list); i++) {
            pdl_vref text = pdl_list_at(m->todo, e->seq + i);
            m->vectors = pdl_dict_put(m->vectors, pdl_keep(text), pdl_keep(pdl_list_at(list, i)));
            remember(m, text, pdl_list_at(list, i));
        }
        if (pdl_is_absent(m->model)) m->model = pdl_keep(pdl_dict_getz(r->value, "model"));
        count(m, pdl_dict_getz(r->value, "usage"));
    }
    if (!m->busy) pump(m);
}

static void start_batch(pdl_embedding *m) {
    size_t from = m->asked, left = pdl_list_len(m->todo) - from,
           n = left < m->batch ? left : m->batch;
    pdl_val texts = pdl_list_new(n);
    for (size_t i = 0; i < n; i++)
        texts = pdl_list_push(texts, pdl_keep(pdl_list_at(m->todo, from + i)));
    m->asked += n;
    m->n_open++;
    pdl_effect_sink sink = {.user = m, .piece = NULL, .reply = on_batch};
    pdl_val request = pdl_dict_putz(pdl_keep(m->e->request), "input", texts);
    pdl_effect *batch =
        pdl_effect_new(PDL_EFFECT_embed, (pdl_effect_at){m->e->id, NULL, (uint32_t)from, m->e->loc},
                       request, sink);
    batch->sender = m->e->sender;
    batch->keeps_keys = m->e->keeps_keys;
    pdl_call_start(m->calls, batch);
}

static void pump(pdl_embedding *m) {
    m->busy = true;
    size_t at_once = m->answered ? AT_ONCE : 1, n = pdl_list_len(m->todo);
    while (!m->failed && m->n_open < at_once && m->asked < n) start_batch(m);
    m->busy = false;
    if (m->failed)
        fail(m);
    else if (m->n_open == 0)
        finish(m);
}

/* --- start ------------------------------------------------------------------------------------ */

/* Returns how many texts the service takes per request. A wrong route is reported by the first
 * request, not here. */
static size_t batch_of(pdl_vref request, const pdl_env *env) {
    pdl_vref model = pdl_dict_getz(request, "model"), params = pdl_dict_getz(request, "parameters");
    pdl_route r = {0};
    pdl_err err = {0};
    size_t n = BATCH;
    pdl_val none = pdl_dict_new(0);
    if (pdl_is_str(model) && pdl_route_find(pdl_str_get(model), PDL_STR(""),
                                            pdl_is_dict(params) ? params : none, env, &r, &err)) {
        const pdl_embedder *how = r.provider->dialect->embedder;
        n = how && how->batch                        ? how->batch
            : r.provider->quirks & PDL_Q_SMALL_BATCH ? SMALL_BATCH
                                                     : BATCH;
        if (how && how->single && pdl_str_starts(r.name, pdl_str_of(how->single))) n = 1;
    }
    pdl_err_fini(&err);
    pdl_route_fini(&r);
    pdl_drop(none);
    return n;
}

static bool are_texts(pdl_vref list) {
    if (!pdl_is_list(list)) return false;
    for (size_t i = 0; i < pdl_list_len(list); i++)
        if (!pdl_is_str(pdl_list_at(list, i))) return false;
    return true;
}

static void gather(pdl_embedding *m) {
    for (size_t i = 0; i < pdl_list_len(m->texts); i++) {
        pdl_vref text = pdl_list_at(m->texts, i);
        if (!pdl_is_absent(pdl_dict_find(m->vectors, text))) continue;
        pdl_vref old = find_known(m, text);
        m->vectors = pdl_dict_put(m->vectors, pdl_keep(text),
                                  pdl_is_absent(old) ? pdl_null() : pdl_keep(old));
        if (pdl_is_absent(old)) m->todo = pdl_list_push(m->todo, pdl_keep(text));
    }
}

void pdl_embed_start(pdl_calls *calls, pdl_effect *e) {
    pdl_vref texts = pdl_dict_getz(e->request, "input");
    pdl_err err = {0};
    if (!are_texts(texts)) {
        pdl_err_set(&err, PDL_E_bad_request, e->loc,
                    "the input of an embedding is not a list of texts");
        pdl_effect_refuse(e, &err);
        return;
    }
    pdl_embedding *m = PDL_NEW(pdl_embedding);
    m->calls = calls;
    m->e = e;
    m->texts = texts;
    m->todo = pdl_list_new(8);
    m->vectors = pdl_dict_new(pdl_list_len(texts));
    m->model = pdl_absent();
    m->batch = batch_of(e->request, &calls->env);
    m->next = calls->embeddings.first;
    m->prev = &calls->embeddings.first;
    if (m->next) m->next->prev = &m->next;
    calls->embeddings.first = m;
    hash_settings(m);
    gather(m);
    pump(m);
}

static void drop(pdl_embedding *m) {
    pdl_effect *e = m->e;
    cancel_batches(m);
    release(m);
    pdl_effect_free(e);
}

bool pdl_embed_cancel(pdl_calls *calls, uint32_t id) {
    for (pdl_embedding *m = calls->embeddings.first; m; m = m->next)
        if (m->e->id == id) {
            drop(m);
            return true;
        }
    return false;
}

void pdl_embed_close(pdl_calls *calls) {
    while (calls->embeddings.first) drop(calls->embeddings.first);
    pdl_drop(calls->embeddings.known);
    calls->embeddings.known = pdl_absent();
}
