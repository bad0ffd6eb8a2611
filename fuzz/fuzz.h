/* fuzz.h -- declarations that the fuzz targets share. A target is a function LLVMFuzzerTestOneInput
 * for one reader, and checks properties of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FUZZ_H
#define PDL_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "value/json_write.h"
#include "value/text.h"
#include "value/val.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_MUST(cond)                                                                            \
    do {                                                                                           \
        if (!(cond)) PDL_BUG("property does not hold: %s (%s:%d)", #cond, __FILE__, __LINE__);     \
    } while (0)

/* Returns the input with U+FFFD in place of bytes that are not UTF-8, because readers only get
 * checked text. Owned. */
static inline pdl_buf fuzz_text(const uint8_t *data, size_t size) {
    pdl_buf b = PDL_BUF;
    pdl_utf8_repair(&b, (pdl_str){(const char *)data, size});
    return b;
}

static inline bool fuzz_is_text(pdl_str s) { return pdl_utf8_check(s) == PDL_NOT_FOUND; }

/* Returns true when both values are written as the same JSON. So NaN equals NaN here. */
static inline bool fuzz_same_json(pdl_vref a, pdl_vref b) {
    pdl_buf x = PDL_BUF, y = PDL_BUF;
    pdl_err err = {0};
    bool ok = pdl_json_write(a, PDL_JSON_NAN, 0, &x, &err) &&
              pdl_json_write(b, PDL_JSON_NAN, 0, &y, &err) &&
              pdl_str_eq(pdl_buf_str(&x), pdl_buf_str(&y));
    pdl_err_fini(&err);
    pdl_buf_fini(&x);
    pdl_buf_fini(&y);
    return ok;
}

/* Cuts the text at its first line "---". Without such a line, b is empty. */
static inline void fuzz_split(pdl_str s, pdl_str *a, pdl_str *b) {
    size_t at = pdl_str_find(s, PDL_STR("\n---\n"), 0);
    *a = pdl_str_sub(s, 0, at == PDL_NOT_FOUND ? s.n : at);
    *b = at == PDL_NOT_FOUND ? (pdl_str){"", 0} : pdl_str_sub(s, at + 5, s.n);
}

#endif
