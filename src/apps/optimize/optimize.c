/* optimize.c -- runs a search, from reading its table to writing the program that was found; see
 * optimize.h. It decides how the budget is divided between search and test, runs the method, and
 * tests its winner. The original program stays when the winner is not certainly better.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/optimize.h"

#include "io/file.h"
#include "optimize/objectives.h"
#include "optimize/proposals.h"
#include "optimize/records.h"
#include "yaml/yaml.h"

#include <math.h>

#include "base/banned.h"

/* The methods of the pattern library. */
static const char *const methods[] = {"race", "halving", "demos", "reflect"};
enum { N_METHODS = sizeof methods / sizeof *methods };

/* Checks that the user has given the options that a method needs. */
static bool check_needs(const pdl_optimize_options *o, pdl_err *err) {
    if (pdl_str_is(o->method, "demos") && !o->demos.n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "--method demos: --demos NAME says which variable gets them");
    if (pdl_str_is(o->method, "reflect") && !o->n_tuned)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "--method reflect: --tune PLACE says which text a model may write");
    return true;
}

static bool check_method(const pdl_optimize_options *o, pdl_err *err) {
    pdl_str method = o->method;
    pdl_str names[N_METHODS];
    for (size_t i = 0; i < N_METHODS; i++) names[i] = pdl_str_of(methods[i]);
    if (pdl_search_method_is_file(method)) {
        char *path = pdl_str_dup(method);
        bool there = pdl_file_kind_of(path) == PDL_FILE_REGULAR;
        pdl_free(path);
        return there || pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                                    "--method: there is no file '%.*s'", PDL_FMT(method));
    }
    for (size_t i = 0; i < N_METHODS; i++)
        if (pdl_str_eq(method, names[i])) return check_needs(o, err);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                "--method: there is no method '%.*s' (there are race, halving, demos and reflect, "
                "or a file with a method, FILE.pdl)",
                PDL_FMT(method));
    pdl_str near = pdl_str_nearest(method, names, N_METHODS);
    if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    return false;
}

/* --- before ----------------------------------------------------------------------------------- */

/* Reserves a part of the budget for the test, but never more than half of it. The part is what the
 * test needs, or the share of all evaluations that are tests, whichever is larger. */
static void reserve(opt_search *z, const opt_estimate *e) {
    double test = 2 * (double)z->part[OPT_TEST].n, most = pdl_search_most(z);
    const struct {
        pdl_budget_item item;
        double each;
    } rows[] = {{PDL_BUDGET_calls, e->calls},
                {PDL_BUDGET_tokens, e->prompt_tokens},
                {PDL_BUDGET_cost, e->cost}};
    z->reserved = test / (test + most);
    for (size_t i = 0; z->budget && i < sizeof rows / sizeof *rows; i++) {
        double limit = z->budget->limit[rows[i].item];
        if (limit > 0) z->reserved = fmax(z->reserved, test * rows[i].each / limit);
    }
    if (z->reserved > 0.5) z->reserved = 0.5;
}

/* Refuses a budget that does not allow any evaluation. */
static bool budget_suffices(const opt_search *z, const opt_estimate *e, pdl_err *err) {
    const struct {
        pdl_budget_item item;
        double needed;
    } rows[] = {{PDL_BUDGET_calls, e->calls},
                {PDL_BUDGET_tokens, e->prompt_tokens},
                {PDL_BUDGET_cost, e->cost}};
    for (size_t i = 0; z->budget && i < sizeof rows / sizeof *rows; i++) {
        double limit = z->budget->limit[rows[i].item];
        if (limit < 0 || limit >= rows[i].needed) continue;
        bool counts = rows[i].item != PDL_BUDGET_cost;
        double needed = counts ? ceil(rows[i].needed) : rows[i].needed;
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "--budget: %s=%.6g is less than one evaluation needs, about %.6g",
                           pdl_budget_item_name(rows[i].item), limit, needed);
    }
    return true;
}

