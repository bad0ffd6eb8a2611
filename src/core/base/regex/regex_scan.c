/* regex_scan.c -- The scanner is one token ahead, like Python's scanner. This decides which of two
 * errors in a pattern is reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex/regex_scan.h"

#include "base/buf.h"
#include "base/num.h"
#include "base/utf8.h"

#include "base/banned.h"

bool pdl_rx_fail(pdl_rx_scan *s, size_t pos, const char *fmt, ...) {
    pdl_buf msg = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&msg, fmt, ap);
    va_end(ap);
    pdl_buf_putf(&msg, " at position %zu", pos);
    if (pdl_str_find(s->src, PDL_STR("\n"), 0) != PDL_NOT_FOUND) {
        pdl_str before = pdl_str_sub(s->src, 0, pdl_utf8_offset(s->src, pos));
        size_t line = 1, line_start = 0;
        for (size_t i = 0; i < before.n; i++)
            if (before.p[i] == '\n') line++, line_start = i + 1;
        pdl_buf_putf(&msg, " (line %zu, column %zu)", line,
                     pdl_utf8_count(pdl_str_sub(before, line_start, before.n)) + 1);
    }
    pdl_err_set(s->err, PDL_E_parser, (pdl_loc){0}, "%s", pdl_buf_z(&msg));
    s->err->py_class = pdl_str_dup(PDL_STR("error"));
    pdl_buf_fini(&msg);
    return false;
}

static void put_repr(pdl_buf *out, pdl_str s) {
    bool single = pdl_str_find(s, PDL_STR("'"), 0) != PDL_NOT_FOUND;
    bool twice = pdl_str_find(s, PDL_STR("\""), 0) != PDL_NOT_FOUND;
    char quote = single && !twice ? '"' : '\'';
    pdl_buf_putc(out, quote);
    const char *p = s.p, *end = s.p + s.n;
    while (p < end) {
        uint32_t cp = pdl_utf8_next(&p);
        if (cp == (uint32_t)quote || cp == '\\')
            pdl_buf_putf(out, "\\%c", (char)cp);
        else if (cp == '\n')
            PDL_PUT(out, "\\n");
        else if (cp == '\r')
            PDL_PUT(out, "\\r");
        else if (cp == '\t')
            PDL_PUT(out, "\\t");
        else if (pdl_cp_is_printable(cp))
            pdl_buf_put_cp(out, cp);
        else if (cp < 0x100)
            pdl_buf_putf(out, "\\x%02x", cp);
        else if (cp < 0x10000)
            pdl_buf_putf(out, "\\u%04x", cp);
        else
            pdl_buf_putf(out, "\\U%08x", cp);
    }
    pdl_buf_putc(out, quote);
}

bool pdl_rx_fail_name(pdl_rx_scan *s, size_t pos, const char *before, pdl_str name) {
    pdl_buf shown = PDL_BUF;
    put_repr(&shown, name);
    pdl_rx_fail(s, pos, "%s %s", before, pdl_buf_z(&shown));
    pdl_buf_fini(&shown);
    return false;
}

/* Reads the token at byte `at`, which is code point pos, into s->next. */
static bool look(pdl_rx_scan *s, size_t at, size_t pos) {
    pdl_rx_token t = {.cp = -1, .at = at, .pos = pos};
    if (at < s->src.n) {
        const char *p = s->src.p + at, *end = s->src.p + s->src.n;
        t.cp = (int32_t)pdl_utf8_next(&p);
        if (t.cp == '\\') {
            if (p == end) return pdl_rx_fail(s, pos, "bad escape (end of pattern)");
            t.second = pdl_utf8_next(&p);
        }
    }
    s->next = t;
    return true;
}

bool pdl_rx_start(pdl_rx_scan *s, pdl_str src, pdl_err *err) {
    s->src = src;
    s->err = err;
    return look(s, 0, 0);
}

bool pdl_rx_get(pdl_rx_scan *s, pdl_rx_token *out) {
    pdl_rx_token t = s->next;
    *out = t;
    if (t.cp < 0) return true;
    size_t at = t.at + pdl_utf8_len((unsigned char)s->src.p[t.at]);
    if (t.cp == '\\') at += pdl_utf8_len((unsigned char)s->src.p[at]);
    return look(s, at, t.pos + (t.cp == '\\' ? 2 : 1));
}

bool pdl_rx_accept(pdl_rx_scan *s, int32_t c, bool *hit) {
    pdl_rx_token skipped;
    *hit = s->next.cp == c;
    return !*hit || pdl_rx_get(s, &skipped);
}

void pdl_rx_seek(pdl_rx_scan *s, pdl_rx_token to) { s->next = to; }

pdl_str pdl_rx_since(const pdl_rx_scan *s, pdl_rx_token from) {
    return pdl_str_sub(s->src, from.at, s->next.at);
}

bool pdl_rx_until(pdl_rx_scan *s, char end, const char *what, pdl_str *out) {
    pdl_rx_token first = s->next, t;
    for (;;) {
        size_t at = s->next.at, pos = s->next.pos;
        if (!pdl_rx_get(s, &t)) return false;
        if (t.cp >= 0 && t.cp != end) continue;
        if (at == first.at) return pdl_rx_fail(s, pos, "missing %s", what);
        if (t.cp < 0) return pdl_rx_fail(s, first.pos, "missing %c, unterminated name", end);
        *out = pdl_str_sub(s->src, first.at, at);
        return true;
    }
}

