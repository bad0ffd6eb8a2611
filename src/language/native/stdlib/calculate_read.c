/* calculate_read.c -- makes nodes of an arithmetic expression that a model wrote; see calculate.c.
 * The grammar is that of Python's expressions. A part that is well-formed but not arithmetic
 * becomes a node with the reason for the error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/stdlib/calculate_read.h"

#include <math.h>

#include "base/num.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "native/natives.h"
#include "value/int.h"

#include "base/banned.h"

enum {
    /* the maximum depth of nested parentheses (which count two), signs and powers; it is limited
     * because the reader recurses */
    MAX_DEPTH = 300
};

static int add(arith_reader *r, arith_node n) {
    *pdl_vec_push(&r->nodes) = n;
    return (int)r->nodes.n - 1;
}

static int add_binary(arith_reader *r, char op, int left, int right) {
    return add(
        r, (arith_node){
               .kind = N_BINARY, .op = op, .left = left, .right = right, .value = pdl_absent()});
}

static int refused(arith_reader *r, const char *why) {
    return add(r, (arith_node){.kind = N_REFUSED, .why = why, .value = pdl_absent()});
}

static int refused_number(arith_reader *r) {
    return refused(r, r->floats ? "only numbers are allowed" : "only integers are allowed");
}

/* --- words ------------------------------------------------------------------------------------ */

static void skip_blanks(arith_reader *r) {
    for (;;) {
        int c = scan_peek(&r->s);
        if (c == '#') {
            while (!scan_done(&r->s) && scan_peek(&r->s) != '\n') r->s.pos++;
        } else if (c == ' ' || c == '\t' || c == '\f' || (r->open && (c == '\n' || c == '\r'))) {
            r->s.pos++;
        } else {
            return;
        }
    }
}

static bool is_word(int c) {
    return c == '_' || c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Returns the word of letters and digits at the cursor. The cursor does not move. */
static pdl_str word_at(const arith_reader *r) {
    size_t n = 0;
    while (is_word(scan_peek_at(&r->s, n))) n++;
    return pdl_str_sub(r->s.src, r->s.pos, r->s.pos + n);
}

static bool accept_word(arith_reader *r, const char *w) {
    skip_blanks(r);
    if (!pdl_str_is(word_at(r), w)) return false;
    r->s.pos += strlen(w);
    return true;
}

static bool accept(arith_reader *r, const char *op) {
    skip_blanks(r);
    return scan_accept_str(&r->s, pdl_str_of(op));
}

/* --- numbers and texts ------------------------------------------------------------------------ */

static bool is_digit(int c, int base) {
    int d = c >= '0' && c <= '9'                 ? c - '0'
            : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                 : 99;
    return d < base;
}

/* Skips digits with single `_` between them. With lead, a `_` may also be before the first digit.
 * Returns false when no digit is there. */
static bool skip_digits(arith_reader *r, int base, bool lead) {
    bool any = false;
    for (;; any = true) {
        if ((any || lead) && scan_peek(&r->s) == '_' && is_digit(scan_peek_at(&r->s, 1), base))
            r->s.pos++;
        if (!is_digit(scan_peek(&r->s), base)) return any;
        r->s.pos++;
    }
}

static int integer(arith_reader *r, pdl_str text, int base) {
    pdl_val v;
    if (text.n > MAX_BITS * 2) return refused(r, "result too large");
    if (!pdl_int_read(text, base, &v)) return NO_NODE; /* 007 */
    if (pdl_int_bit_length(v) > MAX_BITS) {
        pdl_drop(v);
        return refused(r, "result too large");
    }
    return add(r, (arith_node){.kind = N_VALUE, .value = v});
}

/* Reads a float, and ignores its `_`. */
static int floating(arith_reader *r, pdl_str text) {
    if (!r->floats) return refused_number(r);
    pdl_buf b = PDL_BUF;
    double d = 0;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '_') pdl_buf_putc(&b, text.p[i]);
    bool ok = pdl_num_read_double(pdl_buf_str(&b), &d);
    pdl_buf_fini(&b);
    return ok ? add(r, (arith_node){.kind = N_VALUE, .value = pdl_float(d)}) : NO_NODE;
}

/* Skips the fraction and the exponent of a number. `digits` is set when digits are before the dot.
 * Sets *is_float to whether there was a dot or an exponent. Returns false when the number has no
 * digit. */
