/* merge.c -- holds calls back, groups equal calls, and gives each call one choice of the answer;
 * see merge.h.
 *
 * The worlds before this one (budget, cache and journals) still see every call that the program
 * made. The tokens of the merged request are divided: the first call gets the tokens of the prompt,
 * and each call a share of the tokens of the answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/calls/merge.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"
#include "value/int.h"

#include "base/banned.h"

/* OpenAI's limit of `n`. */
enum { MAX_CHOICES = 128 };

typedef struct merge_world merge_world;

/* A request that was sent for one or more calls. The pointer to a call that was cancelled is
 * NULL. */
typedef struct call_group {
    merge_world *world;
    pdl_effect **calls; /* n, owned */
    size_t n, live;
    uint32_t id;        /* id of the effect that was forwarded */
    bool is_delivering; /* the group is released after the answers were delivered */
    struct call_group *next, *prev;
} call_group;

struct merge_world {
    pdl_world world;
    pdl_merge_options o;
    PDL_VEC(pdl_effect *) waiting;
    call_group *first;
    /* models whose servers answered a request for several choices with fewer choices */
    pdl_map refused;
    PDL_VEC(char *) names; /* keys of `refused`, owned */
};

static char mark; /* a value for the map, whose keys alone are used */

static pdl_str model_of(const pdl_effect *e) {
    pdl_vref name = pdl_dict_getz(e->request, "model");
    return pdl_is_str(name) ? pdl_str_get(name) : (pdl_str){0};
}

static bool has_parameter(const pdl_effect *e, const char *name) {
    pdl_vref v = pdl_dict_getz(pdl_dict_getz(e->request, "parameters"), name);
    return !pdl_is_absent(v) && !pdl_is_null(v);
}

static bool can_merge(const merge_world *w, const pdl_effect *e, unsigned takes) {
    pdl_str model = model_of(e);
    return (takes & PDL_TAKES_N) && model.n && !pdl_map_find(&w->refused, model) &&
           !has_parameter(e, "n") && !has_parameter(e, "mock_response");
}

/* --- requests --------------------------------------------------------------------------------- */

/* Returns the seed for a call. It depends only on the seed of the options and on the place and the
 * number of the call. */
static int64_t seed_of(const merge_world *w, const pdl_effect *e) {
    pdl_buf text = PDL_BUF;
    char hex[65];
    pdl_path_text(e->place, &text);
    pdl_buf_putf(&text, "\n%u\n%llu", e->seq, (unsigned long long)*w->o.seed);
    pdl_hash_hex(pdl_buf_str(&text), hex);
    pdl_buf_fini(&text);
    hex[7] = 0; /* 28 bits, which every server accepts as a seed */
    return strtol(hex, NULL, 16);
}

static pdl_val with_parameter(pdl_val request, const char *name, int64_t v) {
    pdl_vref old = pdl_dict_getz(request, "parameters");
    pdl_val p = pdl_dict_merge(pdl_dict_new(8), old);
    return pdl_dict_putz(request, "parameters", pdl_dict_putz(p, name, pdl_int(v)));
}

static void forget(call_group *g) {
    merge_world *w = g->world;
    *(g->prev ? &g->prev->next : &w->first) = g->next;
    if (g->next) g->next->prev = g->prev;
    for (size_t i = 0; i < g->n; i++)
        if (g->calls[i]) pdl_effect_free(g->calls[i]);
    pdl_free(g->calls);
    pdl_free(g);
}

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    const call_group *g = user;
    const pdl_effect *asked = g->n == 1 ? g->calls[0] : NULL;
    (void)e;
    if (asked && asked->sink.piece) asked->sink.piece(asked->sink.user, asked, text);
}

static void on_extra(void *user, const pdl_effect *e, pdl_vref extra) {
    const call_group *g = user;
    const pdl_effect *asked = g->n == 1 ? g->calls[0] : NULL;
    (void)e;
    if (asked && asked->sink.extra) asked->sink.extra(asked->sink.user, asked, extra);
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r);

