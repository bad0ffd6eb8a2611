/* budget_world.c -- charges an effect to its budget and to every budget around that one; see
 * budget_world.h.
 *
 *   start -> fits: reserve -> the next world -> settle -> answer
 *         -> would fit if the reservations were released: wait for the next settling
 *         -> does not fit: refuse
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "budget/budget_world.h"

#include <assert.h>
#include <math.h>

#include "base/linked.h"
#include "base/plural.h"
#include "io/clock.h"
#include "value/int.h"

#include "base/banned.h"

typedef struct reservation {
    double tokens, cost;
} reservation;

/* An effect that is charged. While the effect waits, e points to it. While the effect is in flight,
 * e is NULL, and this world is the effect's sink. */
typedef struct charge {
    struct budget_world *world;
    pdl_effect *e;
    uint32_t id;
    pdl_budget *budget; /* owned */
    pdl_effect_sink asker;
    /* owned, while the effect is in flight: one for each budget, innermost first */
    reservation *reserved;
    bool is_call;    /* the effect is a call of a model */
    bool is_request; /* the effect is a request to the web */
    double tokens_of_prompt,
        /* estimated tokens; tokens_of_answer is 0 when the parameters do not limit the answer */
        tokens_of_answer;
    pdl_price price;
    bool priced;
    pdl_timer *deadline;
    /* A copy of an effect in flight that has a deadline. The copy receives the error when the time
     * has passed. */
    pdl_effect *twin;
    struct charge *prev, *next; /* the previous and the next effect of its list */
} charge;

typedef struct budget_list {
    charge *first, *last;
} list;

typedef struct budget_world {
    pdl_world world;
    pdl_budget_world_options opt;
    list waiting, going;
    list *passing; /* the list that is being walked; NULL outside of a walk */
    /* retrying: waiting effects are being reconsidered; again: they must be reconsidered once
     * more */
    bool retrying, again;
} budget_world;

/* --- lists ------------------------------------------------------------------------------------ */

static charge *find(const list *l, uint32_t id) {
    charge *c = l->first;
    while (c && c->id != id) c = c->next;
    return c;
}

static void release(charge *c) {
    pdl_timer_stop(c->deadline);
    pdl_free(c->reserved);
    pdl_budget_drop(c->budget);
    pdl_free(c);
}

/* --- sums ------------------------------------------------------------------------------------- */

static bool is_of_model(const pdl_effect *e) {
    return e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed;
}

static const pdl_budget_item counted[] = {PDL_BUDGET_calls, PDL_BUDGET_tokens, PDL_BUDGET_cost,
                                          PDL_BUDGET_requests};
enum { N_COUNTED = sizeof counted / sizeof counted[0] };

/* Returns true for items that count effects when they start; such items need no estimate. */
static bool is_count(pdl_budget_item i) {
    return i == PDL_BUDGET_calls || i == PDL_BUDGET_requests;
}

static double count_of(const charge *c, pdl_budget_item i) {
    return i == PDL_BUDGET_calls ? c->is_call : c->is_request;
}

/* Returns how much c needs of an item of b. The length of the answer is assumed to be the maximum
 * that the parameters allow, or else the average of the answers so far. */
static double need_of(const charge *c, const pdl_budget *b, pdl_budget_item i) {
    double mean = b->answers > 0 ? b->answer_tokens / b->answers : 0;
    double answer = c->tokens_of_answer > 0 ? c->tokens_of_answer : mean;
    if (is_count(i)) return count_of(c, i);
    if (!c->is_call) return 0;
    if (i == PDL_BUDGET_tokens) return c->tokens_of_prompt + answer;
    double cost =
        c->priced ? c->tokens_of_prompt * pdl_price_of_prompt(&c->price) + answer * c->price.output
                  : 0;
    return b->answers > 0 ? fmax(cost, b->used[PDL_BUDGET_cost] / b->answers)
                          : cost; /* the service may report the real cost later */
}

/* Returns true when c has to wait for the first answer. Until then the length of answers is
 * unknown, and only one call may be in flight. */
static bool is_first(const charge *c, const pdl_budget *b, pdl_budget_item i) {
    return !is_count(i) && c->is_call && c->tokens_of_answer <= 0 && b->answers <= 0 &&
           b->going > 0;
}

/* Returns the first budget into which c does not fit. with_reserved: amounts that other effects
 * have reserved count as used. */
