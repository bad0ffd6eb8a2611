/* fuzz_csv.c -- property: the result is a list or the error has a text; jsonl too. */
#include "fuzz.h"

#include "parse/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size);
    pdl_val s = pdl_text(pdl_buf_str(&text)), v;
    pdl_arena *a = pdl_arena_make();
    static const pdl_parser_kind kinds[] = {PDL_PARSE_CSV, PDL_PARSE_JSONL, PDL_PARSE_JSON, PDL_PARSE_YAML};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pdl_err err = {0};
        if (pdl_parse(pdl_parser_word(a, kinds[i]), s, &v, &err)) {
            FUZZ_MUST(i > 1 || pdl_is_list(v));
            pdl_drop(v);
        } else {
            FUZZ_MUST(err.msg && err.msg[0]);
        }
        pdl_err_fini(&err);
    }
    pdl_arena_free(a);
    pdl_drop(s);
    pdl_buf_fini(&text);
    return 0;
}
