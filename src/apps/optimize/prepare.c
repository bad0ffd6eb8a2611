/* prepare.c -- opens the sessions in which candidates and judges run, and makes all checks before
 * anything is paid for. Each candidate is loaded and checked with the values that it changes. The
 * judge is a program, too, and has a separate session. The costs of a search are estimated here as
 * well, by explaining runs without sending anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "io/clock.h"
#include "io/file.h"
#include "lang/load.h"
#include "optimize/objectives.h"
#include "optimize/proposals.h"
#include "value/int.h"

#include "base/banned.h"

/* A program that applies a metric of the pattern library to many answers at once, so that the
 * library is read only once. */
#define METRIC_PROGRAM                                                                             \
    "defs:\n"                                                                                      \
    "  eval: {import: lib/eval}\n"                                                                 \
    "for: {item: \"${ items }\"}\n"                                                                \
    "repeat:\n"                                                                                    \
    "  data: \"${ eval.fits(metric, '', eval.text_of(item.said.answer if item.said is mapping "    \
    "and "                                                                                         \
    "'answer' in item.said else item.said), eval.text_of(item.right), '') }\"\n"                   \
    "join: {as: array}\n"

/* The variables of a judge, with columns for pdl_batch_check. The columns have other names, because
 * a batch itself adds a column `result`. */
static const pdl_batch_map judged[] = {
    {{"row", 3}, {"input", 5}}, {{"right", 5}, {"expected", 8}}, {{"said", 4}, {"result", 6}}};

static pdl_session_options options_for(const opt_search *z, pdl_str file) {
    pdl_session_options so = z->o->session;
    so.program.file = file;
    so.program.dir = pdl_file_folder(file);
    so.run.stream = PDL_STREAM_NONE;
    if (z->own.n) so.files.own = z->own.p;
    return so;
}

/* Returns the options for the judge. The metrics of the library are not the user's program, so no
 * spans are sent for them. */
static pdl_session_options judge_options(const opt_search *z) {
    bool own = z->o->judge.n;
    pdl_session_options so = options_for(z, own ? z->o->judge : PDL_STR("metric.pdl"));
    so.telemetry.is_off = !own && !so.telemetry.all;
    return so;
}

/* --- variables -------------------------------------------------------------------------------- */

/* Returns the variables of the command line, with the candidate's values for the variables that
 * vary; owned. */
