/* table_split.c -- reads the table of a search and splits it into three parts: rows that methods
 * may show to models, rows that decide between candidates, and rows for the test at the end.
 *
 * If a question were in the test and in another part, it would be tested after it was used. So a
 * table that assigns equal questions in this way is refused, and a random split keeps equal
 * questions together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/map.h"
#include "base/plural.h"
#include "base/rand.h"
#include "optimize/search.h"
#include "value/json_write.h"

#include "base/banned.h"

static const char split_column[] = "split";
/* Percentages of the rows, in the order of opt_part. The last part gets the rest. */
static const unsigned shares[OPT_PARTS] = {30, 30, 40};

const char *pdl_search_part_name(opt_part p) {
    static const char *const names[OPT_ALL_PARTS] = {"train", "validation", "test", "keep"};
    return names[p];
}

pdl_vref pdl_search_right(const opt_search *z, size_t row) {
    pdl_vref v =
        z->o->expect.n ? pdl_dict_gets(z->rows.p[row].columns, z->o->expect) : pdl_absent();
    return v;
}

static bool is_hidden(const opt_search *z, pdl_str column) {
    pdl_vref shown = z->o->reference ? z->o->reference->instance_columns : pdl_absent();
    bool is_shown = !z->o->reference;
    for (size_t i = 0; pdl_is_list(shown) && i < pdl_list_len(shown); i++)
        is_shown = is_shown || pdl_str_eq(column, pdl_str_get(pdl_list_at(shown, i)));
    return !is_shown || (z->has_splits && pdl_str_is(column, split_column)) ||
           (!z->o->reference && z->o->expect.n && pdl_str_eq(column, z->o->expect));
}

pdl_val pdl_search_question(const opt_search *z, size_t row) {
    pdl_vref all = z->rows.p[row].columns;
    pdl_val d = pdl_dict_new(pdl_dict_len(all));
    for (size_t i = 0; i < pdl_dict_len(all); i++) {
        pdl_vref key = pdl_dict_key_at(all, i);
        if (!is_hidden(z, pdl_str_get(key)))
            d = pdl_dict_put(d, pdl_keep(key), pdl_keep(pdl_dict_val_at(all, i)));
    }
    return d;
}

void pdl_search_put_columns(const opt_search *z, size_t row, pdl_val *list) {
    pdl_vref all = z->rows.p[row].columns;
    for (size_t i = 0; i < pdl_dict_len(all); i++)
        if (!is_hidden(z, pdl_str_get(pdl_dict_key_at(all, i))))
            *list = pdl_list_push(*list, pdl_keep(pdl_dict_key_at(all, i)));
}

/* --- reading ---------------------------------------------------------------------------------- */

PDL_PRINTF(4, 5)
static bool refuse_row(const pdl_rowset *r, const pdl_row *row, pdl_err *err, const char *fmt,
                       ...) {
    pdl_buf place = PDL_BUF, why = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&why, fmt, ap);
    va_end(ap);
    pdl_rows_put_place(r, row, &place);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: %s", pdl_buf_z(&place), pdl_buf_z(&why));
    pdl_buf_fini(&place);
    pdl_buf_fini(&why);
    return false;
}

static bool has_column(const opt_search *z, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    pdl_str names[64];
    size_t n = 0;
    if (!z->o->expect.n || !pdl_is_absent(pdl_dict_gets(row->columns, z->o->expect))) return true;
    for (size_t i = 0; i < pdl_dict_len(row->columns) && n < sizeof names / sizeof *names; i++)
        names[n++] = pdl_str_get(pdl_dict_key_at(row->columns, i));
    pdl_str near = pdl_str_nearest(z->o->expect, names, n);
    refuse_row(r, row, err, "the row has no column '%.*s'", PDL_FMT(z->o->expect));
    if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    return false;
}