static const pdl_budget *too_small(const charge *c, bool with_reserved, pdl_budget_item *item) {
    for (const pdl_budget *b = c->budget; b; b = b->up) {
        for (size_t k = 0; k < N_COUNTED; k++) {
            pdl_budget_item i = counted[k];
            double sum = b->used[i] + need_of(c, b, i) + (with_reserved ? b->reserved[i] : 0);
            bool spent = !is_count(i) && c->is_call &&
                         /* when a limit is used up, even a call that needs nothing does not fit */
                         b->used[i] >= b->limit[i];
            bool waits = with_reserved && is_first(c, b, i);
            if (b->limit[i] < 0 || (sum <= b->limit[i] && !spent && !waits)) continue;
            *item = i;
            return b;
        }
    }
    return NULL;
}

static double seconds_of(const pdl_budget *b) {
    return (double)(pdl_budget_clock_ns(b) - b->start_ns) / 1e9;
}

/* Returns the budget whose time ends first, and in *left how many seconds remain; NULL when no
 * budget has a time. */
static const pdl_budget *soonest(const pdl_budget *from, double *left) {
    const pdl_budget *first = NULL;
    for (const pdl_budget *b = from; b; b = b->up) {
        double rest = b->limit[PDL_BUDGET_seconds] - seconds_of(b);
        if (b->limit[PDL_BUDGET_seconds] < 0 || (first && rest >= *left)) continue;
        first = b;
        *left = rest;
    }
    return first;
}

static bool has_limit(const pdl_budget *b, pdl_budget_item i) {
    for (; b; b = b->up)
        if (b->limit[i] >= 0) return true;
    return false;
}

/* Reserves the amounts of c in all its budgets. The counterpart leave_way releases the
 * reservations. */
static void take_way(charge *c) {
    size_t k = 0;
    for (pdl_budget *b = c->budget; b; b = b->up) k++;
    c->reserved = PDL_NEW_N(reservation, k);
    k = 0;
    for (pdl_budget *b = c->budget; b; b = b->up, k++) {
        c->reserved[k] =
            (reservation){need_of(c, b, PDL_BUDGET_tokens), need_of(c, b, PDL_BUDGET_cost)};
        b->reserved[PDL_BUDGET_tokens] += c->reserved[k].tokens;
        b->reserved[PDL_BUDGET_cost] += c->reserved[k].cost;
        b->used[PDL_BUDGET_calls] += c->is_call;
        b->used[PDL_BUDGET_requests] += c->is_request;
        b->going += c->is_call;
    }
}

static void leave_way(charge *c) {
    size_t k = 0;
    for (pdl_budget *b = c->budget; b; b = b->up, k++) {
        b->going -= c->is_call;
        /* Avoid float residue: reset to 0 when nothing is in flight. */
        b->reserved[PDL_BUDGET_tokens] =
            b->going ? b->reserved[PDL_BUDGET_tokens] - c->reserved[k].tokens : 0;
        b->reserved[PDL_BUDGET_cost] =
            b->going ? b->reserved[PDL_BUDGET_cost] - c->reserved[k].cost : 0;
    }
}

/* --- refusing --------------------------------------------------------------------------------- */

static void put_need(const charge *c, const pdl_budget *b, pdl_budget_item i, pdl_buf *why) {
    const char *what = i == PDL_BUDGET_cost ? "cost" : "tokens";
    if (b->used[i] >= b->limit[i])
        pdl_buf_putf(why, "the budget of %.15g %s is spent", b->limit[i], what);
    else
        pdl_buf_putf(
            why, "the budget of %.15g %s is too small for this call: %.15g used, up to %.6g needed",
            b->limit[i], what, b->used[i], need_of(c, b, i));
}

static bool refuse(const charge *c, const pdl_budget *b, pdl_budget_item i, pdl_err *err) {
    pdl_buf why = PDL_BUF;
    if (i == PDL_BUDGET_seconds) return pdl_budget_refuse_time(b, err);
    if (!is_count(i))
        put_need(c, b, i, &why);
    else
        pdl_buf_putf(&why, "the budget of %.15g %s%s is spent", b->limit[i],
                     i == PDL_BUDGET_calls ? "call" : "request", PDL_PLURAL(b->limit[i]));
    pdl_budget_refuse(b, i, pdl_buf_str(&why), err);
    pdl_buf_fini(&why);
    return false;
}

/* Finds the price of a call. A budget of cost cannot judge a call whose price is unknown, so such a
 * call is an error. */