static pdl_val variables_of(const opt_search *z, const opt_candidate *c) {
    pdl_val d = pdl_is_dict(z->o->variables) ? pdl_keep(z->o->variables) : pdl_dict_new(4);
    for (size_t i = 0; i < z->places.n; i++) {
        const opt_place *p = &z->places.p[i];
        pdl_vref v = pdl_dict_gets(c->values, pdl_str_of(p->name));
        if (p->is_free)
            d = pdl_dict_puts(d, pdl_str_of(p->name), pdl_keep(pdl_is_absent(v) ? p->first : v));
    }
    return d;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool check_one(opt_search *z, const opt_candidate *c, pdl_err *err) {
    PDL_VEC(pdl_str) columns = {0};
    pdl_val list = pdl_list_new(8), vars = variables_of(z, c);
    pdl_search_put_columns(z, 0, &list);
    for (size_t i = 0; i < pdl_list_len(list); i++)
        *pdl_vec_push(&columns) = pdl_str_get(pdl_list_at(list, i));
    pdl_batch_options b = {.session = z->session,
                           .program = c->program,
                           .text = c->program->source->text,
                           .dir = pdl_file_folder(z->o->program),
                           .variables = vars,
                           .giver = z->o->giver,
                           .shown_input = z->o->data.name,
                           .input = z->o->data,
                           .map = z->o->map,
                           .n_map = z->o->n_map,
                           .has_policy = z->has_policy,
                           .jobs = 1,
                           .cancel = z->o->session.run.cancel};
    bool ok = pdl_batch_check(&b, columns.p, columns.n, err);
    z->has_policy = z->has_policy || ok;
    pdl_vec_fini(&columns);
    pdl_drop(vars);
    pdl_drop(list);
    return ok;
}

/* Adds the candidate to an error, because the user has not written the text that has
 * the mistake. */
static bool in_candidate(size_t i, pdl_err *err) {
    pdl_err named = {0};
    pdl_err_set(&named, PDL_E_usage, (pdl_loc){0}, "candidate %zu: %s", i, err->msg);
    if (err->hint) pdl_err_hint(&named, "%s", err->hint);
    pdl_err_fini(err);
    pdl_err_move(err, &named);
    return false;
}

static bool check_prices(const opt_search *z, const opt_candidate *c, pdl_err *err) {
    pdl_val vars = variables_of(z, c);
    bool ok = pdl_search_check_program_prices(z, c->program, vars, err);
    pdl_drop(vars);
    return ok;
}

static bool load(opt_search *z, opt_candidate *c, pdl_err *err) {
    bool loads = true;
    if (!c->text) {
        c->program = pdl_program_keep(z->candidates.p[0].program);
        return true;
    }
    c->program = pdl_program_new();
    pdl_program_load(c->program, z->o->program, pdl_str_of(c->text), &loads);
    return (loads || pdl_program_refuse(c->program, err)) && check_one(z, c, err);
}

bool pdl_search_load(opt_search *z, size_t i, pdl_err *err) {
    opt_candidate *c = &z->candidates.p[i];
    return load(z, c, err) && check_prices(z, c, err);
}

static bool load_all(opt_search *z, pdl_err *err) {
    /* the reference checks nothing before the search, and the program itself may set its
     * variables */
    if (!z->o->reference &&
        (!check_one(z, &z->candidates.p[0], err) || !check_prices(z, &z->candidates.p[0], err)))
        return false;
    for (size_t i = 1; i < z->candidates.n; i++)
        if (!pdl_search_load(z, i, err)) return in_candidate(i, err);
    return true;
}

bool pdl_search_compile(opt_search *z, opt_candidate *c, pdl_err *err) {
    if (c->code) return true;
    /* all candidates have the same policy, since no candidate changes it */
    const pdl_program *first = z->candidates.p[0].program;
    if (!z->has_policy && !pdl_session_take_policy(z->session, first, err)) return false;
    z->has_policy = true;
    pdl_val vars = variables_of(z, c);
    bool ok = pdl_session_variables(vars, &c->variables, err);
    pdl_drop(vars);
    if (ok) c->code = pdl_session_compile(z->session, c->program);
    return ok;
}

/* --- the judge -------------------------------------------------------------------------------- */

static bool check_judge(const opt_search *z, pdl_err *err) {
    pdl_str columns[sizeof judged / sizeof *judged];
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) columns[i] = judged[i].column;
    pdl_batch_options b = {.session = z->judges,
                           .program = z->judge,
                           .text = z->judge->source->text,
                           .dir = pdl_file_folder(z->o->judge),
                           .variables = z->o->variables,
                           .giver = z->o->giver,
                           .shown_input = z->o->data.name,
                           .input = z->o->data,
                           .map = judged,
                           .n_map = sizeof judged / sizeof *judged,
                           .jobs = 1};
    if (pdl_batch_check(&b, columns, sizeof columns / sizeof *columns, err)) return true;
    if (err->kind == PDL_E_usage)
        pdl_err_hint(err, "a judge gets the variables input, expected and result");
    return false;
}

static bool open_judge(opt_search *z, pdl_err *err) {
    bool own = z->o->judge.n, loads;
    pdl_buf built_in = PDL_BUF;
    pdl_session_options so = judge_options(z);
    pdl_str file = so.program.file;
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    char *path = pdl_str_dup(file);
    bool ok = !own || pdl_file_read(path, &text, err);
    pdl_free(path);
    ok = ok && pdl_session_new(&so, &z->judges, err);
    if (ok) {
        z->judge = pdl_program_new();
        if (z->o->reference)
            pdl_search_put_scorer(z, &built_in);
        else
            PDL_PUT(&built_in, METRIC_PROGRAM);
        pdl_program_load(z->judge, file, pdl_buf_str(own ? &text : &built_in), &loads);
        ok = loads || pdl_program_refuse(z->judge, err);
    }
    ok = ok && (!own || (check_judge(z, err) &&
                         pdl_search_check_program_prices(z, z->judge, z->o->variables, err)));
    pdl_buf_fini(&text);
    pdl_buf_fini(&built_in);
    return ok;
}

