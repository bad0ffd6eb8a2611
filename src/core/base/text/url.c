/* url.c -- percent-encodes text for URLs; see url.h. The caller names the characters that stay,
 * because they differ from one part of a URL to another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/url.h"

#include <string.h>

#include "base/num.h"

#include "base/banned.h"

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void pdl_url_quote(pdl_str s, const char *keep, pdl_buf *out) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (is_plain(s.p[i]) || (c && strchr(keep, c)))
            pdl_buf_putc(out, s.p[i]);
        else
            pdl_buf_putf(out, "%%%02X", (unsigned)c);
    }
}

void pdl_url_unquote(pdl_str s, pdl_buf *out) {
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? pdl_hex_digit(s.p[i + 1]) : -1;
        int low = high >= 0 ? pdl_hex_digit(s.p[i + 2]) : -1;
        pdl_buf_putc(out, low < 0 ? s.p[i] : (char)(high * 16 + low));
        if (low >= 0) i += 2;
    }
}

void pdl_url_put_file(pdl_str path, pdl_buf *out) {
    PDL_PUT(out, "file://");
    pdl_url_quote(path, "/", out);
}
