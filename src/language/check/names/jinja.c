/* jinja.c -- templates in code blocks: the names that they read, and the types of what they print.
 *
 * A template is read like an expression, with statements in addition. A name that it sets anywhere
 * (`set`, targets of `for` and `with`, macros and their parameters) counts as defined in the whole
 * template, and its value as unknown. Jinja has several kinds of scopes, and a name that is found
 * in the wrong scope is better than a false alarm. A name that a condition tests is there on
 * purpose, even when nothing defines it, since an undefined value is false and prints as nothing.
 *
 * C recursion follows the nesting of statements, which the reader bounds; chains of `elif` are
 * walked in a loop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/infer.h"

#include "expr/cases.h"

#include "base/banned.h"

/* --- names that the template sets or tests ---------------------------------------------------- */

static void define(pdl_checker *c, pdl_str name) {
    pdl_binding *b =
        pdl_scope_define(&c->scope, PDL_DEF_PREDEFINED, name, &pdl_ty_any, (pdl_loc){0});
    b->is_used = true;
}

static void define_target(pdl_checker *c, const pdl_xnode *x) {
    if (x && x->kind == PDL_X_NAME) define(c, x->u.name);
    if (x && (x->kind == PDL_X_TUPLE || x->kind == PDL_X_LIST))
        for (uint32_t i = 0; i < x->u.list.n; i++) define_target(c, x->u.list.p[i]);
}

static void define_macro(pdl_checker *c, const pdl_xnode *x) {
    static const pdl_str own[] = {{"caller", 6}, {"varargs", 7}, {"kwargs", 6}};
    if (x->kind == PDL_X_MACRO && x->u.macro.name.n) define(c, x->u.macro.name);
    for (uint32_t i = 0; i < x->u.macro.n_params; i++) define(c, x->u.macro.params[i]);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) define(c, own[i]);
}

static void define_set(void *user, const pdl_xnode *x) {
    pdl_checker *c = user;
    if (x->kind == PDL_X_SET || x->kind == PDL_X_SETBLOCK) {
        define_target(c, x->u.set.target);
    } else if (x->kind == PDL_X_FOR) {
        define_target(c, x->u.loop.target);
        define(c, PDL_STR("loop"));
    } else if (x->kind == PDL_X_WITH) {
        for (uint32_t i = 0; i < x->u.with.n; i++) define_target(c, x->u.with.targets[i]);
    } else if (x->kind == PDL_X_MACRO || x->kind == PDL_X_CALLBLOCK) {
        define_macro(c, x);
    } else if (x->kind == PDL_X_BLOCK) {
        define(c, PDL_STR("self"));
        define(c, PDL_STR("super"));
    }
}

static void define_tested(void *user, const pdl_xnode *x) {
    pdl_checker *c = user;
    if (x->kind == PDL_X_NAME && !pdl_checker_has(c, x->u.name)) define(c, x->u.name);
}

static void define_tests(void *user, const pdl_xnode *x) {
    if (x->kind == PDL_X_IF || x->kind == PDL_X_COND)
        pdl_xnode_each_plain(x->u.cond.test, define_tested, user);
    if (x->kind == PDL_X_AND || x->kind == PDL_X_OR)
        pdl_xnode_each_plain(x->u.op.a, define_tested, user);
}

/* --- statements ------------------------------------------------------------------------------- */

/* Infers a part that a run may skip. */
static void infer_unsure(pdl_infer *in, const pdl_xnode *x) {
    bool sure = in->c->sure;
    in->c->sure = false;
    if (x) pdl_infer_type(in, x);
    in->c->sure = sure;
}

static void infer_if(pdl_infer *in, const pdl_xnode *x) {
    size_t mark = pdl_scope_mark(&in->c->scope);
    bool sure = in->c->sure;
    for (; x && x->kind == PDL_X_IF; x = x->u.cond.no) {
        pdl_infer_function(in, x->u.cond.test, pdl_infer_type(in, x->u.cond.test));
        pdl_checker_narrow(in->c, x->u.cond.test);
        in->c->sure = false;
        infer_unsure(in, x->u.cond.yes);
    }
    infer_unsure(in, x);
    in->c->sure = sure;
    pdl_scope_back(&in->c->scope, mark);
}

