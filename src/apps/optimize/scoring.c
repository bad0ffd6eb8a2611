/* scoring.c -- runs candidates on rows and scores their answers. As in pdl eval, the cache names a
 * reply by the row and not by the candidate. So when two candidates send the same request for a
 * row, both get the same reply. The reply is paid for once, and the comparison of the candidates
 * becomes more precise.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <math.h>

#include "base/num.h"
#include "eval/grade.h"
#include "io/clock.h"
#include "optimize/objectives.h"
#include "optimize/proposals.h"
#include "optimize/records.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/label.h"

#include "base/banned.h"

/* Number of pairs of a candidate and a row that are run before their answers are scored. With a
 * budget the number is small, because the budget is compared with the reserve for the test only
 * between two series; the first series then shows what one evaluation uses. */
enum { SERIES = 1024, LIMITED_SERIES = 32, FIRST_SERIES = 1 };

typedef struct opt_answer {
    opt_pair of;
    bool known;          /* the budget allowed this run */
    pdl_val result;      /* absent when the run failed */
    char *error, *place; /* owned; NULL when the run did not fail; an unknown place is NULL, too */
    double score;        /* valid when `error` is NULL */
    char *feedback;      /* owned or NULL */
    double calls, tokens, cost; /* NaN when some price is unknown */
    pdl_val trace;              /* the model calls, owned; absent when they are not captured */
} answer;

typedef struct opt_asking {
    opt_search *z;
    answer *answers;
    size_t n;
    /* number of answers that the judge gets, and number of those that it could not judge */
    size_t judged, faults;
    const char *fault; /* the reason for the first fault; borrowed from an answer */
} asking;

bool pdl_search_knows(const opt_search *z, size_t candidate, size_t row) {
    const float *s = z->candidates.p[candidate].scores;
    return s && (isnan(s[row]) || !isinf(s[row]));
}

double pdl_search_score(const opt_search *z, size_t candidate, size_t row) {
    float s = z->candidates.p[candidate].scores[row];
    return isnan(s) ? 0 : (double)s;
}

/* --- progress --------------------------------------------------------------------------------- */

static void tick(void *user) {
    opt_search *z = user;
    uint64_t now = pdl_clock_ns();
    if (fabs(z->cost + z->open_cost - z->noted) > 0) pdl_search_note_use(z);
    if (!z->o->tick || now - z->ticked_ns < (uint64_t)z->o->tick_ms * 1000000) return;
    z->ticked_ns = now;
    pdl_optimize_progress p = {.evaluations = z->evaluations + z->answered,
                               .candidates = z->alive,
                               .low = 1,
                               .calls = z->calls,
                               .cost = z->cost,
                               .seconds = (double)(now - z->begun_ns) / 1e9};
    /* this is an upper limit, because a method drops candidates */
    double rest =
        fmax(0, pdl_search_most(z) + 2 * (double)z->part[OPT_TEST].n - (double)p.evaluations);
    p.left = p.evaluations ? p.seconds / (double)p.evaluations * rest : -1;
    pdl_search_put_best(z, &p);
    z->o->tick(z->o->user, &p);
}

opt_stage pdl_search_stage_of(opt_search *z, pdl_session *s, pdl_str file) {
    size_t slash = pdl_str_rfind(file, PDL_STR("/"));
    return (opt_stage){.session = s,
                       .dir = slash == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(file, 0, slash),
                       .jobs = z->o->jobs,
                       .budget = z->budget,
                       .cancel = z->o->session.run.cancel,
                       .tick = tick,
                       .user = z,
                       .cost = &z->cost,
                       .open_cost = z->used ? &z->open_cost : NULL};
}

/* --- answers ---------------------------------------------------------------------------------- */

static pdl_str variable_of(const opt_search *z, pdl_str column) {
    for (size_t i = 0; i < z->o->n_map; i++)
        if (pdl_str_eq(z->o->map[i].column, column)) return z->o->map[i].variable;
    return column;
}

static void begin_answer(void *user, size_t i, opt_start *out) {
    asking *a = user;
    const opt_pair *p = &a->answers[i].of;
    const opt_candidate *c = &a->z->candidates.p[p->candidate];
    pdl_val question = pdl_search_question(a->z, p->row);
    pdl_val d = pdl_dict_merge(pdl_dict_new(pdl_dict_len(c->variables) + 8), c->variables);
    for (size_t k = 0; k < pdl_dict_len(question); k++)
        d = pdl_dict_puts(d, variable_of(a->z, pdl_str_get(pdl_dict_key_at(question, k))),
                          pdl_with_label(pdl_keep(pdl_dict_val_at(question, k)),
                                         PDL_LABEL_data | PDL_LABEL_FREE));
    pdl_drop(question);
    out->code = c->code;
    out->variables = d;
    pdl_buf_putf(&out->draw, "program:%zu:0", p->row);
}