/* Sends n calls as one. Takes them. */
static void send(merge_world *w, pdl_effect *const *calls, size_t n) {
    call_group *g = PDL_NEW(call_group);
    *g = (call_group){.world = w, .n = n, .live = n, .id = calls[0]->id, .next = w->first};
    g->calls = PDL_NEW_N(pdl_effect *, n);
    for (size_t i = 0; i < n; i++) g->calls[i] = calls[i];
    if (w->first) w->first->prev = g;
    w->first = g;
    const pdl_effect_sink *asker = &calls[0]->sink;
    pdl_effect *e = pdl_effect_forward(
        calls[0], (pdl_effect_sink){g, on_piece, on_reply, NULL, asker->extra ? on_extra : NULL});
    bool is_seeded = w->o.seed && (w->o.takes(w->o.user, e) & PDL_TAKES_SEED);
    if (is_seeded && !has_parameter(e, "seed"))
        e->request = with_parameter(e->request, "seed", seed_of(w, e));
    if (n > 1) e->request = with_parameter(e->request, "n", (int64_t)n);
    w->world.next->ops->start(w->world.next, e);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns the usage of the call with index i, of n calls. The first call gets the tokens of the
 * prompt; the tokens of the answers are divided. */
static pdl_val usage_of(pdl_vref all, size_t i, size_t n) {
    int64_t prompt = 0, answers = 0;
    if (!pdl_is_dict(all)) return pdl_null();
    pdl_val u = i ? pdl_dict_new(4) : pdl_dict_merge(pdl_dict_new(8), all);
    (void)pdl_int_get(pdl_dict_getz(all, "prompt_tokens"), &prompt);
    (void)pdl_int_get(pdl_dict_getz(all, "completion_tokens"), &answers);
    int64_t own = answers / (int64_t)n + ((int64_t)i < answers % (int64_t)n);
    if (i) prompt = 0;
    u = pdl_dict_putz(u, "prompt_tokens", pdl_int(prompt));
    u = pdl_dict_putz(u, "completion_tokens", pdl_int(own));
    u = pdl_dict_putz(u, "total_tokens", pdl_int(prompt + own));
    pdl_vref cost = pdl_dict_getz(all, "cost");
    if (pdl_is_int(cost) || pdl_is(cost, PDL_V_FLOAT))
        u = pdl_dict_putz(u, "cost", pdl_float(pdl_num_to_double(cost) / (double)n));
    return u;
}

static pdl_vref choices_of(const pdl_reply *r) {
    pdl_vref raw = r->err.kind ? pdl_absent() : pdl_dict_getz(r->value, "raw");
    return pdl_is_dict(raw) ? pdl_dict_getz(raw, "choices") : pdl_absent();
}

/* Answers the call e, the i-th of n merged calls, with the i-th choice. Takes e. */
static void deal(pdl_effect *e, const pdl_reply *r, size_t i, size_t n) {
    pdl_vref raw = pdl_dict_getz(r->value, "raw");
    pdl_val choice = pdl_keep(pdl_list_at(choices_of(r), i)), value;
    pdl_err err = {0};
    if (pdl_is_dict(choice)) choice = pdl_dict_putz(choice, "index", pdl_int(0));
    pdl_val own = pdl_dict_putz(pdl_keep(raw), "choices", pdl_list_push(pdl_list_new(1), choice));
    own = pdl_dict_putz(own, "usage", usage_of(pdl_dict_getz(r->value, "usage"), i, n));
    if (pdl_model_reply(own, &value, &err))
        pdl_effect_answer(e, value, r->seconds);
    else
        pdl_effect_refuse_after(e, &err, r->seconds);
}

/* Returns true for an error that the call might not get if it were sent alone. */
static bool is_of_merged(const pdl_reply *r) {
    return r->err.kind == PDL_E_bad_request || r->err.kind == PDL_E_unsupported_params ||
           r->err.kind == PDL_E_content_policy;
}

static void refuse_model(merge_world *w, const pdl_effect *e) {
    if (pdl_map_find(&w->refused, model_of(e))) return;
    char *name = pdl_str_dup(model_of(e));
    *pdl_vec_push(&w->names) = name;
    (void)pdl_map_put(&w->refused, pdl_str_of(name), &mark);
}

static pdl_effect *take(call_group *g, size_t i) {
    pdl_effect *e = g->calls[i];
    g->calls[i] = NULL;
    if (e) g->live--;
    return e;
}

/* Gives each call its choice. A call without a choice is sent alone, because some servers ignore
 * `n`. */
static void deal_all(call_group *g, const pdl_effect *asked, const pdl_reply *r) {
    pdl_vref choices = choices_of(r);
    size_t n = pdl_is_list(choices) ? pdl_list_len(choices) : 0;
    bool singly = n < g->n && (!r->err.kind || is_of_merged(r));
    if (singly) refuse_model(g->world, asked);
    for (size_t i = 0; i < g->n; i++) {
        pdl_effect *e = take(g, i);
        if (!e) continue;
        if (i < n) {
            deal(e, r, i, n < g->n ? n : g->n);
        } else if (singly) {
            send(g->world, &e, 1);
        } else {
            pdl_err err = {0};
            pdl_err_copy(&err, &r->err);
            pdl_effect_refuse_after(e, &err, r->seconds);
        }
    }
}

static void on_reply(void *user, const pdl_effect *asked, const pdl_reply *r) {
    call_group *g = user;
    g->is_delivering = true;
    if (g->n == 1) {
        pdl_effect *e = take(g, 0);
        pdl_err err = {0};
        if (e && r->err.kind) {
            pdl_err_copy(&err, &r->err);
            pdl_effect_refuse_after(e, &err, r->seconds);
        } else if (e) {
            pdl_effect_answer(e, pdl_keep(r->value), r->seconds);
        }
    } else {
        deal_all(g, asked, r);
    }
    forget(g);
}

/* --- what waits ------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Compares texts by the numbers in them: particle2 is before particle10. */
static int compare(pdl_str a, pdl_str b) {
    size_t i = 0, j = 0;
    while (i < a.n && j < b.n) {
        size_t from = i, of = j;
        while (i < a.n && is_digit(a.p[i])) i++;
        while (j < b.n && is_digit(b.p[j])) j++;
        size_t n = i - from, m = j - of;
        /* the numbers have no leading zeros, so the longer one is larger */
        if (n && m && n != m) return n < m ? -1 : 1;
        i = from;
        j = of;
        if (a.p[i] != b.p[j]) return (unsigned char)a.p[i] < (unsigned char)b.p[j] ? -1 : 1;
        i++;
        j++;
    }
    return a.n - i < b.n - j ? -1 : a.n - i > b.n - j;
}

/* A call that waits, and the facts by which it is ordered and compared. */
typedef struct waiting_call {
    pdl_effect *e;
    pdl_buf place, content;
    size_t group; /* number of the call's group */
} waiting_call;

static int by_place(const void *a, const void *b) {
    const waiting_call *x = a, *y = b;
    int c = compare(pdl_buf_str(&x->place), pdl_buf_str(&y->place));
    if (c) return c;
    return x->e->seq < y->e->seq ? -1 : x->e->seq > y->e->seq;
}

/* Describes the call. The description is empty when the call can be equal to no other call. */
static void describe(merge_world *w, pdl_effect *e, waiting_call *c) {
    pdl_err ignored = {0};
    *c = (waiting_call){.e = e, .place = PDL_BUF, .content = PDL_BUF};
    pdl_path_text(e->place, &c->place);
    bool ok = can_merge(w, e, w->o.takes(w->o.user, e)) &&
              pdl_effect_content(e, NULL, &c->content, &ignored);
    if (!ok) pdl_buf_clear(&c->content);
    pdl_err_fini(&ignored);
}

typedef struct forming_group {
    PDL_VEC(pdl_effect *) calls;
} forming_group;

/* Sends the calls of c, which are in order, in groups of equal calls. A group is sent at the place
 * of its first call. */
static void send_all(merge_world *w, waiting_call *c, size_t n) {
    PDL_VEC(forming_group) groups = {0};
    pdl_map found = {0};
    for (size_t i = 0; i < n; i++) {
        pdl_str content = pdl_buf_str(&c[i].content);
        size_t at = content.n ? (size_t)(uintptr_t)pdl_map_find(&found, content) : 0;
        const forming_group *g = at ? &groups.p[at - 1] : NULL;
        if (!g || g->calls.n >= MAX_CHOICES ||
            !pdl_val_eq(g->calls.p[0]->request, c[i].e->request)) {
            *pdl_vec_push(&groups) = (forming_group){0};
            at = groups.n;
            if (content.n) (void)pdl_map_put(&found, content, (void *)(uintptr_t)at);
        }
        *pdl_vec_push(&groups.p[at - 1].calls) = c[i].e;
    }
    for (size_t i = 0; i < groups.n; i++) {
        send(w, groups.p[i].calls.p, groups.p[i].calls.n);
        pdl_vec_fini(&groups.p[i].calls);
    }
    pdl_map_fini(&found);
    pdl_vec_fini(&groups);
}

bool pdl_merge_send(pdl_world *world) {
    merge_world *w = (merge_world *)(void *)world;
    size_t n = w->waiting.n;
    if (!n) return false;
    waiting_call *c = PDL_NEW_N(waiting_call, n);
    for (size_t i = 0; i < n; i++) describe(w, w->waiting.p[i], &c[i]);
    w->waiting.n = 0;
    qsort(c, n, sizeof *c, by_place);
    send_all(w, c, n);
    for (size_t i = 0; i < n; i++) {
        pdl_buf_fini(&c[i].place);
        pdl_buf_fini(&c[i].content);
    }
    pdl_free(c);
    return true;
}

/* --- the world -------------------------------------------------------------------------------- */

static void start(pdl_world *world, pdl_effect *e) {
    merge_world *w = (merge_world *)(void *)world;
    if (e->kind != PDL_EFFECT_model) {
        w->world.next->ops->start(w->world.next, e);
        return;
    }
    pdl_vref stream = pdl_dict_getz(e->request, "stream");
    bool is_whole = !pdl_is_bool(stream) || !pdl_bool_of(stream);
    /* A call of code is forwarded at once. If it waited, its code would occupy the worker, and
     * other particles could not reach their calls. */
    if (is_whole && !e->by_code && can_merge(w, e, w->o.takes(w->o.user, e)))
        *pdl_vec_push(&w->waiting) = e;
    else
        send(w, &e, 1);
}

static void cancel_in(call_group *g, size_t i) {
    merge_world *w = g->world;
    pdl_effect_free(take(g, i));
    if (g->live || g->is_delivering) return;
    w->world.next->ops->cancel(w->world.next, g->id);
    forget(g);
}

static void cancel(pdl_world *world, uint32_t id) {
    merge_world *w = (merge_world *)(void *)world;
    for (size_t i = 0; i < w->waiting.n; i++) {
        if (w->waiting.p[i]->id != id) continue;
        pdl_effect_free(w->waiting.p[i]);
        w->waiting.p[i] = w->waiting.p[--w->waiting.n];
        return;
    }
    for (call_group *g = w->first; g; g = g->next)
        for (size_t i = 0; i < g->n; i++)
            if (g->calls[i] && g->calls[i]->id == id) {
                cancel_in(g, i);
                return;
            }
    w->world.next->ops->cancel(w->world.next, id);
}

static bool poll(pdl_world *world, int timeout_ms) {
    merge_world *w = (merge_world *)(void *)world;
    return w->world.next->ops->poll(w->world.next, timeout_ms);
}

/* Drops the calls that wait, and cancels the requests in flight: the next worlds, which are closed
 * after this one, could still answer them. */
static void close_world(pdl_world *world) {
    merge_world *w = (merge_world *)(void *)world;
    for (size_t i = 0; i < w->waiting.n; i++) pdl_effect_free(w->waiting.p[i]);
    pdl_vec_fini(&w->waiting);
    while (w->first) {
        call_group *g = w->first;
        w->world.next->ops->cancel(w->world.next, g->id);
        forget(g);
    }
    pdl_map_fini(&w->refused);
    for (size_t i = 0; i < w->names.n; i++) pdl_free(w->names.p[i]);
    pdl_vec_fini(&w->names);
    pdl_free(w);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

pdl_world *pdl_merge_world_new(const pdl_merge_options *o, pdl_world *next) {
    merge_world *w = PDL_NEW(merge_world);
    *w = (merge_world){.world = {&ops, next}, .o = *o};
    return &w->world;
}
