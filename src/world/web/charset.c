/* charset.c -- finds the encoding of the body of an answer, and decodes it. The encoding may be in
 * a header, in a byte order mark or in the page itself; see charset.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "web/charset.h"

#include <string.h>

#include "base/utf8.h"
#include "base/word_list.h"

#include "base/banned.h"

/* Number of bytes at the beginning of a page in which its encoding is searched, as in browsers. */
enum { LOOKED_AT = 1024 };

typedef enum { CS_UTF8, CS_1252, CS_16LE, CS_16BE } charset;

static const struct {
    const char *name;
    charset cs;
} names[] = {
    {"utf-8", CS_UTF8},     {"utf8", CS_UTF8},       {"unicode-1-1-utf-8", CS_UTF8},
    {"us-ascii", CS_1252},  {"ascii", CS_1252},      {"iso-8859-1", CS_1252},
    {"iso8859-1", CS_1252}, {"iso_8859-1", CS_1252}, {"latin1", CS_1252},
    {"latin-1", CS_1252},   {"l1", CS_1252},         {"windows-1252", CS_1252},
    {"cp1252", CS_1252},    {"x-cp1252", CS_1252},   {"utf-16", CS_16LE},
    {"utf-16le", CS_16LE},  {"utf-16be", CS_16BE},   {"unicode", CS_16LE},
};

static const char *const canonical[] = {"utf-8", "windows-1252", "utf-16le", "utf-16be"};

static bool find_charset(pdl_str name, charset *out) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (pdl_str_eq_nocase(name, pdl_str_of(names[i].name))) {
            *out = names[i].cs;
            return true;
        }
    return false;
}

bool pdl_web_is_text(pdl_str type, pdl_str body) {
    static const char *const whole[] = {
        "application/json",       "application/xml",
        "application/javascript", "application/x-www-form-urlencoded",
        "application/ecmascript", "application/yaml",
        "application/x-yaml",     "application/toml",
        "application/x-ndjson",   "application/sql",
        "application/graphql",    "image/svg+xml",
    };
    if (pdl_str_starts(type, PDL_STR("text/")) || pdl_str_ends(type, PDL_STR("+json")) ||
        pdl_str_ends(type, PDL_STR("+xml")))
        return true;
    if (PDL_STR_IN(type, whole)) return true;
    bool has_nul = body.n && memchr(body.p, 0, body.n);
    return !type.n && !has_nul && pdl_utf8_check(body) == PDL_NOT_FOUND;
}

/* Finds `charset=NAME` or `charset="NAME"` in the first LOOKED_AT bytes of a page. */
static pdl_str named_in_page(pdl_str body) {
    pdl_str s = pdl_str_sub(body, 0, body.n < LOOKED_AT ? body.n : LOOKED_AT);
    for (size_t i = 0; i + 8 < s.n; i++) {
        if (!pdl_str_eq_nocase(pdl_str_sub(s, i, i + 8), PDL_STR("charset="))) continue;
        size_t from = i + 8;
        while (from < s.n && pdl_byte_in(s.p[from], PDL_STR("\"' "))) from++;
        size_t to = from;
        while (to < s.n && !pdl_byte_in(s.p[to], PDL_STR("\"' />;"))) to++;
        return pdl_str_sub(s, from, to);
    }
    return (pdl_str){0};
}

static bool is_marked_up(pdl_str type) {
    return pdl_str_is(type, "text/html") || pdl_str_is(type, "application/xhtml+xml");
}

static void put_1252(pdl_str bytes, pdl_buf *out) {
    static const uint16_t map[] = {0x20ac, 0xfffd, 0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                   0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0xfffd, 0x17d,  0xfffd,
                                   0xfffd, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                   0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0xfffd, 0x17e,  0x178};
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];
        if (c < 0x80)
            pdl_buf_putc(out, (char)c);
        else
            pdl_buf_put_cp(out, c < 0xa0 ? map[c - 0x80] : c);
    }
}

static uint32_t unit_at(pdl_str s, size_t i, bool big) {
    unsigned char a = (unsigned char)s.p[i], b = (unsigned char)s.p[i + 1];
    return big ? (uint32_t)a << 8 | b : (uint32_t)b << 8 | a;
}

static void put_utf16(pdl_str s, bool big, pdl_buf *out) {
    size_t i = 0;
    for (; i + 1 < s.n; i += 2) {
        uint32_t c = unit_at(s, i, big);
        bool pair = c >= 0xd800 && c < 0xdc00 && i + 3 < s.n;
        uint32_t low = pair ? unit_at(s, i + 2, big) : 0;
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            i += 2;
        } else if (c >= 0xd800 && c < 0xe000) {
            c = 0xfffd;
        }
        pdl_buf_put_cp(out, c);
    }
    if (i < s.n) pdl_buf_put_cp(out, 0xfffd);
}

/* Returns the number of bytes of a byte order mark, and the encoding that it means; 0 when there is
 * no mark. */
static size_t mark_of(pdl_str s, charset *out) {
    static const struct {
        const char *bytes;
        size_t n;
        charset cs;
    } marks[] = {{"\xef\xbb\xbf", 3, CS_UTF8}, {"\xff\xfe", 2, CS_16LE}, {"\xfe\xff", 2, CS_16BE}};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (s.n < marks[i].n || memcmp(s.p, marks[i].bytes, marks[i].n) != 0) continue;
        *out = marks[i].cs;
        return marks[i].n;
    }
    return 0;
}

const char *pdl_web_decode(pdl_str type, pdl_str named, pdl_str body, pdl_buf *out) {
    charset cs = CS_UTF8;
    size_t mark = mark_of(body, &cs);
    pdl_str bytes = pdl_str_sub(body, mark, body.n);
    if (!mark) {
        bool is_utf8 = pdl_utf8_check(body) == PDL_NOT_FOUND;
        pdl_str name = named.n ? named : is_marked_up(type) ? named_in_page(body) : named;
        /* A page whose tags can be read as ASCII letters is not in UTF-16, even when it says so. */
        bool inside = !named.n && name.n;
        if (name.n && !find_charset(name, &cs)) return NULL;
        if (!name.n || (inside && (cs == CS_16LE || cs == CS_16BE)))
            cs = is_utf8 ? CS_UTF8 : CS_1252;
    }
    switch (cs) {
    case CS_UTF8: pdl_utf8_repair(out, bytes); break;
    case CS_1252: put_1252(bytes, out); break;
    case CS_16LE:
    case CS_16BE: put_utf16(bytes, cs == CS_16BE, out); break;
    }
    return canonical[cs];
}
