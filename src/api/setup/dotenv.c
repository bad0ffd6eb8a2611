/* dotenv.c -- reads a `.env` file; see dotenv.h.
 *
 * A file that sets keys for Python programs must set the same keys here. These forms are read:
 * NAME=VALUE with blanks around the sign, `export` before it, quotes of two kinds that may span
 * lines (a private key does), comments after a blank, ${NAME} and ${NAME:-default}. A statement
 * that has none of these forms sets nothing. It is reported only by its line number, because its
 * text may be a key. The search for a missing closing quote reads the rest of the file. So after
 * the first quote without an end, every quote must end on its line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/dotenv.h"

#include <string.h>

#include "base/buf.h"

#include "base/banned.h"

/* The maximum length of all values together. When it is exceeded, no value is expanded any more.
 * Otherwise each value could name the previous value twice, and so double the length. */
enum { MAX_EXPANDED = 4 << 20 };

typedef struct dotenv_reader {
    pdl_str text;
    size_t expanded; /* length of all values that were read so far */
    size_t at;
    unsigned line;     /* line number of `at` */
    size_t counted;    /* offset up to which lines were counted */
    bool one_line;     /* quotes must end on their line */
    const char *wrong; /* the mistake in the statement; NULL when it has none */
} reader;

static bool ends_line(char c) { return c == '\n' || c == '\r'; }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

static char here(const reader *r) { return r->at < r->text.n ? r->text.p[r->at] : '\n'; }

static void skip_blanks(reader *r) {
    while (r->at < r->text.n && is_blank(r->text.p[r->at])) r->at++;
}

static void skip_line(reader *r) {
    while (r->at < r->text.n && !ends_line(r->text.p[r->at])) r->at++;
}

static unsigned line_at(reader *r) {
    for (; r->counted < r->at; r->counted++) {
        char c = r->text.p[r->counted];
        bool pair = c == '\r' && r->counted + 1 < r->text.n && r->text.p[r->counted + 1] == '\n';
        r->line += ends_line(c) && !pair;
    }
    return r->line;
}

/* Returns the text up to the closing quote, and moves past it. When there is no closing quote,
 * returns an empty text and sets r->wrong. */
static pdl_str quoted(reader *r, char quote) {
    size_t from = r->at + 1, i = from;
    while (i < r->text.n && r->text.p[i] != quote && !(r->one_line && ends_line(r->text.p[i])))
        i += r->text.p[i] == '\\' && i + 1 < r->text.n ? 2 : 1;
    if (i >= r->text.n || r->text.p[i] != quote) {
        r->one_line = true;
        r->wrong = quote == '"' ? "a double quote that has no end" : "a quote that has no end";
        return (pdl_str){0};
    }
    r->at = i + 1;
    return pdl_str_sub(r->text, from, i);
}

static void put_unescaped(pdl_str s, bool is_double, pdl_buf *out) {
    static const char names[] = "abfnrtv", bytes[] = "\a\b\f\n\r\t\v";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], next = i + 1 < s.n ? s.p[i + 1] : 0;
        const char *name = is_double && c == '\\' && next ? strchr(names, next) : NULL;
        bool is_self = c == '\\' && (next == '\\' || next == '\'' || (is_double && next == '"'));
        pdl_buf_putc(out, name ? bytes[name - names] : is_self ? next : c);
        i += name || is_self;
    }
}

/* Reads a value without quotes. A comment begins after a blank. */
static void read_unquoted(reader *r, pdl_buf *out) {
    size_t from = r->at;
    skip_line(r);
    pdl_str v = pdl_str_sub(r->text, from, r->at);
    for (size_t i = 0; i < v.n; i++)
        if (v.p[i] == '#' && is_blank(r->text.p[from + i - 1])) v = pdl_str_sub(v, 0, i);
    pdl_buf_put(out, pdl_str_trim(v));
}

static void read_value(reader *r, pdl_buf *out) {
    char c = here(r);
    if (c != '"' && c != '\'') {
        read_unquoted(r, out);
        return;
    }
    pdl_str inside = quoted(r, c);
    if (!r->wrong) put_unescaped(inside, c == '"', out);
}

