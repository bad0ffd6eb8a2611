/* pynames.c -- finds the names in Python code that may be variables of the program; see pynames.h.
 *
 * An editor that renames a variable has to change the Python code that reads it, too, or the
 * program breaks silently. This needs no parser of Python: the names are all words outside of texts
 * and comments, except the names that the code itself may bind. Code binds a name when the name
 * occurs first in an assignment, or when it occurs after `for`, `import`, `as`, `def`, `class` or
 * `global`, or among parameters. In an f-string, words inside braces count, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/symbols/pynames.h"

#include "base/map.h"
#include "base/vec.h"
#include "base/word_list.h"

#include "base/banned.h"

enum { MAX_PARENS = 32, MAX_FSTRINGS = 4 };

typedef struct scanner {
    pdl_str code;
    PDL_VEC(lsp_pyname) found;
    pdl_map bound; /* set of the names that the code itself binds */
    pdl_map seen;  /* set of the names that have occurred before */
    /* for each open bracket, the function that it calls; empty when it calls none */
    pdl_str callee[MAX_PARENS];
    /* number of open brackets; brackets beyond MAX_PARENS are only counted */
    size_t depth;
    /* words are bound, up to the end of a statement such as for or import */
    bool binds;
    /* words are bound, up to the bracket or colon that ends the parameters */
    bool params, is_lambda;
    size_t params_depth;
    unsigned fstrings; /* number of f-strings that contain the present position */
} scanner;

static bool is_letter(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}
static bool is_part(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }
static char at(pdl_str s, size_t i) { return i < s.n ? s.p[i] : 0; }

/* Returns true for Python's built-in functions. The code may call such a function first, and only
 * later give another value to its name. */
static bool is_builtin(pdl_str name) {
    static const char *const names[] = {
        "abs",   "all",    "any",   "bool",     "chr",   "dict", "enumerate", "filter",
        "float", "format", "hash",  "id",       "input", "int",  "iter",      "len",
        "list",  "map",    "max",   "min",      "next",  "open", "ord",       "pow",
        "print", "range",  "repr",  "reversed", "round", "set",  "slice",     "sorted",
        "str",   "sum",    "tuple", "type",     "vars",  "zip"};
    return PDL_STR_IN(name, names);
}

static void bind(scanner *s, pdl_str name) { pdl_map_put(&s->bound, name, s); }

static void scan(scanner *s, size_t from, size_t to);

/* Returns the end of `${ ... }`, which is an expression of the program. */
static size_t skip_expression(pdl_str code, size_t i, size_t end) {
    size_t depth = 0;
    for (i++; i < end; i++) {
        if (code.p[i] == '{') depth++;
        if (code.p[i] == '}' && --depth == 0) return i + 1;
    }
    return end;
}

/* Returns the end of the part {...} of an f-string that begins at i. Scans the expression in it. */
static size_t scan_part(scanner *s, size_t i, size_t end) {
    size_t depth = 0, from = i + 1, stop = 0;
    for (i = from; i < end; i++) {
        char c = s->code.p[i];
        if (depth == 0 && !stop &&
            (c == '}' || c == ':' || (c == '!' && at(s->code, i + 1) != '=')))
            stop = i;
        if (c == '}' && depth == 0) break;
        if (c == '(' || c == '[' || c == '{') depth++;
        if (depth && (c == ')' || c == ']' || c == '}')) depth--;
    }
    scan(s, from, stop ? stop : i);
    return i;
}

/* Returns the end of a text whose quote is at i. is_format: the text is an f-string. */
static size_t skip_text(scanner *s, size_t i, size_t end, bool is_format) {
    char quote = s->code.p[i];
    bool triple = i + 2 < end && s->code.p[i + 1] == quote && s->code.p[i + 2] == quote;
    for (i += triple ? 3 : 1; i < end; i++) {
        char c = s->code.p[i];
        if (c == '\\' && at(s->code, i + 1) != '$') {
            i++;
        } else if (c == quote &&
                   (!triple || (at(s->code, i + 1) == quote && at(s->code, i + 2) == quote))) {
            return i + (triple ? 3 : 1);
        } else if (c == '\n' && !triple) {
            return i;
        } else if (c == '$' && at(s->code, i + 1) == '{') {
            i = skip_expression(s->code, i, end) - 1;
        } else if (c == '{' && is_format && s->fstrings < MAX_FSTRINGS) {
            if (at(s->code, i + 1) == '{') {
                i++;
                continue;
            }
            s->fstrings++;
            i = scan_part(s, i, end);
            s->fstrings--;
        }
    }
    return end;
}

