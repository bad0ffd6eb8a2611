/* eval_infer.c -- an evaluation in which each question is an inference: the most probable value is
 * its answer, and its probability says how certain the program is of it.
 *
 * The value that leads after the first k runs is scored as well, because an inference of k runs
 * would answer with it. So one evaluation shows how much more runs improve the score. A majority
 * vote that stopped early knows the winner for every k, because the votes that were left out could
 * not have changed it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <time.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/rand.h"
#include "eval/evaluation.h"
#include "io/file.h"
#include "value/int.h"

#include "base/banned.h"

/* A value that has to be scored, because it leads after the first `from` runs of its row. */
typedef struct candidate {
    uint64_t from;
    size_t scored; /* index among the values that are scored */
} candidate;

/* The facts about a row before its values are scored. */
typedef struct inferred_row {
    bool failed;
    double sure;
    size_t answer;         /* index among the values that are scored */
    size_t first, n_leads; /* the range of this row in the list of leads */
} inferred_row;

typedef struct eval_inferring {
    const evaluation *e;
    pdl_str program, text;
    const char *role;
    eval_scores *s;
    FILE *said, *values;
    PDL_VEC(inferred_row) rows;
    PDL_VEC(candidate) leads;
    /* for each scored value, its row and its number within that row */
    PDL_VEC(size_t) order, number;
    pdl_map notes;         /* warnings that were given; each is given only once */
    PDL_VEC(char *) texts; /* the keys of `notes`; owned */
    pdl_batch_totals totals;
    struct timespec start;
    double shown;
} inferring;

/* --- a row ------------------------------------------------------------------------------------ */

static void on_note(void *user, const char *text) {
    inferring *g = user;
    if (!g->e->o->note || pdl_map_find(&g->notes, pdl_str_of(text))) return;
    char *own = pdl_str_dup(pdl_str_of(text));
    *pdl_vec_push(&g->texts) = own;
    (void)pdl_map_put(&g->notes, pdl_str_of(own), own);
    g->e->o->note(g->e->o->user, own);
}

static pdl_str variable_of(const pdl_eval_options *o, pdl_str column) {
    for (size_t i = 0; i < o->n_map; i++)
        if (pdl_str_eq(o->map[i].column, column)) return o->map[i].variable;
    return column;
}

/* Returns the variables for a row: those of the options, and the cells of the row, which have the
 * label `data`. */
static pdl_val variables_of(const evaluation *e, pdl_vref row) {
    pdl_val d = pdl_dict_new(pdl_dict_len(row) + 8);
    if (pdl_is_dict(e->o->variables)) d = pdl_dict_merge(d, e->o->variables);
    for (size_t i = 0; i < pdl_dict_len(row); i++)
        d = pdl_dict_puts(
            d, variable_of(e->o, pdl_str_get(pdl_dict_key_at(row, i))),
            pdl_with_label(pdl_keep(pdl_dict_val_at(row, i)), PDL_LABEL_data | PDL_LABEL_FREE));
    return d;
}

static uint64_t seed_of(const evaluation *e, size_t row) {
    pdl_rand r;
    pdl_rand_seed(&r, e->o->infer->seed ^ (0x9e3779b97f4a7c15u * (row + 1)));
    return pdl_rand_u64(&r) >> 11;
}

static double seconds_since(const struct timespec *start) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void count_use(inferring *g, const pdl_infer_use *use, bool failed) {
    pdl_batch_totals *t = &g->totals;
    t->finished++;
    t->failed += failed;
    t->calls += use->calls;
    t->prompt_tokens += use->prompt_tokens;
    t->completion_tokens += use->completion_tokens;
    t->cost += use->cost;
    t->seconds = seconds_since(&g->start);
    t->bytes = t->finished;
    g->s->runs += use->runs;
    if (!g->e->o->tick || (t->seconds - g->shown) * 1e3 < g->e->o->tick_ms) return;
    g->shown = t->seconds;
    g->e->o->tick(g->e->o->user, t);
}

