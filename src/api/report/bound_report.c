/* bound_report.c -- adds up what the blocks of a program can cost at most; see bound.h.
 *
 * The bound of a block depends on the number of words in the context when the block begins, because
 * some of its calls send that context again. The bounds of the blocks in a sequence are added. The
 * larger bound of two branches counts. A loop multiplies the bound of its body. In a loop the
 * context grows by the messages of each round.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/bound_impl.h"

#include <stdlib.h>

#include "base/idmap.h"
#include "effect/budget.h"
#include "lang/walk.h"
#include "value/int.h"

#include "base/banned.h"

/* The most that a run may use, as numbers of calls and words, and as cost. INFINITY means that
 * there is no bound. */
typedef struct run_bound {
    double calls, answer, prompt;
    double with_context; /* number of these calls that also send the context */
    /* the number of words that the block adds to the context, and the number in its result */
    double context, result;
    /* cost without the context; further cost for each word of the context */
    double cost, context_cost;
} run_bound;

typedef struct bound_site {
    const pdl_block *block;
    double calls, answer;
} bound_site;

enum { MAX_VISITS = 200000, DEEPEST_CALLS = 100 };

typedef struct bounding {
    bound_names names;
    const pdl_bound_options *o;
    pdl_idmap trees; /* block -> position in calls_in, from 1 */
    PDL_VEC(struct tree_in {
        const pdl_tree *tree;
        size_t next;
    })
    calls_in; /* for each block, its expressions with calls */
    /* functions that are being examined; this list shows a recursion */
    PDL_VEC(const pdl_block *) open;
    PDL_VEC(bound_site) sites;
    pdl_val reasons; /* list of {file, line, what, why, remedy} */
    double times;    /* how often the block that is being examined may run */
    size_t visits;
    bool unpriced, is_full;
} bounding;

static run_bound of_block(bounding *w, const pdl_block *b);

/* --- arithmetic ------------------------------------------------------------------------------- */

/* Multiplies two bounds. Zero times infinity is zero. */
static double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

/* Returns the bound of two blocks in sequence, the first with the bound a, the second with b. */
static run_bound then(run_bound a, run_bound b) {
    return (run_bound){
        .calls = a.calls + b.calls,
        .answer = a.answer + b.answer,
        .prompt = a.prompt + b.prompt + times(b.with_context, a.context),
        .with_context = a.with_context + b.with_context,
        .context = a.context + b.context,
        .result = b.result,
        .cost = a.cost + b.cost + times(b.context_cost, a.context),
        .context_cost = a.context_cost + b.context_cost,
    };
}

static run_bound either(run_bound a, run_bound b) {
    return (run_bound){fmax(a.calls, b.calls),     fmax(a.answer, b.answer),
                       fmax(a.prompt, b.prompt),   fmax(a.with_context, b.with_context),
                       fmax(a.context, b.context), fmax(a.result, b.result),
                       fmax(a.cost, b.cost),       fmax(a.context_cost, b.context_cost)};
}

/* Returns the bound of n rounds, each with the bound a. With `apart`, each round begins with the
 * same context. */
static run_bound rounds(run_bound a, double n, bool apart) {
    double pairs = n < 2 || apart ? 0 : times(n, n - 1) / 2, grown = times(pairs, a.context);
    return (run_bound){
        .calls = times(n, a.calls),
        .answer = times(n, a.answer),
        .prompt = times(n, a.prompt) + times(a.with_context, grown),
        .with_context = times(n, a.with_context),
        .context = times(n, a.context),
        .result = times(n, a.result),
        .cost = times(n, a.cost) + times(a.context_cost, grown),
        .context_cost = times(n, a.context_cost),
    };
}

/* --- reasons ---------------------------------------------------------------------------------- */