void pdl_search_count(opt_search *z, const opt_end *how) {
    z->calls += how->calls;
    z->tokens += how->tokens;
    pdl_search_note_use(z);
}

static void take_error(opt_search *z, answer *x, const pdl_err *e) {
    pdl_buf text = PDL_BUF, place = PDL_BUF;
    pdl_session_put_error(z->session, e, &text);
    if (e->loc.src && e->loc.src->name.n)
        pdl_buf_putf(&place, "%.*s:%u", PDL_FMT(e->loc.src->name), pdl_loc_line(e->loc));
    x->error = pdl_buf_take(&text);
    x->place = place.len ? pdl_buf_take(&place) : NULL;
    pdl_buf_fini(&place);
}

/* Returns a result in the form for judges and files, which has only the types of JSON. Returns
 * absent when the result has no such form. */
static pdl_val plain(pdl_vref v) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    pdl_val out = pdl_absent();
    if (!pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &b, &ignored) ||
        !pdl_json_read(pdl_buf_str(&b), 0, &out, NULL, &ignored))
        out = pdl_absent();
    pdl_err_fini(&ignored);
    pdl_buf_fini(&b);
    return out;
}

static void end_answer(void *user, size_t i, const opt_end *how) {
    asking *a = user;
    answer *x = &a->answers[i];
    x->known = true;
    pdl_search_count(a->z, how);
    a->z->answered++;
    x->calls = (double)how->calls;
    x->tokens = (double)how->tokens;
    if (how->error) {
        take_error(a->z, x, how->error);
        return;
    }
    x->result = plain(how->result);
    if (a->z->o->answered && pdl_is_str(x->result))
        a->z->o->answered(a->z->o->user, pdl_str_get(x->result));
    if (pdl_is_absent(x->result))
        x->error = pdl_str_dup(PDL_STR("the result cannot be written as JSON"));
}

static void take_event(void *user, size_t i, const pdl_event *e) {
    asking *a = user;
    answer *x = &a->answers[i];
    if (e->kind == PDL_EVENT_usage) {
        pdl_vref cost = pdl_dict_getz(e->value, "cost");
        bool known = pdl_is_int(cost) || pdl_is(cost, PDL_V_FLOAT);
        x->cost += known ? pdl_num_to_double(cost) : NAN;
    }
    if (!pdl_is_absent(x->trace)) pdl_demo_take_event(&x->trace, e);
}

/* --- scores ----------------------------------------------------------------------------------- */

static bool to_judge(const answer *x) { return x->known && !x->error; }

static void no_score(asking *a, answer *x, pdl_vref v) {
    enum { SHOWN = 60 };
    pdl_buf text = PDL_BUF, why = PDL_BUF;
    pdl_err ignored = {0};
    if (!pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_NAN | PDL_JSON_CUT, 0, &text, &ignored))
        pdl_err_fini(&ignored);
    pdl_buf_putf(&why,
                 "the judge gave %.*s: expected a boolean, a number from 0 to 1, or {score, "
                 "feedback}",
                 text.len < SHOWN ? (int)text.len : SHOWN, pdl_buf_z(&text));
    x->error = pdl_buf_take(&why);
    a->faults++;
    if (!a->fault) a->fault = x->error;
    pdl_buf_fini(&text);
}

/* Returns the score of a result as the reference reads it: a boolean, a number, or the text of a
 * number. Returns NaN for any other result. */
static double free_score_of(pdl_vref v) {
    double d;
    if (pdl_is_bool(v)) return pdl_bool_of(v);
    if (pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT)) return pdl_num_to_double(v);
    return pdl_is_str(v) && pdl_num_read_double(pdl_str_trim(pdl_str_get(v)), &d) ? d : NAN;
}

static void take_score(asking *a, answer *x, pdl_vref v) {
    pdl_str feedback = {0};
    bool is_free = a->z->o->reference != NULL;
    double d = is_free ? free_score_of(v) : pdl_eval_grade(v, &feedback);
    if (is_free ? !isfinite(d) : d < 0) {
        no_score(a, x, v);
        return;
    }
    x->score = d;
    if (feedback.n) x->feedback = pdl_str_dup(feedback);
}