/* Returns the maximum usage of the search, for a dry run. */
static pdl_val dry_result(const opt_search *z, const opt_estimate *e) {
    double most = pdl_search_most(z) + 2 * (double)z->part[OPT_TEST].n,
           proposals = (double)z->proposals;
    opt_estimate one = pdl_search_estimate_proposal(e);
    pdl_val d = pdl_dict_putz(pdl_dict_new(14), "dry_run", pdl_bool(true));
    d = pdl_dict_putz(d, "candidates", pdl_int((int64_t)z->candidates.n));
    d = pdl_dict_putz(d, "combinations", pdl_search_combinations(z));
    for (size_t i = 0; i < OPT_PARTS; i++)
        d = pdl_dict_putz(d, pdl_search_part_name((opt_part)i), pdl_int((int64_t)z->part[i].n));
    d = pdl_dict_putz(d, "evaluations", pdl_float(most));
    d = pdl_dict_putz(d, "calls", pdl_float(most * e->calls + proposals * one.calls));
    d = pdl_dict_putz(d, "prompt_tokens",
                      pdl_float(most * e->prompt_tokens + proposals * one.prompt_tokens));
    d = pdl_dict_putz(d, "answer_tokens",
                      pdl_float(most * e->answer_tokens + proposals * one.answer_tokens));
    d = pdl_dict_putz(d, "cost",
                      e->cost > 0 ? pdl_float(most * e->cost + proposals * one.cost) : pdl_null());
    if (z->proposer) {
        d = pdl_dict_putz(d, "proposals", pdl_int((int64_t)z->proposals));
        d = pdl_dict_putz(d, "proposer", pdl_textz(z->proposer));
    }
    if (pdl_search_draws_demos(z)) d = pdl_dict_putz(d, "selections", pdl_int(OPT_SELECTIONS));
    d = pdl_dict_putz(d, "calls_each", pdl_float(e->calls));
    return pdl_dict_putz(d, "depends", pdl_bool(e->is_least));
}

/* --- the test and the program ----------------------------------------------------------------- */

/* Evaluates the winner on the rows for the test, which were not used before. Also evaluates the
 * original program, except in a search with the reference's configuration. */
static bool test(opt_search *z, size_t winner, pdl_err *err) {
    PDL_VEC(opt_pair) pairs = {0};
    for (size_t i = 0; i < z->part[OPT_TEST].n; i++) {
        size_t row = z->part[OPT_TEST].p[i];
        if (!z->o->reference) *pdl_vec_push(&pairs) = (opt_pair){0, row};
        if (winner) *pdl_vec_push(&pairs) = (opt_pair){winner, row};
    }
    bool spent = z->spent;
    z->spent = false; /* the test may use the reserved part of the budget */
    z->reserved = 0;
    z->alive = winner ? 2 : 1;
    bool ok = pdl_search_evaluate(z, pairs.p, pairs.n, err);
    z->spent = z->spent || spent;
    pdl_vec_fini(&pairs);
    return ok;
}

/* Writes a value for a variable into `defs`, in place of its present definition if there is one. */
static bool define_one(const pdl_ytree *t, pdl_str name, pdl_vref v, bool *done, pdl_buf *out,
                       pdl_err *err) {
    opt_edit e = {.value = pdl_absent()};
    pdl_buf text = PDL_BUF;
    pdl_literal_find_node(t, name, done, &e.literal);
    if (!*done) return pdl_literal_define(t, name, v, done, out, err);
    bool ok = !pdl_is_str(v) || pdl_literal_encode((pdl_str){0}, pdl_str_get(v), &text, err);
    pdl_val written = pdl_is_str(v) ? pdl_text(pdl_buf_str(&text)) : pdl_keep(v);
    e.value = written;
    ok = ok && pdl_literal_replace(t, &e, 1, out, err);
    pdl_drop(written);
    pdl_buf_fini(&text);
    return ok;
}

/* Writes into the `defs` of the program the values of the variables that it gets from outside.
 * *left: the values for which the program has no place; owned. */
static bool define_free(const opt_search *z, pdl_vref values, pdl_buf *text, pdl_val *left,
                        pdl_err *err) {
    bool ok = true;
    *left = pdl_dict_new(0);
    for (size_t i = z->places.n; ok && i-- > 0;) {
        const opt_place *p = &z->places.p[i];
        pdl_vref v = pdl_dict_gets(values, pdl_str_of(p->name));
        if (!p->is_free || pdl_is_absent(v)) continue;
        pdl_arena *arena = pdl_arena_make();
        pdl_buf next = PDL_BUF;
        bool done = false;
        pdl_source *src;
        ok = pdl_yaml_source(arena, z->o->program, pdl_buf_str(text), &src, err) &&
             define_one(pdl_ytree_read(arena, src), pdl_str_of(p->name), v, &done, &next, err);
        if (ok && done) {
            pdl_buf_clear(text);
            pdl_buf_put(text, pdl_buf_str(&next));
        } else if (ok) {
            *left = pdl_dict_puts(*left, pdl_str_of(p->name), pdl_keep(v));
        }
        pdl_buf_fini(&next);
        pdl_arena_free(arena);
    }
    return ok;
}

