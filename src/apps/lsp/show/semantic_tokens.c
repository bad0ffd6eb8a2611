/* semantic_tokens.c -- semantic tokens, by which an editor colours words whose meaning the text
 * alone does not show: keys of the language, names where they are set and read, functions, filters,
 * models and the words of fields. Tokens are collected from the tree and from the expressions,
 * sorted by position, and written as differences, as the protocol requires. No token spans lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "lsp/features.h"
#include "lsp/spans.h"

#include "base/banned.h"

enum { MAX_TOKENS = 100000, MAX_DEPTH = 1000 };

/* X(id, name). The types of tokens, with the names that the protocol has for them. */
#define TOKEN_TYPES(X)                                                                             \
    X(KEYWORD, "keyword")                                                                          \
    X(PROPERTY, "property")                                                                        \
    X(VARIABLE, "variable")                                                                        \
    X(PARAMETER, "parameter")                                                                      \
    X(FUNCTION, "function")                                                                        \
    X(METHOD, "method")                                                                            \
    X(NAMESPACE, "namespace")                                                                      \
    X(ENUM_MEMBER, "enumMember")                                                                   \
    X(TYPE, "type")                                                                                \
    X(OPERATOR, "operator")                                                                        \
    X(STRING, "string")                                                                            \
    X(NUMBER, "number")                                                                            \
    X(MACRO, "macro")
typedef enum {
#define X(id, name) TOKEN_##id,
    TOKEN_TYPES(X)
#undef X
} token_type;
const char *const pdl_lsp_token_types[] = {
#define X(id, name) name,
    TOKEN_TYPES(X)
#undef X
        NULL};

enum { MOD_DEFINITION = 1, MOD_DEFAULT_LIBRARY = 2, MOD_DEPRECATED = 4 };
const char *const pdl_lsp_token_modifiers[] = {"definition", "defaultLibrary", "deprecated", NULL};

typedef struct lsp_token {
    uint32_t from, to;
    uint8_t type, modifiers;
} lsp_token;

typedef struct lsp_tokens {
    lsp_doc *d;
    uint32_t low, high; /* only tokens that touch this range are kept */
    PDL_VEC(lsp_token) all;
    lsp_spans spans;
    pdl_arena *scratch;
} lsp_tokens;

static void add(lsp_tokens *t, uint32_t from, uint32_t to, token_type type, unsigned modifiers) {
    if (to <= from || to < t->low || from > t->high || t->all.n >= MAX_TOKENS) return;
    *pdl_vec_push(&t->all) = (lsp_token){from, to, (uint8_t)type, (uint8_t)modifiers};
}

/* --- names ------------------------------------------------------------------------------------ */

static token_type sym_type(lsp_sym_kind k) {
    return k == SYM_FUNCTION    ? TOKEN_FUNCTION
           : k == SYM_MODULE    ? TOKEN_NAMESPACE
           : k == SYM_PARAMETER ? TOKEN_PARAMETER
           : k == SYM_FIELD     ? TOKEN_PROPERTY
                                : TOKEN_VARIABLE;
}

static void add_names(lsp_tokens *t) {
    const lsp_index *x = t->d->index;
    for (size_t i = 0; i < x->syms.n; i++)
        add(t, x->syms.p[i].at, x->syms.p[i].at + (uint32_t)x->syms.p[i].name.n,
            sym_type(x->syms.p[i].kind), MOD_DEFINITION);
    for (size_t i = 0; i < x->refs.n; i++) {
        const lsp_ref *r = &x->refs.p[i];
        uint32_t region;
        if (r->kind == REF_CODE) continue; /* the editor itself colours Python code */
        token_type type = r->kind == REF_CALL || r->called ? TOKEN_FUNCTION
                          : r->kind == REF_MEMBER          ? TOKEN_PROPERTY
                          : r->kind == REF_ARG             ? TOKEN_PARAMETER
                                                           : TOKEN_VARIABLE;
        if (r->kind == REF_READ && pdl_lsp_index_owner(x, r->region, r->name, &region))
            type = sym_type(pdl_lsp_index_sym(x, region, r->name)->kind);
        add(t, r->at, r->at + (uint32_t)r->name.n, type, 0);
    }
}

/* --- expressions ------------------------------------------------------------------------------ */

typedef struct in_expr {
    lsp_tokens *t;
    const pdl_expr *e;
    size_t base; /* offset at which e begins in the scalar's text */
} in_expr;

static void add_part(const in_expr *x, size_t from, size_t to, token_type type, unsigned mods) {
    uint32_t start, end;
    if (pdl_lsp_spans_find(&x->t->spans, x->base + from, x->base + to, &start, &end))
        add(x->t, start, end, type, mods);
}

static void on_xnode(void *user, const pdl_xnode *n) {
    const in_expr *x = user;
    if (n->kind == PDL_X_FILTER || n->kind == PDL_X_TEST) {
        const char *p = n->u.filter.name.p, *text = x->e->source.p;
        if (p < text || p + n->u.filter.name.n > text + x->e->source.n) return;
        size_t from = (size_t)(p - text);
        add_part(x, from, from + n->u.filter.name.n, TOKEN_METHOD, MOD_DEFAULT_LIBRARY);
    } else if (n->kind == PDL_X_CONST && n->end > n->start) {
        token_type type = pdl_is_str(n->u.value)                               ? TOKEN_STRING
                          : pdl_is_bool(n->u.value) || pdl_is_null(n->u.value) ? TOKEN_KEYWORD
                                                                               : TOKEN_NUMBER;
        add_part(x, n->start, n->end, type, 0);
    }
}