/* Returns the i-th answer that is judged. */
static answer *judged_at(asking *a, size_t i) {
    for (size_t k = 0; k < a->n; k++)
        if (to_judge(&a->answers[k]) && i-- == 0) return &a->answers[k];
    return NULL;
}

typedef struct opt_judging {
    asking *a;
    answer **of;
    pdl_err failed; /* the error with which the program of metrics failed */
} judging;

static void begin_judge(void *user, size_t i, opt_start *out) {
    judging *j = user;
    opt_search *z = j->a->z;
    const answer *x = j->of[i];
    pdl_vref right = pdl_search_right(z, x->of.row);
    pdl_val d =
        pdl_dict_merge(pdl_dict_new(pdl_dict_len(z->judge_variables) + 3), z->judge_variables);
    pdl_label label = PDL_LABEL_data | PDL_LABEL_FREE;
    d = pdl_dict_putz(d, "input", pdl_with_label(pdl_search_question(z, x->of.row), label));
    d = pdl_dict_putz(d, "expected",
                      pdl_with_label(pdl_is_absent(right) ? pdl_null() : pdl_keep(right), label));
    d = pdl_dict_putz(d, "result", pdl_with_label(pdl_keep(x->result), label));
    out->code = z->judge_code;
    out->variables = d;
    /* This key of the cache does not name the candidate. When two candidates give different answers
     * to a row, the judge's requests differ anyway; equal answers share one reply. */
    pdl_buf_putf(&out->draw, "judge:%zu:0", x->of.row);
}

static void end_judge(void *user, size_t i, const opt_end *how) {
    judging *j = user;
    answer *x = j->of[i];
    pdl_search_count(j->a->z, how);
    if (!how->error) {
        take_score(j->a, x, how->result);
        return;
    }
    take_error(j->a->z, x, how->error);
    pdl_buf why = PDL_BUF;
    pdl_buf_putf(&why, "the judge failed: %s", x->error);
    pdl_free(x->error);
    x->error = pdl_buf_take(&why);
    j->a->faults++;
    if (!j->a->fault) j->a->fault = x->error;
}

/* Starts the metric. It gets all answers at once. */
static void begin_metric(void *user, size_t i, opt_start *out) {
    judging *j = user;
    opt_search *z = j->a->z;
    (void)i;
    pdl_val items = pdl_list_new(j->a->judged);
    for (size_t k = 0; k < j->a->judged; k++) {
        const answer *x = j->of[k];
        pdl_val item = pdl_dict_putz(pdl_dict_new(2), "said", pdl_keep(x->result));
        item = pdl_dict_putz(item, "right", pdl_keep(pdl_search_right(z, x->of.row)));
        items = pdl_list_push(items, item);
    }
    out->code = z->judge_code;
    out->variables = pdl_dict_putz(pdl_keep(z->judge_variables), "items", items);
}

static void end_metric(void *user, size_t i, const opt_end *how) {
    judging *j = user;
    (void)i;
    if (how->error) {
        pdl_err_set(&j->failed, how->error->kind, (pdl_loc){0}, "the metric failed: %s",
                    how->error->msg);
        return;
    }
    for (size_t k = 0; k < j->a->judged && k < pdl_list_len(how->result); k++)
        take_score(j->a, j->of[k], pdl_list_at(how->result, k));
}

static bool judge_answers(asking *a, bool *spent, pdl_err *err) {
    opt_search *z = a->z;
    judging j = {.a = a, .of = PDL_NEW_N(answer *, a->n + 1)};
    for (size_t k = 0; k < a->n; k++)
        if (to_judge(&a->answers[k])) j.of[a->judged++] = &a->answers[k];
    bool own = z->o->judge.n || z->o->reference, ok = true;
    opt_stage on = pdl_search_stage_of(z, z->judges, z->o->judge);
    opt_series s = {.n = own         ? a->judged
                         : a->judged ? 1
                                     : 0,
                    .user = &j,
                    .begin = own ? begin_judge : begin_metric,
                    .end = own ? end_judge : end_metric};
    if (!own) on.budget = NULL; /* a metric calls no model */
    for (size_t k = 0; k < a->judged; k++) j.of[k]->score = NAN;
    ok = pdl_series_run(&on, &s, spent, err);
    if (ok && j.failed.kind) {
        pdl_err_move(err, &j.failed);
        ok = false;
    }
    for (size_t k = 0; k < a->judged; k++) /* no score: the budget did not allow the judgement */
        if (!j.of[k]->error && isnan(j.of[k]->score)) j.of[k]->known = false;
    pdl_err_fini(&j.failed);
    pdl_free(j.of);
    return ok;
}