static void give_reason(bounding *w, pdl_loc loc, const char *what, const char *why,
                        const char *remedy) {
    enum { MAX_REASONS = 100 };
    if (pdl_list_len(w->reasons) >= MAX_REASONS) return;
    pdl_val line = loc.src ? pdl_int(pdl_loc_line(loc)) : pdl_null();
    for (size_t i = 0; i < pdl_list_len(w->reasons); i++) {
        pdl_vref r = pdl_list_at(w->reasons, i);
        if (pdl_val_eq(pdl_dict_getz(r, "line"), line) &&
            pdl_str_is(pdl_str_get(pdl_dict_getz(r, "why")), why)) {
            pdl_drop(line);
            return;
        }
    }
    pdl_val d =
        pdl_dict_putz(pdl_dict_new(5), "file", loc.src ? pdl_text(loc.src->name) : pdl_null());
    d = pdl_dict_putz(d, "line", line);
    d = pdl_dict_putz(d, "what", pdl_textz(what));
    d = pdl_dict_putz(d, "why", pdl_textz(why));
    d = pdl_dict_putz(d, "remedy", remedy ? pdl_textz(remedy) : pdl_null());
    w->reasons = pdl_list_push(w->reasons, d);
}

static const run_bound endless = {INFINITY, INFINITY, INFINITY, INFINITY,
                                  INFINITY, INFINITY, INFINITY, INFINITY};

static run_bound no_bound(bounding *w, pdl_loc loc, const char *why, const char *remedy) {
    give_reason(w, loc, "calls", why, remedy);
    return endless;
}

/* --- kinds of blocks -------------------------------------------------------------------------- */

static run_bound in_order(bounding *w, const pdl_blocks *items, bool joins) {
    run_bound all = {0};
    double result = 0;
    for (uint32_t i = 0; i < items->n; i++) {
        all = then(all, of_block(w, items->p[i]));
        result += all.result;
    }
    if (joins) all.result = result;
    return all;
}

static run_bound of_branches(bounding *w, const pdl_block *b) {
    run_bound most = {0};
    if (b->kind == PDL_BLOCK_if) {
        const pdl_b_if *x = PDL_AS(if, b);
        most = x->then_ ? of_block(w, x->then_) : most;
        return x->else_ ? either(most, of_block(w, x->else_)) : most;
    }
    const pdl_cases *cases = &PDL_AS(match, b)->cases;
    for (uint32_t i = 0; i < cases->n; i++)
        if (cases->p[i].then) most = either(most, of_block(w, cases->p[i].then));
    return most;
}

static bool has_models(const pdl_block *b);
static void look_for_models(void *user, const pdl_block *b) {
    bool *found = user;
    *found = *found || has_models(b);
}
/* Returns true when a block could call a model, directly, through a function or through another
 * program. */
static bool has_models(const pdl_block *b) {
    bool found = b->kind == PDL_BLOCK_model || b->kind == PDL_BLOCK_call ||
                 b->kind == PDL_BLOCK_include || b->kind == PDL_BLOCK_code;
    pdl_block_each_child(b, look_for_models, &found);
    return found;
}

/* Notes the lengths of the values that the variables of a loop get. */
static void note_items(const bounding *w, const pdl_fors *fors) {
    for (uint32_t i = 0; fors && i < fors->n; i++) {
        const pdl_tree *t = fors->names[i];
        bool literal = t->kind == PDL_TREE_CONST && pdl_is_str(t->value);
        bound_name *n = literal ? pdl_bound_find(&w->names, pdl_str_get(t->value)) : NULL;
        if (n && n->times == 1) n->words = pdl_bound_item_words(&w->names, fors->lists[i]);
    }
}

/* Returns the maximum number of words that a join puts between two results. */
static double words_between(const pdl_join *j) {
    return j ? (j->kind == PDL_JOIN_REDUCE ? INFINITY : pdl_bound_count_words(j->with)) : 0;
}

static run_bound of_loop(bounding *w, const pdl_block *b, const pdl_block *body,
                         const pdl_fors *fors, const pdl_tree *max, bool apart) {
    double n = pdl_bound_rounds(&w->names, fors, max), before = w->times;
    w->times = n < 0 ? INFINITY : times(before, n);
    note_items(w, fors);
    run_bound one = of_block(w, body);
    w->times = before;
    const pdl_join *j = apart ? PDL_AS(map, b)->join : PDL_AS(repeat, b)->join;
    if (n >= 0 && j && j->kind == PDL_JOIN_REDUCE && has_models(body))
        return no_bound(w, b->loc, "the function that joins the results is not counted", NULL);
    if (n >= 0) {
        run_bound all = rounds(one, n, apart);
        all.result += times(n, words_between(j));
        return all;
    }
    if (one.calls == 0 && !has_models(body))
        return (run_bound){.context = INFINITY, .result = INFINITY};
    if (fors)
        return no_bound(w, b->loc, "the length of its list is not known before the run",
                        "maxIterations would bound it");
    return no_bound(w, b->loc, "the loop ends when its condition says so",
                    "maxIterations would bound it");
}

