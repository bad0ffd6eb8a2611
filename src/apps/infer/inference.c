/* inference.c -- runs an algorithm over a population of particles, and makes a dict from the
 * distribution; see infer.h. The algorithms differ only in which particles run and how they are
 * weighed. What they share is here: the session, the end, errors, usage, and the result in the
 * order of lineage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "infer/algorithms.h"

#include <math.h>
#include <stdlib.h>

#include "value/int.h"
#include "value/text.h"

#include "base/banned.h"

static const struct {
    const char *name;
    bool (*run)(inference *f, pdl_err *err);
} algorithms[] = {
    [PDL_INFER_MAJ] = {"maj", pdl_infer_maj},
    [PDL_INFER_IS] = {"is", pdl_infer_is},
    [PDL_INFER_SMC] = {"smc", pdl_infer_smc},
    [PDL_INFER_REJECTION] = {"rejection", pdl_infer_rejection},
};

bool pdl_infer_algorithm_find(pdl_str name, pdl_infer_algorithm *out, bool *is_parallel) {
    const pdl_str prefix = PDL_STR("parallel-");
    bool parallel = pdl_str_starts(name, prefix);
    if (parallel) name = pdl_str_sub(name, prefix.n, name.n);
    if (is_parallel) *is_parallel = parallel;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        if (!pdl_str_is(name, algorithms[i].name)) continue;
        *out = (pdl_infer_algorithm)i;
        return true;
    }
    return false;
}

const char *pdl_infer_algorithm_name(pdl_infer_algorithm a) { return algorithms[a].name; }

/* --- the distribution as a dict --------------------------------------------------------------- */

static pdl_val finite_or_null(double x) { return isfinite(x) ? pdl_float(x) : pdl_null(); }

/* The weight of a value, and its index in the distribution. Values are sorted by weight; values of
 * equal weight are in the order of lineage. */
typedef struct ranked {
    double weight;
    size_t i;
} ranked;

static int by_rank(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* Returns the values in the order of their ranks, and changes their weights to probabilities. The
 * caller frees the array. */
static ranked *rank(distribution *d) {
    ranked *order = PDL_NEW_N(ranked, d->values.n + 1);
    double all = pdl_infer_log_sum(d->logits.p, d->logits.n);
    for (size_t i = 0; i < d->values.n; i++) d->values.p[i].weight = 0;
    for (size_t i = 0; i < d->logits.n; i++)
        d->values.p[d->which.p[i]].weight += isinf(all) ? 0 : exp(d->logits.p[i] - all);
    double sum = 0;
    for (size_t i = 0; i < d->values.n; i++) sum += d->values.p[i].weight;
    for (size_t i = 0; i < d->values.n; i++) {
        /* because of rounding the sum may differ from 1 */
        if (sum > 0) d->values.p[i].weight /= sum;
        order[i] = (ranked){d->values.p[i].weight, i};
    }
    qsort(order, d->values.n, sizeof *order, by_rank);
    return order;
}

/* Draws a value with its probability, and returns its rank. With the algorithm maj, returns 0. */
static size_t draw(const inference *f, const ranked *order) {
    size_t n = f->d.values.n;
    if (f->o->algorithm == PDL_INFER_MAJ || !n) return 0;
    pdl_rand r;
    pdl_rand_seed(&r, pdl_population_seed(&f->p, UINT64_MAX, 1, 0));
    double u = pdl_rand_double(&r), sum = 0;
    for (size_t i = 0; i < n; i++)
        if ((sum += order[i].weight) > u) return i;
    while (n > 1 && order[n - 1].weight <= 0) n--;
    return n - 1;
}

/* Returns the usage of all particles together. */
static pdl_val usage_of(const inference *f) {
    const population *p = &f->p;
    pdl_val u = pdl_dict_putz(pdl_dict_new(4), "model_calls", pdl_int(p->calls));
    u = pdl_dict_putz(u, "prompt_tokens", pdl_int(p->prompt));
    u = pdl_dict_putz(u, "completion_tokens", pdl_int(p->completion));
    return pdl_dict_putz(u, "cost", pdl_float(p->budget->used[PDL_BUDGET_cost]));
}

static pdl_val floats(const double *x, size_t n) {
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) list = pdl_list_push(list, finite_or_null(x[i]));
    return list;
}

