/* fuzz_csv.c -- the parser `csv`. Properties: the rows consist of texts; when all fields are
 * written in quotes, the same rows are read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "parse/parse.h"

static bool parse(pdl_str text, pdl_val *out) {
    pdl_arena *a = pdl_arena_make();
    pdl_val s = pdl_text(text);
    pdl_err err = {0};
    bool ok = pdl_parse(pdl_parser_word(a, PDL_PARSE_CSV), s, out, &err);
    FUZZ_MUST(ok || (err.msg && err.msg[0]));
    pdl_err_fini(&err);
    pdl_drop(s);
    pdl_arena_free(a);
    return ok;
}

static void put_row(pdl_vref row, pdl_buf *out) {
    for (size_t i = 0; i < pdl_list_len(row); i++) {
        pdl_str field = pdl_str_get(pdl_list_at(row, i));
        if (i) pdl_buf_putc(out, ',');
        pdl_buf_putc(out, '"');
        for (size_t k = 0; k < field.n; k++) {
            if (field.p[k] == '"') pdl_buf_putc(out, '"');
            pdl_buf_putc(out, field.p[k]);
        }
        pdl_buf_putc(out, '"');
    }
    pdl_buf_putc(out, '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size), written = PDL_BUF;
    pdl_val rows, again;
    if (parse(pdl_buf_str(&text), &rows)) {
        for (size_t i = 0; i < pdl_list_len(rows); i++) put_row(pdl_list_at(rows, i), &written);
        FUZZ_MUST(parse(pdl_buf_str(&written), &again));
        FUZZ_MUST(pdl_val_eq(rows, again));
        pdl_drop(again);
        pdl_drop(rows);
    }
    pdl_buf_fini(&written);
    pdl_buf_fini(&text);
    return 0;
}