/* Returns true when the error ends the evaluation, and not only the row. */
static bool ends_all(const evaluation *e, const pdl_err *err) {
    const pdl_cancel_flag *cancel = e->o->session.run.cancel;
    bool is_spent = err->kind == PDL_E_budget && err->facts.has_budget && !err->facts.budget_depth;
    return (cancel && *cancel) || pdl_err_is_cancel(err) || (e->budget && is_spent) ||
           err->kind == PDL_E_usage;
}

/* The end of a row: a distribution, or an error of the program. All members are owned. */
typedef struct {
    pdl_val distribution; /* absent when the program failed */
    pdl_err failure;
    char *place; /* the place of the error, or NULL */
} row_end;

/* Runs the inference of a row. Returns false only when an error ends the evaluation; err gets this
 * error. */
static bool infer_row(inferring *g, size_t at, pdl_vref row, row_end *out, pdl_err *err) {
    const evaluation *e = g->e;
    pdl_infer_options o = *e->o->infer;
    pdl_infer_use use = {0};
    pdl_buf draw = PDL_BUF;
    pdl_buf_putf(&draw, "%s:%zu:", g->role, e->order.p[at]);
    pdl_val variables = variables_of(e, row);
    o.file = g->program;
    o.text = g->text;
    o.variables = variables;
    o.session = e->o->session;
    o.seed = seed_of(e, e->order.p[at]);
    o.around = e->budget;
    o.draw = pdl_buf_str(&draw);
    o.note = on_note;
    o.user = g;
    bool ok = pdl_infer_run(&o, &out->distribution, &use, &out->failure);
    pdl_drop(variables);
    pdl_buf_fini(&draw);
    out->place = use.place;
    count_use(g, &use, !ok);
    if (ok) return true;
    /* the inference failed, so the distribution is incomplete and not an answer */
    pdl_drop(out->distribution);
    out->distribution = pdl_absent();
    if (!ends_all(e, &out->failure)) return true;
    pdl_err_move(err, &out->failure);
    return false;
}

/* --- what leads ------------------------------------------------------------------------------- */

typedef struct value_state {
    double weight;
    size_t rank;   /* number of other values that came before this value in the order of lineage */
    size_t scored; /* index among the values that are scored; SIZE_MAX when it is not scored */
} value_state;

/* Adds a value to the scored values, unless it is already one of them. v->scored is then its index
 * among them. */
static bool score_value(inferring *g, size_t at, pdl_vref values, size_t which, value_state *v,
                        pdl_err *err) {
    if (v->scored != SIZE_MAX) return true;
    v->scored = g->order.n;
    *pdl_vec_push(&g->order) = g->e->order.p[at];
    *pdl_vec_push(&g->number) = which;
    pdl_val line = pdl_dict_putz(pdl_dict_new(2), "result", pdl_keep(pdl_list_at(values, which)));
    line = pdl_dict_putz(line, "error", pdl_null());
    bool ok = pdl_eval_put_line(g->values, line, err);
    pdl_drop(line);
    return ok;
}

/* Finds the value that leads after each number of runs. Weights are relative to the largest one. */
static bool find_leads(inferring *g, size_t at, pdl_vref d, value_state *of, pdl_err *err) {
    pdl_vref values = pdl_dict_getz(d, "values"), each = pdl_dict_getz(d, "particles"),
             which = pdl_dict_getz(each, "value"), logits = pdl_dict_getz(each, "logit");
    size_t n = pdl_list_len(which), seen = 0, leader = SIZE_MAX;
    double most = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (!pdl_is_null(pdl_list_at(logits, i)))
            most = fmax(most, pdl_num_to_double(pdl_list_at(logits, i)));
    for (size_t i = 0; i < n; i++) {
        pdl_vref logit = pdl_list_at(logits, i);
        size_t k = (size_t)pdl_int_of(pdl_list_at(which, i)), before = leader;
        value_state *v = &of[k];
        if (v->rank == SIZE_MAX) v->rank = seen++;
        if (pdl_is_null(logit)) continue;
        v->weight += exp(pdl_num_to_double(logit) - most);
        bool leads = leader == SIZE_MAX || v->weight > of[leader].weight ||
                     (!(v->weight < of[leader].weight) && v->rank < of[leader].rank);
        if (leads) leader = k;
        if (leader == before) continue;
        if (!score_value(g, at, values, leader, &of[leader], err)) return false;
        *pdl_vec_push(&g->leads) = (candidate){i + 1, of[leader].scored};
    }
    return true;
}

