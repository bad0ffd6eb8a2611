/* reference_form.c -- a search as the reference's pdl-optimize makes it (spec execution 12): three
 * files of rows, values of variables drawn one by one, and a few rows for training as
 * demonstrations.
 *
 * The reference passes the variables to the program, and the program's `defs` take precedence over
 * them. The same is done here, with a warning.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/plural.h"
#include "base/rand.h"
#include "lang/load.h"
#include "optimize/search.h"
#include "value/json_write.h"

#include "base/banned.h"

/* --- rows ------------------------------------------------------------------------------------- */

typedef struct opt_reading {
    opt_search *z;
    opt_part part;
} reading;

/* Refuses a row without a column that is needed. */
static bool has(pdl_vref columns, pdl_str name, const pdl_rowset *r, const pdl_row *row,
                pdl_err *err) {
    if (!pdl_is_absent(pdl_dict_gets(columns, name))) return true;
    pdl_buf place = PDL_BUF;
    pdl_rows_put_place(r, row, &place);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: the row has no column '%.*s'",
                pdl_buf_z(&place), PDL_FMT(name));
    pdl_buf_fini(&place);
    return false;
}

static bool take_row(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    reading *in = user;
    const pdl_optimize_options *o = in->z->o;
    pdl_vref shown = o->reference->demonstration_columns;
    if (row->problem) {
        pdl_buf place = PDL_BUF;
        pdl_rows_put_place(r, row, &place);
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: %s", pdl_buf_z(&place), row->problem);
        pdl_buf_fini(&place);
        return false;
    }
    if (in->part != OPT_TRAIN && !has(row->columns, o->expect, r, row, err)) return false;
    for (size_t i = 0; in->part == OPT_TRAIN && i < pdl_list_len(shown); i++)
        if (!has(row->columns, pdl_str_get(pdl_list_at(shown, i)), r, row, err)) return false;
    *pdl_vec_push(&in->z->rows) = (opt_row){pdl_keep(row->columns), in->part, row->number};
    return true;
}

bool pdl_search_read_sets(opt_search *z, pdl_err *err) {
    const pdl_optimize_reference *r = z->o->reference;
    for (size_t i = 0; i < OPT_PARTS; i++) {
        reading in = {z, (opt_part)i};
        size_t from = z->rows.n;
        pdl_table t;
        if (!r->files[i].n) continue;
        if (!pdl_table_of(r->files[i], PDL_STR("jsonl"), &t, err) ||
            !pdl_rows_each(&t, false, i == OPT_TEST ? r->most_test : 0, take_row, &in, err))
            return false;
        for (size_t k = from; k < z->rows.n; k++) *pdl_vec_push(&z->part[i]) = k;
        if (i != OPT_TRAIN && z->rows.n == from)
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s has no rows",
                               PDL_FMT(r->files[i]));
    }
    if (r->shuffles)
        pdl_search_shuffle(z->part[OPT_VALIDATION].p, z->part[OPT_VALIDATION].n, z->o->seed);
    if (z->part[OPT_VALIDATION].n > r->most_rows) z->part[OPT_VALIDATION].n = r->most_rows;
    return true;
}

/* --- candidates ------------------------------------------------------------------------------- */

static void add_variable(opt_search *z, pdl_str name) {
    bool there = false;
    opt_literal l;
    pdl_err ignored = {0};
    pdl_buf note = PDL_BUF;
    if (!pdl_literal_find_def(z->tree, name, &there, &l, &ignored)) pdl_err_fini(&ignored);
    if (there && z->o->note) {
        pdl_buf_putf(&note,
                     "the program defines '%.*s' itself, so the values of the search have no "
                     "effect; --vary changes what it defines",
                     PDL_FMT(name));
        z->o->note(z->o->user, pdl_buf_z(&note));
    }
    pdl_buf_fini(&note);
    *pdl_vec_push(&z->places) =
        (opt_place){.name = pdl_str_dup(name), .is_free = true, .first = pdl_null()};
}

static pdl_val demonstrations(const opt_search *z, pdl_rand *r, size_t n) {
    size_t *rows = PDL_NEW_N(size_t, z->part[OPT_TRAIN].n + 1), left = z->part[OPT_TRAIN].n;
    pdl_vref columns = z->o->reference->demonstration_columns;
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < left; i++) rows[i] = z->part[OPT_TRAIN].p[i];
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)(pdl_rand_u64(r) % left), row = rows[at];
        rows[at] = rows[--left];
        pdl_val d = pdl_dict_new(pdl_list_len(columns));
        for (size_t k = 0; k < pdl_list_len(columns); k++) {
            pdl_str name = pdl_str_get(pdl_list_at(columns, k));
            d = pdl_dict_puts(d, name, pdl_keep(pdl_dict_gets(z->rows.p[row].columns, name)));
        }
        list = pdl_list_push(list, d);
    }
    pdl_free(rows);
    return list;
}

static pdl_val draw_values(const opt_search *z, pdl_rand *r) {
    pdl_vref space = z->o->space;
    size_t n = pdl_is_dict(space) ? pdl_dict_len(space) : 0;
    pdl_val d = pdl_dict_new(n + 1);
    for (size_t i = 0; i < n; i++) {
        pdl_vref values = pdl_dict_val_at(space, i);
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(space, i)),
                         pdl_keep(pdl_list_at(values, pdl_rand_u64(r) % pdl_list_len(values))));
    }
    return d;
}

