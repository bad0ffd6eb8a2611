/* estimate.c -- pdl batch --dry-run: estimates calls, tokens and cost of a batch from some of its
 * rows.
 *
 * Each of these rows is run as pdl explain runs a program: nothing is sent, and a value that
 * depends on an answer stays unknown. So the numbers are a lower bound when calls depend on the
 * answers of earlier calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/column_variables.h"
#include "batch/rows_impl.h"
#include "batch/sample.h"
#include "value/int.h"

#include "base/banned.h"

enum { LOOKED_AT = 50 };

static double number(pdl_vref d, const char *key) {
    pdl_vref v = pdl_is_dict(d) ? pdl_dict_getz(d, key) : pdl_absent();
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : 0;
}

static void add_calls(pdl_batch_estimate *e, pdl_vref notes) {
    pdl_vref calls = pdl_dict_getz(notes, "calls"), later = pdl_dict_getz(notes, "not_reached");
    for (size_t i = 0; i < pdl_list_len(calls); i++) {
        pdl_vref call = pdl_list_at(calls, i), tokens = pdl_dict_getz(call, "tokens");
        e->calls++;
        e->prompt_tokens += number(tokens, "prompt");
        e->answer_tokens += number(tokens, "answer_at_most");
        e->cost += number(call, "cost");
    }
    for (size_t i = 0; i < pdl_list_len(later); i++)
        e->unknown += number(pdl_list_at(later, i), "models");
}

static pdl_val variables_of(const pdl_batch_options *o, const pdl_row *row) {
    pdl_val d = pdl_dict_new(8);
    if (pdl_is_dict(o->variables)) d = pdl_dict_merge(d, o->variables);
    for (size_t i = 0; i < pdl_dict_len(row->columns); i++) {
        pdl_str column = pdl_str_get(pdl_dict_key_at(row->columns, i));
        d = pdl_dict_puts(d, pdl_batch_plan_variable(o, column),
                          pdl_keep(pdl_dict_val_at(row->columns, i)));
    }
    return d;
}

static bool explain_row(const pdl_batch_options *o, const pdl_row *row, pdl_batch_estimate *e,
                        pdl_err *err) {
    pdl_session *s;
    pdl_val vars = variables_of(o, row);
    pdl_session_options so = {
        .program = {.file = o->program->source->name, .dir = o->dir, .variables = vars},
        .run = {.cancel = o->cancel, .explain = true},
        .models.prices = o->prices,
    };
    so.program.path = pdl_session_path(o->session, &so.program.n_path);
    bool ok = pdl_session_new(&so, &s, err);
    if (ok) {
        pdl_session_use(s, o->program);
        e->failed += pdl_session_run(s) == PDL_STEP_FAIL;
        pdl_val notes = pdl_session_explained(s);
        add_calls(e, notes);
        pdl_drop(notes);
        pdl_session_free(s);
    }
    pdl_drop(vars);
    return ok;
}

typedef struct batch_estimating {
    const pdl_batch_options *o;
    pdl_batch_estimate *e;
    sample chosen;
    uint64_t next;
    bool planned;
} estimating;

static bool count_row(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    (void)r;
    estimating *s = user;
    s->e->rows++;
    s->e->broken += row->problem != NULL;
    if (row->problem || s->planned) return true;
    s->planned = true;
    PDL_VEC(pdl_str) columns = {0};
    for (size_t i = 0; i < pdl_dict_len(row->columns); i++)
        *pdl_vec_push(&columns) = pdl_str_get(pdl_dict_key_at(row->columns, i));
    bool ok = pdl_batch_plan_check(s->o, columns.p, columns.n, err);
    pdl_vec_fini(&columns);
    return ok;
}

static bool look_at_row(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    (void)r;
    estimating *s = user;
    if (row->number != s->next) return true;
    s->next = pdl_batch_sample_next(&s->chosen);
    if (row->problem) return true;
    s->e->looked_at++;
    return explain_row(s->o, row, s->e, err);
}

bool pdl_batch_estimate_rows(const pdl_batch_options *o, pdl_batch_estimate *out, pdl_err *err) {
    *out = (pdl_batch_estimate){0};
    if (o->input.stream) return pdl_table_refuse_twice(&o->input, "--dry-run", err);
    estimating s = {.o = o, .e = out};
    if (!pdl_rows_each(&o->input, o->types, 0, count_row, &s, err)) return false;
    uint64_t rows = out->rows;
    if (o->limit && o->limit < rows) rows = o->limit;
    s.chosen = pdl_batch_sample_of(rows, LOOKED_AT);
    s.next = pdl_batch_sample_next(&s.chosen);
    if (!pdl_rows_each(&o->input, o->types, 0, look_at_row, &s, err)) return false;
    if (o->sample && o->sample < rows) rows = o->sample;
    out->rows = rows;
    double factor = out->looked_at ? (double)rows / (double)out->looked_at : 0;
    out->calls *= factor;
    out->prompt_tokens *= factor;
    out->answer_tokens *= factor;
    out->cost *= factor;
    out->unknown *= factor;
    return true;
}
