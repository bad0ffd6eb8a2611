/* eval.c -- runs an evaluation as batches over temporary tables, and reports its results; see
 * eval.h. Batches already handle failures, budgets and many rows at a time. So each step of an
 * evaluation is a batch: the questions with the program, then the answers with the metric or the
 * judge. The tables are in a private folder that is removed at the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/evaluation.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/rand.h"
#include "base/utf8.h"
#include "eval/grade.h"
#include "io/file.h"
#include "lang/load.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

/* The metrics of the pattern library, as a program that judges. */
static const char metric_program[] =
    "defs:\n"
    "  eval: {import: lib/eval}\n"
    "data: \"${ eval.fits(metric, '', eval.text_of(result.answer if result is mapping and 'answer' "
    "in result else result), eval.text_of(expected), '') }\"\n";

/* The variables of a judge, and the columns of its table that contain their values. */
static const pdl_batch_map judged[] = {
    {{"row", 3}, {"input", 5}}, {{"right", 5}, {"expected", 8}}, {{"said", 4}, {"result", 6}}};

/* --- tables that are only needed here --------------------------------------------------------- */

char *pdl_eval_path_of(const evaluation *e, const char *name) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", e->folder, name);
    return pdl_buf_take(&b);
}

static bool make_folder(evaluation *e, pdl_err *err) {
    const char *tmp = getenv("TMPDIR");
    pdl_buf name = PDL_BUF;
    pdl_buf_putf(&name, "%s/pdl-eval-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    e->folder = pdl_buf_take(&name);
    if (mkdtemp(e->folder)) return true;
    pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot create a folder in %s: %s",
                tmp && *tmp ? tmp : "/tmp", strerror(errno));
    pdl_free(e->folder);
    e->folder = NULL;
    return false;
}

static void remove_folder(const evaluation *e) {
    static const char *const names[] = {"in.jsonl",    "said.jsonl",  "said.jsonl.journal",
                                        "ask.jsonl",   "score.jsonl", "score.jsonl.journal",
                                        "values.jsonl"};
    if (!e->folder) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = pdl_eval_path_of(e, names[i]);
        (void)unlink(path);
        pdl_free(path);
    }
    (void)rmdir(e->folder);
}

static bool put_json(pdl_vref v, pdl_buf *out, pdl_err *err) {
    bool ok = pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, out, err);
    pdl_buf_putc(out, '\n');
    return ok;
}

bool pdl_eval_put_line(FILE *f, pdl_vref v, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool ok = put_json(v, &b, err);
    if (ok && fwrite(b.p, 1, b.len, f) != b.len)
        ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot write: %s", strerror(errno));
    pdl_buf_fini(&b);
    return ok;
}

/* Calls fn with each row of a temporary table. */
static bool each_line(const char *path,
                      bool (*fn)(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err),
                      void *user, pdl_err *err) {
    pdl_table t;
    return pdl_table_of(pdl_str_of(path), PDL_STR("jsonl"), &t, err) &&
           pdl_rows_each(&t, false, 0, fn, user, err);
}

FILE *pdl_eval_create(const char *path, pdl_err *err) {
    FILE *f = fopen(path, "we");
    if (!f) pdl_file_errno(err, errno, path);
    return f;
}

bool pdl_eval_finish(FILE *f, bool ok, const char *path, pdl_err *err) {
    bool closed = fclose(f) == 0;
    return ok && (closed || pdl_file_errno(err, errno, path));
}

/* --- the data --------------------------------------------------------------------------------- */

static bool has_column(const evaluation *e, pdl_vref columns, pdl_err *err) {
    for (size_t i = 0; i < e->o->n_map; i++)
        if (e->o->expect.n && pdl_str_eq(e->o->map[i].column, e->o->expect))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "--map: the program does not see '%.*s', the column of --expect",
                               PDL_FMT(e->o->expect));
    if (!e->o->expect.n || !pdl_is_absent(pdl_dict_gets(columns, e->o->expect))) return true;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s: row %zu has no column '%.*s'",
                PDL_FMT(e->o->data.name), e->rows.n + 1, PDL_FMT(e->o->expect));
    PDL_VEC(pdl_str) names = {0};
    for (size_t i = 0; i < pdl_dict_len(columns); i++)
        *pdl_vec_push(&names) = pdl_str_get(pdl_dict_key_at(columns, i));
    pdl_str near = pdl_str_nearest(e->o->expect, names.p, names.n);
    if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    pdl_vec_fini(&names);
    return false;
}

