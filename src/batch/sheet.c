/* sheet.c -- see sheet.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/sheet.h"
#include "batch/duck.h"

#include <sys/stat.h>

#include "batch/sheet_impl.h"

#include "base/banned.h"

const char *pdl_batch_own_column(size_t i) {
    static const char *const names[] = {"result", "error", "place"};
    return names[i];
}

bool pdl_batch_sheet_size(const pdl_table *t, uint64_t *size) {
    struct stat st;
    *size = 0;
    if (t->form == PDL_TABLE_sqlite) return pdl_batch_sheet_sqlite_size(t, size);
    char *path = t->form == PDL_TABLE_parquet ? pdl_batch_parquet_rows(t) : pdl_str_dup(t->path);
    bool there = !t->standard && stat(path, &st) == 0;
    if (there && st.st_size > 0) *size = (uint64_t)st.st_size;
    pdl_free(path);
    return there;
}

static sheet *new_of(pdl_table_form form) {
    switch (form) {
    case PDL_TABLE_jsonl:
    case PDL_TABLE_parquet:
    case PDL_TABLE_csv: return pdl_batch_sheet_file_new();
    case PDL_TABLE_sqlite: return pdl_batch_sheet_sqlite_new();
    case PDL_TABLE_COUNT: break;
    }
    PDL_BUG("form of table %d", (int)form);
}

bool pdl_batch_sheet_check(const pdl_table *t, pdl_err *err) {
    return t->form != PDL_TABLE_parquet || pdl_batch_duck_check(err);
}

bool pdl_batch_sheet_open(const pdl_table *t, const pdl_str *columns, size_t n, uint64_t keep,
                          sheet **out, pdl_err *err) {
    sheet *s = new_of(t->form);
    s->table = *t;
    s->path = t->form == PDL_TABLE_parquet
                  ? pdl_batch_parquet_rows(t)
                  : pdl_str_dup(t->standard ? PDL_STR("standard output") : t->path);
    for (size_t i = 0; i < n; i++) *pdl_vec_push(&s->columns) = pdl_str_dup(columns[i]);
    bool ok = t->form == PDL_TABLE_sqlite ? pdl_batch_sheet_sqlite_begin(s, keep, err)
                                          : pdl_batch_sheet_file_begin(s, keep, err);
    if (ok)
        *out = s;
    else
        pdl_batch_sheet_close(s);
    return ok;
}

bool pdl_batch_sheet_put(sheet *s, pdl_str json, pdl_err *err) { return s->ops->put(s, json, err); }

bool pdl_batch_sheet_flush(sheet *s, bool sync, uint64_t *size, pdl_err *err) {
    bool ok = s->ops->flush(s, sync, err);
    *size = s->size;
    return ok;
}

bool pdl_batch_sheet_finish(sheet *s, bool changed, pdl_err *err) {
    return s->table.form != PDL_TABLE_parquet || pdl_batch_parquet_finish(s, changed, err);
}

void pdl_batch_sheet_close(sheet *s) {
    if (!s) return;
    for (size_t i = 0; i < s->columns.n; i++) pdl_free(s->columns.p[i]);
    pdl_vec_fini(&s->columns);
    pdl_free(s->path);
    s->ops->close(s);
}