static bool skip_fraction(arith_reader *r, bool digits, bool *is_float) {
    *is_float = scan_accept(&r->s, '.');
    if (*is_float) digits = skip_digits(r, 10, false) || digits;
    int c = scan_peek(&r->s), next = scan_peek_at(&r->s, 1);
    size_t skip = next == '+' || next == '-' ? 2 : 1;
    if ((c | 32) == 'e' && is_digit(scan_peek_at(&r->s, skip), 10)) {
        *is_float = true;
        r->s.pos += skip;
        (void)skip_digits(r, 10, false);
    }
    return digits;
}

static int number(arith_reader *r) {
    static const struct {
        char letter;
        int base;
    } prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    size_t from = r->s.pos;
    for (size_t i = 0; i < PDL_N_COUNT(prefixes); i++) {
        if (scan_peek(&r->s) != '0' || (scan_peek_at(&r->s, 1) | 32) != prefixes[i].letter)
            continue;
        r->s.pos += 2;
        if (!skip_digits(r, prefixes[i].base, true) || is_word(scan_peek(&r->s))) return NO_NODE;
        return integer(r, pdl_str_sub(r->s.src, from, r->s.pos), prefixes[i].base);
    }
    bool is_float, digits = skip_digits(r, 10, false);
    if (!skip_fraction(r, digits, &is_float)) return NO_NODE;
    pdl_str text = pdl_str_sub(r->s.src, from, r->s.pos);
    bool imaginary = (scan_peek(&r->s) | 32) == 'j';
    if (imaginary) r->s.pos++;
    if (is_word(scan_peek(&r->s))) return NO_NODE;
    if (imaginary) return refused_number(r);
    return is_float ? floating(r, text) : integer(r, text, 0);
}

/* Skips a string literal; the cursor is at its quote. */
static bool skip_string(arith_reader *r) {
    char quote = (char)scan_next(&r->s), three[3] = {quote, quote, quote};
    bool many = scan_accept_str(&r->s, (pdl_str){three + 1, 2});
    while (!scan_done(&r->s)) {
        if (many ? scan_accept_str(&r->s, (pdl_str){three, 3}) : scan_accept(&r->s, quote))
            return true;
        int c = scan_next(&r->s);
        if (c == '\\')
            (void)scan_next(&r->s);
        else if (c == '\n' && !many)
            return false;
    }
    return false;
}

static bool at_string(const arith_reader *r, size_t *prefix) {
    size_t n = 0;
    while (n < 2 && strchr("rRbBuUfF", scan_peek_at(&r->s, n) > 0 ? scan_peek_at(&r->s, n) : ' '))
        n++;
    int c = scan_peek_at(&r->s, n);
    *prefix = n;
    return c == '"' || c == '\'';
}

static int string(arith_reader *r) {
    size_t prefix;
    while (at_string(r, &prefix)) { /* neighbouring string literals are one literal */
        r->s.pos += prefix;
        if (!skip_string(r)) return NO_NODE;
        skip_blanks(r);
    }
    return refused_number(r);
}

/* Skips the brackets of a refused expression. Only their balance matters. The cursor is after the
 * opening bracket. */
static bool skip_brackets(arith_reader *r, char close) {
    char stack[MAX_DEPTH];
    int n = 0;
    size_t prefix;
    stack[n++] = close;
    while (n && !scan_done(&r->s)) {
        if (at_string(r, &prefix)) {
            r->s.pos += prefix;
            if (!skip_string(r)) return false;
            continue;
        }
        int c = scan_next(&r->s);
        if (c == '(' || c == '[' || c == '{') {
            if (n == MAX_DEPTH) return false;
            stack[n++] = c == '(' ? ')' : c == '[' ? ']' : '}';
        } else if ((c == ')' || c == ']' || c == '}') && c != stack[--n]) {
            return false;
        }
    }
    return n == 0;
}

/* --- grammar ---------------------------------------------------------------------------------- */

static int expression(arith_reader *r);

/* Binary operators. Operators of the same level associate to the left. Of two spellings with the
 * same start, the longer one is first. */