/* Returns true when the row has a right answer, or needs none because there is a judge. An empty
 * cell is refused, since every answer to it would count as wrong. */
static bool has_answer(const evaluation *e, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    if (!e->o->expect.n || e->o->judge.n) return true;
    pdl_vref v = pdl_dict_gets(row->columns, e->o->expect);
    bool cell = pdl_is_str(v) && e->o->data.form == PDL_TABLE_csv;
    if (!pdl_is_null(v) && !(cell && !pdl_str_get(v).n)) return true;
    pdl_buf place = PDL_BUF;
    pdl_rows_put_place(r, row, &place);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: the row has no answer in the column '%.*s'",
                pdl_buf_z(&place), PDL_FMT(e->o->expect));
    pdl_err_hint(err, "it would count as wrong: leave such rows out");
    pdl_buf_fini(&place);
    return false;
}

/* Returns the first column that cannot be written as JSON; empty when each of them can. */
static pdl_str unwritable_column(pdl_vref columns) {
    for (size_t i = 0; i < pdl_dict_len(columns); i++) {
        pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
        pdl_err ignored = {0};
        bool ok = pdl_json_write(pdl_dict_val_at(columns, i), 0, 0, &text, &ignored);
        pdl_err_fini(&ignored);
        pdl_buf_fini(&text);
        if (!ok) return pdl_str_get(pdl_dict_key_at(columns, i));
    }
    return (pdl_str){0};
}

/* Sets err for a row that cannot be written as JSON. Rows come from files, so the reason is NaN, an
 * infinite number, or the length. */
static void refuse_row(const pdl_rowset *r, const pdl_row *row, const pdl_err *why, pdl_err *err) {
    pdl_buf place = PDL_BUF;
    pdl_str column = unwritable_column(row->columns);
    pdl_rows_put_place(r, row, &place);
    if (column.n) pdl_buf_putf(&place, ": column '%.*s'", PDL_FMT(column));
    if (why->kind == PDL_E_type)
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: " PDL_ROWS_NOT_JSON, pdl_buf_z(&place));
    else
        pdl_err_set(err, why->kind, (pdl_loc){0}, "%s: %s", pdl_buf_z(&place), why->msg);
    pdl_buf_fini(&place);
}

static bool take_row(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    evaluation *e = user;
    pdl_buf b = PDL_BUF;
    if (row->problem) {
        pdl_rows_put_place(r, row, &b);
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: %s", pdl_buf_z(&b), row->problem);
        pdl_buf_fini(&b);
        return false;
    }
    if (!has_column(e, row->columns, err) || !has_answer(e, r, row, err)) return false;
    pdl_err why = {0};
    bool ok = pdl_json_write(row->columns, PDL_JSON_SPACED, 0, &b, &why);
    if (ok)
        *pdl_vec_push(&e->rows) = pdl_buf_take(&b);
    else
        refuse_row(r, row, &why, err);
    pdl_err_fini(&why);
    pdl_buf_fini(&b);
    return ok;
}

/* Reads the data. A question without an answer is refused, because it would make all numbers
 * wrong. */
static bool read_data(evaluation *e, pdl_err *err) {
    bool ok = pdl_rows_each(&e->o->data, e->o->types, e->o->limit, take_row, e, err);
    if (ok && !e->rows.n)
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s has no rows",
                         PDL_FMT(e->o->data.name));
    return ok;
}

bool pdl_eval_data_row(const evaluation *e, size_t at, pdl_val *out, pdl_err *err) {
    return pdl_json_read(pdl_str_of(e->rows.p[e->order.p[at]]), 0, out, NULL, err);
}

pdl_val pdl_eval_without_answer(const evaluation *e, pdl_val row) {
    if (!e->o->expect.n) return row;
    pdl_val key = pdl_text(e->o->expect);
    row = pdl_dict_del(row, key);
    pdl_drop(key);
    return row;
}

