/* method.c -- runs the method of a search, which is a program, and answers its requests. A method
 * is a module with a function `search`, which gets `engine` and returns {winner, certain}. The
 * functions of `engine` are functions of the host program. While the method waits for such a
 * function, candidates are evaluated in other sessions. docs/manual/optimize.md describes the
 * functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/method.h"
#include "optimize/objectives.h"
#include "optimize/proposals.h"

#include "api/handles.h"
#include "io/clock.h"
#include "value/json_write.h"

#include <math.h>

#include "base/banned.h"

enum { FIRST_ROWS = 10 }; /* number of rows with which a method begins */

typedef opt_method method;

/* --- arguments of the functions --------------------------------------------------------------- */

pdl_vref pdl_method_argument(const pdl_request *r, size_t i, const char *name) {
    pdl_vref data = pdl_value_settled(pdl_request_data(r)), args = pdl_dict_getz(data, "args"),
             kwargs = pdl_dict_getz(data, "kwargs");
    if (pdl_is_list(args) && i < pdl_list_len(args)) return pdl_list_at(args, i);
    return pdl_is_dict(kwargs) ? pdl_dict_getz(kwargs, name) : pdl_absent();
}

bool pdl_method_refuse(pdl_request *r, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    pdl_request_raise(r, "expression", "ValueError", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

static bool is_number(pdl_vref v, size_t most) {
    return pdl_is(v, PDL_V_INT) && pdl_int_of(v) >= 0 && (uint64_t)pdl_int_of(v) <= most;
}

bool pdl_method_number(pdl_request *r, size_t i, const char *name, size_t most, size_t *out) {
    pdl_vref v = pdl_method_argument(r, i, name);
    if (!is_number(v, most))
        return pdl_method_refuse(r, "%s: expected a whole number from 0 to %zu", name, most);
    *out = (size_t)pdl_int_of(v);
    return true;
}

bool pdl_method_candidates(const opt_search *z, pdl_request *r, size_t i, opt_numbers *out) {
    pdl_vref v = pdl_method_argument(r, i, "candidates");
    bool ok =
        pdl_is_list(v) || pdl_method_refuse(r, "candidates: expected a list of their numbers");
    for (size_t k = 0; ok && k < pdl_list_len(v); k++) {
        pdl_vref x = pdl_list_at(v, k);
        ok = is_number(x, z->candidates.n - 1) ||
             pdl_method_refuse(r, "candidates: there are %zu, numbered from 0", z->candidates.n);
        if (ok) *pdl_vec_push(out) = (size_t)pdl_int_of(x);
    }
    return ok;
}

bool pdl_method_numbers(pdl_request *r, size_t i, const char *name, size_t n, opt_numbers *out) {
    pdl_vref v = pdl_method_argument(r, i, name);
    bool ok = pdl_is_list(v) || pdl_method_refuse(r, "%s: expected a list of numbers", name);
    for (size_t k = 0; ok && k < pdl_list_len(v); k++) {
        pdl_vref x = pdl_list_at(v, k);
        ok = (n && is_number(x, n - 1)) ||
             pdl_method_refuse(r, "%s: there are %zu, numbered from 0", name, n);
        if (ok) *pdl_vec_push(out) = (size_t)pdl_int_of(x);
    }
    return ok;
}

void pdl_method_answer(pdl_request *r, pdl_val v) {
    pdl_value *boxed = pdl_value_box(v);
    pdl_request_answer(r, boxed);
    pdl_value_drop(boxed);
}

/* --- the functions ---------------------------------------------------------------------------- */

/* Returns how many rows at the beginning of `rows` were evaluated with every candidate of `of`. */
static size_t common_of(const opt_search *z, const opt_numbers *of, const opt_numbers *rows) {
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = 0; k < of->n; k++)
            if (!pdl_search_knows(z, of->p[k], rows->p[i])) return i;
    return rows->n;
}

/* The score of a candidate over the rows on which all have been evaluated. */
typedef struct row_mean {
    double mean;
    bool above; /* the candidate is above --at-most */
} row_mean;

static row_mean mean_of(const opt_search *z, size_t candidate, const opt_numbers *rows,
                        size_t common) {
    row_mean s = {0};
    for (size_t k = 0; k < common; k++) s.mean += pdl_search_score(z, candidate, rows->p[k]);
    if (common) s.mean /= (double)common;
    s.above = pdl_search_is_over(z, candidate, rows->p, common);
    return s;
}

/* Returns by how much the scores of candidates above --at-most are lowered, so that a method which
 * sorts by score puts these candidates last. */
static double lowered_by(const row_mean *p, size_t n) {
    double lowest = INFINITY, highest = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (p[i].above)
            highest = fmax(highest, p[i].mean);
        else
            lowest = fmin(lowest, p[i].mean);
    }
    return isfinite(lowest) && isfinite(highest) ? fmax(highest - lowest, 0) + 1 : 0;
}

