/* termsafe.c -- writes untrusted text to a terminal; see termsafe.h.
 *
 * Only this file decides which characters are replaced and by what. All other code passes its text
 * through here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/termsafe.h"

#include <unistd.h>

#include "base/banned.h"

/* Returns true for U+202A to U+202E and U+2066 to U+2069, which show the text after them in another
 * order. */
static bool turns_direction(pdl_str s) {
    unsigned char last = s.n > 2 ? (unsigned char)s.p[2] : 0;
    return (pdl_str_starts(s, PDL_STR("\xe2\x80")) && last >= 0xaa && last <= 0xae) ||
           (pdl_str_starts(s, PDL_STR("\xe2\x81")) && last >= 0xa6 && last <= 0xa9);
}

/* Returns the length in bytes of the control character at the start of s; 0 when s does not begin
 * with one. */
static size_t control_at(pdl_str s) {
    unsigned char c = (unsigned char)s.p[0];
    if (c == 0xe2 && turns_direction(s)) return 3;
    if (c == '\n' || c == '\t' || (c == '\r' && s.n > 1 && s.p[1] == '\n')) return 0;
    if (c < 0x20 || c == 0x7f) return 1;
    return c == 0xc2 && s.n > 1 && ((unsigned char)s.p[1] & 0xe0) == 0x80
               ? 2
               : 0; /* U+0080 to U+009F */
}

void pdl_buf_put_shown(pdl_buf *out, pdl_str s) {
    size_t from = 0;
    for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
        n = control_at(pdl_str_sub(s, i, s.n));
        if (!n) continue;
        unsigned char c = (unsigned char)s.p[i];
        char picture[] = {'\xe2', '\x90', (char)(c == 0x7f ? 0xa1 : 0x80 + c),
                          0}; /* U+2400 and the characters after it */
        pdl_buf_put(out, pdl_str_sub(s, from, i));
        pdl_buf_put(out, n > 1 ? PDL_STR("\xef\xbf\xbd") : pdl_str_of(picture));
        from = i + n;
    }
    pdl_buf_put(out, pdl_str_sub(s, from, s.n));
}

bool pdl_file_is_terminal(FILE *f) {
    int fd = fileno(f);
    return fd >= 0 && isatty(fd) == 1;
}

bool pdl_write_termsafe(FILE *f, pdl_str s) {
    if (!s.n) return true;
    if (!pdl_file_is_terminal(f)) return fwrite(s.p, 1, s.n, f) == s.n;
    pdl_buf b = PDL_BUF;
    pdl_buf_put_shown(&b, s);
    bool ok = fwrite(b.p, 1, b.len, f) == b.len;
    pdl_buf_fini(&b);
    return ok;
}