static bool write_questions(const evaluation *e, const char *path, pdl_err *err) {
    FILE *f = pdl_eval_create(path, err);
    bool ok = f != NULL;
    for (size_t i = e->from; ok && i < e->from + e->n; i++) {
        pdl_val row;
        ok = pdl_eval_data_row(e, i, &row, err);
        if (!ok) break;
        row = pdl_eval_without_answer(e, row);
        for (uint64_t j = 0; ok && j < e->o->samples; j++) ok = pdl_eval_put_line(f, row, err);
        pdl_drop(row);
    }
    return f && pdl_eval_finish(f, ok, path, err);
}

/* --- batches ---------------------------------------------------------------------------------- */

typedef struct eval_stage {
    pdl_str file, text; /* the program */
    const char *input, *output;
    const pdl_batch_map *map;
    size_t n_map;
    pdl_vref variables;
    /* the columns of the table of the judge, to check it before the table exists */
    const pdl_str *columns;
    size_t n_columns;
    const char *role; /* in the cache, the names of the replies begin with this word */
    bool is_ours;     /* the program is a metric of the library */
    /* for a judge: the scores so far, in which a failed answer has a negative score and is not
     * judged; may be NULL */
    const eval_scores *asked;
} stage;

/* The state for naming replies in the cache. The name of a reply contains the number of the answer
 * to which its row belongs. */
typedef struct eval_drawing {
    const evaluation *e;
    const stage *g;
    PDL_VEC(size_t) answers; /* the answer of each row, when the stage leaves answers out */
} drawing;

/* Appends the name of a reply. The same request gets different replies in the two compared programs
 * and in their judges. It also gets different replies for two rows and for two samples. */
static void put_draw(void *user, uint64_t number, pdl_buf *out) {
    const drawing *d = user;
    uint64_t samples = d->e->o->samples;
    uint64_t i = d->g->asked ? d->answers.p[number - 1] : d->e->from * samples + number - 1;
    uint64_t sample = d->e->value_of ? d->e->value_of[i] : i % samples;
    pdl_buf_putf(out, "%s:%zu:%llu", d->g->role, d->e->order.p[i / samples],
                 (unsigned long long)sample);
}

/* Runs a program. When t is NULL the program is only checked. */
static bool run_loaded(const evaluation *e, const stage *g, pdl_session *s, pdl_program *p,
                       pdl_batch_totals *t, pdl_err *err) {
    drawing d = {.e = e, .g = g};
    bool is_judge = pdl_str_starts(pdl_str_of(g->role), PDL_STR("judge"));
    for (size_t i = e->from * e->o->samples; g->asked && i < g->asked->of.n; i++)
        if (g->asked->of.p[i] >= 0) *pdl_vec_push(&d.answers) = i;
    pdl_batch_options b = {.session = s,
                           .put_draw = put_draw,
                           .draw_user = &d,
                           .program = p,
                           .text = g->text,
                           .dir = pdl_file_folder(g->file),
                           .variables = g->variables,
                           .giver = e->o->giver,
                           .shown_input = e->o->data.name,
                           .hidden = is_judge ? (pdl_str){0} : e->o->expect,
                           .map = g->map,
                           .n_map = g->n_map,
                           .around = e->budget,
                           .jobs = e->o->jobs,
                           .max_errors = -1,
                           .tick = e->o->tick,
                           .tick_ms = e->o->tick_ms,
                           .user = e->o->user,
                           .cancel = e->o->session.run.cancel};
    bool ok = pdl_table_of(pdl_str_of(g->input), PDL_STR("jsonl"), &b.input, err) &&
              pdl_table_of(pdl_str_of(g->output), PDL_STR("jsonl"), &b.output, err) &&
              (t ? pdl_batch_run(&b, t, err) : pdl_batch_check(&b, g->columns, g->n_columns, err));
    pdl_vec_fini(&d.answers);
    return ok;
}

