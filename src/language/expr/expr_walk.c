/* expr_walk.c -- see expr.h: a walk over every node of an expression or template. Chains of any
 * length are walked in a loop. All other nodes nest only as deep as the reader of expressions
 * allows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "expr/expr.h"

#include "expr/cases.h"

#include "base/banned.h"

typedef struct xvisit {
    pdl_xnode_fn *fn;
    void *user;
    bool enters; /* the walk enters statements of templates */
} xvisit;

static void visit(const xvisit *v, const pdl_xnode *x);

static void visit_list(const xvisit *v, const pdl_xnode *const *p, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) visit(v, p[i]);
}

static void visit_args(const xvisit *v, const pdl_xargs *a) {
    visit_list(v, a->pos, a->n_pos);
    visit_list(v, a->kw, a->n_kw);
    visit(v, a->star);
    visit(v, a->starstar);
}

static const pdl_xnode *visit_macro(const xvisit *v, const pdl_xnode *x) {
    visit_list(v, x->u.macro.defaults, x->u.macro.n_defaults);
    visit(v, x->u.macro.call);
    return x->u.macro.body;
}

static const pdl_xnode *visit_set(const xvisit *v, const pdl_xnode *x) {
    visit(v, x->u.set.target);
    visit(v, x->u.set.value);
    visit(v, x->u.set.filter);
    return x->u.set.body;
}

/* Returns true for a statement of a template, or a part that only statements have. */
static bool is_statement(const pdl_xnode *x) {
    switch (x->kind) {
    case PDL_X_NSREF:
    case PDL_X_IF:
    case PDL_X_FOR:
    case PDL_X_SET:
    case PDL_X_SETBLOCK:
    case PDL_X_FILTERBLOCK:
    case PDL_X_AUTOESCAPE:
    case PDL_X_MACRO:
    case PDL_X_CALLBLOCK:
    case PDL_X_BLOCK:
    case PDL_X_WITH:
    case PDL_X_RAISE: return true;
        PDL_X_EXPRESSIONS:
    case PDL_X_TEXT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ:
    case PDL_X_COUNT: break;
    }
    return false;
}

/* Visits all parts except the next part of a chain, and returns that part. The function is a flat
 * switch. */
static const pdl_xnode *visit_parts(const xvisit *v, const pdl_xnode *x) {
    switch (x->kind) {
    case PDL_X_CONST:
    case PDL_X_NAME:
    case PDL_X_TEXT:
    case PDL_X_COUNT: return NULL;
    case PDL_X_NSREF:
    case PDL_X_ATTR: return x->u.access.obj;
    case PDL_X_ITEM: visit(v, x->u.access.key); return x->u.access.obj;
    case PDL_X_SLICE:
        visit(v, x->u.slice.from);
        visit(v, x->u.slice.to);
        return x->u.slice.step;
    case PDL_X_CALL: visit_args(v, &x->u.call.args); return x->u.call.obj;
    case PDL_X_FILTER:
    case PDL_X_TEST: visit_args(v, &x->u.filter.args); return x->u.filter.obj;
    case PDL_X_UNARY: return x->u.op.a;
    case PDL_X_BINARY:
    case PDL_X_AND:
    case PDL_X_OR: visit(v, x->u.op.b); return x->u.op.a;
    case PDL_X_COMPARE: visit_list(v, x->u.compare.rest, x->u.compare.n); return x->u.compare.first;
    case PDL_X_IF:
    case PDL_X_COND:
        visit(v, x->u.cond.test);
        visit(v, x->u.cond.yes);
        return x->u.cond.no;
    case PDL_X_LIST:
    case PDL_X_TUPLE:
    case PDL_X_CONCAT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ: visit_list(v, x->u.list.p, x->u.list.n); return NULL;
    case PDL_X_DICT:
        visit_list(v, x->u.dict.keys, x->u.dict.n);
        visit_list(v, x->u.dict.vals, x->u.dict.n);
        return NULL;
    case PDL_X_FOR:
        visit(v, x->u.loop.target);
        visit(v, x->u.loop.over);
        visit(v, x->u.loop.test);
        visit(v, x->u.loop.body);
        return x->u.loop.otherwise;
    case PDL_X_SET:
    case PDL_X_SETBLOCK:
    case PDL_X_FILTERBLOCK:
    case PDL_X_AUTOESCAPE: return visit_set(v, x);
    case PDL_X_MACRO:
    case PDL_X_CALLBLOCK:
    case PDL_X_BLOCK: return visit_macro(v, x);
    case PDL_X_WITH:
        visit_list(v, x->u.with.targets, x->u.with.n);
        visit_list(v, x->u.with.values, x->u.with.n);
        return x->u.with.body;
    case PDL_X_RAISE: return x->u.fault.value;
    }
    return NULL;
}

static void visit(const xvisit *v, const pdl_xnode *x) {
    while (x) {
        v->fn(v->user, x);
        x = v->enters || !is_statement(x) ? visit_parts(v, x) : NULL;
    }
}

void pdl_xnode_each(const pdl_xnode *x, pdl_xnode_fn *fn, void *user) {
    visit(&(xvisit){fn, user, true}, x);
}

void pdl_xnode_each_plain(const pdl_xnode *x, pdl_xnode_fn *fn, void *user) {
    visit(&(xvisit){fn, user, false}, x);
}

struct used {
    pdl_str name;
    unsigned how;
};

static bool is_of(const pdl_xnode *x, pdl_str name) {
    return x->kind == PDL_X_NAME && pdl_str_eq(x->u.name, name);
}

struct callee {
    const pdl_xnode *of;
    bool found;
};

static void note_call(void *user, const pdl_xnode *x) {
    struct callee *c = user;
    c->found = c->found || (x->kind == PDL_X_CALL && x->u.call.obj == c->of);
}

bool pdl_xnode_is_called(const pdl_xnode *root, const pdl_xnode *x) {
    struct callee c = {x, false};
    if (root) pdl_xnode_each(root, note_call, &c);
    return c.found;
}

static void note_use(void *user, const pdl_xnode *x) {
    struct used *u = user;
    if (x->kind == PDL_X_CALL && is_of(x->u.call.obj, u->name)) u->how |= PDL_USED_CALLED;
    bool access = x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM;
    if (access && is_of(x->u.access.obj, u->name)) u->how |= PDL_USED_DOTTED;
}

unsigned pdl_xnode_uses(const pdl_xnode *root, pdl_str name) {
    struct used u = {.name = name};
    if (root) pdl_xnode_each(root, note_use, &u);
    return u.how;
}
