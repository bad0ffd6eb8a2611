/* entities.c -- html.unescape: turns character references of HTML into text. The names are in
 * entities.def. A name without its semicolon counts only where HTML allows that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"

#include "base/banned.h"

typedef struct {
    const char *name, *text;
    bool bare; /* valid without the semicolon, too */
} entity;

static const entity entities[] = {
#define E(name, text, bare) {#name, text, bare},
#include "native/template/entities.def"
};

enum { LONGEST = 32 }; /* length of the longest name that is tried */

static const entity *find(pdl_str name) {
    size_t lo = 0, hi = PDL_N_COUNT(entities);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = pdl_str_cmp(name, pdl_str_of(entities[mid].name));
        if (c == 0) return &entities[mid];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

/* Returns the Windows-1252 character for a character from 0x80 to 0x9f, and U+FFFD for NUL. Returns
 * 0 for all other characters. */
static uint32_t as_windows(uint32_t cp) {
    static const uint16_t map[] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                   0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                   0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};
    if (cp == 0) return 0xfffd;
    return cp >= 0x80 && cp < 0xa0 ? map[cp - 0x80] : 0;
}

static bool is_invalid(uint32_t cp) {
    return (cp >= 1 && cp <= 8) || (cp >= 0xe && cp <= 0x1f) || (cp >= 0x7f && cp <= 0x9f) ||
           (cp >= 0xfdd0 && cp <= 0xfdef) || cp == 0xb || (cp & 0xfffe) == 0xfffe;
}

static void put_code_point(uint32_t cp, pdl_buf *out) {
    uint32_t other = as_windows(cp);
    if (other)
        pdl_buf_put_cp(out, other);
    else if (cp == 0xd)
        pdl_buf_putc(out, '\r');
    else if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        pdl_buf_put_cp(out, 0xfffd);
    else if (!is_invalid(cp))
        pdl_buf_put_cp(out, cp);
}

static int digit(char c, bool hex) {
    if (c >= '0' && c <= '9') return c - '0';
    if (!hex) return -1;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads "#65;" at s[i], after the &. Returns its length; 0 when it is not a reference. */
static size_t put_numeric(pdl_str s, size_t i, pdl_buf *out) {
    size_t at = i + 1;
    bool hex = at < s.n && (s.p[at] == 'x' || s.p[at] == 'X');
    if (hex) at++;
    uint32_t cp = 0;
    size_t from = at;
    for (int d; at < s.n && (d = digit(s.p[at], hex)) >= 0; at++)
        if (cp <= 0x10ffff) cp = cp * (hex ? 16 : 10) + (uint32_t)d;
    if (at == from) return 0;
    put_code_point(cp, out);
    if (at < s.n && s.p[at] == ';') at++;
    return at - i;
}

/* Reads "amp;" at s[i]. Takes the whole name when a semicolon follows it, or else its longest
 * prefix that is valid without a semicolon. Returns the length, or 0. */
static size_t put_named(pdl_str s, size_t i, pdl_buf *out) {
    size_t end = i;
    while (end < s.n && end - i < LONGEST && !strchr("\t\n\f <&#;", s.p[end])) end++;
    pdl_str name = pdl_str_sub(s, i, end);
    const entity *e;
    if (end < s.n && s.p[end] == ';' && (e = find(name)) != NULL) {
        pdl_buf_put(out, pdl_str_of(e->text));
        return name.n + 1;
    }
    for (size_t n = name.n; n > 1; n--) {
        e = find(pdl_str_sub(name, 0, n));
        if (!e || !e->bare) continue;
        pdl_buf_put(out, pdl_str_of(e->text));
        return n;
    }
    return 0;
}

void pdl_unescape_put(pdl_str s, pdl_buf *out) {
    size_t from = 0;
    pdl_steps steps = {0};
    for (size_t i = 0; i < s.n && pdl_steps_may_continue(&steps); i++) {
        if (s.p[i] != '&' || i + 1 == s.n) continue;
        pdl_buf_put(out, pdl_str_sub(s, from, i));
        size_t n = s.p[i + 1] == '#' ? put_numeric(s, i + 1, out) : put_named(s, i + 1, out);
        from = n ? i + 1 + n : i;
        if (n) i = from - 1;
    }
    pdl_buf_put(out, pdl_str_sub(s, from, s.n));
}
