/* jsonl_rows.c -- rows from lines of JSON. An empty line is not a row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/utf8.h"
#include "batch/rows_impl.h"
#include "value/json_read.h"
#include "value/type_words.h"

#include "base/banned.h"

typedef struct jsonl {
    pdl_rowset rows;
    bytes bytes;
    size_t looked; /* number of bytes of the rest that have no line break */
    uint64_t number;
    pdl_json_keys keys;
} jsonl;

static size_t line_end(void *user, pdl_str rest, bool last) {
    jsonl *j = user;
    /* the beginning of a line that is too long was dropped */
    if (j->looked > rest.n) j->looked = 0;
    const char *from = rest.p + j->looked,
               *nl = rest.n > j->looked ? memchr(from, '\n', rest.n - j->looked) : NULL;
    j->looked = nl || last ? 0 : rest.n;
    if (nl) return (size_t)(nl - rest.p) + 1;
    return last ? rest.n : 0;
}

/* Returns advice when the first row is broken because the file has another format. */
static const char *advice(const pdl_row *row, pdl_str text) {
    if (row->number != 1) return "";
    if (text.p[0] == '[') return "; of a list `jq -c '.[]'` makes a table: one object a line";
    return pdl_str_is(text, "{") ? "; `jq -c .` writes one object a line" : "";
}

static void read_row(jsonl *j, pdl_str text, pdl_row *out) {
    pdl_err err = {0};
    pdl_val v;
    size_t bad = pdl_utf8_check(text);
    if (bad != PDL_NOT_FOUND) {
        pdl_batch_row_broken(out, "the row is not UTF-8 (byte %zu)", bad + 1);
    } else if (!pdl_json_read_with(text, PDL_JSON_PYTHON, &j->keys, &v, NULL, &err)) {
        pdl_batch_row_broken(out, "the row is not JSON: %s%s", err.msg, advice(out, text));
    } else if (!pdl_is_dict(v)) {
        pdl_batch_row_broken(out, "the row is no JSON object, but %s%s", pdl_type_plain(v),
                             advice(out, text));
        pdl_drop(v);
    } else {
        pdl_drop(out->columns);
        out->columns = v;
    }
    pdl_err_fini(&err);
}

static pdl_rows_step next(pdl_rowset *r, bool wait, pdl_row *out, pdl_err *err) {
    jsonl *j = (jsonl *)(void *)r;
    for (;;) {
        pdl_str line;
        pdl_rows_step step = pdl_batch_record(&j->bytes, line_end, j, wait, &line, err);
        if (step != PDL_ROWS_ROW) return step;
        uint64_t at = j->bytes.line++;
        bool too_long = j->bytes.too_long;
        j->bytes.too_long = false;
        if (at == 1 && !pdl_batch_bytes_are_text(line, j->rows.name, err)) return PDL_ROWS_FAIL;
        if (at == 1) line = pdl_utf8_unmarked(line);
        line = pdl_str_trim(line);
        if (!line.n && !too_long) continue;
        out->number = ++j->number;
        out->line = at;
        out->columns = pdl_dict_new(0);
        if (too_long)
            pdl_batch_row_broken(out, "the row is longer than %d MB", BATCH_MAX_ROW >> 20);
        else
            read_row(j, line, out);
        return PDL_ROWS_ROW;
    }
}

static void close_jsonl(pdl_rowset *r) {
    jsonl *j = (jsonl *)(void *)r;
    pdl_batch_bytes_close(&j->bytes);
    pdl_json_keys_fini(&j->keys);
    pdl_free(j);
}

static void progress(const pdl_rowset *r, uint64_t *done, uint64_t *all) {
    const jsonl *j = (const jsonl *)(const void *)r;
    *done = j->bytes.gone + j->bytes.pos;
    *all = j->bytes.regular ? (uint64_t)j->bytes.opened.st_size : 0;
}

static bool unchanged(const pdl_rowset *r, pdl_err *err) {
    return pdl_batch_bytes_unchanged(&((const jsonl *)(const void *)r)->bytes, err);
}

static const rows_ops ops = {next, close_jsonl, progress, unchanged};

bool pdl_batch_jsonl_open(const pdl_table *t, pdl_rowset **out, pdl_err *err) {
    jsonl *j = PDL_NEW(jsonl);
    j->rows.ops = &ops;
    j->rows.name = pdl_str_dup(t->name);
    if (!pdl_batch_bytes_open(&j->bytes, t->path, err)) {
        pdl_rows_close(&j->rows);
        return false;
    }
    *out = &j->rows;
    return true;
}