/* Ends the search when no answer could be judged, because then nothing is known about any
 * candidate. */
static bool any_judged(const asking *a, pdl_err *err) {
    if (!a->judged || a->faults < a->judged) return true;
    const answer *x = judged_at((asking *)(void *)(uintptr_t)a, 0);
    size_t row = 0;
    for (size_t k = 0; k < a->n && !x; k++)
        if (a->answers[k].error == a->fault) row = a->answers[k].of.row;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s, row %llu: no answer could be judged: %s",
                PDL_FMT(a->z->o->data.name), (unsigned long long)a->z->rows.p[row].number,
                a->fault);
    return false;
}

/* --- records ---------------------------------------------------------------------------------- */

static pdl_val text_or_null(const char *s) { return s ? pdl_text(pdl_str_of(s)) : pdl_null(); }

/* Writes a line of scores.jsonl, in the same form as pdl eval -o. */
static bool write_line(opt_search *z, const answer *x, pdl_err *err) {
    double score = x->error ? 0 : x->score;
    pdl_val row = pdl_keep(z->rows.p[x->of.row].columns);
    row = pdl_dict_putz(row, "program", pdl_text(z->o->program));
    row = pdl_dict_putz(row, "candidate", pdl_int((int64_t)x->of.candidate));
    row = pdl_dict_putz(row, "row", pdl_int((int64_t)z->rows.p[x->of.row].number));
    row = pdl_dict_putz(row, "part", pdl_textz(pdl_search_part_name(z->rows.p[x->of.row].part)));
    row = pdl_dict_putz(row, "result", pdl_is_absent(x->result) ? pdl_null() : pdl_keep(x->result));
    row = pdl_dict_putz(row, "error", text_or_null(x->error));
    row = pdl_dict_putz(row, "place", text_or_null(x->place));
    row = pdl_dict_putz(row, "score", pdl_float(score));
    row = pdl_dict_putz(row, "right", pdl_bool(score >= 0.5));
    row = pdl_dict_putz(row, "feedback", text_or_null(x->feedback));
    pdl_buf b = PDL_BUF;
    bool ok = pdl_search_put_line(z, row, &b, err);
    if (ok && fwrite(b.p, 1, b.len, z->scores) != b.len)
        ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%s/scores.jsonl cannot be written",
                         z->folder);
    pdl_buf_fini(&b);
    return ok;
}

static void note_first(opt_candidate *c, uint64_t number, const answer *x) {
    pdl_buf b = PDL_BUF;
    c->failed++;
    if (c->first_error) return;
    pdl_buf_putf(&b, "row %llu: %s", (unsigned long long)number, x->error);
    if (x->place) pdl_buf_putf(&b, ", at %s", x->place);
    c->first_error = pdl_buf_take(&b);
}

static void keep_example(opt_search *z, const answer *x) {
    pdl_vref right = pdl_search_right(z, x->of.row);
    pdl_val question = pdl_search_question(z, x->of.row);
    pdl_val d = pdl_dict_putz(pdl_dict_new(8), "input", pdl_demo_plain(question));
    pdl_drop(question);
    if (!pdl_is_absent(right)) d = pdl_dict_putz(d, "expected", pdl_demo_plain(right));
    if (!pdl_is_absent(x->result)) d = pdl_dict_putz(d, "result", pdl_keep(x->result));
    if (x->error) d = pdl_dict_putz(d, "error", pdl_textz(x->error));
    if (x->feedback) d = pdl_dict_putz(d, "feedback", pdl_textz(x->feedback));
    d = pdl_dict_putz(d, "trace", pdl_demo_trace(x->trace));
    d = pdl_dict_putz(d, "score", pdl_float(x->error ? 0 : x->score));
    *pdl_vec_push(&z->examples) = (opt_example){x->of.candidate, x->of.row, d};
}