static bool run_stage(const evaluation *e, const stage *g, pdl_batch_totals *t, pdl_err *err) {
    pdl_session_options so = e->o->session;
    pdl_session *s;
    bool loads;
    so.program.file = g->file;
    so.program.dir = pdl_file_folder(g->file);
    so.run.stream = PDL_STREAM_NONE;
    so.telemetry.is_off = g->is_ours && !so.telemetry.all;
    if (!pdl_session_new(&so, &s, err)) return false;
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, g->file, g->text, &loads);
    bool ok = loads || pdl_program_refuse(p, err);
    ok = ok && run_loaded(e, g, s, p, t, err);
    if (!ok) pdl_err_detach(err); /* the error is printed after the program was freed */
    pdl_session_free(s);
    pdl_program_drop(p);
    return ok;
}

/* Names the program in an error. Messages of a batch say "the program", but an evaluation has two
 * or three programs. */
static void name_program(pdl_str file, pdl_err *err) {
    pdl_err named = {0};
    if (!pdl_str_starts(pdl_str_of(err->msg), PDL_STR("the program ")) || err->loc.src) return;
    pdl_err_set(&named, err->kind, err->loc, "%.*s: %s", PDL_FMT(file), err->msg);
    if (err->hint) pdl_err_hint(&named, "%s", err->hint);
    pdl_err_fini(err);
    pdl_err_move(err, &named);
}

static bool run_file(const evaluation *e, stage *g, pdl_batch_totals *t, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    char *path = pdl_str_dup(g->file);
    bool ok = pdl_file_read(path, &text, err);
    g->text = pdl_buf_str(&text);
    ok = ok && run_stage(e, g, t, err);
    if (!ok && !t) name_program(g->file, err);
    pdl_buf_fini(&text);
    pdl_free(path);
    return ok;
}

/* --- scoring ---------------------------------------------------------------------------------- */

typedef struct eval_judging {
    const evaluation *e;
    eval_scores *s;
    FILE *f;
    size_t n; /* number of answers so far */
} judging;

static bool failed(pdl_vref said) { return !pdl_is_null(pdl_dict_getz(said, "error")); }

/* Writes the row for a judge. An answer that failed is wrong, and is not judged. */
static bool ask_judge(void *user, const pdl_rowset *r, const pdl_row *of, pdl_err *err) {
    (void)r;
    judging *j = user;
    pdl_vref said = of->columns;
    pdl_val row;
    size_t i = j->n++;
    bool wrong = failed(said);
    *pdl_vec_push(&j->s->of) = wrong ? -1 : 0;
    *pdl_vec_push(&j->s->feedback) = NULL;
    j->s->failed += wrong;
    if (wrong) return true;
    if (!pdl_eval_data_row(j->e, i / j->e->o->samples, &row, err)) return false;
    pdl_vref right = j->e->o->expect.n ? pdl_dict_gets(row, j->e->o->expect) : pdl_absent();
    pdl_val ask = pdl_dict_putz(pdl_dict_new(3), "right",
                                pdl_is_absent(right) ? pdl_null() : pdl_keep(right));
    ask = pdl_dict_putz(ask, "said", pdl_keep(pdl_dict_getz(said, "result")));
    ask = pdl_dict_putz(ask, "row", pdl_eval_without_answer(j->e, row));
    bool ok = pdl_eval_put_line(j->f, ask, err);
    pdl_drop(ask);
    return ok;
}

static char *no_score(pdl_vref v) {
    enum { SHOWN = 60 };
    pdl_buf text = PDL_BUF, why = PDL_BUF;
    pdl_err ignored = {0};
    if (!pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_NAN, 0, &text, &ignored))
        pdl_buf_putf(&text, "a %s", pdl_type_name(v));
    pdl_str said = pdl_buf_str(&text), shown = pdl_utf8_cut(said, SHOWN);
    pdl_buf_putf(&why,
                 "the judge gave %.*s%s: expected a boolean, a number from 0 to 1, or "
                 "{score, feedback}",
                 PDL_FMT(shown), shown.n < said.n ? "..." : "");
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
    return pdl_buf_take(&why);
}

static char *judge_failed(pdl_vref why) {
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, "the judge failed: %.*s",
                 PDL_FMT(pdl_is_str(why) ? pdl_str_get(why) : PDL_STR("?")));
    return pdl_buf_take(&text);
}

/* Stores the score of the next answer that did not fail. An answer whose judge failed counts as
 * wrong. The other answers are judged even then, because they were paid for. */