/* Reads at most max digits of a base (8 or 16) into *value. *n gets their number. */
static bool read_based(pdl_rx_scan *s, int base, size_t max, uint32_t *value, size_t *n) {
    pdl_rx_token t;
    for (*n = 0; *n < max; ++*n) {
        int digit = pdl_hex_digit(s->next.cp);
        if (digit < 0 || digit >= base) return true;
        *value = *value * (uint32_t)base + (uint32_t)digit;
        if (!pdl_rx_get(s, &t)) return false;
    }
    return true;
}

static bool bad_escape(pdl_rx_scan *s, pdl_rx_token esc) {
    return pdl_rx_fail(s, esc.pos, "bad escape %.*s", PDL_FMT(pdl_rx_since(s, esc)));
}

/* Reads the hexadecimal escapes \x.. \u.... \U........ */
static bool read_hex(pdl_rx_scan *s, pdl_rx_token esc, pdl_rx_escape *out) {
    size_t want = esc.second == 'x' ? 2 : esc.second == 'u' ? 4 : 8, n;
    uint32_t value = 0;
    if (!read_based(s, 16, want, &value, &n)) return false;
    if (n < want)
        return pdl_rx_fail(s, esc.pos, "incomplete escape %.*s", PDL_FMT(pdl_rx_since(s, esc)));
    if (value > 0x10ffff) return bad_escape(s, esc);
    *out = (pdl_rx_escape){PDL_RX_CHAR, value};
    return true;
}

/* Refuses \N{NAME}. There is no table of character names, so every name is unknown. */
static bool read_name(pdl_rx_scan *s, pdl_rx_token esc) {
    bool open;
    pdl_str name;
    if (!pdl_rx_accept(s, '{', &open)) return false;
    if (!open) return pdl_rx_fail(s, s->next.pos, "missing {");
    if (!pdl_rx_until(s, '}', "character name", &name)) return false;
    return pdl_rx_fail_name(s, esc.pos, "undefined character name", name);
}

/* Reads an octal escape whose first digit is in esc. */
static bool read_octal(pdl_rx_scan *s, pdl_rx_token esc, pdl_rx_escape *out) {
    uint32_t value = esc.second - '0';
    size_t n;
    if (!read_based(s, 8, 2, &value, &n)) return false;
    if (value > 0377)
        return pdl_rx_fail(s, esc.pos, "octal escape value %.*s outside of range 0-0o377",
                           PDL_FMT(pdl_rx_since(s, esc)));
    *out = (pdl_rx_escape){PDL_RX_CHAR, value};
    return true;
}

/* Reads a number outside of a set. Three octal digits are a character; one or two digits are the
 * number of a group. */
static bool read_number(pdl_rx_scan *s, pdl_rx_token esc, pdl_rx_escape *out) {
    uint32_t value = esc.second - '0';
    pdl_rx_token second = s->next, t;
    if (pdl_rx_is_digit(second.cp)) {
        if (!pdl_rx_get(s, &t)) return false;
        bool octal = value < 8 && second.cp < '8' && s->next.cp >= '0' && s->next.cp < '8';
        if (octal) {
            pdl_rx_seek(s, second);
            return read_octal(s, esc, out);
        }
        value = value * 10 + (uint32_t)(second.cp - '0');
    }
    *out = (pdl_rx_escape){PDL_RX_BACKREF, value};
    return true;
}

static bool read_letter(pdl_rx_scan *s, pdl_rx_token esc, bool in_set, pdl_rx_escape *out) {
    static const char controls[] = "a\af\fn\nr\rt\tv\v";
    char c = (char)esc.second;
    if (strchr("dDsSwW", c))
        *out = (pdl_rx_escape){PDL_RX_CLASS, esc.second};
    else if (c == 'b' && in_set)
        *out = (pdl_rx_escape){PDL_RX_CHAR, '\b'};
    else if (strchr("AbBZ", c) && !in_set)
        *out = (pdl_rx_escape){PDL_RX_PLACE, esc.second};
    else if (strchr("xuU", c))
        return read_hex(s, esc, out);
    else if (c == 'N')
        return read_name(s, esc);
    else {
        for (const char *p = controls; *p; p += 2)
            if (*p == c) {
                *out = (pdl_rx_escape){PDL_RX_CHAR, (uint32_t)p[1]};
                return true;
            }
        return bad_escape(s, esc);
    }
    return true;
}

bool pdl_rx_read_escape(pdl_rx_scan *s, pdl_rx_token esc, bool in_set, pdl_rx_escape *out) {
    if (pdl_rx_is_letter((int32_t)esc.second)) return read_letter(s, esc, in_set, out);
    if (pdl_rx_is_digit((int32_t)esc.second)) {
        if (esc.second == '0' || (in_set && esc.second < '8')) return read_octal(s, esc, out);
        return in_set ? bad_escape(s, esc) : read_number(s, esc, out);
    }
    *out = (pdl_rx_escape){PDL_RX_CHAR, esc.second};
    return true;
}
