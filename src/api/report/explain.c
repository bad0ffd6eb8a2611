/* explain.c -- a world that records requests instead of sending them, for `pdl explain`; see
 * explain.h. It takes the place of the worlds that send, so the policies before it decide as in a
 * real run. Effects that are allowed are forwarded. All others are recorded and stay open, and the
 * run continues as far as it can without their answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/explain.h"

#include <assert.h>

#include "api/embed/objects.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/vec.h"

#include "base/banned.h"

typedef struct note {
    unsigned bit;  /* the permission that would allow the effect; 0 for a model call */
    size_t number; /* number of the call, from 1 */
} note;

typedef struct explainer {
    pdl_world world;
    pdl_world *outside;
    unsigned allowed;
    const pdl_prices *prices;
    pdl_explain_preview_fn *preview; /* may be NULL */
    const pdl_redaction *redaction;
    pdl_val calls, not_done; /* lists */
    pdl_idmap held;          /* id -> effect that is never answered; owned */
    PDL_VEC(note) notes;
    pdl_val foreseen;    /* id -> what a policy says about the effect, as text */
    pdl_idmap noted;     /* id -> 1 + position of its entry in the notes */
    pdl_idmap forwarded; /* id -> forwarded effect that is not answered yet; owned */
} explainer;

/* An effect that is executed, and the sink that it had. */
typedef struct forwarded {
    explainer *x;
    pdl_effect_sink asker;
    uint32_t id;
} forwarded;

/* The permissions, and the kinds of effects that each allows. No permission exists for other
 * kinds. */
