/* scan_text.c -- see scan.h: plain, quoted and block scalars.
 *
 * The text of most scalars is a slice of the source. A text with folded lines, escapes or indented
 * lines is made in scan.texts. The scanner skips the line ends between two parts of a text and
 * keeps no list of them. Once it is certain that the text continues, put_breaks reads the blanks
 * between the two parts again. The work stays linear.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "yaml/run.h"

#include "base/banned.h"

static void put(pdl_yscan *s, const char *from, const char *to) {
    pdl_buf_put(&s->texts, (pdl_str){from, (size_t)(to - from)});
}

/* Appends the line end of n bytes at p as it is read: CR, CR LF and NEL become LF. */
static void put_break(pdl_yscan *s, const char *p, uint32_t n) {
    if (n == 3)
        put(s, p, p + 3);
    else
        pdl_buf_putc(&s->texts, '\n');
}

/* Appends the line ends between from and to. All other bytes there are blanks. */
static void put_breaks(pdl_yscan *s, const char *from, const char *to) {
    while (from < to) {
        uint32_t n = pdl_ybreak(from);
        if (n) put_break(s, from, n);
        from += n ? n : 1;
    }
}

/* Folds the line end at p inside of a flow scalar, and further line ends up to `to`. A single LF
 * becomes a blank. */
static void put_fold(pdl_yscan *s, const char *p, const char *last, const char *to) {
    uint32_t n = pdl_ybreak(p);
    if (n == 3)
        put_break(s, p, n);
    else if (last == p)
        pdl_buf_putc(&s->texts, ' ');
    put_breaks(s, p + n, to);
}

static bool push_slice(pdl_yscan *s, const char *start, const char *end, const char *text,
                       const char *text_end, pdl_node_style style) {
    pdl_ytoken *t = pdl_ypush(s, PDL_YT_SCALAR, start, end);
    t->style = style;
    t->p = text;
    t->n = (uint32_t)(text_end - text);
    return true;
}

static bool push_built(pdl_yscan *s, const char *start, const char *end, size_t off,
                       pdl_node_style style) {
    pdl_ytoken *t = pdl_ypush(s, PDL_YT_SCALAR, start, end);
    t->style = style;
    t->built = true;
    t->off = off;
    t->n = (uint32_t)(s->texts.len - off);
    return true;
}

/* --- plain ------------------------------------------------------------------------------------ */

/* Returns true when a plain scalar ends at p, which is no space. */
static inline bool ends_plain(const pdl_yscan *s, const char *p) {
    switch (*p) {
    case ':':
        return pdl_yblank_or_end(p + 1) || (s->flow && p[1] && strchr(",[]{}", p[1])); /* `{a:}` */
    case '\t': return true;
    case ',':
    case '?':
    case '[':
    case ']':
    case '{':
    case '}': return s->flow != 0;
    default: return pdl_yends(p);
    }
}

/* Returns the end of the part of a plain scalar on the line of p. *next gets the place after the
 * blanks that follow this part. */
static inline const char *plain_line(const pdl_yscan *s, const char *start, const char **next) {
    for (const char *p = start;; p++) {
        p = s->flow ? pdl_yrun(p, PDL_YC_FLOW) : pdl_yrun(p, PDL_YC_BLOCK);
        if (*p == '#' ? p == start || p[-1] != ' ' : !ends_plain(s, p)) continue;
        *next = p;
        while (p > start && p[-1] == ' ') p--;
        return p;
    }
}

/* Skips line ends and blanks up to the next line with content. *last gets the last line end that
 * was skipped. Returns false at `---` or `...`. */
static bool pass_lines(pdl_yscan *s, const char **last) {
    for (;;) {
        uint32_t n = pdl_ybreak(s->pos);
        if (n) {
            *last = s->pos;
            pdl_ynext_line(s, n);
            if (pdl_yis_separator(s->pos)) return false;
        } else if (*s->pos == ' ') {
            s->pos = pdl_yrun_spaces(s->pos);
        } else {
            return true;
        }
    }
}