static void note_best(opt_search *z, const opt_numbers *of, const row_mean *p) {
    double best = -INFINITY;
    for (size_t i = 0; i < of->n; i++) {
        if (p[i].above || !(p[i].mean > best)) continue;
        z->best = of->p[i];
        best = p[i].mean;
    }
}

/* Returns the means over the rows at the beginning of `rows` that were evaluated with every
 * candidate of `of`, so that the means are comparable. */
static pdl_val scores_of(opt_search *z, const opt_numbers *of, const opt_numbers *rows) {
    size_t common = common_of(z, of, rows);
    pdl_val list = pdl_list_new(of->n);
    PDL_VEC(row_mean) all = {0};
    for (size_t i = 0; i < of->n; i++) *pdl_vec_push(&all) = mean_of(z, of->p[i], rows, common);
    note_best(z, of, all.p);
    double less = lowered_by(all.p, all.n);
    for (size_t i = 0; i < of->n; i++) {
        const row_mean *s = &all.p[i];
        pdl_val d = pdl_dict_putz(pdl_dict_new(5), "candidate", pdl_int((int64_t)of->p[i]));
        d = pdl_dict_putz(d, "score", pdl_float(s->above ? s->mean - less : s->mean));
        d = pdl_dict_putz(d, "mean", pdl_float(s->mean));
        d = pdl_dict_putz(d, "above", pdl_bool(s->above));
        list = pdl_list_push(list, pdl_dict_putz(d, "rows", pdl_int((int64_t)common)));
    }
    pdl_vec_fini(&all);
    return list;
}

/* Reads a selection of the rows for validation: a list of their numbers, or how many of the first
 * rows. */
static bool read_rows(const opt_search *z, pdl_request *r, opt_numbers *rows) {
    size_t all = z->part[OPT_VALIDATION].n, n = 0;
    bool listed = pdl_is_list(pdl_method_argument(r, 1, "rows"));
    if (!(listed ? pdl_method_numbers(r, 1, "rows", all, rows)
                 : pdl_method_number(r, 1, "rows", all, &n)))
        return false;
    for (size_t i = 0; i < n; i++) *pdl_vec_push(rows) = i;
    for (size_t i = 0; i < rows->n; i++) rows->p[i] = z->part[OPT_VALIDATION].p[rows->p[i]];
    return true;
}

/* evaluate(candidates, rows): evaluates candidates on rows for validation, and returns {scores,
 * spent}. */
static void on_evaluate(void *user, pdl_request *r) {
    method *m = user;
    opt_search *z = m->z;
    opt_numbers of = {0}, rows = {0};
    PDL_VEC(opt_pair) pairs = {0};
    if (pdl_method_candidates(z, r, 0, &of) && read_rows(z, r, &rows)) {
        for (size_t i = 0; i < rows.n; i++)
            for (size_t k = 0; k < of.n; k++)
                *pdl_vec_push(&pairs) = (opt_pair){of.p[k], rows.p[i]};
        z->alive = of.n;
        if (pdl_search_evaluate(z, pairs.p, pairs.n, &m->failed)) {
            pdl_val d = pdl_dict_putz(pdl_dict_new(2), "scores", scores_of(z, &of, &rows));
            pdl_method_answer(r, pdl_dict_putz(d, "spent", pdl_bool(z->spent)));
        } else {
            pdl_request_refuse(r, "runtime", "the search has ended");
        }
    }
    pdl_vec_fini(&pairs);
    pdl_vec_fini(&rows);
    pdl_vec_fini(&of);
}

/* certainly_worse(candidates, than, among): returns the candidates that are worse than the
 * candidate `than`, with 95 % certainty for all calls of this function together. among: the number
 * of candidates that are compared. */
