/* calculate.c -- computes an arithmetic expression that a model wrote (spec patterns 6).
 *
 * Evaluating a model's text as code would let it do anything, so this is a separate reader. The
 * grammar is that of Python's expressions, so that an expression that is well-formed but not
 * arithmetic gets a specific error: first the whole text is read into nodes, then they are
 * evaluated, operator before operands, left before right. No name is looked up, nothing is called,
 * and every number has a ceiling.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/num.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "native/natives.h"
#include "value/int.h"

#include "base/banned.h"

enum {
    MAX_DIGITS = 4300,
    MAX_BITS = 14285, /* bits of MAX_DIGITS digits */
    MAX_DEPTH = 300,  /* nested parentheses (two each), signs and powers: the reader recurses */
    NONE = -1
};

/* --- nodes ------------------------------------------------------------------------------------ */

typedef enum { N_VALUE, N_BINARY, N_NEGATE, N_REFUSED } node_kind;

typedef struct {
    node_kind kind;
    char op;         /* BINARY: + - * / p (power) ^ */
    int left, right; /* BINARY; NEGATE uses left */
    pdl_val value;   /* VALUE: a number; owned */
    const char *why; /* used by REFUSED */
} node;

typedef struct {
    pdl_scan s;
    PDL_VEC(node) nodes;
    bool floats;
    int depth; /* depth of the recursion */
    int open;  /* open brackets: inside of them line breaks are blanks */
} reader;

static int add(reader *r, node n) {
    *pdl_vec_push(&r->nodes) = n;
    return (int)r->nodes.n - 1;
}

static int add_binary(reader *r, char op, int left, int right) {
    return add(
        r, (node){.kind = N_BINARY, .op = op, .left = left, .right = right, .value = pdl_absent()});
}

static int refused(reader *r, const char *why) {
    return add(r, (node){.kind = N_REFUSED, .why = why, .value = pdl_absent()});
}

static int refused_number(reader *r) {
    return refused(r, r->floats ? "only numbers are allowed" : "only integers are allowed");
}

static const char unsupported[] = "unsupported expression";

/* --- words ------------------------------------------------------------------------------------ */

