/* fuzz_regex.c -- a pattern, the line "---", and a text. Property: for a pattern without groups,
 * split makes one more piece than findall finds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "parse/parse.h"

static bool apply(pdl_arena *a, pdl_str pattern, pdl_parser_mode mode, pdl_vref s, pdl_val *out) {
    pdl_err err = {0};
    bool ok = pdl_parse(pdl_parser_regex(a, pattern, mode, NULL, 0, false), s, out, &err);
    FUZZ_MUST(ok || (err.msg && err.msg[0]));
    pdl_err_fini(&err);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 4096) return 0;
    pdl_buf text = fuzz_text(data, size);
    pdl_str pattern, subject;
    fuzz_split(pdl_buf_str(&text), &pattern, &subject);
    pdl_arena *a = pdl_arena_make();
    pdl_val s = pdl_text(subject), all, parts, one;
    pdl_regex *re;
    pdl_err err = {0};
    bool valid = pdl_regex_new(pattern, PDL_RE_MULTILINE, &re, &err);
    size_t groups = valid ? pdl_regex_groups(re) : 1;
    if (valid) pdl_regex_free(re);
    pdl_err_fini(&err);
    if (valid && apply(a, pattern, PDL_PM_SEARCH, s, &one)) pdl_drop(one);
    if (valid && apply(a, pattern, PDL_PM_FULLMATCH, s, &one)) pdl_drop(one);
    if (valid && apply(a, pattern, PDL_PM_FINDALL, s, &all)) {
        if (apply(a, pattern, PDL_PM_SPLIT, s, &parts)) {
            FUZZ_MUST(groups || pdl_list_len(parts) == pdl_list_len(all) + 1);
            pdl_drop(parts);
        }
        pdl_drop(all);
    }
    pdl_drop(s);
    pdl_arena_free(a);
    pdl_buf_fini(&text);
    return 0;
}
