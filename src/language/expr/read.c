/* read.c -- see read.h. Expressions: precedence climbing reads binary operators, and a function
 * reads each other form.
 *
 *   or 1, and 2, not 3, comparison 4, + - 5, ~ 6, * / // % 7, ** 8, unary - + 9, postfix 10
 *
 * All binary operators are left-associative, even **. Unary minus binds tighter than ** (spec
 * syntax 4.3). Chains of operators, filters, attributes and `else` are loops; only nesting
 * recurses, counted by pdl_read_deeper.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "expr/read.h"

#include "base/buf.h"
#include "base/word_list.h"

#include "base/banned.h"

/* up to this number of keyword arguments, a call is searched without a map */
enum { FEW_KEYWORDS = 8 };

static bool is_kw(const pdl_reader *r, pdl_kw kw) {
    return r->t.kw == kw && r->t.kind == PDL_TK_NAME;
}

static bool skip_kw(pdl_reader *r, pdl_kw kw) {
    if (!is_kw(r, kw)) return false;
    pdl_read_advance(r);
    return true;
}

static const pdl_xnode *list_node(pdl_reader *r, pdl_xkind kind, uint32_t start, size_t mark) {
    pdl_xnode *n = pdl_read_node(r, kind, start);
    n->u.list = pdl_read_take(r, mark);
    return pdl_read_close(r, n);
}

/* --- operands --------------------------------------------------------------------------------- */

