/* filters_wrap.c -- wordwrap: Python's textwrap on each line of a text.
 *
 * Lines must break where the reference breaks them, so a line is divided into chunks by textwrap's
 * rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/text.h"

#include "base/banned.h"

/* A line as code points. chunk_end divides it into chunks: runs of blanks, words, and parts of
 * hyphenated words. */
typedef struct {
    const uint32_t *cp;
    const uint32_t *off; /* byte offset of each code point; there are n + 1 of them */
    size_t n;
    pdl_str text;
    bool hyphens, long_words;
    double width; /* more than 0; a fraction counts, as in Python */
    bool whole;   /* the width was given as an integer, so a word can be cut at it */
} para;

typedef struct {
    size_t from, to;
} chunk;

static bool is_blank(uint32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_word(uint32_t c) { return c == '_' || pdl_cp_is_alnum(c); }
static bool is_letter(uint32_t c) { return is_word(c) && !pdl_cp_is_decimal(c); }
static bool is_word_punct(uint32_t c) {
    return is_word(c) || (c < 0x80 && c && strchr("!\"'&.,?", (int)c));
}

/* Returns the end of a dash of two or more characters at i, if a word follows it; otherwise i. */
static size_t dash_end(const para *p, size_t i) {
    size_t j = i;
    while (j < p->n && p->cp[j] == '-') j++;
    return j - i >= 2 && j < p->n && is_word(p->cp[j]) ? j : i;
}

/* Returns true when a word may be broken after the hyphen at j. Before it there must be two
 * letters, or a letter, a hyphen and a character of a word. After it there must be two letters,
 * perhaps with a hyphen between them. */
static bool breaks_at_hyphen(const para *p, size_t j) {
    const uint32_t *c = p->cp;
    if (c[j] != '-') return false;
    bool before = (j >= 2 && is_letter(c[j - 1]) && is_letter(c[j - 2])) ||
                  (j >= 3 && is_word_punct(c[j - 1]) && c[j - 2] == '-' && is_letter(c[j - 3]));
    if (!before || j + 2 >= p->n || !is_letter(c[j + 1])) return false;
    size_t k = c[j + 2] == '-' ? j + 3 : j + 2;
    return k < p->n && is_letter(c[k]);
}

static size_t chunk_end(const para *p, size_t i) {
    size_t j = i;
    if (is_blank(p->cp[i])) {
        while (j < p->n && is_blank(p->cp[j])) j++;
        return j;
    }
    if (!p->hyphens) {
        while (j < p->n && !is_blank(p->cp[j])) j++;
        return j;
    }
    if (i > 0 && is_word_punct(p->cp[i - 1]) && dash_end(p, i) > i) return dash_end(p, i);
    for (j = i + 1; j < p->n && !is_blank(p->cp[j]); j++) {
        if (breaks_at_hyphen(p, j)) return j + 1;
        if (p->cp[j] == '-' && is_word_punct(p->cp[j - 1]) && p->cp[j - 1] != '-' &&
            dash_end(p, j) > j)
            return j;
    }
    return j;
}

/* Returns true when the chunk has only blanks or is empty. */
static bool is_empty(const para *p, chunk c) {
    for (size_t i = c.from; i < c.to; i++)
        if (!pdl_cp_is_space(p->cp[i])) return false;
    return true;
}

/* Returns how much of a chunk that is too long fits on a line that already has len columns. With
 * p->hyphens, the piece that fits ends after its last hyphen if something else is before that
 * hyphen. */
static size_t cut_of(const para *p, chunk c, size_t len) {
    size_t room = p->width < 1 ? 1 : (size_t)p->width - len;
    if (!p->hyphens || c.to - c.from <= room) return room < c.to - c.from ? room : c.to - c.from;
    for (size_t k = room; k-- > 1;) {
        if (p->cp[c.from + k] != '-') continue;
        for (size_t i = 0; i < k; i++)
            if (p->cp[c.from + i] != '-') return k + 1;
        break;
    }
    return room;
}

/* Writes the lines of a paragraph. Each line is a span of adjacent chunks. */
static bool wrap(const para *p, pdl_str sep, pdl_buf *out, pdl_err *err) {
    /* when rest > i, a chunk was cut at i, and its remainder ends at rest */
    size_t i = 0, rest = 0;
    bool any = false;
    pdl_steps steps = {0};
    while (i < p->n && pdl_steps_may_continue(&steps)) {
        chunk c = {i, i < rest ? rest : chunk_end(p, i)};
        if (any && is_empty(p, c)) {
            i = c.to;
            if (i == p->n) break;
        }
        /* the line is [from, i), and its last chunk begins at `last` */
        size_t from = i, last = i, len = 0;
        bool has = false;
        while (i < p->n && pdl_steps_may_continue(&steps)) {
            c = (chunk){i, i < rest ? rest : chunk_end(p, i)};
            if ((double)(len + (c.to - c.from)) > p->width) break;
            len += c.to - c.from;
            last = i;
            i = c.to;
            has = true;
        }
        if (i < p->n && (double)(c.to - c.from) > p->width) {
            if (p->long_words) {
                if (!p->whole && p->width >= 1)
                    return pdl_err_host(err, "TypeError",
                                        "slice indices must be integers or None or have an "
                                        "__index__ method");
                size_t cut = cut_of(p, c, len);
                last = i;
                i += cut;
                rest = c.to;
                has = true;
            } else if (!has) {
                last = i;
                i = c.to;
                has = true;
            }
        }
        size_t to = i;
        if (has && is_empty(p, (chunk){last, i})) to = last;
        if (to == from) continue; /* no line is written for an empty span */
        if (any && !pdl_buf_add(out, sep, err)) return false;
        if (!pdl_buf_add(out, pdl_str_sub(p->text, p->off[from], p->off[to]), err)) return false;
        any = true;
    }
    return true;
}

/* Decodes and wraps one paragraph. */
static bool wrap_line(para *p, pdl_str line, pdl_str sep, pdl_buf *out, pdl_err *err) {
    size_t n = pdl_utf8_count(line), k = 0;
    uint32_t *cp = PDL_NEW_N(uint32_t, n + 1), *off = PDL_NEW_N(uint32_t, n + 1);
    const char *at = line.p, *end = line.p + line.n;
    while (at < end && pdl_walk_may_continue_at(k)) {
        off[k] = (uint32_t)(at - line.p);
        cp[k++] = pdl_utf8_next(&at);
    }
    off[k] = (uint32_t)line.n;
    p->cp = cp;
    p->off = off;
    p->n = k;
    p->text = line;
    bool ok = wrap(p, sep, out, err);
    pdl_free(cp);
    pdl_free(off);
    return ok;
}

/* Reads the width of the lines. A float is accepted, as in Python, where it is only compared. */
static bool read_width(pdl_vref v, para *p, pdl_err *err) {
    int64_t width = 79;
    p->whole = !pdl_is(v, PDL_V_FLOAT);
    if (p->whole && !pdl_is_absent(v) && !pdl_is_number(v))
        return pdl_err_host(err, "TypeError",
                            "'<=' not supported between instances of '%s' and 'int'",
                            pdl_py_type(v));
    if (p->whole && !pdl_arg_int(v, &width, err)) return false;
    p->width = p->whole ? (double)width : pdl_float_of(v);
    if (p->width > 0) return true;
    pdl_buf b = PDL_BUF;
    bool ok = pdl_val_repr(v, &b, err) &&
              pdl_err_host(err, "ValueError", "invalid width %s (must be > 0)", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return ok;
}

bool pdl_f_wordwrap(PDL_ARGS) {
    bool long_words = true, hyphens = true;
    para p = {0};
    if (pdl_is(argv[0], PDL_V_UNDEFINED)) return pdl_undefined_error(argv[0], err);
    if (!pdl_is_str(argv[0]))
        return pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'splitlines'",
                            pdl_py_type(argv[0]));
    if ((pdl_str_get(argv[0]).n && !read_width(argv[1], &p, err)) ||
        (!pdl_is_absent(argv[2]) && !pdl_arg_truth(env, argv[2], &long_words, err)) ||
        (!pdl_is_absent(argv[4]) && !pdl_arg_truth(env, argv[4], &hyphens, err)))
        return false;
    if (pdl_given(argv[3]) && !pdl_is_str(argv[3]))
        return pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'join'",
                            pdl_py_type(argv[3]));
    pdl_str sep = pdl_given(argv[3]) ? pdl_str_get(argv[3]) : PDL_STR("\n"), line, whole,
            s = pdl_str_get(argv[0]);
    p.hyphens = hyphens;
    p.long_words = long_words;
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = true;
    size_t pos = 0;
    for (size_t k = 0; ok && pdl_next_line(s, &pos, &line, &whole); k++)
        ok = (k == 0 || pdl_buf_add(&b, sep, err)) && wrap_line(&p, line, sep, &b, err);
    ok = ok && pdl_text_like(&b, pdl_absent(), out, err);
    pdl_buf_fini(&b);
    return ok;
}
