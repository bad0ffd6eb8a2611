/* fuzz_repair.c -- the tolerant reader of JSON. Properties: it accepts every text within the limits
 * and makes JSON of it. From strict JSON it makes what the strict reader makes. Its result is read
 * back as the same value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "parse/parse.h"
#include "value/json_read.h"
#include "value/json_write.h"

static bool parse(pdl_str text, pdl_val *out, pdl_err *err) {
    pdl_arena *a = pdl_arena_make();
    pdl_val s = pdl_text(text);
    bool ok = pdl_parse(pdl_parser_word(a, PDL_PARSE_JSON), s, out, err);
    pdl_drop(s);
    pdl_arena_free(a);
    return ok;
}

static void check_strict(pdl_str text, pdl_vref repaired) {
    pdl_val strict;
    pdl_err err = {0};
    if (pdl_json_read(text, PDL_JSON_PYTHON, &strict, NULL, &err)) {
        FUZZ_MUST(fuzz_same_json(strict, repaired));
        pdl_drop(strict);
    }
    pdl_err_fini(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size), b = PDL_BUF;
    pdl_val v, again;
    pdl_err err = {0};
    if (parse(pdl_buf_str(&text), &v, &err)) {
        check_strict(pdl_buf_str(&text), v);
        FUZZ_MUST(pdl_json_write(v, PDL_JSON_NAN, 0, &b, &err));
        FUZZ_MUST(parse(pdl_buf_str(&b), &again, &err));
        FUZZ_MUST(fuzz_same_json(v, again));
        pdl_drop(again);
        pdl_drop(v);
    } else {
        FUZZ_MUST(err.kind == PDL_E_limit || (err.msg && err.msg[0]));
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_buf_fini(&text);
    return 0;
}
