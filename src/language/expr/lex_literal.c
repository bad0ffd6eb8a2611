/* lex_literal.c -- see token.h. Strings with Python's escapes, numbers with underscores.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "base/utf8.h"
#include "expr/token.h"
#include "value/int.h"

#include "base/banned.h"

static void drop_held(void *p) {
    for (pdl_held *h = *(pdl_held **)p; h; h = h->next) pdl_drop(h->v);
}

void pdl_hold(pdl_holder *h, pdl_val v) {
    if (!h->head) {
        h->head = pdl_arena_new(h->arena, pdl_held *);
        pdl_arena_defer(h->arena, drop_held, h->head);
    }
    pdl_held *one = pdl_arena_new(h->arena, pdl_held);
    *one = (pdl_held){v, *h->head};
    *h->head = one;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* The state of one escape. in.p[*i] is the byte after the backslash. The readers below return NULL,
 * or the mistake. */
typedef struct {
    pdl_str in;
    size_t i;
    pdl_buf out;
} unescape;

/* Appends a code point. A lone surrogate is not valid text, and becomes U+FFFD. */
static void put_cp(unescape *u, uint32_t cp) {
    pdl_buf_put_cp(&u->out, cp >= 0xd800 && cp < 0xe000 ? 0xfffd : cp);
}

static const char *read_hex(unescape *u, int digits, const char *truncated) {
    uint64_t cp = 0;
    for (int k = 0; k < digits; k++, u->i++) {
        int d = u->i < u->in.n ? pdl_hex_digit(u->in.p[u->i]) : -1;
        if (d < 0) return truncated;
        cp = cp * 16 + (unsigned)d;
    }
    if (cp > 0x10ffff) return "illegal Unicode character";
    put_cp(u, (uint32_t)cp);
    return NULL;
}

static void read_octal(unescape *u) {
    uint32_t cp = 0;
    for (int k = 0; k < 3 && u->i < u->in.n && u->in.p[u->i] >= '0' && u->in.p[u->i] <= '7';
         k++, u->i++)
        cp = cp * 8 + (uint32_t)(u->in.p[u->i] - '0');
    put_cp(u, cp);
}

/* LIMIT: no names are known for \N{NAME}; see docs/differences.md. */
static const char *read_named(unescape *u) {
    size_t close = u->i < u->in.n && u->in.p[u->i] == '{' ? pdl_str_find(u->in, PDL_STR("}"), u->i)
                                                          : PDL_NOT_FOUND;
    if (close == PDL_NOT_FOUND || close == u->i + 1) return "malformed \\N character escape";
    return "unknown Unicode character name";
}

/* Appends a character that is not ASCII after a backslash. The reference first replaces the
 * character by an escape, so the backslash before it escapes the backslash of that escape. */
static void put_escaped_high(unescape *u) {
    const char *p = u->in.p + u->i;
    uint32_t cp = pdl_utf8_next(&p);
    u->i = (size_t)(p - u->in.p);
    if (cp < 0x100)
        pdl_buf_putf(&u->out, "\\x%02x", (unsigned)cp);
    else if (cp < 0x10000)
        pdl_buf_putf(&u->out, "\\u%04x", (unsigned)cp);
    else
        pdl_buf_putf(&u->out, "\\U%08x", (unsigned)cp);
}

static const char *read_escape(unescape *u) {
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    char c = u->in.p[u->i];
    if ((unsigned char)c >= 0x80) {
        put_escaped_high(u);
        return NULL;
    }
    if (c >= '0' && c <= '7') {
        read_octal(u);
        return NULL;
    }
    u->i++;
    if (c == '\n') return NULL;
    if (c == 'x') return read_hex(u, 2, "truncated \\xXX escape");
    if (c == 'u') return read_hex(u, 4, "truncated \\uXXXX escape");
    if (c == 'U') return read_hex(u, 8, "truncated \\UXXXXXXXX escape");
    if (c == 'N') return read_named(u);
    const char *at = c ? memchr(from, c, sizeof from - 1) : NULL;
    if (at) {
        pdl_buf_putc(&u->out, to[at - from]);
    } else {
        pdl_buf_putc(&u->out, '\\');
        pdl_buf_putc(&u->out, c);
    }
    return NULL;
}

static void put_newlines(pdl_buf *out, pdl_str s, pdl_str newline) {
    for (size_t i = 0; i < s.n;) {
        size_t at = pdl_str_find(s, PDL_STR("\n"), i);
        pdl_buf_put(out, pdl_str_sub(s, i, at));
        if (at == PDL_NOT_FOUND) return;
        pdl_buf_put(out, newline);
        i = at + 1;
    }
}

/* Decodes the body of a literal. When an escape is wrong, returns false with the mistake in
 * *wrong. */
static bool decode(pdl_lexer *x, pdl_str body, pdl_str *out, const char **wrong) {
    pdl_buf wide = PDL_BUF;
    unescape u = {body, 0, PDL_BUF};
    if (x->opt->newline.n && !pdl_str_is(x->opt->newline, "\n")) {
        put_newlines(&wide, body, x->opt->newline);
        u.in = pdl_buf_str(&wide);
    }
    *wrong = NULL;
    while (!*wrong && u.i < u.in.n) {
        size_t at = pdl_str_find(u.in, PDL_STR("\\"), u.i);
        pdl_buf_put(&u.out, pdl_str_sub(u.in, u.i, at));
        if (at == PDL_NOT_FOUND || at + 1 >= u.in.n) break;
        u.i = at + 1;
        *wrong = read_escape(&u);
    }
    if (!*wrong) *out = pdl_arena_str(x->arena, pdl_buf_str(&u.out));
    pdl_buf_fini(&u.out);
    pdl_buf_fini(&wide);
    return !*wrong;
}