static bool keep_scores(asking *a, pdl_err *err) {
    opt_search *z = a->z;
    bool ok = true;
    for (size_t k = 0; k < a->n; k++) {
        const answer *x = &a->answers[k];
        opt_candidate *c = &z->candidates.p[x->of.candidate];
        if (!x->known) continue;
        if (!c->scores) {
            c->scores = PDL_NEW_N(float, z->rows.n);
            c->uses = PDL_NEW_N(opt_use, z->rows.n);
            for (size_t i = 0; i < z->rows.n; i++) c->scores[i] = OPT_UNKNOWN;
        }
        c->scores[x->of.row] = x->error ? OPT_FAILED : (float)x->score;
        c->uses[x->of.row] = (opt_use){{(float)x->calls, (float)x->tokens, (float)x->cost}};
        c->evaluated++;
        z->evaluations++;
        if (z->captures && !x->error && x->score >= 0.5)
            pdl_demo_keep(z, x->of.candidate, x->of.row, x->result, x->trace);
        if (z->examines) keep_example(z, x);
        if (x->error) note_first(c, z->rows.p[x->of.row].number, x);
        if (ok && z->scores) ok = write_line(z, x, err);
    }
    if (z->scores) (void)fflush(z->scores); /* a failure is reported when the file is closed */
    return ok;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Returns how many of n evaluations the budget allows. The part that is reserved for the test is
 * not used. */
static size_t allowed(const opt_search *z, size_t n) {
    /* these evaluations were paid for before the search was killed */
    if (z->evaluations < z->before) return n;
    for (int i = 0; z->budget && z->evaluations && i < PDL_BUDGET_COUNT; i++) {
        double limit = z->budget->limit[i], used = z->budget->used[i];
        bool counted = i != PDL_BUDGET_seconds && i != PDL_BUDGET_turns;
        if (limit < 0 || !counted || used <= 0) continue;
        double fits = (limit * (1 - z->reserved) - used) / (used / (double)z->evaluations);
        if (fits < (double)n) n = fits < 1 ? 0 : (size_t)fits;
    }
    return n;
}

static bool evaluate_series(opt_search *z, const opt_pair *pairs, size_t n, pdl_err *err) {
    bool captures = z->captures || z->examines;
    asking a = {.z = z, .answers = PDL_NEW_N(answer, n + 1), .n = n};
    bool spent = false, judge_spent = false, ok = pdl_search_list_candidates(z, err);
    for (size_t i = 0; i < n; i++)
        a.answers[i] = (answer){.of = pairs[i],
                                .result = pdl_absent(),
                                .trace = captures ? pdl_list_new(2) : pdl_absent()};
    for (size_t i = 0; i < n && ok; i++)
        ok = pdl_search_compile(z, &z->candidates.p[pairs[i].candidate], err);
    opt_stage on = pdl_search_stage_of(z, z->session, z->o->program);
    bool listens = captures || pdl_search_needs_costs(z);
    opt_series s = {n, &a, begin_answer, end_answer, listens ? take_event : NULL};
    ok = ok && pdl_series_run(&on, &s, &spent, err) && judge_answers(&a, &judge_spent, err);
    z->spent = z->spent || spent || judge_spent;
    z->answered = 0;
    ok = ok && keep_scores(&a, err) && any_judged(&a, err);
    for (size_t i = 0; i < n; i++) {
        if (!pdl_is_absent(a.answers[i].result)) pdl_drop(a.answers[i].result);
        if (!pdl_is_absent(a.answers[i].trace)) pdl_drop(a.answers[i].trace);
        pdl_free(a.answers[i].error);
        pdl_free(a.answers[i].place);
        pdl_free(a.answers[i].feedback);
    }
    pdl_free(a.answers);
    return ok;
}

bool pdl_search_evaluate(opt_search *z, const opt_pair *pairs, size_t n, pdl_err *err) {
    PDL_VEC(opt_pair) open = {0};
    assert(pdl_search_ok(z));
    for (size_t i = 0; i < n; i++)
        if (!pdl_search_knows(z, pairs[i].candidate, pairs[i].row)) *pdl_vec_push(&open) = pairs[i];
    bool ok = true;
    for (size_t i = 0; ok && !z->spent && i < open.n;) {
        size_t limited = z->evaluations ? LIMITED_SERIES : FIRST_SERIES,
               most = z->budget ? limited : SERIES,
               now = allowed(z, open.n - i < most ? open.n - i : most);
        z->spent = !now;
        ok = z->spent || evaluate_series(z, open.p + i, now, err);
        i += now;
    }
    pdl_vec_fini(&open);
    assert(pdl_search_ok(z));
    return ok;
}