static bool has_answer(const opt_search *z, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    if (!z->o->expect.n || z->o->judge.n) return true;
    pdl_vref v = pdl_dict_gets(row->columns, z->o->expect);
    bool cell = pdl_is_str(v) && z->o->data.form == PDL_TABLE_csv;
    return (!pdl_is_null(v) && !(cell && !pdl_str_get(v).n)) ||
           refuse_row(r, row, err, "the row has no answer in the column '%.*s'",
                      PDL_FMT(z->o->expect));
}

/* Reads from a row the name of its part. */
static bool read_part(opt_search *z, const pdl_rowset *r, const pdl_row *row, opt_part *out,
                      pdl_err *err) {
    pdl_vref v = pdl_dict_getz(row->columns, split_column);
    pdl_str names[OPT_PARTS];
    bool there = !pdl_is_absent(v);
    if (!z->rows.n) z->has_splits = there;
    if (z->reads_kept) return true;
    if (there != z->has_splits)
        return refuse_row(r, row, err, "the row has %s '%s', and the rows before have %s",
                          there ? "a column" : "no column", split_column, there ? "none" : "one");
    if (!there) return true;
    for (size_t i = 0; i < OPT_PARTS; i++) {
        names[i] = pdl_str_of(pdl_search_part_name((opt_part)i));
        if (!pdl_text_is(v, pdl_search_part_name((opt_part)i))) continue;
        *out = (opt_part)i;
        return true;
    }
    pdl_str said = pdl_is_str(v) ? pdl_str_get(v) : pdl_str_of(pdl_type_name(v));
    pdl_str near = pdl_str_nearest(said, names, OPT_PARTS);
    refuse_row(r, row, err, "the column '%s' has '%.*s': expected train, validation or test",
               split_column, PDL_FMT(said));
    if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    return false;
}

bool pdl_search_take_row(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    opt_search *z = user;
    opt_part part = OPT_TRAIN;
    if (row->problem) return refuse_row(r, row, err, "%s", row->problem);
    if (!has_column(z, r, row, err) || !has_answer(z, r, row, err) ||
        !read_part(z, r, row, &part, err))
        return false;
    *pdl_vec_push(&z->rows) = (opt_row){pdl_keep(row->columns), part, row->number};
    return true;
}

/* --- splitting -------------------------------------------------------------------------------- */

/* Returns the question of a row as an owned text; equal questions have equal texts. */
static char *key_of(const opt_search *z, size_t row) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    pdl_val q = pdl_search_question(z, row);
    if (!pdl_json_write(q, PDL_JSON_SORT | PDL_JSON_LOOSE | PDL_JSON_NAN, 0, &b, &ignored))
        pdl_err_fini(&ignored);
    pdl_drop(q);
    return pdl_buf_take(&b);
}

/* The questions of the rows so far, as texts; `keys` owns the texts. */
typedef struct opt_keys {
    pdl_map first; /* key of a row -> 1 + number of the row */
    PDL_VEC(char *) keys;
} keys;

static size_t first_like(const opt_search *z, keys *k, size_t row) {
    char *key = key_of(z, row);
    uintptr_t found = (uintptr_t)pdl_map_find(&k->first, pdl_str_of(key));
    *pdl_vec_push(&k->keys) = key;
    if (found) return (size_t)found - 1;
    pdl_map_put(&k->first, pdl_str_of(key), (void *)(uintptr_t)(row + 1));
    return row;
}

static void keys_fini(keys *k) {
    for (size_t i = 0; i < k->keys.n; i++) pdl_free(k->keys.p[i]);
    pdl_vec_fini(&k->keys);
    pdl_map_fini(&k->first);
}

bool pdl_search_repeats_test(const opt_search *z, size_t from, size_t *row, size_t *like) {
    keys k = {0};
    bool found = false;
    for (size_t i = 0; i < z->rows.n && !found; i++) {
        *row = i;
        *like = first_like(z, &k, i);
        found = i >= from && *like < from && z->rows.p[*like].part == OPT_TEST;
    }
    keys_fini(&k);
    return found;
}