static void on_expr(void *user, const pdl_expr *e, size_t base) {
    in_expr x = {user, e, base};
    pdl_xnode_each(e->root, on_xnode, &x);
}

static void add_expr(lsp_tokens *t, const pdl_node *n) {
    if (!pdl_node_is_str(n) || pdl_expr_is_plain(n->text)) return;
    pdl_lsp_spans_of(&t->spans, n);
    pdl_lsp_each_expr(t->scratch, n->text, on_expr, t);
}

/* --- the tree --------------------------------------------------------------------------------- */

static void add_key(lsp_tokens *t, const lsp_spot *p) {
    const pdl_node *key = p->key;
    if (p->up->role == ROLE_BLOCK || p->up->role == ROLE_BLOCKS) {
        if (p->field)
            add(t, key->start, key->end, TOKEN_KEYWORD,
                p->field->need == PDL_NEED_OLD ? MOD_DEPRECATED : 0);
    } else if (p->up->role == ROLE_WORDS || p->up->role == ROLE_RECORD ||
               p->up->role == ROLE_PATTERN) {
        add(t, key->start, key->end, TOKEN_KEYWORD, 0);
    } else if (p->up->role == ROLE_NAMED_BLOCKS || p->up->role == ROLE_TYPE_FIELDS) {
        add(t, key->start, key->end, TOKEN_PROPERTY, 0);
    }
}

static void add_value(lsp_tokens *t, const lsp_spot *p) {
    const pdl_node *n = p->node;
    if (p->role == ROLE_WORD && pdl_word_find(p->group, n->text))
        add(t, n->start, n->end, TOKEN_ENUM_MEMBER, 0);
    else if (p->role == ROLE_TYPE)
        add(t, n->start, n->end, TOKEN_TYPE, 0);
    else if (p->role == ROLE_MODEL && pdl_expr_is_plain(n->text))
        add(t, n->start, n->end, TOKEN_MACRO, 0);
    else if (p->role == ROLE_FILE)
        add(t, n->start, n->end, TOKEN_NAMESPACE, 0);
    else
        add_expr(t, n);
}

static void walk(lsp_tokens *t, const lsp_spot *p, unsigned depth) {
    if (depth > MAX_DEPTH || p->node->shared || p->node->start > t->high) return;
    if (p->node->kind == PDL_NODE_SCALAR) {
        if (p->role != ROLE_RAW && p->role != ROLE_NONE) add_value(t, p);
        return;
    }
    for (uint32_t i = 0; i < p->node->n; i++) {
        lsp_spot child = pdl_lsp_spot_child(p, i);
        if (child.key) add_key(t, &child);
        walk(t, &child, depth + 1);
    }
}

/* --- writing ---------------------------------------------------------------------------------- */

static int cmp_tokens(const void *a, const void *b) {
    const lsp_token *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static pdl_val put_all(lsp_tokens *t) {
    pdl_val data = pdl_list_new(t->all.n * 5);
    lsp_pos last = {0, 0};
    uint32_t done = 0; /* tokens that overlap an earlier token are skipped */
    if (t->all.n) qsort(t->all.p, t->all.n, sizeof *t->all.p, cmp_tokens);
    for (size_t i = 0; i < t->all.n; i++) {
        const lsp_token *k = &t->all.p[i];
        lsp_range r = pdl_lsp_text_range(&t->d->text, k->from, k->to);
        if (k->from < done || r.from.line != r.to.line) continue;
        done = k->to;
        bool same = r.from.line == last.line;
        data = pdl_list_push(data, pdl_int(r.from.line - last.line));
        data = pdl_list_push(data, pdl_int(same ? r.from.ch - last.ch : r.from.ch));
        data = pdl_list_push(data, pdl_int(r.to.ch - r.from.ch));
        data = pdl_list_push(data, pdl_int(k->type));
        data = pdl_list_push(data, pdl_int(k->modifiers));
        last = r.from;
    }
    return pdl_dict_putz(pdl_dict_new(1), "data", data);
}

static pdl_val make(lsp_doc *d, size_t low, size_t high) {
    lsp_tokens t = {.d = d, .low = (uint32_t)low, .high = (uint32_t)high};
    t.scratch = pdl_arena_make();
    add_names(&t);
    if (d->tree.root) {
        lsp_spot root = pdl_lsp_spot_root(d->tree.root);
        walk(&t, &root, 0);
    }
    pdl_val v = put_all(&t);
    pdl_arena_free(t.scratch);
    pdl_lsp_spans_fini(&t.spans);
    pdl_vec_fini(&t.all);
    return v;
}

pdl_val pdl_lsp_on_tokens(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    return d ? make(d, 0, d->text.b.len) : pdl_absent();
}

pdl_val pdl_lsp_on_tokens_range(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    lsp_range r = pdl_lsp_get_range(pdl_member(params, "range"));
    return d ? make(d, pdl_lsp_text_offset(&d->text, r.from), pdl_lsp_text_offset(&d->text, r.to))
             : pdl_absent();
}
