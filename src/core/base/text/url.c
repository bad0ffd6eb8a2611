/* url.c -- percent-encodes text for URLs; see url.h. The caller names the characters that stay,
 * because they differ from one part of a URL to another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/url.h"

#include <string.h>

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

void pdl_url_put_file(pdl_str path, pdl_buf *out) {
    PDL_PUT(out, "file://");
    pdl_url_quote(path, "/", out);
}