static bool take_score(void *user, const pdl_rowset *r, const pdl_row *of, pdl_err *err) {
    (void)r;
    judging *j = user;
    pdl_vref v = pdl_dict_getz(of->columns, "result"), at = pdl_dict_getz(of->columns, "place");
    while (j->n < j->s->of.n && j->s->of.p[j->n] < 0) j->n++;
    size_t i = j->n++;
    if (i >= j->s->of.n)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "the judge gave more than was asked");
    pdl_str feedback = {0};
    double score = pdl_eval_grade(v, &feedback);
    bool broken = failed(of->columns);
    j->s->of.p[i] = score;
    if (!broken && score >= 0) {
        if (feedback.n) j->s->feedback.p[i] = pdl_str_dup(feedback);
        return true;
    }
    j->s->of.p[i] = -1;
    j->s->failed++;
    *pdl_vec_push(&j->s->faults) =
        (eval_fault){i, broken ? judge_failed(pdl_dict_getz(of->columns, "error")) : no_score(v),
                     pdl_is_str(at) ? pdl_str_dup(pdl_str_get(at)) : NULL};
    return true;
}

/* Fails when no answer could be judged, because nothing is then known about the program. */
static bool any_judged(const evaluation *e, const eval_scores *s, size_t earlier, uint64_t asked,
                       pdl_err *err) {
    if (!asked || s->faults.n - earlier < asked) return true;
    const eval_fault *f = &s->faults.p[earlier];
    size_t row = e->order.p[f->answer / (size_t)e->o->samples] + 1;
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "no answer could be judged: row %zu: %s%s%s", row,
                f->error, f->place ? ", at " : "", f->place ? f->place : "");
    return false;
}

/* Runs the judge. When t is NULL its program is only checked. */
static bool run_judge(const evaluation *e, const eval_scores *s, const char *ask, const char *score,
                      pdl_batch_totals *t, pdl_err *err) {
    pdl_str columns[sizeof judged / sizeof *judged];
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) columns[i] = judged[i].column;
    pdl_val vars = pdl_dict_putz(pdl_dict_new(1), "metric", pdl_text(e->o->metric));
    stage g = {.file = e->o->judge.n ? e->o->judge : PDL_STR("metric.pdl"),
               .text = pdl_str_of(metric_program),
               .is_ours = !e->o->judge.n,
               .input = ask,
               .output = score,
               .map = judged,
               .n_map = sizeof judged / sizeof *judged,
               .variables = e->o->judge.n ? e->o->variables : vars,
               .columns = t ? NULL : columns,
               .n_columns = sizeof columns / sizeof *columns,
               .role = s == &e->of[1] ? "judge-against" : "judge",
               .asked = t ? s : NULL};
    bool ok = e->o->judge.n ? run_file(e, &g, t, err) : run_stage(e, &g, t, err);
    if (!ok && err->kind == PDL_E_usage && e->o->judge.n)
        pdl_err_hint(err, "a judge gets the variables input, expected and result");
    pdl_drop(vars);
    return ok;
}

bool pdl_eval_score_answers(const evaluation *e, eval_scores *s, const char *said, pdl_err *err) {
    char *ask = pdl_eval_path_of(e, "ask.jsonl"), *score = pdl_eval_path_of(e, "score.jsonl");
    size_t first = e->from * e->o->samples, earlier = s->faults.n;
    uint64_t failed_before = s->failed;
    judging j = {.e = e, .s = s, .f = pdl_eval_create(ask, err), .n = first};
    bool ok = j.f && each_line(said, ask_judge, &j, err);
    if (j.f) ok = pdl_eval_finish(j.f, ok, ask, err);
    uint64_t asked = s->of.n - first - (s->failed - failed_before);
    if (ok && asked) {
        pdl_batch_totals t;
        j.n = first;
        ok = run_judge(e, s, ask, score, &t, err) && each_line(score, take_score, &j, err) &&
             any_judged(e, s, earlier, asked, err);
    }
    pdl_free(ask);
    pdl_free(score);
    return ok;
}

/* --- results ---------------------------------------------------------------------------------- */

typedef struct eval_reporting {
    evaluation *e;
    eval_scores *s;
    pdl_str program;
    size_t n, fault; /* numbers of answers and of faults so far */
} reporting;