/* Returns the number that the program gives for the parameter `name`. Returns a negative number
 * when the number is not known, or when the parameter is absent; *given is false only for an absent
 * parameter. */
static double parameter(const bounding *w, const pdl_tree *t, const char *name, bool *given) {
    *given = false;
    if (!t) return -1;
    if (t->kind == PDL_TREE_CONST && pdl_is_dict(t->value)) {
        pdl_vref v = pdl_dict_getz(t->value, name);
        int64_t n;
        *given = !pdl_is_absent(v) && !pdl_is_null(v);
        return pdl_int_get(v, &n) ? (double)n : -1;
    }
    if (t->kind == PDL_TREE_EXPR) *given = true;
    for (uint32_t i = 0; t->kind == PDL_TREE_MAP && i < t->n; i++) {
        const pdl_tree *key = t->keys[i];
        if (key->kind != PDL_TREE_CONST || !pdl_is_str(key->value) ||
            !pdl_str_is(pdl_str_get(key->value), name))
            continue;
        *given = true;
        return pdl_bound_number(&w->names, t->items[i]);
    }
    return -1;
}

/* Returns the maximum number of tokens of an answer. When there is no limit, adds a reason and
 * returns INFINITY. */
static double answer_of(bounding *w, const pdl_block *b) {
    static const char *const limits[] = {"max_completion_tokens", "max_tokens"};
    const pdl_tree *t = PDL_AS(model, b)->parameters;
    bool given, many;
    double most = -1, n = parameter(w, t, "n", &many);
    for (size_t i = 0; i < sizeof limits / sizeof *limits && most < 0; i++)
        most = parameter(w, t, limits[i], &given);
    if (most >= 0 && (!many || n >= 0)) return times(most, many && n > 1 ? n : 1);
    give_reason(w, b->loc, "tokens", "the answer has no limit that is known before the run",
                "max_tokens in its parameters would bound it");
    return INFINITY;
}

static bool find_price(const bounding *w, const pdl_b_model *m, pdl_price *out) {
    pdl_vref name = m->model && m->model->kind == PDL_TREE_CONST ? m->model->value : pdl_absent();
    pdl_vref given = m->parameters && m->parameters->kind == PDL_TREE_CONST ? m->parameters->value
                                                                            : pdl_absent();
    return pdl_is_str(name) && pdl_price_find(w->o->prices, pdl_str_get(name), given, out);
}

static bool is_default_input(const pdl_b_model *m) {
    return !m->input || m->input->loc.src == NULL || m->input->node == NULL;
}

static run_bound of_model(bounding *w, const pdl_block *b) {
    const pdl_b_model *m = PDL_AS(model, b);
    pdl_price price = {0};
    bool sees_context = is_default_input(m), priced = find_price(w, m, &price);
    run_bound input = sees_context ? (run_bound){0} : of_block(w, m->input);
    run_bound call = {.calls = 1, .answer = answer_of(w, b)};
    w->unpriced = w->unpriced || !priced;
    call.prompt = sees_context ? 0 : input.result;
    call.with_context = sees_context;
    call.result = call.context = call.answer;
    call.cost = times(call.answer, price.output) + times(call.prompt, pdl_price_of_prompt(&price));
    call.context_cost = sees_context ? pdl_price_of_prompt(&price) : 0;
    *pdl_vec_push(&w->sites) = (bound_site){b, w->times, times(w->times, call.answer)};
    input.context = 0; /* text that a block makes for its input is not added to the context */
    return then(input, call);
}

static run_bound of_function(bounding *w, const pdl_block *function, pdl_loc loc) {
    for (size_t i = 0; i < w->open.n; i++)
        if (w->open.p[i] == function)
            return no_bound(w, loc, "the function calls itself", "a budget would bound it");
    if (w->open.n >= DEEPEST_CALLS)
        return no_bound(w, loc, "functions call functions too deeply to be looked through", NULL);
    *pdl_vec_push(&w->open) = function;
    run_bound r = of_block(w, PDL_AS(function, function)->body);
    w->open.n--;
    return r;
}