static bool find_price(charge *c, const pdl_effect *e, pdl_err *err) {
    pdl_vref model = pdl_dict_getz(e->request, "model");
    pdl_str name = pdl_is_str(model) ? pdl_str_get(model) : PDL_STR("");
    c->priced = pdl_price_find(c->world->opt.prices, name, pdl_dict_getz(e->request, "parameters"),
                               &c->price);
    if (c->priced || !has_limit(c->budget, PDL_BUDGET_cost)) return true;
    pdl_err_set(err, PDL_E_config, e->loc,
                "a budget has a cost, and the price of model '%.*s' is not known", PDL_FMT(name));
    pdl_err_hint(err,
                 "give a table of prices with --prices or PDL_PRICES, or input_cost_per_token and "
                 "output_cost_per_token among the parameters");
    return false;
}

static bool estimate(charge *c, const pdl_effect *e, pdl_err *err) {
    pdl_vref p = pdl_dict_getz(e->request, "parameters");
    c->is_request = e->kind == PDL_EFFECT_http;
    if (!is_of_model(e)) return true;
    if (!find_price(c, e, err)) return false;
    c->is_call = true;
    c->tokens_of_prompt = (double)pdl_tokens_estimate(e->request);
    c->tokens_of_answer = (double)pdl_tokens_allowed(p);
    return true;
}

/* --- effects in flight ------------------------------------------------------------------------ */

static double number_or(pdl_vref v, double missing) {
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : missing;
}

/* Charges what a reply really used; missing numbers are estimated. */
static void settle(const charge *c, const pdl_reply *r) {
    pdl_vref usage = pdl_is_dict(r->value) ? pdl_dict_getz(r->value, "usage") : pdl_absent();
    pdl_vref content = pdl_is_dict(r->value) ? pdl_dict_getz(r->value, "content") : pdl_absent();
    double prompt = c->tokens_of_prompt,
           answer = pdl_is_str(content) ? (double)pdl_str_get(content).n / 4 : 0, cost = 0;
    pdl_vref said = pdl_absent();
    if (r->err.kind || !c->is_call) return;
    if (pdl_is_dict(usage)) {
        prompt = number_or(pdl_dict_getz(usage, "prompt_tokens"), prompt);
        answer = number_or(pdl_dict_getz(usage, "completion_tokens"), answer);
        said = pdl_dict_getz(usage, "cost");
    }
    bool priced = c->priced && pdl_price_of(&c->price, usage, &cost);
    if (pdl_is_int(said) || pdl_is(said, PDL_V_FLOAT))
        cost = number_or(said, 0);
    else if (c->priced && !priced)
        cost = prompt * c->price.input + answer * c->price.output;
    for (pdl_budget *b = c->budget; b; b = b->up) {
        b->used[PDL_BUDGET_tokens] += prompt + answer;
        b->used[PDL_BUDGET_cost] += cost;
        b->answers++;
        b->answer_tokens += answer;
    }
}

static void look_again(budget_world *r);

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    charge *c = user;
    if (c->asker.piece) c->asker.piece(c->asker.user, e, text);
}

static void on_extra(void *user, const pdl_effect *e, pdl_vref extra) {
    charge *c = user;
    c->asker.extra(c->asker.user, e, extra);
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    charge *c = user;
    budget_world *r = c->world;
    pdl_effect_sink asker = c->asker;
    leave_way(c);
    settle(c, reply);
    pdl_linked_remove(&r->going, c);
    pdl_effect_free(c->twin);
    release(c);
    if (asker.reply) asker.reply(asker.user, e, reply);
    look_again(r);
}

/* Ends the effect with the budget's error when its time has passed. The effect may wait or be in
 * flight. */
static void on_deadline(void *user) {
    charge *c = user;
    budget_world *r = c->world;
    pdl_err err = {0};
    double left = 0;
    pdl_effect *e = c->e ? c->e : c->twin;
    c->deadline = NULL;
    refuse(c, soonest(c->budget, &left), PDL_BUDGET_seconds, &err);
    pdl_linked_remove(c->e ? &r->waiting : &r->going, c);
    if (!c->e) {
        leave_way(c);
        r->world.next->ops->cancel(r->world.next, c->id);
    }
    release(c);
    pdl_effect_refuse(e, &err);
    look_again(r);
}

/* Reserves the amounts of c and forwards the effect. Takes e. */
static void go(charge *c, pdl_effect *e) {
    budget_world *r = c->world;
    take_way(c);
    pdl_linked_append(&r->going, c);
    c->e = NULL;
    if (c->deadline) c->twin = pdl_effect_forward(e, e->sink);
    c->asker = e->sink;
    e->sink = (pdl_effect_sink){
        .user = c, .piece = on_piece, .reply = on_reply, .extra = c->asker.extra ? on_extra : NULL};
    r->world.next->ops->start(r->world.next, e);
}

/* Refuses the effect. Takes c, which is in no list, and e. */
static void give_up(charge *c, pdl_effect *e, pdl_err *err) {
    release(c);
    pdl_effect_refuse(e, err);
}