static void note_first(eval_scores *s, pdl_str name, pdl_vref why, pdl_vref place) {
    pdl_buf b = PDL_BUF;
    if (s->first || !pdl_is_str(why)) return;
    pdl_buf_putf(&b, "%.*s: %.*s", PDL_FMT(name), PDL_FMT(pdl_str_get(why)));
    if (pdl_is_str(place)) pdl_buf_putf(&b, ", at %.*s", PDL_FMT(pdl_str_get(place)));
    s->first = pdl_buf_take(&b);
}

/* Stores the reason and the place of a failed answer, from the program or its judge. Both are
 * owned. For an answer that did not fail, both are null. */
static void reason(reporting *t, size_t i, pdl_vref said, pdl_val *why, pdl_val *place) {
    bool of_judge = t->fault < t->s->faults.n && t->s->faults.p[t->fault].answer == i;
    const eval_fault *f = of_judge ? &t->s->faults.p[t->fault++] : NULL;
    *why = f ? pdl_eval_text_or_null(f->error) : pdl_keep(pdl_dict_getz(said, "error"));
    *place = f ? pdl_eval_text_or_null(f->place) : pdl_keep(pdl_dict_getz(said, "place"));
}

/* Writes a line of --output and a case of --junit. */
static bool report_row(void *user, const pdl_rowset *r, const pdl_row *of, pdl_err *err) {
    (void)r;
    reporting *t = user;
    pdl_vref said = of->columns;
    size_t i = t->n++;
    evaluation *e = t->e;
    double score = t->s->of.p[i];
    const char *feedback = t->s->feedback.p[i];
    pdl_buf name = PDL_BUF, problem = PDL_BUF;
    pdl_val row, why, place;
    if (!pdl_eval_data_row(e, i / e->o->samples, &row, err)) return false;
    reason(t, i, said, &why, &place);
    pdl_buf_putf(&name, "row %zu", (size_t)e->order.p[i / e->o->samples] + 1);
    if (e->o->samples > 1) pdl_buf_putf(&name, ", sample %zu", (size_t)(i % e->o->samples) + 1);
    note_first(t->s, pdl_buf_str(&name), why, place);
    if (pdl_is_str(why))
        pdl_buf_put(&problem, pdl_str_get(why));
    else if (!pdl_eval_is_right(score))
        pdl_buf_putf(&problem, "wrong (score %.3g)%s%s", score, feedback ? ": " : "",
                     feedback ? feedback : "");
    if (e->o->junit.n)
        pdl_junit_add(&e->junit, t->program, pdl_buf_str(&name), pdl_buf_str(&problem));
    bool ok = true;
    if (e->o->output.n) {
        row = pdl_dict_putz(row, "program", pdl_text(t->program));
        row = pdl_dict_putz(row, "result", pdl_keep(pdl_dict_getz(said, "result")));
        row = pdl_dict_putz(row, "error", pdl_keep(why));
        row = pdl_dict_putz(row, "place", pdl_keep(place));
        row = pdl_dict_putz(row, "score", pdl_float(score < 0 ? 0 : score));
        row = pdl_dict_putz(row, "right", pdl_bool(pdl_eval_is_right(score)));
        row = pdl_dict_putz(row, "feedback", pdl_eval_text_or_null(feedback));
        ok = put_json(row, &e->lines, err);
    }
    pdl_drop(row);
    pdl_drop(why);
    pdl_drop(place);
    pdl_buf_fini(&name);
    pdl_buf_fini(&problem);
    return ok;
}

static stage asking(const evaluation *e, pdl_str program, const char *in, const char *said) {
    return (stage){.file = program,
                   .input = in,
                   .output = said,
                   .map = e->o->map,
                   .n_map = e->o->n_map,
                   .variables = e->o->variables,
                   .role = program.p == e->o->program.p ? "program" : "against"};
}

/* Refuses a file name with the suffix of another format, which would mislead readers of the
 * file. */
static bool check_form(pdl_str name, pdl_err *err) {
    pdl_table t;
    pdl_err unknown = {0};
    bool known = name.n && pdl_table_of(name, (pdl_str){0}, &t, &unknown);
    pdl_err_fini(&unknown);
    return !known || t.form == PDL_TABLE_jsonl ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "'%.*s' would be %s, and the rows are written as JSONL: name it FILE.jsonl",
                       PDL_FMT(name), pdl_table_form_name(t.form));
}