static run_bound of_call(bounding *w, const pdl_block *b) {
    const pdl_block *f = pdl_bound_function(&w->names, PDL_AS(call, b)->func);
    if (f) return of_function(w, f, b->loc);
    return no_bound(w, b->loc, "which function is called is not known before the run",
                    "a budget would bound it");
}

static run_bound of_code(bounding *w, const pdl_block *b) {
    const pdl_b_code *c = PDL_AS(code, b);
    bool command = pdl_str_is(c->lang.s, "command") || c->args;
    run_bound source = c->code ? of_block(w, c->code) : (run_bound){0};
    source.context = 0;
    source.result = INFINITY;
    if (pdl_str_is(c->lang.s, "pdl"))
        return no_bound(w, b->loc, "the program that is run here is not known before",
                        "a budget would bound it");
    for (size_t i = 0; !command && i < w->names.all.n; i++)
        if (w->names.all.p[i].function && has_models(w->names.all.p[i].function))
            return no_bound(w, b->loc, "code may call functions of the program",
                            "a budget would bound it");
    return source;
}

static run_bound of_kind(bounding *w, const pdl_block *b) {
    const pdl_tree *t;
    switch ((int)b->kind) {
    case PDL_BLOCK_text: return in_order(w, &PDL_AS(text, b)->items, true);
    case PDL_BLOCK_lastOf: return in_order(w, &PDL_AS(lastOf, b)->items, false);
    case PDL_BLOCK_array: return in_order(w, &PDL_AS(array, b)->items, true);
    case PDL_BLOCK_object: {
        run_bound r = in_order(w, &PDL_AS(object, b)->fields, true);
        r.result = INFINITY; /* the names of the fields become words of the result, too */
        return r;
    }
    case PDL_BLOCK_sequence: return in_order(w, &PDL_AS(sequence, b)->items, true);
    case PDL_BLOCK_if:
    case PDL_BLOCK_match: return of_branches(w, b);
    case PDL_BLOCK_repeat:
        t = PDL_AS(repeat, b)->max ? PDL_AS(repeat, b)->max : PDL_AS(repeat, b)->num;
        return of_loop(w, b, PDL_AS(repeat, b)->body, PDL_AS(repeat, b)->fors, t, false);
    case PDL_BLOCK_map:
        return of_loop(w, b, PDL_AS(map, b)->body, PDL_AS(map, b)->fors, PDL_AS(map, b)->max, true);
    case PDL_BLOCK_model: return of_model(w, b);
    case PDL_BLOCK_call: return of_call(w, b);
    case PDL_BLOCK_code: return of_code(w, b);
    case PDL_BLOCK_include:
        return no_bound(w, b->loc, "another program is not looked into", "a budget would bound it");
    case PDL_BLOCK_import:
    case PDL_BLOCK_function: return (run_bound){0};
    case PDL_BLOCK_message: return of_block(w, PDL_AS(message, b)->content);
    case PDL_BLOCK_data:
        return (run_bound){.result = pdl_bound_words(&w->names, PDL_AS(data, b)->data)};
    case PDL_BLOCK_scalar:
        return (run_bound){.result = pdl_bound_words(&w->names, PDL_AS(scalar, b)->value)};
    case PDL_BLOCK_get:
    case PDL_BLOCK_read:
    case PDL_BLOCK_factor:
    case PDL_BLOCK_aggregator:
    case PDL_BLOCK_error:
    /* blocks of these kinds make no calls */
    case PDL_BLOCK_empty: return (run_bound){.result = INFINITY};
    default: return no_bound(w, b->loc, "blocks of this kind are not looked into", NULL);
    }
}

/* --- what all blocks have --------------------------------------------------------------------- */

struct expr_calls {
    bounding *w;
    run_bound sum;
};

static void on_call(void *user, const pdl_block *function, pdl_loc loc) {
    struct expr_calls *x = user;
    run_bound r = function
                      ? of_function(x->w, function, loc)
                      : no_bound(x->w, loc, "which function is called is not known before the run",
                                 "a budget would bound it");
    r.context = 0;
    x->sum = then(x->sum, r);
}

/* Returns the bound of the functions that the expressions of the block call. */
static run_bound of_exprs(bounding *w, const pdl_block *b) {
    struct expr_calls x = {.w = w};
    size_t at = (size_t)(uintptr_t)pdl_idmap_find(&w->trees, (uintptr_t)b);
    for (; at; at = w->calls_in.p[at - 1].next)
        pdl_bound_each_call(&w->names, w->calls_in.p[at - 1].tree, on_call, &x);
    return x.sum;
}