/* Stores the number of demonstrations of a candidate. */
static bool count_of(const opt_search *z, pdl_vref values, size_t *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(values, "num_demonstrations");
    int64_t n = pdl_is(v, PDL_V_INT) ? pdl_int_of(v) : z->o->reference->shots;
    size_t train = z->part[OPT_TRAIN].n;
    if (!pdl_is_absent(v) && (!pdl_is(v, PDL_V_INT) || n < 0))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "variables.num_demonstrations: expected whole numbers");
    if (n < 0)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "num_demonstrations is missing, here and in `variables`");
    *out = (size_t)n;
    return *out <= train ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "num_demonstrations: %lld, and %.*s has %zu row%s", (long long)n,
                       PDL_FMT(z->o->reference->files[OPT_TRAIN]), train, PDL_PLURAL(train));
}

/* Returns true when `values` have no demonstrations, and another candidate without demonstrations
 * has the same prompt pattern. The pattern `cot` counts as known, because add_thoughts() adds it
 * first. */
static bool is_known_zero_shot(const opt_search *z, pdl_vref values) {
    pdl_vref pattern = pdl_dict_getz(values, "prompt_pattern"),
             n = pdl_dict_getz(values, "num_demonstrations");
    if (!pdl_is(n, PDL_V_INT) || pdl_int_of(n) || pdl_is_absent(pattern) || pdl_is_null(pattern))
        return false;
    if (pdl_text_is(pattern, "cot")) return true;
    for (size_t i = 1; i < z->candidates.n; i++) {
        pdl_vref v = z->candidates.p[i].values, of = pdl_dict_getz(v, "num_demonstrations");
        if (pdl_is(of, PDL_V_INT) && !pdl_int_of(of) &&
            pdl_val_eq(pdl_dict_getz(v, "prompt_pattern"), pattern))
            return true;
    }
    return false;
}

static bool may_be(pdl_vref space, const char *name, pdl_vref value) {
    pdl_vref values = pdl_is_dict(space) ? pdl_dict_getz(space, name) : pdl_absent();
    for (size_t i = 0; pdl_is_list(values) && i < pdl_list_len(values); i++)
        if (pdl_val_eq(pdl_list_at(values, i), value)) return true;
    return false;
}

static void add(opt_search *z, pdl_val values) {
    *pdl_vec_push(&z->candidates) = (opt_candidate){.values = values, .variables = pdl_absent()};
}

/* Adds a candidate with the prompt pattern `cot` and no demonstrations, when the space has both
 * values. */
static void add_thoughts(opt_search *z, pdl_rand *r) {
    pdl_val cot = pdl_textz("cot"), none = pdl_int(0);
    if (may_be(z->o->space, "prompt_pattern", cot) &&
        may_be(z->o->space, "num_demonstrations", none)) {
        pdl_val d = draw_values(z, r);
        d = pdl_dict_putz(d, "prompt_pattern", pdl_keep(cot));
        d = pdl_dict_putz(d, "num_demonstrations", pdl_keep(none));
        add(z, pdl_dict_puts(d, z->o->reference->demonstrations, pdl_list_new(0)));
    }
    pdl_drop(cot);
    pdl_drop(none);
}

bool pdl_search_draw_as_reference(opt_search *z, pdl_err *err) {
    enum { TRIES = 100 };
    const pdl_optimize_reference *ref = z->o->reference;
    pdl_rand r;
    pdl_rand_seed(&r, z->o->seed);
    add_variable(z, ref->demonstrations);
    for (size_t i = 0; pdl_is_dict(z->o->space) && i < pdl_dict_len(z->o->space); i++)
        add_variable(z, pdl_str_get(pdl_dict_key_at(z->o->space, i)));
    add_thoughts(z, &r);
    for (size_t tries = 0; z->candidates.n <= ref->candidates && tries < ref->candidates * TRIES;
         tries++) {
        size_t n = 0;
        pdl_val d = draw_values(z, &r);
        bool ok = count_of(z, d, &n, err);
        if (!ok || is_known_zero_shot(z, d)) {
            pdl_drop(d);
            if (ok) continue;
            return false;
        }
        add(z, pdl_dict_puts(d, ref->demonstrations, demonstrations(z, &r, n)));
    }
    return true;
}

/* --- scores and rounds ------------------------------------------------------------------------ */

void pdl_search_put_scorer(const opt_search *z, pdl_buf *out) {
    pdl_str file = z->o->reference->scorer;
    if (pdl_str_ends(file, PDL_STR(".pdl"))) file = pdl_str_sub(file, 0, file.n - 4);
    PDL_PUT(out, "defs:\n  scoring: {import: ");
    pdl_json_quote(file, 0, out);
    PDL_PUT(out, "}\ndata: ${ scoring.score(document=result.strip(), ground_truth=expected) }\n");
}

double pdl_search_growth(const opt_search *z) {
    const pdl_optimize_reference *r = z->o->reference;
    size_t n = z->candidates.n - 1, first = r->first_rows;
    if (!r->to_max) return 2;
    if (first > z->part[OPT_VALIDATION].n) first = z->part[OPT_VALIDATION].n;
    double rounds = ceil(log2((double)n)), whole = (double)r->most_rows / (double)first;
    return ceil(rounds > 1 ? pow(whole, 1 / (rounds - 1)) : whole);
}