static pdl_val as_dict(inference *f) {
    distribution *d = &f->d;
    ranked *order = rank(d);
    pdl_val values = pdl_list_new(d->values.n), probs = pdl_list_new(d->values.n),
            which = pdl_list_new(d->which.n);
    size_t *place = PDL_NEW_N(size_t, d->values.n + 1);
    for (size_t i = 0; i < d->values.n; i++) {
        place[order[i].i] = i;
        values = pdl_list_push(values, pdl_keep(d->values.p[order[i].i].value));
        probs = pdl_list_push(probs, pdl_float(order[i].weight));
    }
    for (size_t i = 0; i < d->which.n; i++)
        which = pdl_list_push(which, pdl_int((int64_t)place[d->which.p[i]]));
    pdl_val v = pdl_dict_putz(pdl_dict_new(16), "algorithm",
                              pdl_textz(pdl_infer_algorithm_name(f->o->algorithm)));
    size_t drawn = draw(f, order);
    v = pdl_dict_putz(v, "sample", d->values.n ? pdl_list_part(values, drawn) : pdl_null());
    v = pdl_dict_putz(v, "values", values);
    v = pdl_dict_putz(v, "probs", probs);
    v = pdl_dict_putz(v, "log_evidence", finite_or_null(f->log_evidence));
    v = pdl_dict_putz(v, "ess", floats(f->ess.p, f->ess.n));
    pdl_val each = pdl_dict_putz(pdl_dict_new(2), "value", which);
    each = pdl_dict_putz(each, "logit", floats(d->logits.p, d->logits.n));
    v = pdl_dict_putz(v, "particles", each);
    v = pdl_dict_putz(v, "n", pdl_int((int64_t)f->o->n));
    v = pdl_dict_putz(v, "runs", pdl_int((int64_t)f->runs));
    v = pdl_dict_putz(v, "failures", pdl_int((int64_t)f->p.failures));
    v = pdl_dict_putz(v, "usage", usage_of(f));
    v = pdl_dict_putz(v, "seed", pdl_int((int64_t)f->p.seed));
    pdl_free(place);
    pdl_free(order);
    return v;
}

/* --- common to the algorithms ----------------------------------------------------------------- */

bool pdl_infer_collect(inference *f, uint32_t n, pdl_err *err) {
    size_t ignored;
    for (uint32_t i = 0; i < n; i++) {
        const particle *q = &f->p.all[i];
        if (q->state == PARTICLE_DONE && !pdl_distribution_add(&f->d, q, q->weight, &ignored, err))
            return false;
    }
    return true;
}

uint32_t pdl_infer_weights(const inference *f, double *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->p.n; i++) {
        const particle *q = &f->p.all[i];
        bool is_out = q->state == PARTICLE_FAILED && f->o->on_error == PDL_INFER_DROP;
        if (q->state != PARTICLE_NEW && !is_out) out[n++] = q->weight;
    }
    return n;
}

double pdl_infer_ess(const double *w, size_t n) {
    double all = pdl_infer_log_sum(w, n), squares = 0;
    if (isinf(all)) return 0;
    for (size_t i = 0; i < n; i++) squares += exp(2 * (w[i] - all));
    return 1 / squares;
}

/* Sets the error of an inference whose runs have all failed. Its hint is the first failure. */
static bool all_failed(const population *p, pdl_err *err) {
    uint32_t i = 0;
    pdl_buf first = PDL_BUF;
    while (i < p->n && !p->all[i].err) i++;
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "all %llu runs failed: there is no result",
                (unsigned long long)p->failures);
    if (i < p->n) {
        pdl_session_put_error(p->session, p->all[i].err, &first);
        pdl_err_hint(err, "the first: %s", pdl_buf_z(&first));
    }
    pdl_buf_fini(&first);
    return false;
}

bool pdl_infer_impossible(const inference *f, pdl_err *err) {
    if (f->p.failures && !f->p.impossible.src) return all_failed(&f->p, err);
    pdl_err_set(err, PDL_E_runtime, f->p.impossible,
                "no particle is possible: all weights are zero%s",
                f->p.impossible.src ? " after this factor" : "");
    pdl_err_hint(err, "more particles (-n), or a factor that is not -infinity for what is only "
                      "improbable");
    return false;
}

bool pdl_infer_is(inference *f, pdl_err *err) {
    population *p = &f->p;
    if (!pdl_population_run(p, 0, p->n, NULL, NULL, err)) return false;
    f->runs = p->n;
    double *w = PDL_NEW_N(double, p->n);
    uint32_t n = pdl_infer_weights(f, w);
    double all = pdl_infer_log_sum(w, n);
    f->log_evidence = all - log(n);
    *pdl_vec_push(&f->ess) = pdl_infer_ess(w, n);
    pdl_free(w);
    if (!pdl_infer_collect(f, p->n, err)) return false;
    return !(isinf(all) && all < 0) || pdl_infer_impossible(f, err);
}