static pdl_str read_name(reader *r) {
    if (here(r) == '\'') return quoted(r, '\'');
    size_t from = r->at;
    while (r->at < r->text.n && !is_blank(here(r)) && !ends_line(here(r)) && here(r) != '=' &&
           here(r) != '#')
        r->at++;
    return pdl_str_sub(r->text, from, r->at);
}

/* Appends the value, in which the names of variables are replaced by their values. */
static void expand(reader *r, pdl_str v, const pdl_dotenv_user *to, pdl_buf *out) {
    for (size_t at = 0; at < v.n;) {
        if (r->expanded + out->len > MAX_EXPANDED) {
            r->wrong = "its value is too long";
            return;
        }
        size_t open = pdl_str_find(v, PDL_STR("${"), at);
        size_t end = open == PDL_NOT_FOUND ? open : pdl_str_find(v, PDL_STR("}"), open);
        pdl_buf_put(out, pdl_str_sub(v, at, end == PDL_NOT_FOUND ? v.n : open));
        if (end == PDL_NOT_FOUND) return;
        pdl_str what = pdl_str_sub(v, open + 2, end), instead = PDL_STR("");
        size_t colon = pdl_str_find(what, PDL_STR(":"), 0);
        bool is_plain = colon == PDL_NOT_FOUND;
        if (!is_plain && colon + 1 < what.n && what.p[colon + 1] == '-') {
            instead = pdl_str_sub(what, colon + 2, what.n);
            is_plain = true;
        }
        char *name = pdl_str_dup(pdl_str_sub(what, 0, colon));
        const char *value = is_plain ? to->get(to->user, name) : NULL;
        pdl_free(name);
        pdl_buf_put(out, !is_plain ? pdl_str_sub(v, open, end + 1)
                         : value   ? pdl_str_of(value)
                                   : instead);
        at = end + 1;
    }
}

static bool skip_export(reader *r) {
    pdl_str rest = pdl_str_sub(r->text, r->at, r->text.n);
    bool is_word = pdl_str_starts(rest, PDL_STR("export"));
    if (!is_word || rest.n < 7 || !is_blank(rest.p[6])) return false;
    r->at += 6;
    skip_blanks(r);
    return true;
}

/* Reads a statement, which begins at a byte that is not blank. */
static void read_statement(reader *r, const pdl_dotenv_user *to) {
    pdl_buf raw = PDL_BUF, value = PDL_BUF;
    r->wrong = NULL;
    bool exports = skip_export(r);
    pdl_str name = read_name(r);
    skip_blanks(r);
    bool sets = !r->wrong && here(r) == '=';
    if (sets) {
        r->at++;
        skip_blanks(r);
        read_value(r, &raw);
        skip_blanks(r);
    }
    bool is_done = ends_line(here(r)) || here(r) == '#';
    if (!r->wrong && (!name.n || !is_done || (!sets && !exports)))
        r->wrong = sets && name.n ? "something after the quote that ends the value"
                                  : "expected NAME=VALUE";
    if (!r->wrong) expand(r, pdl_buf_str(&raw), to, &value);
    r->expanded += value.len;
    pdl_str v = pdl_buf_str(&value);
    if (!r->wrong && (memchr(name.p, 0, name.n) || (v.n && memchr(v.p, 0, v.n))))
        r->wrong = "a NUL";
    if (!r->wrong && sets) r->wrong = to->put(to->user, name, v);
    pdl_buf_fini(&raw);
    pdl_buf_fini(&value);
}

void pdl_dotenv_read(pdl_str text, const pdl_dotenv_user *to) {
    reader r = {.text = text, .line = 1};
    while (r.at < text.n) {
        if (is_blank(here(&r)) || ends_line(here(&r))) {
            r.at++;
            continue;
        }
        unsigned line = line_at(&r);
        if (here(&r) != '#') {
            read_statement(&r, to);
            if (r.wrong) to->wrong(to->user, line, r.wrong);
        }
        skip_line(&r);
    }
}