static const pdl_xnode *read_string(pdl_reader *r) {
    uint32_t start = r->t.start;
    pdl_str s = r->t.text;
    pdl_read_advance(r);
    if (r->t.kind == PDL_TK_STRING) {
        pdl_buf b = PDL_BUF;
        pdl_buf_put(&b, s);
        for (; r->t.kind == PDL_TK_STRING; pdl_read_advance(r)) pdl_buf_put(&b, r->t.text);
        s = pdl_arena_str(r->arena, pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
    pdl_xnode *n = pdl_read_node(r, PDL_X_CONST, start);
    n->u.value = pdl_text(s);
    pdl_hold(&r->holder, n->u.value);
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_name(pdl_reader *r, bool with_namespace) {
    pdl_kw kw = r->t.kw;
    pdl_str name = r->t.text;
    uint32_t start = r->t.start;
    pdl_read_advance(r);
    pdl_xnode *n;
    if (kw >= PDL_KW_TRUE) {
        n = pdl_read_node(r, PDL_X_CONST, start);
        n->u.value = kw == PDL_KW_NULL ? pdl_null() : pdl_bool(kw == PDL_KW_TRUE);
        return pdl_read_close(r, n);
    }
    n = pdl_read_node(r, PDL_X_NAME, start);
    n->u.name = name;
    bool is_ref = with_namespace && r->t.kind == PDL_TK_DOT;
    if (!r->in_target || is_ref) pdl_names_read(&r->names, name);
    pdl_read_close(r, n);
    if (!is_ref) return n;
    pdl_read_advance(r);
    pdl_xnode *ref = pdl_read_node(r, PDL_X_NSREF, start);
    ref->u.access.obj = n;
    ref->u.access.name = r->t.text;
    return pdl_read_expect(r, PDL_TK_NAME) ? pdl_read_close(r, ref) : NULL;
}

/* Pushes items up to `close`; with `pairs`, each is followed by a colon and a value. */
static bool read_items(pdl_reader *r, size_t mark, pdl_tk close, bool pairs) {
    pdl_read_advance(r);
    while (r->t.kind != close) {
        if (r->n_items > mark && !pdl_read_expect(r, PDL_TK_COMMA)) return false;
        if (r->t.kind == close) break;
        const pdl_xnode *e = pdl_read_expression(r), *value = NULL;
        if (!e) return false;
        if (pairs && (!pdl_read_expect(r, PDL_TK_COLON) || !(value = pdl_read_expression(r))))
            return false;
        pdl_read_push(r, e)->other = value;
    }
    pdl_read_advance(r);
    return true;
}

static const pdl_xnode *read_list(pdl_reader *r) {
    uint32_t start = r->t.start;
    size_t mark = r->n_items;
    return read_items(r, mark, PDL_TK_RBRACKET, false) ? list_node(r, PDL_X_LIST, start, mark)
                                                       : NULL;
}

static const pdl_xnode *read_dict(pdl_reader *r) {
    uint32_t start = r->t.start;
    size_t mark = r->n_items;
    if (!read_items(r, mark, PDL_TK_RBRACE, true)) return NULL;
    pdl_xnode *n = pdl_read_node(r, PDL_X_DICT, start);
    size_t count = r->n_items - mark;
    n->u.dict.n = (uint32_t)count;
    n->u.dict.keys = pdl_read_copy(r, mark);
    n->u.dict.vals = count ? pdl_arena_new_n(r->arena, const pdl_xnode *, count) : NULL;
    for (size_t i = 0; i < count; i++) n->u.dict.vals[i] = r->items[mark + i].other;
    r->n_items = mark;
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_parens(pdl_reader *r) {
    uint32_t start = r->t.start;
    pdl_read_advance(r);
    const pdl_xnode *n = pdl_read_tuple(r, true, true);
    if (!n || !pdl_read_expect(r, PDL_TK_RPAREN)) return NULL;
    if (n->kind == PDL_X_TUPLE && n->start != pdl_read_offset(r, start)) {
        pdl_xnode *outer = pdl_read_node(r, PDL_X_TUPLE, start);
        outer->u.list = n->u.list;
        return pdl_read_close(r, outer);
    }
    return n;
}

const pdl_xnode *pdl_read_primary(pdl_reader *r, bool with_namespace) {
    if (r->t.kind == PDL_TK_NAME) return read_name(r, with_namespace);
    if (r->t.kind == PDL_TK_INT || r->t.kind == PDL_TK_FLOAT) {
        pdl_xnode *n = pdl_read_node(r, PDL_X_CONST, r->t.start);
        n->u.value = r->t.value;
        pdl_read_advance(r);
        return pdl_read_close(r, n);
    }
    if (r->t.kind == PDL_TK_STRING) return read_string(r);
    if (r->t.kind == PDL_TK_LPAREN) return read_parens(r);
    if (r->t.kind == PDL_TK_LBRACKET) return read_list(r);
    if (r->t.kind == PDL_TK_LBRACE) return read_dict(r);
    pdl_str got = pdl_token_text(&r->t);
    return pdl_read_fail(r, "unexpected '%.*s'", PDL_FMT(got));
}

typedef const pdl_xnode *item_reader(pdl_reader *r);

/* Reads one item, or a tuple: several items with commas between them, or an item with a comma after
 * it. */
static const pdl_xnode *read_tuple_of(pdl_reader *r, item_reader *read_item, bool may_be_empty) {
    size_t mark = r->n_items;
    uint32_t start = r->t.start;
    bool is_tuple = false;
    for (;;) {
        if (r->n_items > mark && !pdl_read_expect(r, PDL_TK_COMMA)) return NULL;
        if (r->t.kind == PDL_TK_VAR_END || r->t.kind == PDL_TK_BLOCK_END ||
            r->t.kind == PDL_TK_RPAREN)
            break;
        const pdl_xnode *e = read_item(r);
        if (!e) return NULL;
        if (!is_tuple && r->t.kind != PDL_TK_COMMA) return e;
        pdl_read_push(r, e);
        if (r->t.kind != PDL_TK_COMMA) break;
        is_tuple = true;
    }
    if (!is_tuple && !may_be_empty) {
        pdl_str got = pdl_token_text(&r->t);
        return pdl_read_fail(r, "Expected an expression, got '%.*s'", PDL_FMT(got));
    }
    return list_node(r, PDL_X_TUPLE, start, mark);
}

const pdl_xnode *pdl_read_tuple(pdl_reader *r, bool with_cond, bool in_parens) {
    return read_tuple_of(r, with_cond ? pdl_read_expression : pdl_read_or, in_parens);
}

/* --- arguments -------------------------------------------------------------------------------- */

/* Returns true for words that Python does not accept as names of keyword arguments. For a call with
 * such a word, the reference passes all keyword arguments in a dict, where a name may be
 * repeated. */
static bool is_python_keyword(pdl_str s) {
    static const char *const words[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    return PDL_STR_IN(s, words);
}

/* Returns the first keyword that is repeated, or an empty text. Calls have few keywords, so a map
 * is rarely worth its memory. */
static pdl_str repeated(const pdl_xargs *args) {
    pdl_str again = {0};
    pdl_map seen = {0};
    for (uint32_t i = 1; i < args->n_kw && args->n_kw <= FEW_KEYWORDS; i++)
        for (uint32_t k = 0; k < i; k++)
            if (pdl_str_eq(args->kw_names[i], args->kw_names[k])) return args->kw_names[i];
    for (uint32_t i = 0; i < args->n_kw && args->n_kw > FEW_KEYWORDS && !again.p; i++)
        if (pdl_map_put(&seen, args->kw_names[i], &seen)) again = args->kw_names[i];
    pdl_map_fini(&seen);
    return again;
}

PDL_APART static void check_repeated(pdl_reader *r, const pdl_xargs *args, uint32_t start) {
    pdl_str again = repeated(args);
    bool by_dict = false;
    for (uint32_t i = 0; again.p && i < args->n_kw; i++)
        by_dict = by_dict || is_python_keyword(args->kw_names[i]);
    if (again.p && !by_dict)
        pdl_xfail_set(&r->late, r->arena, "SyntaxError", (pdl_xspan){start, r->last_end},
                      "keyword argument repeated: %.*s", PDL_FMT(again));
}

static bool bad_call(pdl_reader *r) {
    pdl_read_fail(r, "invalid syntax for function call expression");
    return false;
}

/* Returns true at a keyword argument. Most arguments have no keyword, so the next token is made
 * only when its first byte may be = . */
static bool is_keyword(pdl_reader *r) {
    return r->t.kind == PDL_TK_NAME && (r->has_ahead || pdl_lex_may_assign(&r->lexer)) &&
           pdl_read_look(r)->kind == PDL_TK_ASSIGN;
}

static bool read_arg(pdl_reader *r, pdl_xargs *args, bool *has_kw) {
    const pdl_xnode *e;
    if (r->t.kind == PDL_TK_MUL) {
        if (args->star || args->starstar) return bad_call(r);
        pdl_read_advance(r);
        return (args->star = pdl_read_expression(r)) != NULL;
    }
    if (r->t.kind == PDL_TK_POW) {
        if (args->starstar) return bad_call(r);
        pdl_read_advance(r);
        return (args->starstar = pdl_read_expression(r)) != NULL;
    }
    if (is_keyword(r)) {
        if (args->starstar) return bad_call(r);
        pdl_str key = r->t.text;
        pdl_read_advance(r);
        pdl_read_advance(r);
        if (!(e = pdl_read_expression(r))) return false;
        pdl_read_push(r, e)->name = key;
        *has_kw = true;
        return true;
    }
    if (args->star || args->starstar || *has_kw) return bad_call(r);
    if (!(e = pdl_read_expression(r))) return false;
    pdl_read_push(r, e);
    return true;
}

/* Reads the arguments, from `(` to the closing bracket. */
static bool read_args(pdl_reader *r, pdl_xargs *args) {
    size_t mark = r->n_items;
    uint32_t start = r->t.start;
    bool has_kw = false, more = false;
    pdl_read_advance(r);
    for (; r->t.kind != PDL_TK_RPAREN; more = true) {
        if (more && !pdl_read_expect(r, PDL_TK_COMMA)) return false;
        if (more && r->t.kind == PDL_TK_RPAREN) break;
        if (!read_arg(r, args, &has_kw)) return false;
    }
    pdl_read_advance(r);
    size_t n = r->n_items - mark, n_pos = 0;
    while (n_pos < n && !r->items[mark + n_pos].name.p) n_pos++;
    args->n_pos = (uint32_t)n_pos;
    args->n_kw = (uint32_t)(n - n_pos);
    if (args->n_kw) {
        args->kw_names = pdl_arena_new_n(r->arena, pdl_str, args->n_kw);
        for (size_t i = n_pos; i < n; i++) args->kw_names[i - n_pos] = r->items[mark + i].name;
    }
    args->pos = pdl_read_copy(r, mark);
    args->kw = args->n_kw ? args->pos + n_pos : NULL;
    r->n_items = mark;
    if (args->n_kw > 1) check_repeated(r, args, start);
    return true;
}

/* --- postfix ---------------------------------------------------------------------------------- */

static bool ends_slice(const pdl_reader *r) {
    return r->t.kind == PDL_TK_RBRACKET || r->t.kind == PDL_TK_COMMA;
}

static const pdl_xnode *read_subscript(pdl_reader *r) {
    uint32_t start = r->t.start;
    const pdl_xnode *from = NULL, *to = NULL, *step = NULL;
    if (r->t.kind != PDL_TK_COLON) {
        from = pdl_read_expression(r);
        if (!from || r->t.kind != PDL_TK_COLON) return from;
    }
    pdl_read_advance(r);
    if (r->t.kind != PDL_TK_COLON && !ends_slice(r) && !(to = pdl_read_expression(r))) return NULL;
    if (r->t.kind == PDL_TK_COLON) {
        pdl_read_advance(r);
        if (!ends_slice(r) && !(step = pdl_read_expression(r))) return NULL;
    }
    pdl_xnode *n = pdl_read_node(r, PDL_X_SLICE, start);
    n->u.slice.from = from;
    n->u.slice.to = to;
    n->u.slice.step = step;
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_item(pdl_reader *r, const pdl_xnode *obj) {
    uint32_t start = r->t.start;
    size_t mark = r->n_items;
    pdl_read_advance(r);
    while (r->t.kind != PDL_TK_RBRACKET) {
        if (r->n_items > mark && !pdl_read_expect(r, PDL_TK_COMMA)) return NULL;
        const pdl_xnode *key = read_subscript(r);
        if (!key) return NULL;
        pdl_read_push(r, key);
    }
    pdl_read_advance(r);
    pdl_xnode *n = pdl_read_node_from(r, PDL_X_ITEM, obj);
    n->u.access.obj = obj;
    if (r->n_items - mark == 1) {
        n->u.access.key = r->items[mark].node;
        r->n_items = mark;
    } else {
        n->u.access.key = list_node(r, PDL_X_TUPLE, start, mark);
    }
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_dot(pdl_reader *r, const pdl_xnode *obj) {
    pdl_read_advance(r);
    if (r->t.kind == PDL_TK_NAME) {
        pdl_xnode *n = pdl_read_node_from(r, PDL_X_ATTR, obj);
        n->u.access.obj = obj;
        n->u.access.name = r->t.text;
        pdl_read_advance(r);
        return pdl_read_close(r, n);
    }
    pdl_token t = r->t;
    pdl_read_advance(r);
    if (t.kind != PDL_TK_INT) {
        pdl_xfail_set(&r->fail, r->arena, "TemplateSyntaxError", (pdl_xspan){t.start, t.end},
                      "expected name or number");
        return NULL;
    }
    pdl_xnode *key = pdl_read_node(r, PDL_X_CONST, t.start);
    pdl_xnode *n = pdl_read_node_from(r, PDL_X_ITEM, obj);
    key->u.value = t.value;
    n->u.access.obj = obj;
    n->u.access.key = pdl_read_close(r, key);
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_call(pdl_reader *r, const pdl_xnode *obj) {
    pdl_xnode *n = pdl_read_node_from(r, PDL_X_CALL, obj);
    r->has_call = true;
    n->u.call.obj = obj;
    return read_args(r, &n->u.call.args) ? pdl_read_close(r, n) : NULL;
}

static const pdl_xnode *read_postfix(pdl_reader *r, const pdl_xnode *n) {
    while (n) {
        if (r->t.kind == PDL_TK_DOT)
            n = read_dot(r, n);
        else if (r->t.kind == PDL_TK_LBRACKET)
            n = read_item(r, n);
        else if (r->t.kind == PDL_TK_LPAREN)
            n = read_call(r, n);
        else
            break;
    }
    return n;
}

/* --- filters and tests ------------------------------------------------------------------------ */

/* Reads name or name.name... Returns false after an error. */
static bool read_dotted(pdl_reader *r, pdl_str *out) {
    pdl_str name = r->t.text;
    if (!pdl_read_expect(r, PDL_TK_NAME)) return false;
    if (r->t.kind == PDL_TK_DOT) {
        pdl_buf b = PDL_BUF;
        pdl_buf_put(&b, name);
        bool ok = true;
        while (ok && r->t.kind == PDL_TK_DOT) {
            pdl_read_advance(r);
            pdl_buf_putc(&b, '.');
            pdl_buf_put(&b, r->t.text);
            ok = pdl_read_expect(r, PDL_TK_NAME);
        }
        name = pdl_arena_str(r->arena, pdl_buf_str(&b));
        pdl_buf_fini(&b);
        if (!ok) return false;
    }
    *out = name;
    return true;
}

static void note_unknown(pdl_reader *r, pdl_xnode *n) {
    if (!r->known) return;
    bool (*is_known)(pdl_str) = n->kind == PDL_X_FILTER ? r->known->is_filter : r->known->is_test;
    if (!is_known || is_known(n->u.filter.name)) return;
    n->u.filter.unknown = true;
    r->suspects++;
}

pdl_xnode *pdl_read_filters(pdl_reader *r, const pdl_xnode *obj, bool inline_start) {
    pdl_xnode *n = NULL;
    while (inline_start || r->t.kind == PDL_TK_PIPE) {
        if (!inline_start) pdl_read_advance(r);
        inline_start = false;
        n = obj ? pdl_read_node_from(r, PDL_X_FILTER, obj)
                : pdl_read_node(r, PDL_X_FILTER, r->t.start);
        n->u.filter.obj = obj;
        if (!read_dotted(r, &n->u.filter.name)) return NULL;
        if (r->t.kind == PDL_TK_LPAREN && !read_args(r, &n->u.filter.args)) return NULL;
        note_unknown(r, n);
        obj = pdl_read_close(r, n);
    }
    return n;
}

static bool begins_test_arg(const pdl_reader *r) {
    pdl_tk k = r->t.kind;
    if (k == PDL_TK_NAME)
        return r->t.kw != PDL_KW_ELSE && r->t.kw != PDL_KW_OR && r->t.kw != PDL_KW_AND;
    return k == PDL_TK_STRING || k == PDL_TK_INT || k == PDL_TK_FLOAT || k == PDL_TK_LBRACKET ||
           k == PDL_TK_LBRACE;
}

static const pdl_xnode *read_test(pdl_reader *r, const pdl_xnode *obj) {
    pdl_xnode *n = pdl_read_node_from(r, PDL_X_TEST, obj);
    pdl_read_advance(r);
    n->u.filter.negated = skip_kw(r, PDL_KW_NOT);
    n->u.filter.obj = obj;
    if (!read_dotted(r, &n->u.filter.name)) return NULL;
    if (r->t.kind == PDL_TK_LPAREN) {
        if (!read_args(r, &n->u.filter.args)) return NULL;
    } else if (begins_test_arg(r)) {
        if (is_kw(r, PDL_KW_IS)) return pdl_read_fail(r, "You cannot chain multiple tests with is");
        const pdl_xnode **arg = pdl_arena_new(r->arena, const pdl_xnode *);
        *arg = pdl_read_primary(r, false);
        if (!*arg || !(*arg = read_postfix(r, *arg))) return NULL;
        n->u.filter.args.pos = arg;
        n->u.filter.args.n_pos = 1;
    }
    note_unknown(r, n);
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_pipes(pdl_reader *r, const pdl_xnode *n) {
    while (n) {
        if (r->t.kind == PDL_TK_PIPE)
            n = pdl_read_filters(r, n, false);
        else if (is_kw(r, PDL_KW_IS))
            n = read_test(r, n);
        else if (r->t.kind == PDL_TK_LPAREN)
            n = read_call(r, n);
        else
            break;
    }
    return n;
}

/* --- operators -------------------------------------------------------------------------------- */

/* Returns true when the token at the cursor ends an operand with all its suffixes. This is true for
 * half of all tokens. Each loop that searches for suffixes is then skipped. */
static inline bool is_end(const pdl_reader *r) {
    static const bool ends[PDL_TK_COUNT] = {
        [PDL_TK_EOF] = true,      [PDL_TK_VAR_END] = true, [PDL_TK_BLOCK_END] = true,
        [PDL_TK_RBRACKET] = true, [PDL_TK_RPAREN] = true,  [PDL_TK_RBRACE] = true,
        [PDL_TK_COLON] = true,    [PDL_TK_COMMA] = true,
    };
    return ends[r->t.kind];
}

static const pdl_xnode *read_signed(pdl_reader *r) {
    pdl_xnode *n;
    const pdl_xnode *e;
    if (r->t.kind != PDL_TK_SUB && r->t.kind != PDL_TK_ADD) {
        e = pdl_read_primary(r, false);
        return e && !is_end(r) ? read_postfix(r, e) : e;
    }
    if (!pdl_read_deeper(r)) return NULL;
    n = pdl_read_node(r, PDL_X_UNARY, r->t.start);
    n->u.op.op = r->t.kind == PDL_TK_SUB ? PDL_XOP_NEG : PDL_XOP_POS;
    pdl_read_advance(r);
    n->u.op.a = read_signed(r);
    r->depth--;
    return n->u.op.a ? pdl_read_close(r, n) : NULL;
}

static const struct {
    uint8_t level;
    pdl_xop op;
} binaries[PDL_TK_COUNT] = {
    [PDL_TK_EQ] = {4, PDL_XOP_EQ},      [PDL_TK_NE] = {4, PDL_XOP_NE},
    [PDL_TK_LT] = {4, PDL_XOP_LT},      [PDL_TK_LE] = {4, PDL_XOP_LE},
    [PDL_TK_GT] = {4, PDL_XOP_GT},      [PDL_TK_GE] = {4, PDL_XOP_GE},
    [PDL_TK_ADD] = {5, PDL_XOP_ADD},    [PDL_TK_SUB] = {5, PDL_XOP_SUB},
    [PDL_TK_TILDE] = {6, PDL_XOP_NONE}, [PDL_TK_MUL] = {7, PDL_XOP_MUL},
    [PDL_TK_DIV] = {7, PDL_XOP_DIV},    [PDL_TK_FLOORDIV] = {7, PDL_XOP_FLOORDIV},
    [PDL_TK_MOD] = {7, PDL_XOP_MOD},    [PDL_TK_POW] = {8, PDL_XOP_POW},
};
enum { L_OR = 1, L_AND, L_NOT, L_COMPARE, L_SUM, L_CONCAT, L_PRODUCT, L_POWER };

/* Returns the level of the operator at the cursor; 0 when the token is no operator. */
static unsigned level_here(pdl_reader *r, pdl_xop *op) {
    if (r->t.kind != PDL_TK_NAME) {
        *op = binaries[r->t.kind].op;
        return binaries[r->t.kind].level;
    }
    *op = PDL_XOP_NONE;
    if (r->t.kw == PDL_KW_OR) return L_OR;
    if (r->t.kw == PDL_KW_AND) return L_AND;
    if (r->t.kw == PDL_KW_IN)
        *op = PDL_XOP_IN;
    else if (r->t.kw == PDL_KW_NOT && pdl_read_look(r)->kind == PDL_TK_NAME &&
             r->ahead.kw == PDL_KW_IN)
        *op = PDL_XOP_NOTIN;
    else
        return 0;
    return L_COMPARE;
}

static const pdl_xnode *read_binary(pdl_reader *r, unsigned min);

/* Reads the right side of an operator. Operators of eight levels may be open inside of each pair of
 * parentheses, so their number is limited as well. The worst text needs a stack of less than 256
 * KB. */
static const pdl_xnode *read_right(pdl_reader *r, unsigned min) {
    if (r->operators == 2 * PDL_MAX_EXPR_DEPTH) {
        r->depth = PDL_MAX_EXPR_DEPTH;
        pdl_read_deeper(r);
        return NULL;
    }
    r->operators++;
    const pdl_xnode *n = read_binary(r, min);
    r->operators--;
    return n;
}

static const pdl_xnode *read_compare(pdl_reader *r, const pdl_xnode *first) {
    size_t mark = r->n_items;
    pdl_xop op;
    while (level_here(r, &op) == L_COMPARE) {
        pdl_read_advance(r);
        if (op == PDL_XOP_NOTIN) pdl_read_advance(r);
        const pdl_xnode *e = read_right(r, L_SUM);
        if (!e) return NULL;
        pdl_read_push(r, e)->op = op;
    }
    size_t n = r->n_items - mark;
    pdl_xnode *c = pdl_read_node_from(r, PDL_X_COMPARE, first);
    pdl_xop *ops = pdl_arena_new_n(r->arena, pdl_xop, n);
    for (size_t i = 0; i < n; i++) ops[i] = r->items[mark + i].op;
    c->u.compare.first = first;
    c->u.compare.n = (uint32_t)n;
    c->u.compare.ops = ops;
    c->u.compare.rest = pdl_read_take(r, mark).p;
    return pdl_read_close(r, c);
}

static const pdl_xnode *read_concat(pdl_reader *r, const pdl_xnode *first) {
    size_t mark = r->n_items;
    pdl_read_push(r, first);
    while (pdl_read_skip(r, PDL_TK_TILDE)) {
        const pdl_xnode *e = read_right(r, L_PRODUCT);
        if (!e) return NULL;
        pdl_read_push(r, e);
    }
    pdl_xnode *n = pdl_read_node_from(r, PDL_X_CONCAT, first);
    n->u.list = pdl_read_take(r, mark);
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_not(pdl_reader *r) {
    if (!is_kw(r, PDL_KW_NOT)) return read_binary(r, L_COMPARE);
    if (!pdl_read_deeper(r)) return NULL;
    pdl_xnode *n = pdl_read_node(r, PDL_X_UNARY, r->t.start);
    n->u.op.op = PDL_XOP_NOT;
    pdl_read_advance(r);
    n->u.op.a = read_not(r);
    r->depth--;
    return n->u.op.a ? pdl_read_close(r, n) : NULL;
}

/* Reads an operand and the following operators whose level is `min` or above. */
static const pdl_xnode *read_binary(pdl_reader *r, unsigned min) {
    const pdl_xnode *left;
    if (min <= L_NOT && is_kw(r, PDL_KW_NOT)) {
        left = read_not(r);
    } else {
        left = read_signed(r);
        if (!left || is_end(r)) return left;
        left = read_pipes(r, left);
    }
    pdl_xop op;
    unsigned level;
    while (left && (level = level_here(r, &op)) >= min && level) {
        if (level == L_COMPARE) {
            left = read_compare(r, left);
            continue;
        }
        if (level == L_CONCAT) {
            left = read_concat(r, left);
            continue;
        }
        pdl_xnode *n = pdl_read_node_from(r, PDL_X_BINARY, left);
        /* A node of `and` or `or` has the size of a binary node, so the code may change
         * its kind. */
        if (level <= L_AND) n->kind = level == L_OR ? PDL_X_OR : PDL_X_AND;
        pdl_read_advance(r);
        n->u.op.op = op;
        n->u.op.a = left;
        n->u.op.b = read_right(r, level + 1);
        left = n->u.op.b ? pdl_read_close(r, n) : NULL;
    }
    return left;
}

const pdl_xnode *pdl_read_or(pdl_reader *r) {
    if (!pdl_read_deeper(r)) return NULL;
    const pdl_xnode *n = read_binary(r, L_OR);
    r->depth--;
    return n;
}

/* Reads `a if b else c if d ...` after a. A loop reads the chain of `else`, and fills the `no` of
 * the node before. */
static const pdl_xnode *read_conditional(pdl_reader *r, const pdl_xnode *first) {
    pdl_xnode *root = NULL, *last = NULL;
    const pdl_xnode *e = first;
    for (;;) {
        pdl_xnode *n = NULL;
        while (skip_kw(r, PDL_KW_IF)) {
            n = pdl_read_node_from(r, PDL_X_COND, e);
            n->u.cond.yes = e;
            if (!(n->u.cond.test = pdl_read_or(r))) return NULL;
            pdl_read_close(r, n);
            e = n;
            if (is_kw(r, PDL_KW_ELSE)) break;
            n = NULL;
        }
        if (last) last->u.cond.no = e;
        if (!n || !skip_kw(r, PDL_KW_ELSE)) break;
        if (!root) root = n;
        last = n;
        if (!(e = pdl_read_or(r))) return NULL;
    }
    if (!root) return e;
    for (pdl_xnode *n = root;; n = (pdl_xnode *)n->u.cond.no) {
        pdl_read_close(r, n);
        if (n == last) return root;
    }
}

const pdl_xnode *pdl_read_expression(pdl_reader *r) {
    const pdl_xnode *n = pdl_read_or(r);
    return n && is_kw(r, PDL_KW_IF) ? read_conditional(r, n) : n;
}

/* --- targets ---------------------------------------------------------------------------------- */

static bool can_assign(const pdl_xnode *n) {
    if (n->kind == PDL_X_TUPLE) {
        for (uint32_t i = 0; i < n->u.list.n; i++)
            if (!can_assign(n->u.list.p[i])) return false;
        return true;
    }
    return n->kind == PDL_X_NAME || n->kind == PDL_X_NSREF;
}

static const pdl_xnode *read_plain_target(pdl_reader *r) { return pdl_read_primary(r, false); }
static const pdl_xnode *read_any_target(pdl_reader *r) { return pdl_read_primary(r, true); }

const pdl_xnode *pdl_read_target(pdl_reader *r, bool with_namespace) {
    r->in_target = true;
    const pdl_xnode *n =
        read_tuple_of(r, with_namespace ? read_any_target : read_plain_target, false);
    r->in_target = false;
    if (n && !can_assign(n)) return pdl_read_fail(r, "can't assign to '%s'", pdl_xnode_word(n));
    return n;
}
