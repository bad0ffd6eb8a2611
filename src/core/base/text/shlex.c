/* shlex.c -- The text is read in one pass. A word is built in a buffer, because its quotes and
 * escapes are removed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/shlex.h"

#include "base/buf.h"

#include "base/banned.h"

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* Reads one word from *pos, its first character. Returns false on an error. */
static bool read_word(pdl_str s, size_t *pos, pdl_buf *out, pdl_err *err) {
    size_t i = *pos;
    char quote = 0;
    for (; i < s.n && (quote || !is_blank(s.p[i])); i++) {
        char c = s.p[i];
        if (c == quote) {
            quote = 0;
        } else if (!quote && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == '\\' && quote != '\'') {
            if (++i == s.n) return pdl_err_host(err, "ValueError", "No escaped character");
            if (quote && s.p[i] != '\\' && s.p[i] != quote) pdl_buf_putc(out, '\\');
            pdl_buf_putc(out, s.p[i]);
        } else {
            pdl_buf_putc(out, c);
        }
    }
    if (quote) return pdl_err_host(err, "ValueError", "No closing quotation");
    *pos = i;
    return true;
}

bool pdl_shlex_split(pdl_str text, bool (*word)(void *user, pdl_str w), void *user, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool ok = true, more = true;
    for (size_t i = 0; ok && more;) {
        while (i < text.n && is_blank(text.p[i])) i++;
        if (i == text.n) break;
        pdl_buf_clear(&b);
        ok = read_word(text, &i, &b, err);
        if (ok) more = word(user, pdl_buf_str(&b));
    }
    pdl_buf_fini(&b);
    return ok;
}