static bool take_distribution(inferring *g, size_t at, pdl_vref d, inferred_row *r, pdl_err *err) {
    pdl_vref values = pdl_dict_getz(d, "values");
    size_t n = pdl_list_len(values);
    value_state *of = PDL_NEW_N(value_state, n + 1);
    for (size_t i = 0; i < n; i++) of[i] = (value_state){0, SIZE_MAX, SIZE_MAX};
    bool ok = score_value(g, at, values, 0, &of[0], err);
    r->answer = of[0].scored;
    r->sure = pdl_float_of(pdl_list_at(pdl_dict_getz(d, "probs"), 0));
    /* in sequential Monte Carlo, a smaller number of particles would change their runs */
    if (ok && g->e->o->infer->algorithm != PDL_INFER_SMC)
        ok = find_leads(g, at, d, of, err);
    else if (ok)
        *pdl_vec_push(&g->leads) = (candidate){g->e->o->infer->n, r->answer};
    pdl_free(of);
    return ok;
}

/* Writes the answer of a row into the table, in the form of a batch. */
static bool put_said(inferring *g, pdl_vref d, const pdl_err *failure, const char *place,
                     pdl_err *err) {
    bool failed = pdl_is_absent(d);
    const char *why = failure->msg ? failure->msg : "the program ended by sys.exit";
    pdl_buf begin = PDL_BUF;
    pdl_buf_putf(&begin, "%s - ", place ? place : "");
    if (place && pdl_str_starts(pdl_str_of(why), pdl_buf_str(&begin))) why += begin.len;
    pdl_buf_fini(&begin);
    pdl_val line =
        pdl_dict_putz(pdl_dict_new(3), "result",
                      failed ? pdl_null() : pdl_keep(pdl_list_at(pdl_dict_getz(d, "values"), 0)));
    line = pdl_dict_putz(line, "error", pdl_eval_text_or_null(failed ? why : NULL));
    line = pdl_dict_putz(line, "place", pdl_eval_text_or_null(failed ? place : NULL));
    bool ok = pdl_eval_put_line(g->said, line, err);
    pdl_drop(line);
    return ok;
}

static bool take_row(inferring *g, size_t at, pdl_err *err) {
    pdl_val row;
    row_end end = {.distribution = pdl_absent()};
    inferred_row r = {.first = g->leads.n, .sure = -1};
    if (!pdl_eval_data_row(g->e, at, &row, err)) return false;
    row = pdl_eval_without_answer(g->e, row);
    bool ok = infer_row(g, at, row, &end, err);
    pdl_vref d = end.distribution;
    r.failed = pdl_is_absent(d);
    ok = ok && (r.failed || take_distribution(g, at, d, &r, err)) &&
         put_said(g, d, &end.failure, end.place, err);
    r.n_leads = g->leads.n - r.first;
    *pdl_vec_push(&g->rows) = r;
    pdl_err_fini(&end.failure);
    pdl_free(end.place);
    pdl_drop(end.distribution);
    pdl_drop(row);
    return ok;
}

/* --- scores ----------------------------------------------------------------------------------- */

