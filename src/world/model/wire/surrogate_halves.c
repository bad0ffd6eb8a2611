/* surrogate_halves.c -- see surrogate_halves.h. The JSON text of an event is edited before it is
 * parsed, because half a pair of surrogates is not a character and would be lost in a value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/surrogate_halves.h"

#include "base/num.h"

#include "base/banned.h"

enum { ESCAPE = 6 }; /* length of \uXXXX */

/* Returns the code of the escape at i, 0 when there is none. */
static unsigned code_at(pdl_str s, size_t i) {
    unsigned v = 0;
    if (i + ESCAPE > s.n || s.p[i] != '\\' || s.p[i + 1] != 'u') return 0;
    for (size_t k = 2; k < ESCAPE; k++) {
        int digit = pdl_hex_digit(s.p[i + k]);
        if (digit < 0) return 0;
        v = v * 16 + (unsigned)digit;
    }
    return v;
}

static bool is_first(unsigned code) { return code >= 0xd800 && code <= 0xdbff; }
static bool is_second(unsigned code) { return code >= 0xdc00 && code <= 0xdfff; }

pdl_str pdl_halves_join(pdl_half *half, pdl_str text, pdl_buf *out) {
    size_t from = 0;
    if (pdl_str_find(text, PDL_STR("\\ud"), 0) == PDL_NOT_FOUND &&
        pdl_str_find(text, PDL_STR("\\uD"), 0) == PDL_NOT_FOUND)
        return text;
    pdl_half first = *half;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '\\') continue;
        unsigned code = code_at(text, i);
        bool opens = i && text.p[i - 1] == '"',
             closes = i + ESCAPE < text.n && text.p[i + ESCAPE] == '"';
        pdl_buf_put(out, pdl_str_sub(text, from, i));
        from = i;
        if (is_second(code) && opens && first) {
            pdl_buf_putf(out, "\\u%04x", first);
            first = *half = 0;
        } else if (is_first(code) && closes) {
            *half = code;
            from = i + ESCAPE;
        }
        bool pair = is_first(code) && is_second(code_at(text, i + ESCAPE));
        i += pair ? 2 * ESCAPE - 1u : code ? ESCAPE - 1u : 1u;
    }
    pdl_buf_put(out, pdl_str_sub(text, from, text.n));
    return pdl_buf_str(out);
}