/* Returns true when the result of the block is made of the results of its parts. */
static bool joins_children(const pdl_block *b) {
    bool is_file = b->kind == PDL_BLOCK_include || b->kind == PDL_BLOCK_import;
    return pdl_block_is_structured(b->kind) && !is_file;
}

/* Returns the maximum number of attempts of a block; negative when it is not known. */
static double attempts(const bounding *w, const pdl_block *b) {
    const pdl_retry *r = b->rare->retry;
    if (!r) return 1;
    if (!r->is_object) return r->count >= 0 ? (double)r->count + 1 : -1;
    double n = r->tries ? pdl_bound_number(&w->names, r->tries) : -1;
    return n >= 0 ? n + 1 : -1;
}

static run_bound limit(const bounding *w, const pdl_block *b, run_bound r) {
    double calls = b->rare->budget ? pdl_bound_number(&w->names, b->rare->budget->calls) : -1;
    if (calls >= 0) {
        r.calls = fmin(r.calls, calls);
        r.with_context = fmin(r.with_context, calls);
    }
    return r;
}

/* Returns the bound of all attempts of a block together, including its fallback. */
static run_bound of_attempts(bounding *w, const pdl_block *b) {
    double n = attempts(w, b), before = w->times;
    w->times = n < 0 ? INFINITY : times(before, n);
    run_bound r = then(of_exprs(w, b), of_kind(w, b));
    w->times = before;
    double result = r.result;
    if (!joins_children(b)) r.context = fmax(r.context, r.result);
    bool silent = b->contribute.given && !b->contribute.context;
    if (silent) r.context = 0;
    if (n < 0 && r.calls > 0)
        r = no_bound(w, b->loc, "the number of its attempts is not known before the run", NULL);
    else if (n != 1)
        /* with trace_error_on_retry, an attempt sees the errors of earlier attempts */
        r = rounds(r, n < 0 ? 1 : n, false);
    r.result = result;
    if (b->rare->retry) r.context = r.prompt > 0 || r.calls > 0 ? INFINITY : r.context;
    if (b->rare->fallback) {
        run_bound other = of_block(w, b->rare->fallback);
        result = fmax(result, other.result);
        r = then(r, other);
        r.result = result;
    }
    return r;
}

static run_bound of_block(bounding *w, const pdl_block *b) {
    if (w->visits++ > MAX_VISITS) {
        if (!w->is_full)
            give_reason(w, b->loc, "calls", "the program is too large to be looked through", NULL);
        w->is_full = true;
        return endless;
    }
    if (b->rare->expectations.n)
        return no_bound(w, b->loc, "expectations are judged by calls that are not counted",
                        "a budget would bound it");
    run_bound defs = {0};
    for (uint32_t i = 0; i < b->rare->defs.n; i++) {
        run_bound d = of_block(w, b->rare->defs.p[i]);
        bound_name *n = NULL;
        if (b->rare->defs.names) n = pdl_bound_find(&w->names, b->rare->defs.names[i]);
        if (n && n->times == 1) n->words = d.result;
        d.context = 0;
        defs = then(defs, d);
    }
    run_bound r = of_attempts(w, b);
    bound_name *n = b->def.s.n ? pdl_bound_find(&w->names, b->def.s) : NULL;
    if (n && n->times == 1) n->words = r.result;
    if (b->rare->parser || b->rare->spec.type) r.result = fmax(r.result, INFINITY);
    bool silent = b->contribute.given && !b->contribute.result;
    if (silent) r.result = 0;
    return limit(w, b, then(defs, r));
}

/* --- the report ------------------------------------------------------------------------------- */

static void on_expr(void *user, const pdl_block *b, const char *key, const pdl_tree *t) {
    bounding *w = user;
    (void)key;
    if (!pdl_tree_expr(t)->has_call) return;
    size_t next = (size_t)(uintptr_t)pdl_idmap_find(&w->trees, (uintptr_t)b);
    *pdl_vec_push(&w->calls_in) = (struct tree_in){t, next};
    pdl_idmap_put(&w->trees, (uintptr_t)b, (void *)(uintptr_t)w->calls_in.n);
}