bool pdl_yscan_plain(pdl_yscan *s) {
    const char *start = s->pos, *end = plain_line(s, start, &s->pos);
    const char *first_end = end;
    size_t off = s->texts.len;
    while (pdl_ybreak(s->pos)) {
        const char *gap = s->pos, *last = gap;
        s->allow_key = true;
        if (!pass_lines(s, &last) || *s->pos == '#' || ends_plain(s, s->pos)) break;
        if (!s->flow && (int32_t)(s->pos - s->line) < s->indent + 1) break;
        if (pdl_ytolerant_ends(s, start)) break;
        if (end == first_end) put(s, start, end);
        put_fold(s, gap, last, s->pos);
        const char *part = s->pos;
        end = plain_line(s, part, &s->pos);
        put(s, part, end);
        s->allow_key = false;
    }
    return end == first_end ? push_slice(s, start, end, start, end, PDL_STYLE_PLAIN)
                            : push_built(s, start, end, off, PDL_STYLE_PLAIN);
}

/* --- quoted ----------------------------------------------------------------------------------- */

/* Returns the first byte from p on that is not copied as it is: the quote, an escape, the end of
 * the line or of the text. */
static inline const char *quoted_run(const char *p, char quote) {
    for (;; p++) {
        p = quote == '"' ? pdl_yrun(p, PDL_YC_DOUBLE) : pdl_yrun(p, PDL_YC_SINGLE);
        if (*p == quote || *p == '\\' || pdl_yends(p)) return p;
    }
}

/* Reads the number in the escape \xXX, \uXXXX or \UXXXXXXXX at p. *n gets the length of the escape,
 * or 0 when no such escape is at p. */
static uint32_t hex_escape(const char *p, uint32_t *n) {
    uint32_t digits = p[0] != '\\' ? 0 : p[1] == 'x' ? 2 : p[1] == 'u' ? 4 : p[1] == 'U' ? 8 : 0;
    uint32_t cp = 0;
    *n = 0;
    for (uint32_t i = 0; i < digits; i++) {
        int d = pdl_hex_digit(p[2 + i]);
        if (d < 0) return 0;
        cp = cp << 4 | (uint32_t)d;
    }
    if (digits) *n = 2 + digits;
    return cp;
}

/* Appends an escape. Two escapes that are the halves of a surrogate pair become one character, as
 * in JSON. A single half becomes U+FFFD, because our texts are UTF-8. */
static bool put_hex(pdl_yscan *s) {
    uint32_t n, low_n, digits = *s->pos == 'x' ? 2 : *s->pos == 'u' ? 4 : 8;
    uint32_t cp = hex_escape(s->pos - 1, &n);
    if (!n) {
        const char *bad = ++s->pos;
        while (pdl_hex_digit(*bad) >= 0) bad++;
        return pdl_yfail_shown(s, s->pos, bad,
                               "expected escape sequence of %u hexadecimal numbers, but found ",
                               digits);
    }
    s->pos += n - 1;
    if (cp >> 10 == 0xd800 >> 10) {
        uint32_t low = hex_escape(s->pos, &low_n);
        bool pair = low_n && low >> 10 == 0xdc00 >> 10;
        if (pair) s->pos += low_n;
        cp = pair ? 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
    }
    if (cp > 0x10ffff)
        return pdl_yfail(s, s->pos - digits, "found invalid Unicode character escape code");
    pdl_buf_put_cp(&s->texts, cp >> 11 == 0xd800 >> 11 ? 0xfffd : cp);
    return true;
}

/* Passes blanks and line ends after a line end inside of quotes. */
static bool pass_quoted_lines(pdl_yscan *s, const char **last) {
    for (;;) {
        if (pdl_yis_separator(s->pos))
            return pdl_yfail(s, s->pos, "found unexpected document separator");
        while (*s->pos == ' ' || *s->pos == '\t') s->pos++;
        uint32_t n = pdl_ybreak(s->pos);
        if (!n) return true;
        *last = s->pos;
        pdl_ynext_line(s, n);
    }
}