/* --- the run of an inference ------------------------------------------------------------------ */

/* Changes the error to a form that outlives the session and may be printed. */
static void detach(population *p, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    pdl_err instead = {0};
    if (!p->place) p->place = pdl_population_place(err);
    if (p->session && pdl_session_hides_error(p->session, err, &instead)) {
        pdl_err_fini(err);
        pdl_err_move(err, &instead);
    }
    pdl_err_detach(err);
    if (p->session && err->msg) {
        pdl_session_redact(p->session, pdl_str_of(err->msg), &text);
        pdl_err_reword(err, &text);
    }
    pdl_buf_fini(&text);
}

/* Returns the error that ended the inference. When all runs failed and nothing cancelled the
 * inference, it is the error of the first run, because a resume executes the failed call of that
 * run again. */
static const pdl_err *cause_of(const population *p, const pdl_err *err) {
    uint32_t failed = 0;
    while (failed < p->n && p->all[failed].err) failed++;
    return failed < p->n || pdl_err_is_cancel(err) ? err : p->all[0].err;
}

/* Notes in the journal of a durable inference that it failed. After a signal, open effects count as
 * in flight, as after a kill. */
static void end_failed(population *p, const pdl_err *err) {
    pdl_err copy = {0}, ignored = {0};
    bool is_killed = err->kind == PDL_E_interrupt || err->kind == PDL_E_terminated;
    if (!p->is_attached) return;
    if (is_killed) {
        pdl_err_copy(&copy, err);
        pdl_session_cancel(p->session, &copy);
    }
    pdl_population_end(p);
    if (!pdl_session_fail(p->session, cause_of(p, err), &ignored)) pdl_err_fini(&ignored);
}

/* Gives the distribution of a durable inference to its journal. */
static bool keep_result(const inference *f, pdl_vref result, pdl_err *err) {
    if (!f->o->ended || !pdl_is_list(f->d.lineages)) return true;
    pdl_val v = pdl_dict_putz(pdl_keep(result), "lineages", pdl_keep(f->d.lineages));
    bool ok = f->o->ended(f->o->user, v, err);
    pdl_drop(v);
    return ok;
}

bool pdl_infer_run(const pdl_infer_options *o, pdl_val *out, pdl_infer_use *use, pdl_err *err) {
    inference f = {.o = o};
    *out = pdl_absent();
    bool opened = pdl_population_open(&f.p, o, err) && pdl_distribution_open(&f.d, &f.p, err);
    bool ok = opened && algorithms[o->algorithm].run(&f, err);
    if (ok || f.ess.n) {
        pdl_val v = as_dict(&f);
        *out = pdl_session_shown(f.p.session, v);
        pdl_drop(v);
    }
    ok = ok && keep_result(&f, *out, err);
    if (ok)
        ok = pdl_session_finish(f.p.session, err);
    else
        end_failed(&f.p, err);
    if (!ok) detach(&f.p, err);
    pdl_population_end(&f.p);
    if (use)
        *use =
            (pdl_infer_use){f.p.calls,      f.p.prompt,
                            f.p.completion, f.p.budget ? f.p.budget->used[PDL_BUDGET_cost] : 0,
                            f.runs,         f.p.place ? pdl_str_dup(pdl_str_of(f.p.place)) : NULL};
    pdl_distribution_fini(&f.d);
    if (f.p.session && o->closing) o->closing(o->user);
    pdl_population_fini(&f.p);
    pdl_vec_fini(&f.ess);
    return ok;
}

void pdl_infer_put_bars(pdl_vref v, pdl_buf *out) {
    enum { WIDTH = 40, TEXT = 40, MAX_LINES = 20 };
    pdl_vref values = pdl_dict_getz(v, "values"), probs = pdl_dict_getz(v, "probs");
    size_t n = pdl_list_len(values);
    for (size_t i = 0; i < n && i < MAX_LINES; i++) {
        double p = pdl_num_to_double(pdl_list_at(probs, i));
        pdl_buf text = PDL_BUF;
        pdl_val_show(pdl_list_at(values, i), false, TEXT, &text);
        for (size_t k = 0; k < text.len; k++)
            if (text.p[k] == '\n') text.p[k] = ' ';
        pdl_buf_putf(out, "%6.2f %% ", 100 * p);
        for (int k = 0; k < WIDTH && k + 0.5 <= p * WIDTH; k++) PDL_PUT(out, "#");
        pdl_buf_putf(out, " %s\n", pdl_buf_z(&text));
        pdl_buf_fini(&text);
    }
    if (n > MAX_LINES) pdl_buf_putf(out, "and %zu more values\n", n - MAX_LINES);
}
