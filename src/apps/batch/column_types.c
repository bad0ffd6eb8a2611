/* column_types.c -- checks the types of columns against the program; see column_variables.h.
 *
 * When the program cannot use the values of a column, every row fails, after it was paid for. The
 * values of the first rows are known before anything is sent, so the checker of programs can find
 * such errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/import_search.h"
#include "batch/column_variables.h"
#include "check/check.h"

#include "base/banned.h"

/* Returns the kinds of the values of a column in these rows; 0 when they are unknown. A column that
 * is empty in all these rows proves nothing. */
static uint32_t kinds_of(pdl_str column, const pdl_row *rows, size_t n, pdl_arena *a) {
    uint32_t kinds = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].problem) continue;
        pdl_vref v = pdl_dict_gets(rows[i].columns, column);
        kinds |= pdl_is_absent(v) ? PDL_TY_UNDEFINED : pdl_ty_of_value(a, v)->kinds;
    }
    return kinds & ~(uint32_t)(PDL_TY_NULL | PDL_TY_UNDEFINED) ? kinds : 0;
}

typedef struct batch_kinds {
    PDL_VEC(pdl_str) names;
    PDL_VEC(uint32_t) kinds;
} kinds;

static void add(kinds *k, pdl_str name, uint32_t of) {
    *pdl_vec_push(&k->names) = name;
    *pdl_vec_push(&k->kinds) = of;
}

/* Returns the first error that the program meets in every row. types: the check uses the types of
 * the columns. */
static const pdl_diag *find_error(const pdl_batch_options *o, const kinds *k, bool types) {
    pdl_finder finder = {.file = o->program->source->name};
    finder.path = pdl_session_path(o->session, &finder.n_path);
    pdl_program_check(o->program, &(pdl_check_options){.open = pdl_find_open,
                                                       .user = &finder,
                                                       .names = k->names.p,
                                                       .n_names = k->names.n,
                                                       .kinds = types ? k->kinds.p : NULL,
                                                       .no_names = true,
                                                       .no_lint = true});
    return pdl_program_certain_error(o->program);
}

/* Appends a text such as "n: string, m: integer", with the variables whose kinds are known. */
static void put_kinds(const kinds *k, pdl_arena *a, pdl_buf *out) {
    enum { SHOWN = 6 };
    size_t shown = 0;
    for (size_t i = 0; i < k->names.n && shown < SHOWN; i++) {
        uint32_t of = k->kinds.p[i];
        if (!of) continue;
        pdl_buf_putf(out, "%s%.*s: ", shown++ ? ", " : "", PDL_FMT(k->names.p[i]));
        pdl_ty_show(pdl_ty_of_kinds(a, of & ~(uint32_t)PDL_TY_UNDEFINED), out);
    }
}

static void set_error(const pdl_diag *d, pdl_err *err) {
    pdl_err_set(err, PDL_E_usage, d->loc, "%.*s", PDL_FMT(d->text));
    err->mark = d->mark;
}

/* Refuses a program that fails whatever its columns are. */
static bool refuse_program(const pdl_diag *d, pdl_err *err) {
    set_error(d, err);
    pdl_err_hint(err, "%.*s%severy row would fail with this", PDL_FMT(d->hint),
                 d->hint.n ? "; " : "");
    return false;
}

static bool refuse(const pdl_batch_options *o, const pdl_diag *d, const char *columns,
                   pdl_err *err) {
    set_error(d, err);
    pdl_str table = o->shown_input.n ? o->shown_input : o->input.name;
    pdl_err_hint(err, "this follows from the columns of %.*s (%s)%s", PDL_FMT(table), columns,
                 o->input.form == PDL_TABLE_csv && !o->types
                     ? "; --types reads cells of CSV as numbers, booleans and null"
                     : "");
    return false;
}

bool pdl_batch_plan_types(const pdl_batch_options *o, const pdl_str *columns, size_t n,
                          const pdl_row *rows, size_t n_rows, pdl_err *err) {
    kinds k = {0};
    pdl_buf text = PDL_BUF;
    pdl_arena *a = pdl_arena_make();
    bool any = false, ok = true;
    add(&k, PDL_STR("pdl_args"), 0);
    for (size_t i = 0; pdl_is_dict(o->variables) && i < pdl_dict_len(o->variables); i++)
        add(&k, pdl_str_get(pdl_dict_key_at(o->variables, i)), 0);
    for (size_t i = 0; i < n; i++) {
        uint32_t of = kinds_of(columns[i], rows, n_rows, a);
        add(&k, pdl_batch_plan_variable(o, columns[i]), of);
        any = any || of;
    }
    const pdl_diag *d = find_error(o, &k, false);
    if (d && pdl_batch_plan_asks(o->program)) ok = refuse_program(d, err);
    if (!d && any && (d = find_error(o, &k, true))) {
        put_kinds(&k, a, &text);
        ok = refuse(o, d, pdl_buf_z(&text), err);
    }
    pdl_buf_fini(&text);
    pdl_vec_fini(&k.names);
    pdl_vec_fini(&k.kinds);
    pdl_arena_free(a);
    return ok;
}
