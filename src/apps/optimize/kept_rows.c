/* kept_rows.c -- checks two conditions of a search: the rows of --keep must not get worse, and the
 * table must not change. Users of a program often depend on certain rows that it gets right. A
 * better mean does not help them when one of these rows fails. These rows are in no part of the
 * table, and only serve to exclude candidates.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sys/stat.h>

#include "base/num.h"
#include "base/os.h"
#include "optimize/search.h"

#include "base/banned.h"

/* --- reading ---------------------------------------------------------------------------------- */

static bool are_numbers(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ',' && s.p[i] != ' ' && !(s.p[i] >= '0' && s.p[i] <= '9')) return false;
    return true;
}

static bool keep_row(opt_search *z, pdl_str number, pdl_err *err) {
    int64_t n;
    if (!pdl_num_read_int(number, &n) || n < 1 || (uint64_t)n > z->rows.n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "--keep: %.*s has %zu rows, counted from 1, and no row '%.*s'",
                           PDL_FMT(z->o->data.name), z->rows.n, PDL_FMT(number));
    z->rows.p[n - 1].part = OPT_KEPT;
    return true;
}

static bool keep_numbers(opt_search *z, pdl_str list, pdl_err *err) {
    while (list.n)
        if (!keep_row(z, pdl_str_take(&list, PDL_STR(",")), err)) return false;
    return true;
}

static bool keep_table(opt_search *z, pdl_err *err) {
    size_t from = z->rows.n;
    pdl_table t;
    if (!pdl_table_of(z->o->kept, (pdl_str){0}, &t, err)) return false;
    z->reads_kept = true;
    bool ok = pdl_rows_each(&t, z->o->types, 0, pdl_search_take_row, z, err);
    z->reads_kept = false;
    for (size_t i = from; i < z->rows.n; i++) z->rows.p[i].part = OPT_KEPT;
    size_t row, like;
    if (ok && pdl_search_repeats_test(z, from, &row, &like))
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                         "--keep: row %zu of %.*s is row %zu of %.*s, which is for the test",
                         row - from + 1, PDL_FMT(z->o->kept), like + 1, PDL_FMT(z->o->data.name));
    return ok;
}

void pdl_search_note_table(opt_search *z) {
    struct stat st;
    char *path = pdl_str_dup(z->o->data.path);
    z->table_size = -1;
    if (*path && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        z->table_size = st.st_size;
        z->table_ns = pdl_os_modified_ns(&st);
    }
    pdl_free(path);
}

bool pdl_search_read_kept(opt_search *z, pdl_err *err) {
    if (!z->o->kept.n) return true;
    return are_numbers(z->o->kept) ? keep_numbers(z, z->o->kept, err) : keep_table(z, err);
}

/* --- checks ----------------------------------------------------------------------------------- */

bool pdl_search_check_table(const opt_search *z, pdl_err *err) {
    opt_search now = {.o = z->o};
    if (z->table_size < 0) return true;
    pdl_search_note_table(&now);
    return (now.table_size == z->table_size && now.table_ns == z->table_ns) ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "%.*s has changed during the search; what was found is in %s",
                       PDL_FMT(z->o->data.name), z->folder);
}

bool pdl_search_check_kept(opt_search *z, size_t candidate, bool *out, pdl_err *err) {
    size_t n = z->part[OPT_KEPT].n;
    opt_pair *pairs = PDL_NEW_N(opt_pair, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        pairs[2 * i] = (opt_pair){0, z->part[OPT_KEPT].p[i]};
        pairs[2 * i + 1] = (opt_pair){candidate, z->part[OPT_KEPT].p[i]};
    }
    bool ok = pdl_search_evaluate(z, pairs, 2 * n, err);
    *out = false;
    for (size_t i = 0; ok && i < n; i++) {
        size_t row = z->part[OPT_KEPT].p[i];
        /* A candidate is also excluded when the budget did not allow its evaluation on a row. */
        *out = *out || !pdl_search_knows(z, candidate, row) || !pdl_search_knows(z, 0, row) ||
               pdl_search_score(z, candidate, row) < pdl_search_score(z, 0, row);
    }
    z->candidates.p[candidate].is_out = *out;
    pdl_free(pairs);
    return ok;
}
