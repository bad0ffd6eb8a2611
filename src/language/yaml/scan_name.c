/* scan_name.c -- scans anchors, aliases, tags and directives; see scan.h.
 *
 * These tokens are rare in programs, so they are apart from the scanner's main loop. Their errors
 * have the words and the places of PyYAML's errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "yaml/scan.h"

#include "base/banned.h"

static const char *word_end(const char *p) {
    while (pdl_yis(*p, PDL_YC_WORD)) p++;
    return p;
}

/* Returns true when the character at p may follow an anchor. */
static bool ends_anchor(const char *p) { return pdl_yblank_or_end(p) || strchr("?:,]}%@`", *p); }

bool pdl_yscan_anchor(pdl_yscan *s) {
    const char *start = s->pos, *end = word_end(start + 1);
    s->context = pdl_yoff(s, start);
    if (end == start + 1 || !ends_anchor(end))
        return pdl_yfail_char(s, end, "expected alphabetic or numeric character, but found ");
    s->pos = end;
    pdl_ytoken *t = pdl_ypush(s, *start == '*' ? PDL_YT_ALIAS : PDL_YT_ANCHOR, start, end);
    t->p = start + 1;
    t->n = (uint32_t)(end - start - 1);
    return true;
}

/* Fails with Python's message for bytes that are not UTF-8. */
static bool fail_utf8(pdl_yscan *s, const char *at, pdl_str bytes) {
    size_t bad = pdl_utf8_check(bytes);
    unsigned char c = (unsigned char)bytes.p[bad];
    size_t want = c < 0xc2 || c > 0xf4 ? 0 : pdl_utf8_len(c), have = bad + 1;
    while (have < bytes.n && have < bad + want && ((unsigned char)bytes.p[have] & 0xc0) == 0x80)
        have++;
    const char *why = !want             ? "invalid start byte"
                      : have == bytes.n ? "unexpected end of data"
                                        : "invalid continuation byte";
    return pdl_yfail(s, at, "'utf-8' codec can't decode byte 0x%02x in position %zu: %s", c, bad,
                     why);
}

/* Reads %XX%XX... and appends the bytes to out. */
static bool read_escapes(pdl_yscan *s, pdl_buf *out) {
    const char *at = s->pos;
    size_t from = out->len;
    while (*s->pos == '%') {
        s->pos++;
        for (int k = 0; k < 2; k++)
            if (pdl_hex_digit(s->pos[k]) < 0)
                return pdl_yfail_shown(
                    s, s->pos, s->pos + k,
                    "expected URI escape sequence of 2 hexadecimal numbers, but found ");
        pdl_buf_putc(out, (char)(pdl_hex_digit(s->pos[0]) << 4 | pdl_hex_digit(s->pos[1])));
        s->pos += 2;
    }
    pdl_str bytes = pdl_str_sub(pdl_buf_str(out), from, out->len);
    return pdl_utf8_check(bytes) == PDL_NOT_FOUND || fail_utf8(s, at, bytes);
}

/* Appends the URI at s->pos to out. */
static bool read_uri(pdl_yscan *s, pdl_buf *out) {
    const char *start = s->pos;
    for (;;) {
        const char *from = s->pos;
        while (pdl_yis(*s->pos, PDL_YC_URI) && *s->pos != '%') s->pos++;
        pdl_buf_put(out, (pdl_str){from, (size_t)(s->pos - from)});
        if (*s->pos != '%') break;
        if (!read_escapes(s, out)) return false;
    }
    return s->pos > start || pdl_yfail_char(s, s->pos, "expected URI, but found ");
}

/* Reads `!`, `!!` or `!word!` at s->pos. */
static bool read_handle(pdl_yscan *s) {
    const char *p = s->pos;
    if (*p != '!') return pdl_yfail_char(s, p, "expected '!', but found ");
    if (*++p != ' ') {
        p = word_end(p);
        if (*p != '!') return pdl_yfail_char(s, p, "expected '!', but found ");
        p++;
    }
    s->pos = p;
    return true;
}

/* Returns true when there is another `!` before the next blank. */
static bool has_handle(const char *p) {
    for (; *p != ' ' && !pdl_yends(p); p++)
        if (*p == '!') return true;
    return false;
}