static void on_worse(void *user, pdl_request *r) {
    method *m = user;
    opt_numbers of = {0};
    size_t than = 0, among = 0;
    if (pdl_method_candidates(m->z, r, 0, &of) &&
        pdl_method_number(r, 1, "than", m->z->candidates.n - 1, &than) &&
        pdl_method_number(r, 2, "among", INT32_MAX, &among)) {
        pdl_val list = pdl_list_new(of.n);
        for (size_t i = 0; i < of.n; i++)
            if (pdl_search_is_worse(m->z, of.p[i], than, among))
                list = pdl_list_push(list, pdl_int((int64_t)of.p[i]));
        pdl_method_answer(r, list);
    }
    pdl_vec_fini(&of);
}

/* demonstrations(candidate): returns the right answers of the candidate to rows for training. */
static void on_demonstrations(void *user, pdl_request *r) {
    method *m = user;
    opt_search *z = m->z;
    size_t of = 0;
    PDL_VEC(opt_pair) pairs = {0};
    if (!pdl_method_number(r, 0, "candidate", z->candidates.n - 1, &of)) return;
    for (size_t i = 0; i < z->part[OPT_TRAIN].n; i++)
        *pdl_vec_push(&pairs) = (opt_pair){of, z->part[OPT_TRAIN].p[i]};
    z->captures = true;
    z->alive = 1;
    bool ok = pdl_search_evaluate(z, pairs.p, pairs.n, &m->failed);
    z->captures = false;
    pdl_vec_fini(&pairs);
    if (!ok) {
        pdl_request_refuse(r, "runtime", "the search has ended");
        return;
    }
    pdl_val list = pdl_list_new(z->demos.n);
    for (size_t i = 0; i < z->demos.n; i++)
        if (z->demos.p[i].candidate == of)
            list = pdl_list_push(list, pdl_keep(z->demos.p[i].shown));
    pdl_method_answer(r, list);
}

/* Reads the weights of items; a wrong weight raises an error. When all weights are whole numbers,
 * whole numbers are drawn. */
static bool read_weights(pdl_request *r, size_t n, double *out, bool *whole) {
    pdl_vref v = pdl_method_argument(r, 2, "weights");
    bool given = !pdl_is_absent(v) && !pdl_is_null(v);
    *whole = true;
    if (given && (!pdl_is_list(v) || pdl_list_len(v) != n))
        return pdl_method_refuse(r, "weights: expected one for each item");
    for (size_t i = 0; i < n; i++) {
        pdl_vref x = given ? pdl_list_at(v, i) : pdl_absent();
        bool is_number = pdl_is(x, PDL_V_INT) || pdl_is(x, PDL_V_FLOAT);
        out[i] = given && is_number ? pdl_num_to_double(x) : 1;
        if (given && !(is_number && out[i] >= 0 && out[i] < 1e15))
            return pdl_method_refuse(r, "weights: expected numbers that are not negative (the "
                                        "score of a candidate above --at-most may be negative: "
                                        "take its mean)");
        *whole = *whole && (!given || pdl_is(x, PDL_V_INT));
    }
    return true;
}

/* Draws one of n items by their weights. When all weights are 0, the items are equally probable. */
static size_t draw(pdl_rand *r, const double *weights, size_t n, bool whole) {
    double total = 0;
    for (size_t i = 0; i < n; i++) total += weights[i];
    if (total <= 0) return (size_t)(pdl_rand_u64(r) % n);
    double at = whole ? (double)(pdl_rand_u64(r) % (uint64_t)total) : pdl_rand_double(r) * total;
    size_t k = 0;
    while (k + 1 < n && at >= weights[k]) at -= weights[k++];
    return k;
}

/* sample(items, n, weights): returns n of the items, in a random order. */
static void on_sample(void *user, pdl_request *r) {
    method *m = user;
    size_t n = 0;
    bool whole;
    pdl_vref items = pdl_method_argument(r, 0, "items");
    if (!pdl_is_list(items)) {
        pdl_method_refuse(r, "items: expected a list");
        return;
    }
    size_t left = pdl_list_len(items), *at = PDL_NEW_N(size_t, left + 1);
    double *weights = PDL_NEW_N(double, left + 1);
    if (pdl_method_number(r, 1, "n", left, &n) && read_weights(r, left, weights, &whole)) {
        pdl_val list = pdl_list_new(n);
        for (size_t i = 0; i < left; i++) at[i] = i;
        for (size_t i = 0; i < n; i++) {
            bool equal = pdl_is_absent(pdl_method_argument(r, 2, "weights"));
            size_t k = equal ? (size_t)(pdl_rand_u64(&m->rand) % left)
                             : draw(&m->rand, weights, left, whole);
            list = pdl_list_push(list, pdl_keep(pdl_list_at(items, at[k])));
            at[k] = at[--left];
            weights[k] = weights[left];
        }
        pdl_method_answer(r, list);
    }
    pdl_free(weights);
    pdl_free(at);
}

