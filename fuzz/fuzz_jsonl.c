/* fuzz_jsonl.c -- the parser `jsonl`. Properties: it accepts what the strict reader accepts line by
 * line, with equal values. Rows that were read and are written are read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "parse/parse.h"
#include "value/json_read.h"
#include "value/json_write.h"

static bool parse(pdl_str text, pdl_val *out) {
    pdl_arena *a = pdl_arena_make();
    pdl_val s = pdl_text(text);
    pdl_err err = {0};
    bool ok = pdl_parse(pdl_parser_word(a, PDL_PARSE_JSONL), s, out, &err);
    FUZZ_MUST(ok || (err.msg && err.msg[0]));
    pdl_err_fini(&err);
    pdl_drop(s);
    pdl_arena_free(a);
    return ok;
}

/* Reads the text line by line. Returns false when a line is not JSON. */
static bool read_lines(pdl_str text, pdl_val *rows) {
    bool ok = true;
    *rows = pdl_list_new(0);
    while (ok && text.n) {
        size_t at = pdl_str_find(text, PDL_STR("\n"), 0);
        size_t n = at == PDL_NOT_FOUND ? text.n : at;
        pdl_err err = {0};
        pdl_val v;
        if (n) ok = pdl_json_read(pdl_str_sub(text, 0, n), PDL_JSON_PYTHON, &v, NULL, &err);
        if (n && ok) *rows = pdl_list_push(*rows, v);
        pdl_err_fini(&err);
        text = pdl_str_sub(text, n < text.n ? n + 1 : n, text.n);
    }
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size), written = PDL_BUF;
    pdl_val rows, lines, again;
    pdl_err err = {0};
    bool ok = parse(pdl_buf_str(&text), &rows);
    FUZZ_MUST(read_lines(pdl_buf_str(&text), &lines) == ok);
    if (ok) {
        FUZZ_MUST(pdl_list_len(rows) == pdl_list_len(lines));
        for (size_t i = 0; i < pdl_list_len(rows); i++) {
            FUZZ_MUST(pdl_json_write(pdl_list_at(rows, i), PDL_JSON_NAN, 0, &written, &err));
            pdl_buf_putc(&written, '\n');
        }
        FUZZ_MUST(parse(pdl_buf_str(&written), &again));
        FUZZ_MUST(fuzz_same_json(rows, again) && fuzz_same_json(rows, lines));
        pdl_drop(again);
        pdl_drop(rows);
    }
    pdl_drop(lines);
    pdl_buf_fini(&written);
    pdl_buf_fini(&text);
    return 0;
}