/* Forwards, queues or refuses the effect. Takes c, which is in no list, and e. */
static void decide(charge *c, pdl_effect *e) {
    pdl_budget_item item;
    pdl_err err = {0};
    const pdl_budget *b = too_small(c, false, &item);
    if (b) {
        refuse(c, b, item, &err);
        give_up(c, e, &err);
    } else if (too_small(c, true, &item)) {
        c->e = e;
        pdl_linked_append(&c->world->waiting, c);
    } else {
        go(c, e);
    }
}

/* Reconsiders the waiting effects after an effect was settled: a waiting effect may fit now, or is
 * refused because it can never fit. When an effect is answered at once, this function is called
 * again from inside; the loop below then runs once more. */
static void look_again(budget_world *r) {
    r->again = true;
    if (r->retrying) return;
    r->retrying = true;
    while (r->again) {
        list old = r->waiting;
        r->again = false;
        r->waiting = (list){0};
        r->passing = &old;
        while (old.first) {
            charge *c = old.first;
            pdl_effect *e = c->e;
            pdl_linked_remove(&old, c);
            decide(c, e);
        }
        r->passing = NULL;
    }
    r->retrying = false;
}

/* --- the world -------------------------------------------------------------------------------- */

static void start(pdl_world *w, pdl_effect *e) {
    budget_world *r = (budget_world *)(void *)w;
    double left = 0;
    if (!e->budget || !pdl_effect_has(e->kind, PDL_EFFECT_WAITS)) {
        r->world.next->ops->start(r->world.next, e);
        return;
    }
    pdl_err err = {0};
    charge *c = PDL_NEW(charge);
    c->world = r;
    c->id = e->id;
    c->budget = pdl_budget_keep(e->budget);
    const pdl_budget *b = soonest(c->budget, &left);
    if (b && left <= 0)
        refuse(c, b, PDL_BUDGET_seconds, &err);
    else if (b)
        c->deadline =
            pdl_timer_start(r->opt.loop, (uint64_t)ceil(fmin(left, 1e9) * 1e3), on_deadline, c);
    if (err.kind || !estimate(c, e, &err))
        give_up(c, e, &err);
    else
        decide(c, e);
}

static void cancel(pdl_world *w, uint32_t id) {
    budget_world *r = (budget_world *)(void *)w;
    list *l = &r->waiting;
    charge *c = find(l, id);
    if (!c && r->passing) c = find(l = r->passing, id);
    if (!c) c = find(l = &r->going, id);
    if (!c) {
        r->world.next->ops->cancel(r->world.next, id);
        return;
    }
    pdl_linked_remove(l, c);
    if (c->e) {
        pdl_effect_free(c->e);
    } else {
        leave_way(c);
        r->world.next->ops->cancel(r->world.next, id);
        pdl_effect_free(c->twin);
    }
    release(c);
}

static bool poll(pdl_world *w, int timeout_ms) {
    budget_world *r = (budget_world *)(void *)w;
    return r->world.next->ops->poll(r->world.next, timeout_ms);
}

static void close(pdl_world *w) {
    budget_world *r = (budget_world *)(void *)w;
    list *lists[] = {&r->waiting, &r->going};
    for (size_t i = 0; i < 2; i++) {
        for (charge *c; (c = lists[i]->first);) {
            pdl_linked_remove(lists[i], c);
            pdl_effect_free(c->e);
            pdl_effect_free(c->twin);
            release(c);
        }
    }
    pdl_free(r);
}

/* Charges an effect that was answered outside of this world, as if this world had forwarded it. A
 * reply that a budget refused costs nothing. */
static void charge_answered(pdl_world *w, const pdl_effect *e, const pdl_reply *reply) {
    pdl_err ignored = {0};
    charge c = {.world = (budget_world *)(void *)w, .budget = e->budget};
    if (!e->budget || reply->err.kind == PDL_E_budget || !estimate(&c, e, &ignored)) {
        pdl_err_fini(&ignored);
        return;
    }
    for (pdl_budget *b = e->budget; b; b = b->up) {
        b->used[PDL_BUDGET_calls] += c.is_call;
        b->used[PDL_BUDGET_requests] += c.is_request;
    }
    settle(&c, reply);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close, .charge = charge_answered};

pdl_world *pdl_budget_world_new(const pdl_budget_world_options *opt, pdl_world *next) {
    budget_world *r = PDL_NEW(budget_world);
    r->world.ops = &ops;
    r->world.next = next;
    r->opt = *opt;
    return &r->world;
}