static bool check_file(const char *name, pdl_err *err) {
    return !*name || pdl_file_check_writable(name, err);
}

/* Checks everything that could fail later, before the first question is paid for. */
static bool check_all(const evaluation *e, pdl_err *err) {
    char *in = pdl_eval_path_of(e, "in.jsonl"), *said = pdl_eval_path_of(e, "said.jsonl"),
         *output = pdl_str_dup(e->o->output), *junit = pdl_str_dup(e->o->junit);
    stage first = asking(e, e->o->program, in, said), second = asking(e, e->o->against, in, said);
    bool ok = check_form(e->o->output, err) && check_file(output, err) && check_file(junit, err) &&
              write_questions(e, in, err) && run_file(e, &first, NULL, err) &&
              (!e->o->against.n || run_file(e, &second, NULL, err)) &&
              (!e->o->judge.n || run_judge(e, &e->of[0], in, said, NULL, err));
    pdl_free(in);
    pdl_free(said);
    pdl_free(output);
    pdl_free(junit);
    return ok;
}

static void add_totals(pdl_batch_totals *sum, const pdl_batch_totals *t) {
    sum->calls += t->calls;
    sum->prompt_tokens += t->prompt_tokens;
    sum->completion_tokens += t->completion_tokens;
    sum->cost += t->cost;
}

/* Runs one program on the rows of the wave, scores its answers and reports them. */
static bool evaluate(evaluation *e, pdl_str program, eval_scores *s, pdl_err *err) {
    char *in = pdl_eval_path_of(e, "in.jsonl"), *said = pdl_eval_path_of(e, "said.jsonl");
    stage g = asking(e, program, in, said);
    reporting t = {
        .e = e, .s = s, .program = program, .n = e->from * e->o->samples, .fault = s->faults.n};
    pdl_batch_totals used = {0};
    remove_folder(e);
    bool ok = pdl_file_mkdir(e->folder, err);
    if (e->o->infer) {
        ok = ok && pdl_eval_infer(e, program, g.role, s, said, err);
    } else {
        ok = ok && write_questions(e, in, err) && run_file(e, &g, &used, err);
        add_totals(&s->totals, &used);
        ok = ok && pdl_eval_score_answers(e, s, said, err);
    }
    ok = ok && each_line(said, report_row, &t, err);
    pdl_free(in);
    pdl_free(said);
    return ok;
}

static bool write_lines(const evaluation *e, pdl_err *err) {
    char *path = pdl_str_dup(e->o->output);
    bool ok = !*path || pdl_file_write(path, pdl_buf_str(&e->lines), PDL_FILE_SHARED, err);
    pdl_free(path);
    return ok;
}

static bool scores_ok(const evaluation *e, const eval_scores *s) {
    return s->of.n == e->done * e->o->samples && s->feedback.n == s->of.n && s->failed <= s->of.n &&
           s->faults.n <= s->failed;
}

bool pdl_evaluation_ok(const evaluation *e) {
    return e->order.n == e->rows.n && e->from <= e->order.n && e->n <= e->order.n - e->from &&
           e->decided <= e->done && scores_ok(e, &e->of[0]) &&
           (!e->o->against.n || scores_ok(e, &e->of[1]));
}

static bool evaluate_wave(evaluation *e, pdl_err *err) {
    const pdl_eval_options *o = e->o;
    assert(pdl_evaluation_ok(e) && e->done == e->from);
    bool ok = evaluate(e, o->program, &e->of[0], err) &&
              (!o->against.n || evaluate(e, o->against, &e->of[1], err));
    if (ok) e->done = e->from + e->n;
    assert(!ok || pdl_evaluation_ok(e));
    return ok;
}

/* Returns how many rows the next wave has. Waves must be small, because rows after the decision are
 * paid for in vain. But there must be few waves, because calls pause at the end of each wave. So
 * each wave is larger when more rows were run before. A wave in which the budget ends is not
 * counted, so with a budget the first ten rows are waves of 1, 2, 3 and 4 rows: then a small budget
 * gives a result, too. The number of rows depends on neither --jobs nor the order of replies. */