/* Handles a keyword that says how the names after it are used. Returns false for other words. */
static bool take_keyword(scanner *s, pdl_str word) {
    static const char *const binding[] = {"for",   "import", "as",       "def",
                                          "class", "global", "nonlocal", "from"};
    if (PDL_STR_IN(word, binding)) return s->binds = true;
    if (pdl_str_is(word, "in")) {
        s->binds = false;
        return true;
    }
    if (!pdl_str_is(word, "lambda")) return false;
    s->params = s->is_lambda = true;
    s->params_depth = s->depth;
    return true;
}

static void take_word(scanner *s, size_t from, size_t to, size_t end) {
    pdl_str word = pdl_str_sub(s->code, from, to);
    size_t next = to;
    while (next < end && (s->code.p[next] == ' ' || s->code.p[next] == '\t')) next++;
    char c = at(s->code, next), after = at(s->code, next + 1);
    bool assigns = c == '=' && after != '=';
    bool walrus = c == ':' && after == '=';
    if (from > 0 && s->code.p[from - 1] == '.' && at(s->code, from - 2) != '.') return;
    if (take_keyword(s, word)) return;
    if (s->binds && c == '(') { /* the parameters begin here, as in def name(parameters) */
        s->params = true;
        s->is_lambda = false;
        s->params_depth = s->depth + 1;
    }
    if (s->binds || s->params || walrus || (assigns && !s->depth && !pdl_map_find(&s->seen, word)))
        bind(s, word);
    if (c == '(') s->binds = false;
    pdl_map_put(&s->seen, word, s);
    bool is_arg = assigns && s->depth && !s->params;
    pdl_str callee = is_arg && s->depth <= MAX_PARENS ? s->callee[s->depth - 1] : (pdl_str){0};
    if ((is_arg && !callee.n) || (c == '(' && is_builtin(word))) return;
    *pdl_vec_push(&s->found) = (lsp_pyname){from, to, callee};
}

static void open_bracket(scanner *s, size_t i) {
    size_t from = i;
    while (from > 0 && is_part(s->code.p[from - 1])) from--;
    bool plain = s->code.p[i] == '(' && from < i && (from == 0 || s->code.p[from - 1] != '.');
    if (s->depth < MAX_PARENS)
        s->callee[s->depth] = plain ? pdl_str_sub(s->code, from, i) : (pdl_str){0};
    s->depth++;
}

static void take_mark(scanner *s, size_t i) {
    char c = s->code.p[i];
    if (c == '(' || c == '[' || c == '{') open_bracket(s, i);
    if ((c == ')' || c == ']' || c == '}') && s->depth) s->depth--;
    bool ends_lambda = s->is_lambda && c == ':' && s->depth <= s->params_depth;
    if (s->params && (ends_lambda || (c == ')' && s->depth < s->params_depth))) s->params = false;
    if (c == ':' || (c == '\n' && !s->depth) || c == ';') s->binds = false;
}

static void scan(scanner *s, size_t from, size_t to) {
    for (size_t i = from; i < to;) {
        char c = s->code.p[i];
        if (c == '#') {
            while (i < to && s->code.p[i] != '\n') i++;
        } else if (c == '$' && at(s->code, i + 1) == '{') {
            i = skip_expression(s->code, i, to);
        } else if (c == '"' || c == '\'') {
            i = skip_text(s, i, to, false);
        } else if (is_part(c)) {
            size_t start = i;
            while (i < to && is_part(s->code.p[i])) i++;
            bool quoted = i < to && (s->code.p[i] == '"' || s->code.p[i] == '\'') && i - start <= 2;
            pdl_str word = pdl_str_sub(s->code, start, i);
            if (quoted) /* the word is the prefix of a text, as in rb"..." */
                i = skip_text(s, i, to, memchr(word.p, 'f', word.n) || memchr(word.p, 'F', word.n));
            else if (is_letter(c))
                take_word(s, start, i, to);
        } else {
            take_mark(s, i++);
        }
    }
}

void pdl_lsp_each_pyname(pdl_str code, void (*fn)(void *user, const lsp_pyname *n), void *user) {
    scanner s = {.code = code};
    scan(&s, 0, code.n);
    for (size_t i = 0; i < s.found.n; i++) {
        const lsp_pyname *n = &s.found.p[i];
        pdl_str name = n->callee.n ? n->callee : pdl_str_sub(code, n->from, n->to);
        if (!pdl_map_find(&s.bound, name)) fn(user, n);
    }
    pdl_map_fini(&s.bound);
    pdl_map_fini(&s.seen);
    pdl_vec_fini(&s.found);
}