static const struct {
    const char *text;
    int level;
    char op; /* 0 when the operator is refused */
    const char *why;
} operators[] = {
    {"==", 1, 0, UNSUPPORTED},
    {"!=", 1, 0, UNSUPPORTED},
    {"<=", 1, 0, UNSUPPORTED},
    {">=", 1, 0, UNSUPPORTED},
    {"<<", 5, 0, "operator << is not allowed"},
    {">>", 5, 0, "operator >> is not allowed"},
    {"<", 1, 0, UNSUPPORTED},
    {">", 1, 0, UNSUPPORTED},
    {"|", 2, 0, "operator | is not allowed"},
    {"^", 3, '^', NULL},
    {"&", 4, 0, "operator & is not allowed"},
    {"+", 6, '+', NULL},
    {"-", 6, '-', NULL},
    {"//", 7, 0, "operator // is not allowed"},
    {"/", 7, '/', NULL},
    {"*", 7, '*', NULL},
    {"%", 7, 0, "operator % is not allowed"},
    {"@", 7, 0, "operator @ is not allowed"},
};
enum { LEVELS = 8 };

static int group(arith_reader *r) { /* the cursor is after "(" */
    r->open++;
    int e = NO_NODE;
    if (accept(r, ")")) {
        r->open--;
        return refused(r, UNSUPPORTED); /* () */
    }
    e = expression(r);
    bool tuple = false;
    while (e != NO_NODE && accept(r, ",")) {
        tuple = true;
        skip_blanks(r);
        if (scan_peek(&r->s) == ')') break;
        if (expression(r) == NO_NODE) e = NO_NODE;
    }
    /* refuses (x for x in y) and (x := y) */
    if (e != NO_NODE && (accept_word(r, "for") || accept(r, ":="))) {
        r->open--;
        return skip_brackets(r, ')') ? refused(r, UNSUPPORTED) : NO_NODE;
    }
    if (e == NO_NODE || !accept(r, ")")) return NO_NODE;
    r->open--;
    return tuple ? refused(r, UNSUPPORTED) : e;
}

static int atom(arith_reader *r) {
    static const char *const reserved[] = {
        "and",    "or",     "if",   "else", "in",   "is",   "for", "while", "def", "class",
        "return", "import", "from", "as",   "with", "pass", "del", "try",   "not", "lambda"};
    skip_blanks(r);
    int c = scan_peek(&r->s), next = scan_peek_at(&r->s, 1);
    size_t prefix;
    if (is_digit(c, 10) || (c == '.' && is_digit(next, 10))) return number(r);
    if (at_string(r, &prefix)) return string(r);
    if (scan_accept(&r->s, '(')) return group(r);
    if (c == '[' || c == '{') {
        r->s.pos++;
        return skip_brackets(r, c == '[' ? ']' : '}') ? refused(r, UNSUPPORTED) : NO_NODE;
    }
    if (scan_accept_str(&r->s, PDL_STR("..."))) return refused_number(r);
    pdl_str w = word_at(r);
    if (!w.n) return NO_NODE;
    const char *p = w.p;
    if (c >= 0x80 && !pdl_cp_is_id_start(pdl_utf8_next(&p))) return NO_NODE;
    if (PDL_STR_IN(w, reserved)) return NO_NODE;
    r->s.pos += w.n;
    if (pdl_str_is(w, "True") || pdl_str_is(w, "False") || pdl_str_is(w, "None"))
        return refused_number(r);
    return refused(r, "names are not allowed");
}

/* Reads an atom and the following calls, subscripts and attributes. */
static int primary(arith_reader *r) {
    int e = atom(r);
    while (e != NO_NODE) {
        skip_blanks(r);
        if (scan_accept(&r->s, '(')) {
            e = skip_brackets(r, ')') ? refused(r, "calls are not allowed") : NO_NODE;
        } else if (scan_accept(&r->s, '[')) {
            e = skip_brackets(r, ']') ? refused(r, UNSUPPORTED) : NO_NODE;
        } else if (scan_accept(&r->s, '.')) {
            skip_blanks(r);
            pdl_str w = word_at(r);
            r->s.pos += w.n;
            e = w.n && !is_digit(w.p[0], 10) ? refused(r, UNSUPPORTED) : NO_NODE;
        } else {
            break;
        }
    }
    return e;
}