static bool put_escape(pdl_yscan *s) {
    static const struct {
        char c;
        const char *text;
    } escapes[] = {
        {'a', "\a"},          {'b', "\b"},       {'t', "\t"},       {'\t', "\t"},
        {'n', "\n"},          {'v', "\v"},       {'f', "\f"},       {'r', "\r"},
        {'e', "\x1b"},        {' ', " "},        {'"', "\""},       {'\\', "\\"},
        {'/', "/"},           {'N', "\xc2\x85"}, {'_', "\xc2\xa0"}, {'L', "\xe2\x80\xa8"},
        {'P', "\xe2\x80\xa9"}};
    const char *p = ++s->pos, *last = p;
    uint32_t n = pdl_ybreak(p);
    if (n) { /* the line continues in the next one; empty lines become line ends */
        pdl_ynext_line(s, n);
        const char *gap = s->pos;
        if (!pass_quoted_lines(s, &last)) return false;
        put_breaks(s, gap, s->pos);
        return true;
    }
    if (*p == 'x' || *p == 'u' || *p == 'U') return put_hex(s);
    if (*p == '0') {
        pdl_buf_putc(&s->texts, '\0');
        s->pos++;
        return true;
    }
    for (size_t i = 0; *p && i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].c == *p) {
            pdl_buf_put(&s->texts, pdl_str_of(escapes[i].text));
            s->pos++;
            return true;
        }
    return pdl_yfail_char(s, p, "found unknown escape character ");
}

/* Reads the blanks and line ends that end the run at s->pos. */
static bool put_quoted_lines(pdl_yscan *s, const char *start) {
    const char *gap = s->pos, *last = gap;
    pdl_ynext_line(s, pdl_ybreak(gap));
    if (!pass_quoted_lines(s, &last)) return false;
    if (pdl_ytolerant_ends(s, start)) return pdl_yfail(s, s->pos, "found unexpected end of text");
    put_fold(s, gap, last, s->pos);
    return true;
}

static bool build_quoted(pdl_yscan *s, const char *start, const char *end) {
    const char quote = *start;
    size_t off = s->texts.len;
    for (const char *from = start + 1;; from = s->pos, end = quoted_run(from, quote)) {
        const char *to = end;
        bool ends = pdl_yends(end);
        while (ends && to > from && (to[-1] == ' ' || to[-1] == '\t')) to--;
        put(s, from, to);
        s->pos = end;
        if (ends) {
            if (!*end) return pdl_yfail(s, end, "found unexpected end of stream");
            if (!put_quoted_lines(s, start)) return false;
        } else if (*end == '\\') {
            if (!put_escape(s)) return false;
        } else if (quote == '\'' && end[1] == '\'') {
            pdl_buf_putc(&s->texts, '\'');
            s->pos = end + 2;
        } else {
            s->pos = end + 1;
            return push_built(s, start, s->pos, off,
                              quote == '"' ? PDL_STYLE_DOUBLE : PDL_STYLE_SINGLE);
        }
    }
}

bool pdl_yscan_quoted(pdl_yscan *s) {
    const char *start = s->pos, *end = quoted_run(start + 1, *start);
    s->context = pdl_yoff(s, start);
    if (*end != *start || (*start == '\'' && end[1] == '\'')) return build_quoted(s, start, end);
    s->pos = end + 1;
    return push_slice(s, start, s->pos, start + 1, end,
                      *start == '"' ? PDL_STYLE_DOUBLE : PDL_STYLE_SINGLE);
}

/* --- block scalars ---------------------------------------------------------------------------- */

typedef struct block_header {
    char chomp; /* '-', '+' or NUL */
    /* the digit of the header; 0 when the first line decides about the indentation */
    int32_t increment;
} block_header;

