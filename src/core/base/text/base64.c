/* base64.c -- encodes and decodes base64; see base64.h. The reader accepts both alphabets, line
 * ends and missing padding, because services send all of these forms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base64.h"

#include <string.h>

#include "base/banned.h"

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void pdl_base64_put(pdl_str bytes, bool url, pdl_buf *out) {
    const char *letters = url ? for_urls : plain;
    const unsigned char *p = (const unsigned char *)bytes.p;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t n = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t x =
            (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (n > 2 ? p[i + 2] : 0);
        for (size_t k = 0; k <= n; k++) pdl_buf_putc(out, letters[x >> (18 - 6 * k) & 63]);
        for (size_t k = n; k < 3 && !url; k++) pdl_buf_putc(out, '=');
    }
}

/* Returns the value of a digit, 0 to 63; -1 for another character. */
static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool pdl_base64_read(pdl_str text, pdl_buf *out) {
    uint32_t bits = 0;
    size_t i = 0, n = 0; /* n is the number of digits so far */
    for (; i < text.n && text.p[i] != '='; i++) {
        int d = digit(text.p[i]);
        if (is_blank(text.p[i])) continue;
        if (d < 0) return false;
        bits = bits << 6 | (uint32_t)d;
        if (++n % 4 == 1) continue;
        pdl_buf_putc(out, (char)(bits >> (n % 4 == 2 ? 4 : n % 4 == 3 ? 2 : 0) & 0xff));
    }
    for (; i < text.n; i++)
        if (text.p[i] != '=' && !is_blank(text.p[i])) return false;
    return n % 4 != 1;
}