static const struct {
    const char *word;
    unsigned bit, kinds;
} words[] = {
#define KIND(id) (1u << PDL_EFFECT_##id)
#define W(id, kinds)                                                                               \
    { #id, PDL_ALLOW_##id, kinds }
    W(code, KIND(code) | KIND(object)),
    W(command, KIND(command)),
    W(read, KIND(read)),
    W(write, KIND(write)),
    W(input, KIND(input)),
    W(tool, KIND(tool)),
    W(http, KIND(http)),
#undef W
#undef KIND
};
enum { N_WORDS = sizeof words / sizeof words[0] };

bool pdl_allow_read(pdl_str text, unsigned *out, pdl_err *err) {
    *out = 0;
    for (size_t from = 0; from <= text.n;) {
        size_t comma = pdl_str_find(text, PDL_STR(","), from),
               to = comma == PDL_NOT_FOUND ? text.n : comma, k = 0;
        pdl_str word = pdl_str_trim(pdl_str_sub(text, from, to));
        while (k < N_WORDS && !pdl_str_is(word, words[k].word)) k++;
        if (k == N_WORDS)
            return pdl_err_set(
                err, PDL_E_usage, (pdl_loc){0},
                "'%.*s' cannot be allowed: choose from code, command, read, write, input, tool, "
                "http",
                PDL_FMT(word));
        *out |= words[k].bit;
        from = to + 1;
    }
    return true;
}

/* Returns the permission that allows effects of this kind; 0 when there is none. */
static unsigned bit_of(pdl_effect_kind k) {
    static_assert(PDL_EFFECT_COUNT <= 32, "kinds are bits");
    for (size_t i = 0; i < N_WORDS; i++)
        if (words[i].kinds >> k & 1u) return words[i].bit;
    return 0;
}

static const char *word_of(unsigned bit) {
    size_t k = 0;
    while (words[k].bit != bit) k++;
    return words[k].word;
}

static bool is_executed(const explainer *x, const pdl_effect *e) {
    unsigned bit = bit_of(e->kind);
    if (e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed) return false;
    return x->allowed & bit || pdl_objects_own(e) ||
           (!bit && !pdl_effect_has(e->kind, PDL_EFFECT_ACTS));
}

/* Begins the record of an effect with its place, and with what a policy says about it. */
static pdl_val begin_record(const explainer *x, const pdl_effect *e) {
    pdl_buf place = PDL_BUF;
    pdl_val id = pdl_int(e->id);
    pdl_vref policy = pdl_dict_find(x->foreseen, id);
    pdl_path_text(e->place, &place);
    pdl_val d = pdl_dict_putz(pdl_dict_new(12), "file",
                              e->loc.src ? pdl_text(e->loc.src->name) : pdl_null());
    d = pdl_dict_putz(d, "line", e->loc.src ? pdl_int(pdl_loc_line(e->loc)) : pdl_null());
    if (!pdl_is_absent(policy)) d = pdl_dict_putz(d, "policy", pdl_keep(policy));
    pdl_drop(id);
    return pdl_dict_putz(d, "place", pdl_text_of_buf(&place));
}

static pdl_val kept(pdl_vref request, const char *key) {
    pdl_vref v = pdl_dict_getz(request, key);
    return pdl_is_absent(v) ? pdl_null() : pdl_keep(v);
}

static pdl_val tokens_of(const explainer *x, const pdl_effect *e, pdl_val d) {
    pdl_price price;
    pdl_vref p = pdl_dict_getz(e->request, "parameters"),
             model = pdl_dict_getz(e->request, "model");
    int64_t prompt = pdl_tokens_estimate(e->request), answer = pdl_tokens_allowed(p);
    pdl_val t = pdl_dict_putz(pdl_dict_new(2), "prompt", pdl_int(prompt));
    t = pdl_dict_putz(t, "answer_at_most", answer ? pdl_int(answer) : pdl_null());
    d = pdl_dict_putz(d, "tokens", t);
    bool known =
        pdl_price_find(x->prices, pdl_is_str(model) ? pdl_str_get(model) : PDL_STR(""), p, &price);
    double cost = known ? (double)prompt * price.input + (double)answer * price.output : 0;
    return pdl_dict_putz(d, "cost", known ? pdl_float(cost) : pdl_null());
}

static void add_note(explainer *x, const pdl_effect *e, note n) {
    *pdl_vec_push(&x->notes) = n;
    pdl_idmap_put(&x->noted, e->id, (void *)(uintptr_t)x->notes.n);
}

static void note_call(explainer *x, pdl_effect *e) {
    static const char *const keys[] = {"model", "platform",   "messages",
                                       "input", "parameters", "schema"};
    pdl_val request = pdl_null(), problem = pdl_null();
    size_t number = pdl_list_len(x->calls) + 1;
    pdl_val d = begin_record(x, e);
    d = pdl_dict_putz(d, "call", pdl_int((int64_t)number));
    d = pdl_dict_putz(d, "kind", pdl_textz(pdl_effect_kind_name(e->kind)));
    /* The record will be printed, so values that the policy redacts in the output are redacted in
     * it. */
    pdl_val real = e->request;
    e->request = pdl_redact_labelled(x->redaction, pdl_keep(real));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        d = pdl_dict_putz(d, keys[i], kept(e->request, keys[i]));
    if (x->preview) x->preview(x->outside, e, &request, &problem);
    pdl_drop(e->request);
    e->request = real;
    d = tokens_of(x, e, d);
    d = pdl_dict_putz(d, "request", request);
    x->calls = pdl_list_push(x->calls, pdl_dict_putz(d, "problem", problem));
    add_note(x, e, (note){0, number});
}

static void note_not_done(explainer *x, const pdl_effect *e, unsigned bit) {
    pdl_val d = begin_record(x, e);
    d = pdl_dict_putz(d, "kind", pdl_textz(pdl_effect_kind_name(e->kind)));
    x->not_done = pdl_list_push(x->not_done, pdl_dict_putz(d, "allow", pdl_textz(word_of(bit))));
    add_note(x, e, (note){bit, 0});
}

/* --- effects that are executed ---------------------------------------------------------------- */

/* Frees f, which may be NULL. */
static void forget(explainer *x, forwarded *f) {
    if (!f) return;
    pdl_idmap_del(&x->forwarded, f->id);
    pdl_free(f);
}

static void piece_of(void *user, const pdl_effect *e, pdl_str text) {
    forwarded *f = user;
    if (f->asker.piece) f->asker.piece(f->asker.user, e, text);
}

static void extra_of(void *user, const pdl_effect *e, pdl_vref extra) {
    forwarded *f = user;
    f->asker.extra(f->asker.user, e, extra);
}

static void decided_of(void *user, const pdl_effect *e, pdl_vref decision) {
    forwarded *f = user;
    f->asker.decided(f->asker.user, e, decision);
}

static void reply_of(void *user, const pdl_effect *e, const pdl_reply *reply) {
    forwarded *f = user;
    pdl_effect_sink asker = f->asker;
    forget(f->x, f);
    if (asker.reply) asker.reply(asker.user, e, reply);
}

/* Executes an effect, and counts it until it is answered. */
static void forward(explainer *x, pdl_effect *e) {
    forwarded *f = PDL_NEW(forwarded);
    *f = (forwarded){.x = x, .asker = e->sink, .id = e->id};
    pdl_idmap_put(&x->forwarded, e->id, f);
    e->sink = (pdl_effect_sink){.user = f,
                                .piece = piece_of,
                                .reply = reply_of,
                                .decided = f->asker.decided ? decided_of : NULL,
                                .extra = f->asker.extra ? extra_of : NULL};
    x->outside->ops->start(x->outside, e);
}

/* --- the world -------------------------------------------------------------------------------- */

static void start(pdl_world *w, pdl_effect *e) {
    explainer *x = (explainer *)(void *)w;
    unsigned bit = bit_of(e->kind);
    if (e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed) {
        note_call(x, e);
        pdl_idmap_put(&x->held, e->id, e);
    } else if (e->kind == PDL_EFFECT_sleep) {
        pdl_effect_answer(e, pdl_null(), 0);
    } else if (is_executed(x, e)) {
        forward(x, e);
    } else {
        note_not_done(x, e, bit);
        if (bit == PDL_ALLOW_write) /* the answer to this kind of effect carries no information */
            pdl_effect_answer(e, pdl_null(), 0);
        else
            pdl_idmap_put(&x->held, e->id, e);
    }
}

static void cancel(pdl_world *w, uint32_t id) {
    explainer *x = (explainer *)(void *)w;
    pdl_effect *held = pdl_idmap_find(&x->held, id);
    if (!held) {
        forget(x, pdl_idmap_find(&x->forwarded, id));
        x->outside->ops->cancel(x->outside, id);
        return;
    }
    pdl_idmap_del(&x->held, id);
    pdl_effect_free(held);
}

/* A tool server stays open when all its calls are answered, so `outside` cannot say when the
 * explanation is complete. It is complete when the program waits only for held effects. */
static bool poll(pdl_world *w, int timeout_ms) {
    explainer *x = (explainer *)(void *)w;
    bool ends = x->held.n && !x->forwarded.n;
    return x->outside->ops->poll(x->outside, ends ? 0 : timeout_ms) && !ends;
}

static void close_world(pdl_world *w) {
    explainer *x = (explainer *)(void *)w;
    for (size_t i = 0; i < pdl_idmap_places(&x->held); i++) {
        pdl_effect *e = pdl_idmap_at(&x->held, i);
        if (e) pdl_effect_free(e);
    }
    for (size_t i = 0; i < pdl_idmap_places(&x->forwarded); i++)
        pdl_free(pdl_idmap_at(&x->forwarded, i));
    pdl_idmap_fini(&x->held);
    pdl_idmap_fini(&x->forwarded);
    pdl_idmap_fini(&x->noted);
    pdl_vec_fini(&x->notes);
    pdl_drop(x->foreseen);
    pdl_drop(x->calls);
    pdl_drop(x->not_done);
    pdl_free(x);
}

bool pdl_explain_foresee(pdl_world *w, const pdl_effect *e, const pdl_err *refusal) {
    explainer *x = (explainer *)(void *)w;
    if (is_executed(x, e)) return false;
    pdl_val id = pdl_int(e->id);
    if (pdl_is_absent(pdl_dict_find(x->foreseen, id)))
        x->foreseen = pdl_dict_put(x->foreseen, pdl_keep(id), pdl_textz(refusal->msg));
    pdl_drop(id);
    return true;
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

pdl_world *pdl_explain_world_new(pdl_world *outside, unsigned allowed, const pdl_prices *prices,
                                 pdl_explain_preview_fn *preview, const pdl_redaction *redaction) {
    explainer *x = PDL_NEW(explainer);
    x->world.ops = &ops;
    x->outside = outside;
    x->allowed = allowed;
    x->prices = prices;
    x->preview = preview;
    x->redaction = redaction;
    x->foreseen = pdl_dict_new(0);
    x->calls = pdl_list_new(4);
    x->not_done = pdl_list_new(0);
    return &x->world;
}

/* Returns the totals over all calls, and the number of calls that have no limit or no price. */
static pdl_val totals_of(pdl_vref calls) {
    int64_t prompt = 0, answer = 0, open_ended = 0, no_price = 0;
    double cost = 0;
    for (size_t i = 0; i < pdl_list_len(calls); i++) {
        pdl_vref c = pdl_list_at(calls, i), t = pdl_dict_getz(c, "tokens"),
                 most = pdl_dict_getz(t, "answer_at_most"), price = pdl_dict_getz(c, "cost");
        /* the sum cannot overflow, because all texts are in memory */
        prompt += pdl_int_of(pdl_dict_getz(t, "prompt"));
        if (pdl_is(most, PDL_V_INT) && pdl_int_of(most) < INT64_MAX - answer)
            answer += pdl_int_of(most);
        else
            open_ended++;
        if (pdl_is(price, PDL_V_FLOAT))
            cost += pdl_float_of(price);
        else
            no_price++;
    }
    size_t n = pdl_list_len(calls);
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "calls", pdl_int((int64_t)n));
    d = pdl_dict_putz(d, "prompt_tokens", pdl_int(prompt));
    d = pdl_dict_putz(d, "answer_tokens_at_most", pdl_int(answer));
    d = pdl_dict_putz(d, "calls_without_limit", pdl_int(open_ended));
    d = pdl_dict_putz(d, "cost", pdl_float(cost));
    d = pdl_dict_putz(d, "calls_without_price", pdl_int(no_price));
    /* A map has a maximum number of open calls. No call is answered here, so there may be more
     * calls than were seen. */
    return n < PDL_MAX_MAP_WORKERS ? d : pdl_dict_putz(d, "more", pdl_bool(true));
}

pdl_val pdl_explain_notes(pdl_world *w) {
    explainer *x = (explainer *)(void *)w;
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "calls", pdl_keep(x->calls));
    d = pdl_dict_putz(d, "totals", totals_of(x->calls));
    return pdl_dict_putz(d, "not_done", pdl_keep(x->not_done));
}