/* add(values, to): adds a candidate with these values; its other values are those of the candidate
 * `to`. Returns {candidate, error}. */
static void on_add(void *user, pdl_request *r) {
    method *m = user;
    opt_search *z = m->z;
    size_t to = 0, number = 0;
    pdl_err err = {0};
    pdl_vref values = pdl_method_argument(r, 0, "values");
    if (!pdl_is_dict(values)) {
        pdl_method_refuse(r, "values: expected {NAME: value}");
        return;
    }
    if (!pdl_method_number(r, 1, "to", z->candidates.n - 1, &to)) return;
    size_t before = z->candidates.n;
    pdl_val all = pdl_dict_merge(pdl_keep(z->candidates.p[to].values), values);
    bool ok = pdl_search_is_sound(z, values, &err);
    if (!ok) pdl_drop(all);
    ok = ok && pdl_search_add(z, all, &number, &err) &&
         (number < before || pdl_search_load(z, number, &err));
    if (ok && z->candidates.p[number].is_out)
        ok = pdl_err_set(&err, PDL_E_usage, (pdl_loc){0}, "it is worse on a row of --keep");
    pdl_val d =
        pdl_dict_putz(pdl_dict_new(2), "candidate", ok ? pdl_int((int64_t)number) : pdl_null());
    pdl_method_answer(r, pdl_dict_putz(d, "error", ok ? pdl_null() : pdl_textz(err.msg)));
    if (!ok && z->candidates.n > before) pdl_search_drop_last(z);
    pdl_err_fini(&err);
}

/* unbeaten(candidates): returns the candidates that no other candidate beats; see
 * pdl_search_keep_unbeaten. */
static void on_unbeaten(void *user, pdl_request *r) {
    method *m = user;
    opt_numbers of = {0};
    if (pdl_method_candidates(m->z, r, 0, &of)) {
        pdl_val list = pdl_list_new(of.n);
        pdl_search_keep_unbeaten(m->z, of.p, &of.n);
        for (size_t i = 0; i < of.n; i++) list = pdl_list_push(list, pdl_int((int64_t)of.p[i]));
        pdl_method_answer(r, list);
    }
    pdl_vec_fini(&of);
}

/* is_late(): returns true when the time for rounds is over. */
static void on_late(void *user, pdl_request *r) {
    const opt_search *z = ((method *)user)->z;
    double most = z->o->reference ? z->o->reference->seconds : 0;
    pdl_method_answer(r, pdl_bool(most > 0 && (double)(pdl_clock_ns() - z->begun_ns) / 1e9 > most));
}

/* --- the program ------------------------------------------------------------------------------ */

pdl_val pdl_method_with(pdl_val d, opt_method *m, const char *name, pdl_handler_fn *fn) {
    pdl_value *f = pdl_value_function(name, fn, m);
    d = pdl_dict_putz(d, name, pdl_keep(pdl_value_settled(f)));
    pdl_value_drop(f);
    return d;
}

static pdl_val engine_of(method *m) {
    const opt_search *z = m->z;
    pdl_val all = pdl_list_new(z->candidates.n);
    const pdl_optimize_reference *r = z->o->reference;
    /* In a search that the reference describes, the original program is not a candidate. */
    for (size_t i = r ? 1 : 0; i < z->candidates.n; i++)
        if (!z->candidates.p[i].is_out) all = pdl_list_push(all, pdl_int((int64_t)i));
    pdl_val d = pdl_dict_putz(pdl_dict_new(9), "candidates", all);
    d = pdl_dict_putz(d, "rows", pdl_int((int64_t)z->part[OPT_VALIDATION].n));
    d = pdl_dict_putz(d, "first", pdl_int(r ? (int64_t)r->first_rows : FIRST_ROWS));
    d = pdl_dict_putz(d, "growth", r ? pdl_float(pdl_search_growth(z)) : pdl_int(2));
    d = pdl_dict_putz(d, "rounds", r && r->rounds ? pdl_int((int64_t)r->rounds) : pdl_null());
    if (z->o->demos.n) d = pdl_dict_putz(d, "variable", pdl_text(z->o->demos));
    d = pdl_dict_putz(d, "selections", pdl_int(OPT_SELECTIONS));
    d = pdl_method_with(d, m, "demonstrations", on_demonstrations);
    d = pdl_method_with(d, m, "sample", on_sample);
    d = pdl_method_with(d, m, "add", on_add);
    d = pdl_method_with(d, m, "is_late", on_late);
    d = pdl_method_with(d, m, "evaluate", on_evaluate);
    d = pdl_method_with(d, m, "certainly_worse", on_worse);
    d = pdl_method_with(d, m, "unbeaten", on_unbeaten);
    d = pdl_dict_putz(d, "has_front", pdl_bool(pdl_search_has_objectives(z)));
    return pdl_method_with_reflection(d, m);
}