bool pdl_search_put_program(const opt_search *z, size_t candidate, bool has_keys, pdl_buf *out,
                            pdl_val *left, pdl_err *err) {
    pdl_val values = pdl_keep(z->candidates.p[candidate].values);
    char *text = NULL;
    *left = pdl_absent();
    /* A value is redacted before it is written, so that YAML reads [REDACTED] as a text. */
    if (!has_keys) values = pdl_session_redact_val(z->session, values);
    bool ok = pdl_search_write_text(z, values, &text, err);
    if (ok) pdl_buf_put(out, text ? pdl_str_of(text) : z->tree->src->text);
    ok = ok && define_free(z, values, out, left, err);
    pdl_free(text);
    pdl_drop(values);
    return ok;
}

/* Appends the text of the program that the search keeps. */
static bool put_kept(const opt_search *z, pdl_val *result, pdl_buf *out, pdl_err *err) {
    pdl_vref winner = pdl_dict_getz(*result, "winner");
    size_t number = (size_t)pdl_int_of(pdl_dict_getz(winner, "candidate"));
    if (!pdl_text_is(pdl_dict_getz(*result, "kept"), "winner")) {
        pdl_buf_put(out, pdl_buf_str(&z->text));
        return true;
    }
    pdl_val left;
    bool ok = pdl_search_put_program(z, number, true, out, &left, err);
    if (ok && pdl_dict_len(left)) *result = pdl_dict_putz(*result, "not_written", pdl_keep(left));
    if (!pdl_is_absent(left)) pdl_drop(left);
    return ok;
}

static bool write_program(const opt_search *z, pdl_val *result, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    if (!put_kept(z, result, &text, err)) {
        pdl_buf_fini(&text);
        return false;
    }
    if (z->o->diff) {
        *result = pdl_dict_putz(*result, "before_text", pdl_text(pdl_buf_str(&z->text)));
        *result = pdl_dict_putz(*result, "text", pdl_text_of_buf(&text));
        return true;
    }
    char *path = pdl_str_dup(z->o->output);
    bool ok = pdl_file_write(path, pdl_buf_str(&text), PDL_FILE_SHARED, err);
    if (ok) *result = pdl_dict_putz(*result, "output", pdl_text(z->o->output));
    pdl_free(path);
    pdl_buf_fini(&text);
    return ok;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Runs the method until its winner is not worse on a row of --keep. Known scores are not computed
 * again. So another round only pays for the calls of candidates on new rows. */
static bool find_winner(opt_search *z, size_t *winner, bool *certain, pdl_err *err) {
    bool out = true;
    while (out) {
        if (!pdl_search_run_method(z, winner, certain, err)) return false;
        out = false;
        size_t settled = pdl_search_settle_winner(z, *winner);
        /* the method was certain of another candidate */
        if (settled != *winner) *certain = false;
        *winner = settled;
        if (*winner && z->part[OPT_KEPT].n && !pdl_search_check_kept(z, *winner, &out, err))
            return false;
    }
    return true;
}

static bool search(opt_search *z, pdl_val *out, pdl_err *err) {
    size_t winner = 0;
    bool certain = false;
    if (!find_winner(z, &winner, &certain, err) || !test(z, winner, err) ||
        !pdl_search_check_table(z, err))
        return false;
    *out = pdl_search_result(z, winner, certain);
    *out = pdl_dict_putz(*out, "folder", pdl_text(pdl_str_of(z->folder)));
    return write_program(z, out, err) && pdl_search_write_front(z, *out, err) &&
           pdl_search_end_records(z, *out, err);
}

static bool can_write(const pdl_optimize_options *o, pdl_err *err) {
    char *path = pdl_str_dup(o->output);
    bool ok = o->diff || o->dry_run || pdl_file_check_writable(path, err);
    pdl_free(path);
    return ok;
}

bool pdl_optimize_run(const pdl_optimize_options *o, pdl_val *out, pdl_err *err) {
    opt_search z = {
        .o = o, .text = PDL_BUF, .judge_variables = pdl_absent(), .history = pdl_absent()};
    opt_estimate e = {.unpriced = pdl_absent()};
    *out = pdl_absent();
    bool ok = pdl_search_read_objectives(&z, err) && check_method(o, err) && can_write(o, err) &&
              pdl_search_prepare(&z, err) && pdl_search_estimate(&z, &e, err) &&
              budget_suffices(&z, &e, err) && pdl_search_plan_proposals(&z, &e, err) &&
              pdl_search_check_prices(&z, &e, err);
    pdl_free(e.model);
    pdl_drop(e.unpriced);
    if (ok && o->dry_run) {
        *out = dry_result(&z, &e);
    } else if (ok) {
        reserve(&z, &e);
        ok = pdl_search_begin_records(&z, err) && pdl_search_open(&z, err) && search(&z, out, err);
    }
    if (!ok) pdl_err_detach(err); /* the error is printed after the programs were freed */
    pdl_search_close(&z);
    return ok;
}