/* The kinds that a loop of a template iterates over; an undefined value has no items. */
enum { ITERABLE = PDL_TY_ANY & ~(PDL_TY_NUMBER | PDL_TY_NULL | PDL_TY_FUNC) };

static const pdl_ty *iterated(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    if (t->kinds & ITERABLE) return t;
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(t, &shown);
    pdl_infer_diag(in, PDL_RULE_loop_type, x, "`for` goes through lists, and this is %.*s",
                   PDL_FMT(pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
    return &pdl_ty_any;
}

/* Infers a loop. Facts from before the loop hold only for its first round, unless the loop sets no
 * variable. */
static void infer_for(pdl_infer *in, const pdl_xnode *x) {
    pdl_arena *a = pdl_checker_arena(in->c);
    const pdl_xnode *target = x->u.loop.target;
    const pdl_ty *list = iterated(in, x->u.loop.over, pdl_infer_type(in, x->u.loop.over));
    size_t mark = pdl_scope_mark(&in->c->scope);
    if (x->u.loop.closed && target->kind == PDL_X_NAME)
        pdl_scope_define(&in->c->scope, PDL_DEF_PREDEFINED, target->u.name, pdl_ty_items(a, list),
                         (pdl_loc){0})
            ->is_used = true;
    infer_unsure(in, x->u.loop.test);
    if (x->u.loop.test) pdl_checker_narrow(in->c, x->u.loop.test);
    infer_unsure(in, x->u.loop.body);
    pdl_scope_back(&in->c->scope, mark);
    infer_unsure(in, x->u.loop.otherwise);
}

/* Infers a macro, which may be called any number of times or never. */
static void infer_macro(pdl_infer *in, const pdl_xnode *x) {
    bool dead = in->c->dead;
    for (uint32_t i = 0; i < x->u.macro.n_defaults; i++) infer_unsure(in, x->u.macro.defaults[i]);
    if (x->u.macro.call) infer_unsure(in, x->u.macro.call);
    in->c->dead = true;
    infer_unsure(in, x->u.macro.body);
    in->c->dead = dead;
}

/* This function is a flat switch over the statements. */
void pdl_infer_statement(pdl_infer *in, const pdl_xnode *x) {
    switch (x->kind) {
    case PDL_X_IF: infer_if(in, x); return;
    case PDL_X_FOR: infer_for(in, x); return;
    case PDL_X_SET: pdl_infer_type(in, x->u.set.value); return;
    case PDL_X_SETBLOCK:
    case PDL_X_FILTERBLOCK:
    case PDL_X_AUTOESCAPE:
        if (x->u.set.body) pdl_infer_type(in, x->u.set.body);
        return;
    case PDL_X_MACRO:
    case PDL_X_CALLBLOCK: infer_macro(in, x); return;
    case PDL_X_BLOCK:
        if (x->u.macro.body) pdl_infer_type(in, x->u.macro.body);
        return;
    case PDL_X_WITH:
        for (uint32_t i = 0; i < x->u.with.n; i++) pdl_infer_type(in, x->u.with.values[i]);
        if (x->u.with.body) pdl_infer_type(in, x->u.with.body);
        return;
    PDL_X_EXPRESSIONS:
    case PDL_X_TEXT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ:
    case PDL_X_NSREF:
    case PDL_X_RAISE:
    case PDL_X_COUNT: return;
    }
}

/* --- a template ------------------------------------------------------------------------------- */

void pdl_checker_template(pdl_checker *c, const pdl_expr *e, const pdl_node *node, pdl_loc loc) {
    pdl_infer in = {.c = c, .e = e, .node = node, .loc = loc, .lenient = true};
    size_t mark = pdl_scope_mark(&c->scope);
    pdl_xnode_each(e->root, define_set, c);
    pdl_infer_type(&in, e->root);
    pdl_xnode_each(e->root, define_tests, c);
    pdl_checker_free_names(c, e, node, loc, true);
    pdl_scope_back(&c->scope, mark);
}