static bool read_digit(pdl_yscan *s, block_header *h) {
    if (*s->pos < '0' || *s->pos > '9') return true;
    if (*s->pos == '0')
        return pdl_yfail(s, s->pos, "expected indentation indicator in the range 1-9, but found 0");
    h->increment = *s->pos++ - '0';
    return true;
}

static void read_chomp(pdl_yscan *s, block_header *h) {
    if (*s->pos == '+' || *s->pos == '-') h->chomp = *s->pos++;
}

static bool read_header(pdl_yscan *s, block_header *h) {
    read_chomp(s, h);
    if (!read_digit(s, h)) return false;
    if (!h->chomp && h->increment) read_chomp(s, h);
    if (*s->pos != ' ' && !pdl_yends(s->pos))
        return pdl_yfail_char(s, s->pos, "expected chomping or indentation indicators, but found ");
    pdl_ylog *log = s->log;
    s->log = NULL; /* a comment here is inside of the token */
    bool ok = pdl_yscan_rest_of_line(s);
    s->log = log;
    return ok;
}

/* Skips the blank lines before the text of a block scalar without a number in its header. Returns
 * the largest indentation among these lines and the first line of the text. */
static int32_t find_indent(pdl_yscan *s, const char **breaks_end) {
    int32_t most = 0;
    for (;;) {
        while (*s->pos == ' ') s->pos++;
        if (s->pos - s->line > most) most = (int32_t)(s->pos - s->line);
        uint32_t n = pdl_ybreak(s->pos);
        if (!n) return most;
        pdl_ynext_line(s, n);
        *breaks_end = s->pos;
    }
}

/* Passes line ends up to the next line with content, and at most indent blanks of it. */
static void pass_breaks(pdl_yscan *s, int32_t indent, const char **breaks_end) {
    for (;;) {
        while (*s->pos == ' ' && s->pos - s->line < indent) s->pos++;
        uint32_t n = pdl_ybreak(s->pos);
        if (!n) return;
        pdl_ynext_line(s, n);
        *breaks_end = s->pos;
    }
}

/* Reads the text from s->pos. breaks is the place where its first blank lines begin. Returns the
 * end of the text. */
static const char *read_lines(pdl_yscan *s, bool folded, char chomp, int32_t indent,
                              const char *breaks, const char *breaks_end) {
    const char *last = NULL; /* the line end after the last line with content */
    uint32_t n = 0;
    while (s->pos - s->line == indent && *s->pos) {
        bool spaced = *s->pos == ' ' || *s->pos == '\t';
        const char *from = s->pos;
        put_breaks(s, breaks, breaks_end);
        last = s->pos = pdl_yline_end(from);
        put(s, from, last);
        n = pdl_ybreak(last);
        if (n) pdl_ynext_line(s, n);
        breaks = breaks_end = s->pos;
        pass_breaks(s, indent, &breaks_end);
        if (s->pos - s->line != indent || !*s->pos) break;
        if (!folded || n == 3 || spaced || *s->pos == ' ' || *s->pos == '\t')
            put_break(s, last, n);
        else if (breaks == breaks_end)
            pdl_buf_putc(&s->texts, ' ');
    }
    if (chomp != '-' && n) put_break(s, last, n);
    if (chomp == '+') put_breaks(s, breaks, breaks_end);
    return breaks_end;
}

bool pdl_yscan_block(pdl_yscan *s) {
    const char *start = s->pos++, *breaks, *end;
    int32_t least = s->indent < 0 ? 1 : s->indent + 1, indent;
    block_header h = {0};
    size_t off = s->texts.len;
    s->context = pdl_yoff(s, start);
    if (!read_header(s, &h)) return false;
    breaks = end = s->pos;
    if (h.increment) {
        indent = least + h.increment - 1;
        pass_breaks(s, indent, &end);
    } else {
        indent = find_indent(s, &end);
        if (indent < least) indent = least;
    }
    end = read_lines(s, *start == '>', h.chomp, indent, breaks, end);
    return push_built(s, start, end, off, *start == '>' ? PDL_STYLE_FOLDED : PDL_STYLE_LITERAL);
}