pdl_val pdl_explain_cached(pdl_val notes, size_t answered) {
    pdl_val t = pdl_dict_putz(pdl_keep(pdl_dict_getz(notes, "totals")), "from_cache",
                              pdl_int((int64_t)answered));
    return pdl_dict_putz(notes, "totals", t);
}

/* Returns how much of a budget item the calls use, as far as that is known. */
static double known_of(pdl_vref totals, pdl_budget_item item) {
    const char *const keys[PDL_BUDGET_COUNT] = {
        [PDL_BUDGET_calls] = "calls",
        [PDL_BUDGET_tokens] = "prompt_tokens",
        [PDL_BUDGET_cost] = "cost",
    };
    double n = pdl_num_to_double(pdl_dict_getz(totals, keys[item]));
    if (item != PDL_BUDGET_tokens) return n;
    return n + pdl_num_to_double(pdl_dict_getz(totals, "answer_tokens_at_most"));
}

pdl_val pdl_explain_budget(pdl_val notes, const double limit[PDL_BUDGET_COUNT]) {
    static const pdl_budget_item items[] = {PDL_BUDGET_calls, PDL_BUDGET_tokens, PDL_BUDGET_cost};
    pdl_val list = pdl_list_new(sizeof items / sizeof *items);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        if (limit[items[i]] < 0) continue;
        double known = known_of(pdl_dict_getz(notes, "totals"), items[i]);
        pdl_val d =
            pdl_dict_putz(pdl_dict_new(4), "item", pdl_textz(pdl_budget_item_name(items[i])));
        d = pdl_dict_putz(d, "limit", pdl_float(limit[items[i]]));
        d = pdl_dict_putz(d, "known", pdl_float(known));
        list = pdl_list_push(list, pdl_dict_putz(d, "over", pdl_bool(known > limit[items[i]])));
    }
    return pdl_dict_putz(notes, "budget", list);
}

pdl_val pdl_explain_reason(const pdl_world *w, uint32_t id) {
    const explainer *x = (const explainer *)(const void *)w;
    size_t place = (uintptr_t)pdl_idmap_find(&x->noted, id);
    if (!place) return pdl_absent();
    const note *n = &x->notes.p[place - 1];
    if (!n->bit) return pdl_textf("the reply of call %zu", n->number);
    return pdl_textf("%s, which was not allowed", word_of(n->bit));
}