bool pdl_search_method_is_file(pdl_str name) {
    return pdl_str_ends(name, PDL_STR(".pdl")) || (name.n && memchr(name.p, '/', name.n));
}

/* Writes the program that calls the method. */
static void put_program(pdl_str name, pdl_buf *out) {
    pdl_buf module = PDL_BUF;
    if (!pdl_search_method_is_file(name)) PDL_PUT(&module, "lib/optimize/");
    pdl_buf_put(&module,
                pdl_str_ends(name, PDL_STR(".pdl")) ? pdl_str_sub(name, 0, name.n - 4) : name);
    PDL_PUT(out, "defs:\n  method: {import: ");
    pdl_json_quote(pdl_buf_str(&module), 0, out);
    PDL_PUT(out, "}\ndata: ${ method.search(engine) }\n");
    pdl_buf_fini(&module);
}

/* Reads the result of the method: the winner, and whether the method is certain of it. */
static bool read_winner(opt_search *z, pdl_vref v, size_t *winner, bool *certain, pdl_err *err) {
    pdl_vref w = pdl_is_dict(v) ? pdl_dict_getz(v, "winner") : pdl_absent(),
             c = pdl_is_dict(v) ? pdl_dict_getz(v, "certain") : pdl_absent();
    if (!pdl_is(w, PDL_V_INT) || pdl_int_of(w) < 0 || (uint64_t)pdl_int_of(w) >= z->candidates.n)
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "the method %.*s gave no winner: expected {winner, certain} with the "
                           "number of a candidate",
                           PDL_FMT(z->o->method));
    *winner = (size_t)pdl_int_of(w);
    *certain = pdl_is_bool(c) && pdl_bool_of(c);
    pdl_vref steps = pdl_dict_getz(v, "history");
    if (!pdl_is_absent(z->history)) pdl_drop(z->history);
    z->history = pdl_is_list(steps) ? pdl_keep(steps) : pdl_absent();
    return true;
}

static bool run_program(method *m, pdl_session *s, pdl_str text, size_t *winner, bool *certain,
                        pdl_err *err) {
    const pdl_program *p;
    if (!pdl_session_load(s, text, &p)) return pdl_program_refuse(p, err);
    pdl_step step = pdl_session_run(s);
    const pdl_run *run = pdl_session_get(s);
    if (m->failed.kind) {
        pdl_err_move(err, &m->failed);
        return false;
    }
    if (step == PDL_STEP_DONE) return read_winner(m->z, pdl_run_result(run), winner, certain, err);
    const pdl_err *e = pdl_run_error(run);
    pdl_err_set(
        err, e->kind == PDL_E_interrupt || e->kind == PDL_E_terminated ? e->kind : PDL_E_runtime,
        e->loc, "the method %.*s failed: %s", PDL_FMT(m->z->o->method), e->msg ? e->msg : "");
    pdl_err_detach(err);
    return false;
}

bool pdl_search_run_method(opt_search *z, size_t *winner, bool *certain, pdl_err *err) {
    method m = {.z = z};
    pdl_rand_seed(&m.rand, z->o->seed);
    pdl_buf text = PDL_BUF;
    pdl_val vars = pdl_dict_putz(pdl_dict_new(1), "engine", engine_of(&m));
    pdl_session *s;
    put_program(z->o->method, &text);
    pdl_session_options so = {
        .program = {.file = PDL_STR("method.pdl"), .variables = vars},
        .run = {.stream = PDL_STREAM_NONE, .cancel = z->o->session.run.cancel}};
    bool ok = pdl_session_new(&so, &s, err);
    if (ok) {
        ok = run_program(&m, s, pdl_buf_str(&text), winner, certain, err);
        pdl_session_free(s);
    }
    pdl_drop(vars);
    pdl_err_fini(&m.failed);
    pdl_buf_fini(&text);
    return ok;
}
