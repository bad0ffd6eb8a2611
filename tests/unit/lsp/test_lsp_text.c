/* test_lsp_text.c -- positions in long lines, counted in UTF-16 units and in bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/serve/doc_text.h"

#include "t.h"

/* Lines of letters of one to four bytes, one of them longer than many strides. */
static void fill(pdl_buf *b) {
    static const char *const letters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (unsigned i = 0; i < 5 * PDL_LSP_STRIDE; i++) {
        pdl_buf_put(b, pdl_str_of(letters[(i * 7 + i / 3) % 4]));
        if (i == 10 || i == 11 || i == PDL_LSP_STRIDE) pdl_buf_putc(b, '\n');
    }
}

static void check(bool utf8) {
    pdl_buf b = PDL_BUF;
    lsp_text t = {.utf8 = utf8};
    fill(&b);
    pdl_lsp_text_set(&t, pdl_buf_str(&b));
    lsp_pos want = {0, 0};
    for (size_t i = 0; i <= b.len; i++) {
        unsigned char c = i < b.len ? (unsigned char)b.p[i] : 0;
        if ((c & 0xc0) == 0x80) continue; /* inside of a character */
        lsp_pos got = pdl_lsp_text_pos(&t, i);
        assert_int_equal(got.line, want.line);
        assert_int_equal(got.ch, want.ch);
        if (c == '\n')
            want = (lsp_pos){want.line + 1, 0};
        else
            want.ch += utf8 ? (c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4) : 1u + (c >= 0xf0);
    }
    pdl_lsp_text_fini(&t);
    pdl_buf_fini(&b);
}

static void counts_units(void **state) {
    (void)state;
    check(false);
}

static void counts_bytes(void **state) {
    (void)state;
    check(true);
}

static void an_empty_text_has_one_place(void **state) {
    (void)state;
    lsp_text t = {0};
    pdl_lsp_text_set(&t, (pdl_str){0});
    assert_int_equal(pdl_lsp_text_pos(&t, 9).ch, 0);
    pdl_lsp_text_fini(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_units),
                                       cmocka_unit_test(counts_bytes),
                                       cmocka_unit_test(an_empty_text_has_one_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