static bool compile_judge(opt_search *z, pdl_err *err) {
    bool own = z->o->judge.n, given = pdl_is_dict(z->o->variables);
    pdl_val vars = !own    ? pdl_dict_putz(pdl_dict_new(1), "metric", pdl_text(z->o->metric))
                   : given ? pdl_keep(z->o->variables)
                           : pdl_dict_new(0);
    bool ok = pdl_session_take_policy(z->judges, z->judge, err) &&
              pdl_session_variables(vars, &z->judge_variables, err);
    pdl_drop(vars);
    if (ok) z->judge_code = pdl_session_compile(z->judges, z->judge);
    return ok;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Adds the folder of the search to the files that confined code must not see, because it has the
 * right answers. */
static void mask_folder(opt_search *z) {
    for (const char *const *f = z->o->session.files.own; f && *f; f++) *pdl_vec_push(&z->own) = *f;
    *pdl_vec_push(&z->own) = z->folder;
    *pdl_vec_push(&z->own) = NULL;
}

bool pdl_search_open(opt_search *z, pdl_err *err) {
    mask_folder(z);
    pdl_session_options so = options_for(z, z->o->program), judge = judge_options(z);
    if (!so.files.cache.n) {
        pdl_buf path = PDL_BUF;
        pdl_buf_putf(&path, "%s/replies.db", z->folder);
        z->cache = pdl_buf_take(&path);
        so.files.cache = judge.files.cache = pdl_str_of(z->cache);
    }
    pdl_session_free(z->session);
    pdl_session_free(z->judges);
    z->session = z->judges = NULL;
    z->has_policy = false;
    return pdl_session_new(&so, &z->session, err) && pdl_session_new(&judge, &z->judges, err) &&
           compile_judge(z, err) && pdl_search_open_proposer(z, err);
}

static bool open_program(opt_search *z, pdl_err *err) {
    pdl_session_options so = options_for(z, z->o->program);
    char *path = pdl_str_dup(z->o->program);
    z->text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    bool ok = pdl_file_read(path, &z->text, err), loads = true;
    pdl_free(path);
    if (!ok || !pdl_session_new(&so, &z->session, err)) return false;
    opt_candidate *c = pdl_vec_push(&z->candidates);
    *c = (opt_candidate){
        .values = pdl_dict_new(0), .program = pdl_program_new(), .variables = pdl_absent()};
    pdl_program_load(c->program, z->o->program, pdl_buf_str(&z->text), &loads);
    if (!loads) return pdl_program_refuse(c->program, err);
    z->arena = pdl_arena_make();
    z->tree = pdl_ytree_read(z->arena, c->program->source);
    return true;
}

bool pdl_search_prepare(opt_search *z, pdl_err *err) {
    z->judge_variables = pdl_absent();
    z->begun_ns = pdl_clock_ns();
    if (z->o->budget) z->budget = pdl_budget_new(z->o->budget, NULL, (pdl_loc){0});
    return pdl_search_read_rows(z, err) && open_program(z, err) &&
           pdl_search_make_candidates(z, err) && load_all(z, err) && open_judge(z, err);
}

static void candidate_fini(opt_candidate *c) {
    pdl_drop(c->values);
    if (!pdl_is_absent(c->variables)) pdl_drop(c->variables);
    pdl_code_drop(c->code);
    pdl_free(c->text);
    pdl_free(c->scores);
    pdl_free(c->uses);
    pdl_free(c->first_error);
}

void pdl_search_drop_last(opt_search *z) {
    opt_candidate *c = &z->candidates.p[--z->candidates.n];
    candidate_fini(c);
    pdl_program_drop(c->program);
}

void pdl_search_close(opt_search *z) {
    pdl_session_free(z->session);
    pdl_session_free(z->judges);
    pdl_code_drop(z->judge_code);
    pdl_program_drop(z->judge);
    if (!pdl_is_absent(z->judge_variables)) pdl_drop(z->judge_variables);
    for (size_t i = 0; i < z->candidates.n; i++) candidate_fini(&z->candidates.p[i]);
    for (size_t i = 0; i < z->candidates.n; i++) pdl_program_drop(z->candidates.p[i].program);
    pdl_vec_fini(&z->candidates);
    for (size_t i = 0; i < z->places.n; i++) {
        pdl_free(z->places.p[i].name);
        pdl_drop(z->places.p[i].first);
    }
    pdl_vec_fini(&z->places);
    for (size_t i = 0; i < z->demos.n; i++) pdl_drop(z->demos.p[i].shown);
    pdl_vec_fini(&z->demos);
    pdl_search_close_proposer(z);
    for (size_t i = 0; i < z->rows.n; i++) pdl_drop(z->rows.p[i].columns);
    pdl_vec_fini(&z->rows);
    for (size_t i = 0; i < OPT_ALL_PARTS; i++) pdl_vec_fini(&z->part[i]);
    pdl_buf_fini(&z->text);
    pdl_budget_drop(z->budget);
    pdl_vec_fini(&z->own);
    pdl_free(z->folder);
    pdl_free(z->cache);
    pdl_free(z->id);
    if (z->scores) fclose(z->scores);
    if (z->used) fclose(z->used);
    if (z->arena) pdl_arena_free(z->arena);
}

/* --- what it would cost ----------------------------------------------------------------------- */

static double number(pdl_vref d, const char *key) {
    pdl_vref v = pdl_is_dict(d) ? pdl_dict_getz(d, key) : pdl_absent();
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : 0;
}

static void add_calls(opt_estimate *e, pdl_vref notes) {
    pdl_vref calls = pdl_dict_getz(notes, "calls"), later = pdl_dict_getz(notes, "not_reached");
    for (size_t i = 0; i < pdl_list_len(calls); i++) {
        pdl_vref call = pdl_list_at(calls, i), tokens = pdl_dict_getz(call, "tokens");
        pdl_vref model = pdl_dict_getz(call, "model");
        if (!e->model && pdl_is_str(model)) e->model = pdl_str_dup(pdl_str_get(model));
        e->calls++;
        e->prompt_tokens += number(tokens, "prompt");
        e->answer_tokens += number(tokens, "answer_at_most");
        e->cost += number(call, "cost");
        if (pdl_is_absent(e->unpriced) && pdl_is_null(pdl_dict_getz(call, "cost")) &&
            pdl_is_str(model))
            e->unpriced = pdl_keep(call);
    }
    for (size_t i = 0; i < pdl_list_len(later); i++)
        if (number(pdl_list_at(later, i), "models") > 0) e->is_least = true;
}

/* Explains one run. Nothing is sent. */
static bool explain(const opt_search *z, pdl_program *p, pdl_str file, pdl_vref vars,
                    opt_estimate *e, pdl_err *err) {
    pdl_session *s;
    pdl_session_options so = {
        .program = {.file = file, .dir = pdl_file_folder(file), .variables = vars},
        .run = {.cancel = z->o->session.run.cancel, .explain = true},
        .models.prices = z->o->session.models.prices,
    };
    so.program.path = pdl_session_path(z->session, &so.program.n_path);
    if (!pdl_session_new(&so, &s, err)) return false;
    pdl_session_use(s, p);
    (void)pdl_session_run(s);
    pdl_val notes = pdl_session_explained(s);
    add_calls(e, notes);
    pdl_drop(notes);
    pdl_session_free(s);
    return true;
}

bool pdl_search_explain(const opt_search *z, size_t candidate, size_t row, opt_estimate *e,
                        pdl_err *err) {
    const opt_candidate *c = &z->candidates.p[candidate];
    pdl_val vars = variables_of(z, c), question = pdl_search_question(z, row);
    for (size_t i = 0; i < pdl_dict_len(question); i++) {
        pdl_str column = pdl_str_get(pdl_dict_key_at(question, i)), name = column;
        for (size_t k = 0; k < z->o->n_map; k++)
            if (pdl_str_eq(z->o->map[k].column, column)) name = z->o->map[k].variable;
        vars = pdl_dict_puts(vars, name, pdl_keep(pdl_dict_val_at(question, i)));
    }
    bool ok = explain(z, c->program, z->o->program, vars, e, err);
    pdl_drop(vars);
    if (ok && z->o->judge.n) {
        pdl_vref right = pdl_search_right(z, row);
        vars = pdl_is_dict(z->o->variables) ? pdl_keep(z->o->variables) : pdl_dict_new(3);
        vars = pdl_dict_putz(vars, "input", pdl_keep(question));
        vars = pdl_dict_putz(vars, "expected", pdl_is_absent(right) ? pdl_null() : pdl_keep(right));
        vars = pdl_dict_putz(vars, "result", pdl_textz(""));
        ok = explain(z, z->judge, z->o->judge, vars, e, err);
        pdl_drop(vars);
    }
    pdl_drop(question);
    return ok;
}

bool pdl_search_estimate(const opt_search *z, opt_estimate *out, pdl_err *err) {
    enum { LOOKED_AT = 20 };
    size_t n = z->part[OPT_VALIDATION].n < LOOKED_AT ? z->part[OPT_VALIDATION].n : LOOKED_AT;
    size_t first = z->o->reference != NULL;
    *out = (opt_estimate){.unpriced = pdl_absent()};
    for (size_t i = 0; i < n; i++) /* each row is explained with another candidate */
        if (!pdl_search_explain(z, first + i % (z->candidates.n - first),
                                z->part[OPT_VALIDATION].p[i], out, err))
            return false;
    out->calls /= (double)n;
    out->prompt_tokens /= (double)n;
    out->answer_tokens /= (double)n;
    out->cost /= (double)n;
    return true;
}