/* Copies the scores of values to the answers that have these values. */
static void take_scores(inferring *g, eval_scores *of_values) {
    eval_scores *s = g->s;
    size_t fault = 0;
    for (size_t i = 0; i < g->rows.n; i++) {
        const inferred_row *r = &g->rows.p[i];
        size_t answer = s->of.n;
        double score = r->failed ? -1 : of_values->of.p[r->answer];
        char **feedback = r->failed ? NULL : &of_values->feedback.p[r->answer];
        *pdl_vec_push(&s->of) = score;
        *pdl_vec_push(&s->sure) = score < 0 ? -1 : r->sure;
        *pdl_vec_push(&s->feedback) = feedback ? *feedback : NULL;
        if (feedback) *feedback = NULL;
        s->failed += score < 0;
        for (size_t k = 0; k < r->n_leads; k++) {
            const candidate *c = &g->leads.p[r->first + k];
            *pdl_vec_push(&s->leads) = (eval_lead){answer, c->from, of_values->of.p[c->scored]};
        }
        if (r->failed) continue;
        while (fault < of_values->faults.n && of_values->faults.p[fault].answer < r->answer)
            fault++;
        if (fault == of_values->faults.n || of_values->faults.p[fault].answer != r->answer)
            continue;
        eval_fault *f = &of_values->faults.p[fault];
        *pdl_vec_push(&s->faults) = (eval_fault){answer, f->error, f->place};
        f->error = f->place = NULL;
    }
}

/* Scores each value as if it were the answer to the row from which it comes. */
static bool score_values(inferring *g, const char *path, pdl_err *err) {
    evaluation x = *g->e;
    bool is_second = g->s == &g->e->of[1], ok;
    eval_scores *of_values = &x.of[is_second];
    x.order.p = g->order.p;
    x.order.n = g->order.n;
    x.from = 0;
    x.n = g->order.n;
    x.value_of = g->number.p;
    *of_values = (eval_scores){0};
    ok = !g->order.n || pdl_eval_score_answers(&x, of_values, path, err);
    if (ok) take_scores(g, of_values);
    pdl_eval_scores_fini(of_values);
    return ok;
}

static bool read_program(inferring *g, pdl_buf *text, pdl_err *err) {
    char *path = pdl_str_dup(g->program);
    bool ok = pdl_file_read(path, text, err);
    g->text = pdl_buf_str(text);
    pdl_free(path);
    return ok;
}

static bool infer_all(inferring *g, const char *said, const char *values, pdl_err *err) {
    g->said = pdl_eval_create(said, err);
    g->values = g->said ? pdl_eval_create(values, err) : NULL;
    bool ok = g->values != NULL;
    for (size_t i = g->e->from; ok && i < g->e->from + g->e->n; i++) ok = take_row(g, i, err);
    if (g->values) ok = pdl_eval_finish(g->values, ok, values, err);
    if (g->said) ok = pdl_eval_finish(g->said, ok, said, err);
    return ok;
}

static void add_use(pdl_batch_totals *sum, const pdl_batch_totals *t) {
    sum->calls += t->calls;
    sum->prompt_tokens += t->prompt_tokens;
    sum->completion_tokens += t->completion_tokens;
    sum->cost += t->cost;
}

bool pdl_eval_infer(const evaluation *e, pdl_str program, const char *role, eval_scores *s,
                    const char *said, pdl_err *err) {
    inferring g = {.e = e, .program = program, .role = role, .s = s};
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    char *values = pdl_eval_path_of(e, "values.jsonl");
    (void)clock_gettime(CLOCK_MONOTONIC, &g.start);
    g.totals.all_bytes = e->n;
    g.totals.begun = true;
    bool ok = read_program(&g, &text, err) && infer_all(&g, said, values, err);
    add_use(&s->totals, &g.totals);
    ok = ok && score_values(&g, values, err);
    pdl_free(values);
    pdl_buf_fini(&text);
    pdl_map_fini(&g.notes);
    for (size_t i = 0; i < g.texts.n; i++) pdl_free(g.texts.p[i]);
    pdl_vec_fini(&g.texts);
    pdl_vec_fini(&g.rows);
    pdl_vec_fini(&g.leads);
    pdl_vec_fini(&g.order);
    pdl_vec_fini(&g.number);
    return ok;
}