static pdl_val number_or_null(double n) {
    return isfinite(n) && n < 1e15 ? pdl_int((int64_t)ceil(n)) : pdl_null();
}

static pdl_val list_sites(const bounding *w) {
    enum { MAX_REASONS = 20 };
    pdl_val list = pdl_list_new(w->sites.n);
    for (size_t i = 0; i < w->sites.n && i < MAX_REASONS; i++) {
        const bound_site *s = &w->sites.p[i];
        pdl_loc loc = s->block->loc;
        pdl_vref m =
            PDL_AS(model, s->block)->model && PDL_AS(model, s->block)->model->kind == PDL_TREE_CONST
                ? PDL_AS(model, s->block)->model->value
                : pdl_absent();
        pdl_val d =
            pdl_dict_putz(pdl_dict_new(5), "file", loc.src ? pdl_text(loc.src->name) : pdl_null());
        d = pdl_dict_putz(d, "line", loc.src ? pdl_int(pdl_loc_line(loc)) : pdl_null());
        d = pdl_dict_putz(d, "model", pdl_is_absent(m) ? pdl_null() : pdl_keep(m));
        d = pdl_dict_putz(d, "calls", number_or_null(s->calls));
        d = pdl_dict_putz(d, "answer_tokens", number_or_null(s->answer));
        list = pdl_list_push(list, d);
    }
    return list;
}

static int by_calls(const void *a, const void *b) {
    const bound_site *x = a, *y = b;
    if (x->calls != y->calls) return x->calls < y->calls ? 1 : -1;
    return x->answer < y->answer ? 1 : x->answer > y->answer ? -1 : 0;
}

/* Lists the limits of the run's budget and of the whole program's budget. Of two limits, the
 * smaller counts. */
static pdl_val list_budget(const bounding *w, const pdl_block *main) {
    pdl_val d = pdl_dict_new(PDL_BUDGET_COUNT);
    const pdl_budget_field *own = main ? main->rare->budget : NULL;
    const pdl_tree *const trees[] = {
#define X(id, doc) [PDL_BUDGET_##id] = own ? own->id : NULL,
        PDL_BUDGET_ITEMS(X)
#undef X
    };
    for (int i = 0; i < PDL_BUDGET_COUNT; i++) {
        double most = w->o->budget ? w->o->budget[i] : -1;
        double inner = trees[i] ? pdl_bound_number(&w->names, trees[i]) : -1;
        if (most < 0 || (inner >= 0 && inner < most)) most = inner;
        if (most >= 0)
            d = pdl_dict_putz(d, pdl_budget_item_name((pdl_budget_item)i), pdl_float(most));
    }
    return d;
}

pdl_val pdl_program_bound(const pdl_program *p, const pdl_bound_options *o) {
    bounding w = {.o = o, .reasons = pdl_list_new(2), .times = 1};
    run_bound r = {0};
    pdl_bound_collect(&w.names, p, o->variables);
    pdl_program_walk(p, &(pdl_walk){.user = &w, .expr = on_expr});
    if (p->main) r = of_block(&w, p->main);
    double most = o->budget ? o->budget[PDL_BUDGET_calls] : -1;
    if (most >= 0) r.calls = fmin(r.calls, most);
    if (w.sites.n) qsort(w.sites.p, w.sites.n, sizeof *w.sites.p, by_calls);
    pdl_val tokens = pdl_dict_putz(pdl_dict_new(2), "prompt", number_or_null(r.prompt));
    tokens = pdl_dict_putz(tokens, "answer", number_or_null(r.answer));
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "calls", number_or_null(r.calls));
    d = pdl_dict_putz(d, "tokens", tokens);
    bool known = !w.unpriced && isfinite(r.cost);
    d = pdl_dict_putz(d, "cost", known ? pdl_float(r.cost) : pdl_null());
    d = pdl_dict_putz(d, "budget", list_budget(&w, p->main));
    d = pdl_dict_putz(d, "no_bound", w.reasons);
    d = pdl_dict_putz(d, "sites", list_sites(&w));
    pdl_bound_names_fini(&w.names);
    pdl_vec_fini(&w.calls_in);
    pdl_vec_fini(&w.open);
    pdl_vec_fini(&w.sites);
    pdl_idmap_fini(&w.trees);
    return d;
}