bool pdl_lex_string(pdl_lexer *x, pdl_token *t) {
    char quote = x->src.p[x->pos];
    uint32_t at = x->pos + 1, n = (uint32_t)x->src.n;
    bool plain = true;
    for (; at < n && x->src.p[at] != quote; at++) {
        if (x->src.p[at] == '\n' && x->opt->newline.n) plain = false;
        if (x->src.p[at] != '\\') continue;
        plain = false;
        at++;
    }
    if (at >= n) return false;
    *t = (pdl_token){.kind = PDL_TK_STRING, .start = x->pos, .end = at + 1};
    t->text = (pdl_str){x->src.p + x->pos + 1, at - x->pos - 1};
    const char *wrong;
    if (!plain && !decode(x, t->text, &t->text, &wrong)) {
        pdl_xfail_set(x->fail, x->arena, "TemplateSyntaxError", (pdl_xspan){t->start, t->end}, "%s",
                      wrong);
        t->kind = PDL_TK_ERROR;
    }
    x->pos = at + 1;
    return true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static char byte_at(const pdl_lexer *x, uint32_t at) { return at < x->src.n ? x->src.p[at] : '\0'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Returns the offset after digits with single underscores between them. Returns `at` when no digit
 * is there. */
static uint32_t digits_end(const pdl_lexer *x, uint32_t at) {
    if (!is_digit(byte_at(x, at))) return at;
    while (is_digit(byte_at(x, at)) || (byte_at(x, at) == '_' && is_digit(byte_at(x, at + 1))))
        at++;
    return at;
}

/* Returns the offset after the float at the cursor. Returns 0 when there is no float. A number
 * after a dot is never a float: a.1.5 is a[1][5]. */
static uint32_t float_end(const pdl_lexer *x) {
    if (x->pos > 0 && x->src.p[x->pos - 1] == '.') return 0;
    uint32_t whole = digits_end(x, x->pos), end = 0, at = whole;
    if (byte_at(x, at) == '.') {
        uint32_t frac = digits_end(x, at + 1);
        if (frac > at + 1) end = at = frac;
    }
    if (byte_at(x, at) == 'e' || byte_at(x, at) == 'E') {
        uint32_t exp = at + 1;
        if (byte_at(x, exp) == '+' || byte_at(x, exp) == '-') exp++;
        uint32_t stop = digits_end(x, exp);
        if (stop > exp) end = stop;
    }
    return end;
}

static bool is_digit_of(char c, int base) {
    int d = pdl_hex_digit(c);
    return d >= 0 && d < base;
}

static int base_at(const pdl_lexer *x) {
    if (byte_at(x, x->pos) != '0') return 10;
    char c = byte_at(x, x->pos + 1);
    int base = c == 'x' || c == 'X' ? 16 : c == 'o' || c == 'O' ? 8 : c == 'b' || c == 'B' ? 2 : 10;
    uint32_t at = x->pos + 2;
    if (byte_at(x, at) == '_') at++;
    return is_digit_of(byte_at(x, at), base) ? base : 10;
}

/* Returns the offset after an integer. A decimal number has no leading zero; zeros alone, such as
 * 00, are the number 0. */
static uint32_t int_end(const pdl_lexer *x, int base) {
    uint32_t at = x->pos + (base == 10 ? 0 : 2);
    bool zeros = base == 10 && byte_at(x, at) == '0';
    int top = zeros ? 1 : base;
    if (base == 10) at++;
    while (is_digit_of(byte_at(x, at), top) ||
           (byte_at(x, at) == '_' && is_digit_of(byte_at(x, at + 1), top)))
        at++;
    return at;
}

static pdl_str without_underscores(pdl_lexer *x, pdl_str s) {
    if (!memchr(s.p, '_', s.n)) return s;
    char *p = pdl_arena_get(x->arena, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '_') p[n++] = s.p[i];
    return (pdl_str){p, n};
}

/* Sets the value of the token t, which becomes an error when the integer is too large. */
static void read_int(pdl_lexer *x, pdl_str digits, int base, pdl_token *t) {
    int64_t v = 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (PDL_MUL_OVERFLOWS(v, base, &v) ||
            PDL_ADD_OVERFLOWS(v, pdl_hex_digit(digits.p[i]), &v)) {
            if (!pdl_int_read(digits, base, &t->value)) {
                pdl_xfail_set(x->fail, x->arena, "TemplateSyntaxError",
                              (pdl_xspan){t->start, t->end},
                              "an integer of %zu digits is too large", digits.n);
                t->kind = PDL_TK_ERROR;
                return;
            }
            pdl_hold(x->holder, t->value);
            return;
        }
    }
    t->value = pdl_int(v);
}

void pdl_lex_number(pdl_lexer *x, pdl_token *t) {
    uint32_t start = x->pos, end = float_end(x);
    if (end) {
        double d = 0;
        pdl_str s = without_underscores(x, (pdl_str){x->src.p + start, end - start});
        if (!pdl_num_read_double(s, &d)) PDL_BUG("float literal %.*s", PDL_FMT(s));
        *t = (pdl_token){.kind = PDL_TK_FLOAT, .start = start, .end = end, .value = pdl_float(d)};
    } else {
        int base = base_at(x);
        uint32_t skip = base == 10 ? 0 : 2;
        end = int_end(x, base);
        pdl_str s = without_underscores(x, (pdl_str){x->src.p + start + skip, end - start - skip});
        *t = (pdl_token){.kind = PDL_TK_INT, .start = start, .end = end};
        read_int(x, s, base, t);
    }
    x->pos = end;
}