bool pdl_yscan_tag(pdl_yscan *s) {
    const char *start = s->pos;
    size_t off = s->texts.len, handle = 0;
    s->context = pdl_yoff(s, start);
    if (start[1] == '<') {
        s->pos += 2;
        if (!read_uri(s, &s->texts)) return false;
        if (*s->pos != '>') return pdl_yfail_char(s, s->pos, "expected '>', but found ");
        s->pos++;
    } else if (pdl_yblank_or_end(start + 1)) {
        s->pos++;
        pdl_buf_putc(&s->texts, '!');
    } else {
        if (!has_handle(start + 1))
            s->pos++;
        else if (!read_handle(s))
            return false;
        handle = (size_t)(s->pos - start);
        if (!read_uri(s, &s->texts)) return false;
    }
    if (*s->pos != ' ' && !pdl_yends(s->pos))
        return pdl_yfail_char(s, s->pos, "expected ' ', but found ");
    pdl_ytoken *t = pdl_ypush(s, PDL_YT_TAG, start, s->pos);
    t->extra = (uint32_t)handle;
    t->built = true;
    t->off = off;
    t->n = (uint32_t)(s->texts.len - off);
    return true;
}

/* --- directives ------------------------------------------------------------------------------- */

bool pdl_yscan_rest_of_line(pdl_yscan *s) {
    uint32_t n;
    while (*s->pos == ' ') s->pos++;
    if (*s->pos == '#') pdl_yscan_comment(s);
    if (!pdl_yends(s->pos))
        return pdl_yfail_char(s, s->pos, "expected a comment or a line break, but found ");
    n = pdl_ybreak(s->pos);
    if (n) pdl_ynext_line(s, n);
    return true;
}

static bool read_number(pdl_yscan *s, bool *one) {
    const char *p = s->pos;
    if (*p < '0' || *p > '9') return pdl_yfail_char(s, p, "expected a digit, but found ");
    while (*p == '0' && p[1] >= '0' && p[1] <= '9') p++;
    *one = *p == '1' && !(p[1] >= '0' && p[1] <= '9');
    while (*p >= '0' && *p <= '9') p++;
    s->pos = p;
    return true;
}

static bool read_version(pdl_yscan *s, bool *one) {
    bool minor;
    while (*s->pos == ' ') s->pos++;
    if (!read_number(s, one)) return false;
    if (*s->pos != '.') return pdl_yfail_char(s, s->pos, "expected a digit or '.', but found ");
    s->pos++;
    if (!read_number(s, &minor)) return false;
    return *s->pos == ' ' || pdl_yends(s->pos) ||
           pdl_yfail_char(s, s->pos, "expected a digit or ' ', but found ");
}

static bool read_tag_directive(pdl_yscan *s, pdl_ytagdir *d) {
    while (*s->pos == ' ') s->pos++;
    const char *from = s->pos;
    if (!read_handle(s)) return false;
    if (*s->pos != ' ') return pdl_yfail_char(s, s->pos, "expected ' ', but found ");
    d->handle = pdl_yoff(s, from);
    d->handle_n = (uint32_t)(s->pos - from);
    while (*s->pos == ' ') s->pos++;
    d->prefix = (uint32_t)s->names.len;
    if (!read_uri(s, &s->names)) return false;
    d->prefix_n = (uint32_t)(s->names.len - d->prefix);
    return *s->pos == ' ' || pdl_yends(s->pos) ||
           pdl_yfail_char(s, s->pos, "expected ' ', but found ");
}

static pdl_ydirective kind_of(pdl_str name) {
    return pdl_str_is(name, "YAML")  ? PDL_YDIR_VERSION
           : pdl_str_is(name, "TAG") ? PDL_YDIR_TAG
                                     : PDL_YDIR_OTHER;
}

bool pdl_yscan_directive(pdl_yscan *s) {
    const char *start = s->pos++, *name = s->pos, *end;
    pdl_ytagdir d = {0};
    bool one = true;
    s->context = pdl_yoff(s, start);
    s->pos = end = word_end(name);
    if (end == name || (*end != ' ' && !pdl_yends(end)))
        return pdl_yfail_char(s, end, "expected alphabetic or numeric character, but found ");
    pdl_ydirective kind = kind_of((pdl_str){name, (size_t)(end - name)});
    if (kind == PDL_YDIR_VERSION && !read_version(s, &one)) return false;
    if (kind == PDL_YDIR_TAG && !read_tag_directive(s, &d)) return false;
    while (kind == PDL_YDIR_OTHER && !pdl_yends(s->pos)) s->pos++;
    end = s->pos;
    pdl_ytoken *t = pdl_ypush(s, PDL_YT_DIRECTIVE, start, end);
    t->extra = kind == PDL_YDIR_VERSION && !one ? PDL_YDIR_OLD : kind;
    t->n = (uint32_t)s->tagdirs.n;
    if (kind == PDL_YDIR_TAG) *pdl_vec_push(&s->tagdirs) = d;
    return pdl_yscan_rest_of_line(s);
}
