/* strings.c -- operations that filters and methods of text share: safety marks, stripping, lines,
 * padding, replacing and joining. A result can be much longer than the arguments, so these
 * functions check the limit of texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/text.h"

#include "base/banned.h"

bool pdl_too_long(pdl_err *err) {
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                       PDL_MAX_TEXT);
}

bool pdl_text_like(pdl_buf *b, pdl_vref like, pdl_val *out, pdl_err *err) {
    if (b->len > PDL_MAX_TEXT) {
        pdl_buf_fini(b);
        return pdl_too_long(err);
    }
    *out = pdl_with_flags(pdl_text_of_buf(b), pdl_is_safe(like) ? PDL_F_SAFE : 0);
    return true;
}

pdl_val pdl_piece_like(pdl_str s, pdl_vref like) {
    return pdl_with_label(pdl_with_flags(pdl_text_walk(s), pdl_is_safe(like) ? PDL_F_SAFE : 0),
                          pdl_label_of(like));
}

/* --- strip ------------------------------------------------------------------------------------ */

/* Returns the start of the code point that ends at `end`. */
static size_t back_one(pdl_str s, size_t end) {
    size_t i = end - 1;
    while (i > 0 && ((unsigned char)s.p[i] & 0xc0) == 0x80) i--;
    return i;
}

/* Returns true when the code point s[from, to) is stripped. It is a blank, or one of chars. */
static bool is_stripped(pdl_str s, size_t from, size_t to, pdl_str chars, bool blanks) {
    const char *p = s.p + from;
    if (blanks) return pdl_cp_is_space(pdl_utf8_next(&p));
    if (to - from == 1) return chars.n && memchr(chars.p, s.p[from], chars.n);
    return pdl_str_find(chars, pdl_str_sub(s, from, to), 0) != PDL_NOT_FOUND;
}

pdl_str pdl_strip_text(pdl_str s, pdl_str chars, bool blanks, bool left, bool right) {
    size_t from = 0, to = s.n;
    pdl_steps steps = {0};
    while (left && from < to && pdl_steps_may_continue(&steps)) {
        size_t n = pdl_utf8_len((unsigned char)s.p[from]);
        if (!is_stripped(s, from, from + n, chars, blanks)) break;
        from += n;
    }
    while (right && to > from && pdl_steps_may_continue(&steps)) {
        size_t start = back_one(s, to);
        if (!is_stripped(s, start, to, chars, blanks)) break;
        to = start;
    }
    return pdl_str_sub(s, from, to);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Returns the length of the line terminator at s[i], or 0 for any other character. */
static size_t terminator(pdl_str s, size_t i) {
    unsigned char c = (unsigned char)s.p[i];
    if (c == '\r') return i + 1 < s.n && s.p[i + 1] == '\n' ? 2 : 1;
    if ((c >= '\n' && c <= '\f') || (c >= 0x1c && c <= 0x1e)) return 1;
    if (c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] == 0x85) return 2;
    if (c == 0xe2 && i + 2 < s.n && (unsigned char)s.p[i + 1] == 0x80) {
        unsigned char last = (unsigned char)s.p[i + 2];
        return last == 0xa8 || last == 0xa9 ? 3 : 0;
    }
    return 0;
}

bool pdl_next_line(pdl_str s, size_t *pos, pdl_str *line, pdl_str *whole) {
    if (*pos >= s.n) return false;
    size_t from = *pos, i = from, n = 0;
    while (i < s.n && (n = terminator(s, i)) == 0)
        if (!pdl_walk_may_continue_at(++i)) return false;
    *line = pdl_str_sub(s, from, i);
    *whole = pdl_str_sub(s, from, i + n);
    *pos = i + n;
    return true;
}

/* --- building --------------------------------------------------------------------------------- */

bool pdl_pad_text(pdl_buf *out, pdl_str s, size_t left, size_t right, pdl_str fill, pdl_err *err) {
    size_t unit = fill.n ? fill.n : 1;
    if (left > PDL_MAX_TEXT / unit || right > PDL_MAX_TEXT / unit ||
        (left + right) * unit > PDL_MAX_TEXT - s.n)
        return pdl_too_long(err);
    return pdl_buf_fill(out, fill, left, err) && pdl_buf_add(out, s, err) &&
           pdl_buf_fill(out, fill, right, err);
}

/* Puts `with` between all code points and at both ends, but at most count times. */
static bool replace_nothing(pdl_str s, pdl_str with, size_t count, pdl_buf *out, pdl_err *err) {
    size_t i = 0;
    for (;; count--) {
        if (!pdl_check_cancel_at(count, err)) return false;
        if (count == 0) return pdl_buf_add(out, pdl_str_sub(s, i, s.n), err);
        if (!pdl_buf_add(out, with, err)) return false;
        if (i == s.n) return true;
        size_t n = pdl_utf8_len((unsigned char)s.p[i]);
        if (!pdl_buf_add(out, pdl_str_sub(s, i, i + n), err)) return false;
        i += n;
    }
}

bool pdl_replace_text(pdl_str s, pdl_str old, pdl_str with, int64_t count, pdl_buf *out,
                      pdl_err *err) {
    size_t left = count < 0 ? SIZE_MAX : (size_t)count, from = 0;
    if (old.n == 0) return replace_nothing(s, with, left, out, err);
    for (; left; left--) {
        if (!pdl_check_cancel_at(left, err)) return false;
        size_t at = pdl_str_find_walk(s, old, from);
        if (at == PDL_NOT_FOUND) break;
        if (!pdl_buf_add(out, pdl_str_sub(s, from, at), err) || !pdl_buf_add(out, with, err))
            return false;
        from = at + old.n;
    }
    return pdl_buf_add(out, pdl_str_sub(s, from, s.n), err);
}

static bool add_joined(pdl_vref x, size_t i, bool safe, pdl_buf *out, pdl_err *err) {
    if (pdl_is_str(x) && (!safe || pdl_is_safe(x))) return pdl_buf_add(out, pdl_str_get(x), err);
    if (!safe)
        return pdl_err_host(err, "TypeError", "sequence item %zu: expected str instance, %s found",
                            i, pdl_type_name(x));
    pdl_val escaped;
    if (!pdl_escape_html(x, &escaped, err)) return false;
    bool ok = pdl_buf_add(out, pdl_str_get(escaped), err);
    pdl_drop(escaped);
    return ok;
}

bool pdl_join_text(pdl_vref sep, pdl_vref items, bool safe, pdl_val *out, pdl_err *err) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    size_t n = pdl_list_len(items);
    for (size_t i = 0; i < n; i++) {
        if (pdl_check_cancel_at(i, err) && (i == 0 || pdl_buf_add(&b, pdl_str_get(sep), err)) &&
            add_joined(pdl_list_at(items, i), i, safe, &b, err))
            continue;
        pdl_buf_fini(&b);
        return false;
    }
    *out = pdl_with_flags(pdl_text_of_buf(&b), safe ? PDL_F_SAFE : 0);
    *out = pdl_with_label(*out, pdl_label_of(sep) | pdl_label_of(items));
    return true;
}