static void skip_blanks(reader *r) {
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

/* Returns the word at the cursor, letters and digits, without passing it. */
static pdl_str word_at(const reader *r) {
    size_t n = 0;
    while (is_word(scan_peek_at(&r->s, n))) n++;
    return pdl_str_sub(r->s.src, r->s.pos, r->s.pos + n);
}

static bool accept_word(reader *r, const char *w) {
    skip_blanks(r);
    if (!pdl_str_is(word_at(r), w)) return false;
    r->s.pos += strlen(w);
    return true;
}

static bool accept(reader *r, const char *op) {
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

/* Skips digits with single `_` between them. Returns false when there are none or a `_` is not
 * between two. */
static bool skip_digits(reader *r, int base, bool lead) {
    bool any = false;
    for (;; any = true) {
        if ((any || lead) && scan_peek(&r->s) == '_' && is_digit(scan_peek_at(&r->s, 1), base))
            r->s.pos++;
        if (!is_digit(scan_peek(&r->s), base)) return any;
        r->s.pos++;
    }
}

static int integer(reader *r, pdl_str text, int base) {
    pdl_val v;
    if (text.n > MAX_BITS * 2) return refused(r, "result too large");
    if (!pdl_int_read(text, base, &v)) return NONE; /* 007 */
    if (pdl_int_bit_length(v) > MAX_BITS) {
        pdl_drop(v);
        return refused(r, "result too large");
    }
    return add(r, (node){.kind = N_VALUE, .value = v});
}

/* Reads a float without its `_`. */
static int floating(reader *r, pdl_str text) {
    if (!r->floats) return refused_number(r);
    pdl_buf b = PDL_BUF;
    double d = 0;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '_') pdl_buf_putc(&b, text.p[i]);
    bool ok = pdl_num_read_double(pdl_buf_str(&b), &d);
    pdl_buf_fini(&b);
    return ok ? add(r, (node){.kind = N_VALUE, .value = pdl_float(d)}) : NONE;
}

/* Skips fraction and exponent after the digits before the dot. *is_float: there was one. */
static bool skip_fraction(reader *r, bool digits, bool *is_float) {
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

static int number(reader *r) {
    static const struct {
        char letter;
        int base;
    } prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    size_t from = r->s.pos;
    for (size_t i = 0; i < PDL_N_COUNT(prefixes); i++) {
        if (scan_peek(&r->s) != '0' || (scan_peek_at(&r->s, 1) | 32) != prefixes[i].letter)
            continue;
        r->s.pos += 2;
        if (!skip_digits(r, prefixes[i].base, true) || is_word(scan_peek(&r->s))) return NONE;
        return integer(r, pdl_str_sub(r->s.src, from, r->s.pos), prefixes[i].base);
    }
    bool is_float, digits = skip_digits(r, 10, false);
    if (!skip_fraction(r, digits, &is_float)) return NONE;
    pdl_str text = pdl_str_sub(r->s.src, from, r->s.pos);
    bool imaginary = (scan_peek(&r->s) | 32) == 'j';
    if (imaginary) r->s.pos++;
    if (is_word(scan_peek(&r->s))) return NONE;
    if (imaginary) return refused_number(r);
    return is_float ? floating(r, text) : integer(r, text, 0);
}

/* Skips a string literal; the cursor is at its quote. */
static bool skip_string(reader *r) {
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

static bool at_string(const reader *r, size_t *prefix) {
    size_t n = 0;
    while (n < 2 && strchr("rRbBuUfF", scan_peek_at(&r->s, n) > 0 ? scan_peek_at(&r->s, n) : ' '))
        n++;
    int c = scan_peek_at(&r->s, n);
    *prefix = n;
    return c == '"' || c == '\'';
}

static int string(reader *r) {
    size_t prefix;
    while (at_string(r, &prefix)) { /* neighbours are one literal */
        r->s.pos += prefix;
        if (!skip_string(r)) return NONE;
        skip_blanks(r);
    }
    return refused_number(r);
}

/* Skips brackets that belong to something refused: only their balance matters. The cursor is after
 * the opening one. */
static bool skip_brackets(reader *r, char close) {
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

static int expression(reader *r);

/* Binary operators; those of the same level associate to the left. The longest spelling is
 * first. */
static const struct {
    const char *text;
    int level;
    char op; /* 0: refused */
    const char *why;
} operators[] = {
    {"==", 1, 0, unsupported},
    {"!=", 1, 0, unsupported},
    {"<=", 1, 0, unsupported},
    {">=", 1, 0, unsupported},
    {"<<", 5, 0, "operator << is not allowed"},
    {">>", 5, 0, "operator >> is not allowed"},
    {"<", 1, 0, unsupported},
    {">", 1, 0, unsupported},
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

static int group(reader *r) { /* called after "(" */
    r->open++;
    int e = NONE;
    if (accept(r, ")")) {
        r->open--;
        return refused(r, unsupported); /* () */
    }
    e = expression(r);
    bool tuple = false;
    while (e != NONE && accept(r, ",")) {
        tuple = true;
        skip_blanks(r);
        if (scan_peek(&r->s) == ')') break;
        if (expression(r) == NONE) e = NONE;
    }
    if (e != NONE && (accept_word(r, "for") || accept(r, ":="))) { /* (x for x in y) */
        r->open--;
        return skip_brackets(r, ')') ? refused(r, unsupported) : NONE;
    }
    if (e == NONE || !accept(r, ")")) return NONE;
    r->open--;
    return tuple ? refused(r, unsupported) : e;
}

static int atom(reader *r) {
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
        return skip_brackets(r, c == '[' ? ']' : '}') ? refused(r, unsupported) : NONE;
    }
    if (scan_accept_str(&r->s, PDL_STR("..."))) return refused_number(r);
    pdl_str w = word_at(r);
    if (!w.n) return NONE;
    const char *p = w.p;
    if (c >= 0x80 && !pdl_cp_is_id_start(pdl_utf8_next(&p))) return NONE;
    for (size_t i = 0; i < PDL_N_COUNT(reserved); i++)
        if (pdl_str_is(w, reserved[i])) return NONE;
    r->s.pos += w.n;
    if (pdl_str_is(w, "True") || pdl_str_is(w, "False") || pdl_str_is(w, "None"))
        return refused_number(r);
    return refused(r, "names are not allowed");
}

/* Reads an atom followed by calls, subscripts, attributes. */
static int primary(reader *r) {
    int e = atom(r);
    while (e != NONE) {
        skip_blanks(r);
        if (scan_accept(&r->s, '(')) {
            e = skip_brackets(r, ')') ? refused(r, "calls are not allowed") : NONE;
        } else if (scan_accept(&r->s, '[')) {
            e = skip_brackets(r, ']') ? refused(r, unsupported) : NONE;
        } else if (scan_accept(&r->s, '.')) {
            skip_blanks(r);
            pdl_str w = word_at(r);
            r->s.pos += w.n;
            e = w.n && !is_digit(w.p[0], 10) ? refused(r, unsupported) : NONE;
        } else {
            break;
        }
    }
    return e;
}

/* Reads signs and powers: -a ** -b is -(a ** (-b)). */
static int factor(reader *r) {
    if (++r->depth > MAX_DEPTH) return NONE;
    int e;
    if (accept(r, "-")) {
        e = factor(r);
        if (e != NONE) e = add(r, (node){.kind = N_NEGATE, .left = e, .value = pdl_absent()});
    } else if (accept(r, "+")) {
        e = factor(r) == NONE ? NONE : refused(r, "operator + is not allowed");
    } else if (accept(r, "~")) {
        e = factor(r) == NONE ? NONE : refused(r, "operator ~ is not allowed");
    } else {
        e = primary(r);
        if (e != NONE && accept(r, "**")) {
            int right = factor(r);
            e = right == NONE ? NONE : add_binary(r, 'p', e, right);
        }
    }
    r->depth--;
    return e;
}

/* Returns the row of the operator at the cursor when it is of this level or above, else the number
 * of rows. */
static size_t operator_at(reader *r, int level) {
    skip_blanks(r);
    size_t n = PDL_N_COUNT(operators);
    for (size_t i = 0; i < n; i++) {
        pdl_str text = pdl_str_of(operators[i].text);
        if (!pdl_str_starts(scan_rest(&r->s), text)) continue;
        return operators[i].level >= level ? i : n;
    }
    return n;
}

/* Passes `is`, `is not`, `in`, `not in`. */
static bool accept_comparison(reader *r) {
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

/* Reads operands joined by operators of the levels from `level` on, by precedence climbing. */
static int binary(reader *r, int level) {
    int e = factor(r);
    while (e != NONE) {
        size_t i = operator_at(r, level);
        bool word = i == PDL_N_COUNT(operators) && level <= 1 && accept_comparison(r);
        if (i == PDL_N_COUNT(operators) && !word) break;
        if (!word) r->s.pos += strlen(operators[i].text);
        int right = binary(r, (word ? 1 : operators[i].level) + 1);
        if (right == NONE) return NONE;
        if (word || !operators[i].op)
            e = refused(r, word ? unsupported : operators[i].why);
        else
            e = add_binary(r, operators[i].op, e, right);
    }
    return e;
}

static int negation(reader *r) {
    int nots = 0;
    while (accept_word(r, "not")) nots++;
    int e = binary(r, 1);
    return e == NONE || !nots ? e : refused(r, "operator not is not allowed");
}

static int choice(reader *r) { /* reads and, or */
    int e = negation(r);
    while (e != NONE && (accept_word(r, "and") || accept_word(r, "or")))
        e = negation(r) == NONE ? NONE : refused(r, unsupported);
    return e;
}

static int expression(reader *r) {
    if (++r->depth > MAX_DEPTH) return NONE;
    int e = NONE;
    if (accept_word(r, "lambda")) {
        while (!scan_done(&r->s) && scan_peek(&r->s) != ':') r->s.pos++;
        e = accept(r, ":") && expression(r) != NONE ? refused(r, unsupported) : NONE;
    } else {
        e = choice(r);
        if (e != NONE && accept_word(r, "if"))
            e = choice(r) != NONE && accept_word(r, "else") && expression(r) != NONE
                    ? refused(r, unsupported)
                    : NONE;
    }
    r->depth--;
    return e;
}

/* Skips line breaks and comments around the expression. */
static void skip_lines(reader *r) {
    r->open++;
    skip_blanks(r);
    r->open--;
}

static int whole(reader *r) {
    skip_lines(r);
    int e = expression(r);
    bool tuple = false;
    while (e != NONE && accept(r, ",")) {
        tuple = true;
        skip_blanks(r);
        if (!scan_done(&r->s) && expression(r) == NONE) e = NONE;
    }
    skip_lines(r);
    if (e == NONE || !scan_done(&r->s)) return NONE;
    return tuple ? refused(r, unsupported) : e;
}

/* --- evaluation ------------------------------------------------------------------------------- */

/* Passes v on in *out unless it is too large: then returns false with *why set. Takes v. */
static bool checked(pdl_val v, pdl_val *out, const char **why) {
    if (pdl_is_int(v) && pdl_int_bit_length(v) > MAX_BITS) {
        pdl_drop(v);
        *why = "result too large";
        return false;
    }
    *out = v;
    return true;
}

static bool power_too_large(pdl_vref a, pdl_vref b) {
    int64_t e;
    if (!pdl_is_int(a) || !pdl_is_int(b) || pdl_int_bit_length(a) < 2 || pdl_int_sign(b) < 0)
        return false;
    return !pdl_int_get(b, &e) || e > MAX_BITS ||
           (pdl_int_bit_length(a) - 1) * (size_t)e > MAX_BITS;
}

static const char *reason(const pdl_err *err) {
    if (err->py_class && strstr(err->py_class, "ZeroDivision")) return "division by zero";
    return err->kind == PDL_E_limit || (err->py_class && strstr(err->py_class, "Overflow"))
               ? "result too large"
               : unsupported;
}

static bool operate(char op, pdl_vref a, pdl_vref b, pdl_val *out, const char **why) {
    static const struct {
        char op;
        pdl_arith arith;
    } table[] = {{'+', PDL_OP_ADD},
                 {'-', PDL_OP_SUB},
                 {'*', PDL_OP_MUL},
                 {'/', PDL_OP_DIV},
                 {'p', PDL_OP_POW}};
    if (op == '^') {
        *why = "operator ^ needs integers";
        return pdl_is_int(a) && pdl_is_int(b) && checked(pdl_int_xor(a, b), out, why);
    }
    if (op == 'p' && power_too_large(a, b)) {
        *why = "result too large";
        return false;
    }
    pdl_arith arith = PDL_OP_ADD;
    for (size_t i = 0; i < PDL_N_COUNT(table); i++)
        if (table[i].op == op) arith = table[i].arith;
    pdl_err err = {0};
    bool handled = false;
    pdl_val v;
    if (pdl_num_arith(arith, a, b, &handled, &v, &err) && handled) return checked(v, out, why);
    *why = reason(&err);
    pdl_err_fini(&err);
    return false;
}

typedef struct {
    int node;
    int state; /* number of operands done */
} visit;

/* Enters a node for the first time: its operands come next. */
static bool enter(const node *n, pdl_val *value, const char **why) {
    if (n->kind == N_REFUSED)
        *why = n->why;
    else if (n->kind == N_VALUE)
        *value = pdl_keep(n->value);
    return n->kind != N_REFUSED;
}

static bool leave(const node *n, pdl_val *values, size_t *n_values, const char **why) {
    pdl_val v;
    pdl_err err = {0};
    bool ok;
    size_t used = n->kind == N_NEGATE ? 1 : 2;
    pdl_val *at = values + *n_values - used;
    if (n->kind == N_NEGATE)
        ok = pdl_num_neg(at[0], &v, &err);
    else
        ok = operate(n->op, at[0], at[1], &v, why);
    if (!ok) {
        if (n->kind == N_NEGATE) *why = reason(&err);
        pdl_err_fini(&err);
        return false;
    }
    for (size_t i = 0; i < used; i++) pdl_drop(at[i]);
    at[0] = v;
    *n_values -= used - 1;
    return true;
}

static bool evaluate(const reader *r, int root, pdl_val *out, const char **why) {
    PDL_VEC(visit) todo = {0};
    PDL_VEC(pdl_val) values = {0};
    bool ok = true;
    *pdl_vec_push(&todo) = (visit){root, 0};
    while (ok && todo.n) {
        visit *v = &todo.p[todo.n - 1];
        const node *n = &r->nodes.p[v->node];
        int operands = n->kind == N_BINARY ? 2 : n->kind == N_NEGATE ? 1 : 0;
        if (operands == 0) {
            pdl_val x = pdl_absent();
            ok = enter(n, &x, why);
            if (ok) *pdl_vec_push(&values) = x;
            todo.n--;
        } else if (v->state < operands) {
            int next = v->state++ == 0 ? n->left : n->right;
            *pdl_vec_push(&todo) = (visit){next, 0};
        } else {
            ok = leave(n, values.p, &values.n, why);
            todo.n--;
        }
    }
    if (ok) *out = values.p[--values.n];
    while (values.n) pdl_drop(values.p[--values.n]);
    pdl_vec_fini(&todo);
    pdl_vec_fini(&values);
    return ok;
}

static bool calculate(pdl_str text, bool floats, pdl_val *out, const char **why) {
    reader r = {.s = {pdl_strip_text(text, (pdl_str){0}, true, true, true), 0}, .floats = floats};
    int root = whole(&r);
    *why = "syntax error";
    bool ok = root != NONE && evaluate(&r, root, out, why);
    for (size_t i = 0; i < r.nodes.n; i++) pdl_drop(r.nodes.p[i].value);
    pdl_vec_fini(&r.nodes);
    return ok;
}

bool pdl_g_calculate(PDL_ARGS) {
    bool floats = false;
    pdl_val text;
    const char *why = NULL;
    if (!pdl_is_absent(argv[1]) && !pdl_arg_truth(env, argv[1], &floats, err)) return false;
    if (!pdl_arg_text(env, argv[0], &text, err)) return false;
    pdl_str s = pdl_str_get(text);
    bool ok = calculate(s, floats, out, &why);
    if (!ok)
        pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "cannot evaluate \"%.*s\": %s", PDL_FMT(s),
                    why);
    pdl_drop(text);
    return ok;
}