/* Reads signs and powers: -a ** -b is -(a ** (-b)). */
static int factor(arith_reader *r) {
    if (++r->depth > MAX_DEPTH) return NO_NODE;
    int e;
    if (accept(r, "-")) {
        e = factor(r);
        if (e != NO_NODE)
            e = add(r, (arith_node){.kind = N_NEGATE, .left = e, .value = pdl_absent()});
    } else if (accept(r, "+")) {
        e = factor(r) == NO_NODE ? NO_NODE : refused(r, "operator + is not allowed");
    } else if (accept(r, "~")) {
        e = factor(r) == NO_NODE ? NO_NODE : refused(r, "operator ~ is not allowed");
    } else {
        e = primary(r);
        if (e != NO_NODE && accept(r, "**")) {
            int right = factor(r);
            e = right == NO_NODE ? NO_NODE : add_binary(r, 'p', e, right);
        }
    }
    r->depth--;
    return e;
}

/* Returns the row of the operator at the cursor when the operator is of this level or above.
 * Returns the number of rows otherwise. */
static size_t operator_at(arith_reader *r, int level) {
    skip_blanks(r);
    size_t n = PDL_N_COUNT(operators);
    for (size_t i = 0; i < n; i++) {
        pdl_str text = pdl_str_of(operators[i].text);
        if (!pdl_str_starts(scan_rest(&r->s), text)) continue;
        return operators[i].level >= level ? i : n;
    }
    return n;
}

/* Skips `is`, `is not`, `in` and `not in`. */
static bool accept_comparison(arith_reader *r) {
    if (accept_word(r, "is")) {
        (void)accept_word(r, "not");
        return true;
    }
    if (accept_word(r, "in")) return true;
    size_t back = r->s.pos;
    if (accept_word(r, "not") && accept_word(r, "in")) return true;
    r->s.pos = back;
    return false;
}

/* Reads operands with operators of `level` and above between them, by precedence climbing. */
static int binary(arith_reader *r, int level) {
    int e = factor(r);
    while (e != NO_NODE) {
        size_t i = operator_at(r, level);
        bool word = i == PDL_N_COUNT(operators) && level <= 1 && accept_comparison(r);
        if (i == PDL_N_COUNT(operators) && !word) break;
        if (!word) r->s.pos += strlen(operators[i].text);
        int right = binary(r, (word ? 1 : operators[i].level) + 1);
        if (right == NO_NODE) return NO_NODE;
        if (word || !operators[i].op)
            e = refused(r, word ? UNSUPPORTED : operators[i].why);
        else
            e = add_binary(r, operators[i].op, e, right);
    }
    return e;
}

static int negation(arith_reader *r) {
    int nots = 0;
    while (accept_word(r, "not")) nots++;
    int e = binary(r, 1);
    return e == NO_NODE || !nots ? e : refused(r, "operator not is not allowed");
}

static int choice(arith_reader *r) { /* reads operands with `and` or `or` between them */
    int e = negation(r);
    while (e != NO_NODE && (accept_word(r, "and") || accept_word(r, "or")))
        e = negation(r) == NO_NODE ? NO_NODE : refused(r, UNSUPPORTED);
    return e;
}

static int expression(arith_reader *r) {
    if (++r->depth > MAX_DEPTH) return NO_NODE;
    int e = NO_NODE;
    if (accept_word(r, "lambda")) {
        while (!scan_done(&r->s) && scan_peek(&r->s) != ':') r->s.pos++;
        e = accept(r, ":") && expression(r) != NO_NODE ? refused(r, UNSUPPORTED) : NO_NODE;
    } else {
        e = choice(r);
        if (e != NO_NODE && accept_word(r, "if"))
            e = choice(r) != NO_NODE && accept_word(r, "else") && expression(r) != NO_NODE
                    ? refused(r, UNSUPPORTED)
                    : NO_NODE;
    }
    r->depth--;
    return e;
}

/* Skips line breaks and comments around the expression. */
static void skip_lines(arith_reader *r) {
    r->open++;
    skip_blanks(r);
    r->open--;
}

int pdl_arithmetic_read(arith_reader *r) {
    skip_lines(r);
    int e = expression(r);
    bool tuple = false;
    while (e != NO_NODE && accept(r, ",")) {
        tuple = true;
        skip_blanks(r);
        if (!scan_done(&r->s) && expression(r) == NO_NODE) e = NO_NODE;
    }
    skip_lines(r);
    if (e == NO_NODE || !scan_done(&r->s)) return NO_NODE;
    return tuple ? refused(r, UNSUPPORTED) : e;
}