static bool are_disjoint(const opt_search *z, pdl_err *err) {
    keys k = {0};
    bool ok = true;
    for (size_t i = 0; i < z->rows.n && ok; i++) {
        size_t like = first_like(z, &k, i);
        opt_part a = z->rows.p[like].part, b = z->rows.p[i].part;
        if (a == b) continue;
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                         "%.*s: rows %zu (%s) and %zu (%s) have the same question, so that the "
                         "parts overlap",
                         PDL_FMT(z->o->data.name), like + 1, pdl_search_part_name(a), i + 1,
                         pdl_search_part_name(b));
    }
    keys_fini(&k);
    return ok;
}

void pdl_search_shuffle(size_t *p, size_t n, uint64_t seed) {
    pdl_rand r;
    pdl_rand_seed(&r, seed);
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)(pdl_rand_u64(&r) % i), x = p[i - 1];
        p[i - 1] = p[k];
        p[k] = x;
    }
}

/* Assigns each question to a part at random. All rows with this question go to the part. */
static void split_at_random(opt_search *z) {
    keys k = {0};
    PDL_VEC(size_t) firsts = {0}, like = {0};
    for (size_t i = 0; i < z->rows.n; i++) {
        size_t first = first_like(z, &k, i);
        *pdl_vec_push(&like) = first;
        if (first == i) *pdl_vec_push(&firsts) = i;
    }
    pdl_search_shuffle(firsts.p, firsts.n, z->o->seed);
    size_t train = (firsts.n * shares[OPT_TRAIN] + 50) / 100,
           validation = (firsts.n * shares[OPT_VALIDATION] + 50) / 100;
    for (size_t i = 0; i < firsts.n; i++)
        z->rows.p[firsts.p[i]].part = i < train                ? OPT_TRAIN
                                      : i < train + validation ? OPT_VALIDATION
                                                               : OPT_TEST;
    for (size_t i = 0; i < z->rows.n; i++) z->rows.p[i].part = z->rows.p[like.p[i]].part;
    pdl_vec_fini(&firsts);
    pdl_vec_fini(&like);
    keys_fini(&k);
}

/* Checks that there are rows for validation and for the test. Rows for training are needed only by
 * methods that show them. */
static bool none_is_empty(const opt_search *z, pdl_err *err) {
    for (size_t i = OPT_VALIDATION; i < OPT_PARTS; i++) {
        if (z->part[i].n) continue;
        const char *name = pdl_search_part_name((opt_part)i);
        if (z->has_splits)
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "%.*s: no row has '%s' in the column '%s'", PDL_FMT(z->o->data.name),
                               name, split_column);
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "%.*s has %zu row%s, too few: none is left for %s", PDL_FMT(z->o->data.name),
                    z->rows.n, PDL_PLURAL(z->rows.n), name);
        pdl_err_hint(err, "a column '%s' with train, validation or test says which row is which",
                     split_column);
        return false;
    }
    return true;
}

bool pdl_search_read_rows(opt_search *z, pdl_err *err) {
    pdl_search_note_table(z);
    if (z->o->reference) return pdl_search_read_sets(z, err);
    if (!pdl_rows_each(&z->o->data, z->o->types, 0, pdl_search_take_row, z, err)) return false;
    if (!z->rows.n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s has no rows",
                           PDL_FMT(z->o->data.name));
    if (z->has_splits && !are_disjoint(z, err)) return false;
    if (!z->has_splits) split_at_random(z);
    if (!pdl_search_read_kept(z, err)) return false;
    for (size_t i = 0; i < z->rows.n; i++) *pdl_vec_push(&z->part[z->rows.p[i].part]) = i;
    /* Verdicts that may be requested at any moment need rows in a random order. */
    for (size_t i = 0; i < OPT_PARTS; i++)
        pdl_search_shuffle(z->part[i].p, z->part[i].n, z->o->seed + i + 1);
    return none_is_empty(z, err);
}