static size_t next_wave(const evaluation *e) {
    enum { MIN_ROWS = 10, SHARE = 10 };
    size_t left = e->rows.n - e->from, n = e->from / SHARE;
    if (n < MIN_ROWS) n = MIN_ROWS;
    if (e->budget && e->from < MIN_ROWS)
        for (n = 1; n * (n - 1) / 2 < e->from;) n++;
    return n < left ? n : left;
}

/* Runs rows in waves until there is a verdict. */
static bool evaluate_until_decided(evaluation *e, pdl_err *err) {
    pdl_eval_verdict_begin(&e->verdict, e->o->difference);
    while (!e->verdict.what && e->from < e->rows.n) {
        e->n = next_wave(e);
        if (!evaluate_wave(e, err)) return false;
        for (size_t i = e->from; i < e->done && !e->verdict.what; i++)
            if (pdl_eval_verdict_take(&e->verdict, pdl_eval_difference(e, i))) e->decided = i + 1;
        e->from = e->done;
    }
    return true;
}

static bool evaluate_all(evaluation *e, pdl_err *err) {
    if (!e->o->until_decided) {
        bool ok = evaluate_wave(e, err);
        if (!ok && err->kind == PDL_E_budget)
            pdl_err_hint(err, "it is one budget for all programs and the judge: a larger "
                              "--budget, or fewer rows by --limit");
        return ok;
    }
    if (evaluate_until_decided(e, err)) return true;
    if (err->kind != PDL_E_budget) return false;
    pdl_err_fini(err); /* results without a decision are reported as undecided */
    e->spent = true;
    return true;
}

/* Shuffles the rows for --until, because rows of a sorted table are a random sample only in random
 * order. */
static void shuffle(evaluation *e) {
    pdl_rand r;
    pdl_rand_seed(&r, e->o->seed);
    for (size_t i = 0; i < e->rows.n; i++) *pdl_vec_push(&e->order) = i;
    for (size_t i = e->rows.n; e->o->until_decided && i > 1; i--) {
        size_t k = (size_t)(pdl_rand_double(&r) * (double)i), at = e->order.p[i - 1];
        e->order.p[i - 1] = e->order.p[k];
        e->order.p[k] = at;
    }
    e->n = e->rows.n;
}

void pdl_eval_scores_fini(eval_scores *s) {
    for (size_t i = 0; i < s->faults.n; i++) {
        pdl_free(s->faults.p[i].error);
        pdl_free(s->faults.p[i].place);
    }
    pdl_vec_fini(&s->faults);
    for (size_t i = 0; i < s->feedback.n; i++) pdl_free(s->feedback.p[i]);
    pdl_vec_fini(&s->feedback);
    pdl_vec_fini(&s->of);
    pdl_free(s->first);
    pdl_vec_fini(&s->sure);
    pdl_vec_fini(&s->leads);
}

bool pdl_eval_run(const pdl_eval_options *o, pdl_val *out, pdl_err *err) {
    evaluation e = {.o = o, .lines = PDL_BUF};
    *out = pdl_absent();
    if (o->budget) e.budget = pdl_budget_new(o->budget, NULL, (pdl_loc){0});
    bool ok = make_folder(&e, err) && read_data(&e, err);
    if (ok) shuffle(&e);
    ok = ok && check_all(&e, err) && evaluate_all(&e, err);
    if (ok) *out = pdl_eval_result(&e);
    ok = ok && write_lines(&e, err) &&
         (!o->junit.n || pdl_junit_write(&e.junit, o->data.name, o->junit, err));
    remove_folder(&e);
    pdl_free(e.folder);
    pdl_budget_drop(e.budget);
    pdl_buf_fini(&e.lines);
    pdl_junit_fini(&e.junit);
    for (size_t i = 0; i < e.rows.n; i++) pdl_free(e.rows.p[i]);
    pdl_vec_fini(&e.rows);
    pdl_vec_fini(&e.order);
    for (size_t i = 0; i < sizeof e.of / sizeof *e.of; i++) pdl_eval_scores_fini(&e.of[i]);
    return ok;
}
