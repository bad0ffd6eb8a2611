/* fuzz_rows.c -- tables of batches. The first byte chooses the format. Properties: a row is whole
 * or has a problem. Rows are numbered from 1, and their lines ascend. Whole rows of CSV have all
 * columns. A whole row of JSONL is what the reader of JSON makes of its line without the blanks
 * around it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "batch/rows.h"
#include "fuzz.h"
#include "value/json_read.h"

static void check_row(const pdl_rowset *r, const pdl_row *row, uint64_t number, uint64_t line) {
    size_t n;
    bool fixed = pdl_rows_columns(r, &n) != NULL;
    FUZZ_MUST(row->number == number && row->line > line && pdl_is_dict(row->columns));
    FUZZ_MUST(!row->problem || row->problem[0]);
    FUZZ_MUST(row->problem || !fixed || pdl_dict_len(row->columns) == n);
}

/* Returns line `number` of the text, counted from 1. */
static pdl_str line_of(pdl_str text, uint64_t number) {
    while (number-- > 1) {
        size_t end = pdl_str_find(text, PDL_STR("\n"), 0);
        if (end == PDL_NOT_FOUND) return (pdl_str){"", 0};
        text = pdl_str_sub(text, end + 1, text.n);
    }
    size_t end = pdl_str_find(text, PDL_STR("\n"), 0);
    return end == PDL_NOT_FOUND ? text : pdl_str_sub(text, 0, end);
}

/* Checks the values of a row. jsonl is the text of the table; its p is NULL when the table is
 * CSV. */
static void check_value(const pdl_row *row, pdl_str jsonl) {
    pdl_err err = {0};
    pdl_val v;
    if (!jsonl.p || row->problem) return;
    pdl_str line = pdl_str_trim(pdl_utf8_unmarked(line_of(jsonl, row->line)));
    FUZZ_MUST(pdl_json_read(line, PDL_JSON_PYTHON, &v, NULL, &err));
    FUZZ_MUST(fuzz_same_json(v, row->columns));
    pdl_drop(v);
}

static void read_all(pdl_rowset *r, pdl_str jsonl) {
    uint64_t number = 0, line = 0;
    for (;;) {
        pdl_row row;
        pdl_err err = {0};
        pdl_rows_step step = pdl_rows_next(r, true, &row, &err);
        /* a table in another encoding is refused at its first row */
        FUZZ_MUST(step != PDL_ROWS_FAIL || (number == 0 && err.kind && err.msg));
        FUZZ_MUST(step != PDL_ROWS_LATER);
        pdl_err_fini(&err);
        if (step != PDL_ROWS_ROW) return;
        check_row(r, &row, ++number, line);
        check_value(&row, jsonl);
        line = row.line;
        pdl_row_fini(&row);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[40];
    int fd = memfd_create("rows", MFD_CLOEXEC);
    pdl_table t;
    pdl_rowset *r;
    pdl_err err = {0};
    if (fd < 0 || !size) return 0;
    bool csv = data[0] & 1, types = data[0] & 2;
    FUZZ_MUST(write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    FUZZ_MUST(pdl_table_of(pdl_str_of(path), csv ? PDL_STR("csv") : PDL_STR("jsonl"), &t, &err));
    if (pdl_rows_open(&t, types, &r, &err)) {
        read_all(r, csv ? (pdl_str){0} : (pdl_str){(const char *)data + 1, size - 1});
        pdl_rows_close(r);
    }
    pdl_err_fini(&err);
    close(fd);
    return 0;
}
