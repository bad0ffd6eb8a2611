/* infer.c -- types of expressions. The type of an expression follows from its parts: a name has the
 * type of its binding, an operator has a type for each pair of kinds that it accepts, and a filter
 * or method has the type in its row. A problem is reported when no kind of an operand works.
 *
 * Chains (a + b + c, x.y.z, x | f | g) are of any length and left-deep. So `spine` has the
 * operators whose left operand is being examined. C recursion then follows only nesting, which the
 * reader of expressions bounds.
 *
 * Below `and`, `or` and conditional expressions a problem is not certain, and nothing is known of
 * the names that the condition is about: `x is mapping and x.a` is right for every x.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/infer.h"
#include "check/types/constants.h"
#include "expr/cases.h"
#include "native/native.h"

#include "base/banned.h"

pdl_loc pdl_infer_loc(const pdl_infer *in, const pdl_xnode *x) {
    const pdl_node *n = in->node;
    return x && n && n->kind == PDL_NODE_SCALAR && pdl_str_eq(n->text, in->e->source)
               ? pdl_node_text_loc(n, x->start, x->end)
               : in->loc;
}

pdl_diag *pdl_infer_diag(const pdl_infer *in, pdl_rule_id rule, const pdl_xnode *x, const char *fmt,
                         ...) {
    pdl_buf text = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&text, fmt, ap);
    va_end(ap);
    pdl_diag *d = pdl_checker_diag(in->c, rule, in->loc, pdl_infer_loc(in, x), "%.*s",
                                   PDL_FMT(pdl_buf_str(&text)));
    pdl_buf_fini(&text);
    return d;
}

/* Checks that x has a value, in a template as well. Returns t, or `any` after an error. */
static const pdl_ty *needed(const pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    if (t->kinds != PDL_TY_UNDEFINED) return t;
    pdl_ty_missing m = pdl_ty_missing_of(t);
    pdl_diag *d = pdl_infer_diag(in, PDL_RULE_attribute_missing, x, "%.*s",
                                 PDL_FMT(m.why.n ? m.why : PDL_STR("the value is undefined")));
    if (m.hint.n) pdl_checker_hint(in->c, d, "%.*s", PDL_FMT(m.hint));
    return &pdl_ty_any;
}

const pdl_ty *pdl_infer_used(const pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    return in->lenient ? t : needed(in, x, t);
}

/* --- leaves ----------------------------------------------------------------------------------- */

static const pdl_ty *type_of_name(pdl_infer *in, const pdl_xnode *x) {
    pdl_checker *c = in->c;
    pdl_binding *b = pdl_scope_binding(&c->scope, x->u.name);
    bool library = b && b->def.kind == PDL_DEF_PREDEFINED && pdl_str_is(x->u.name, "stdlib");
    const pdl_check_watch *w = c->opt->watch;
    if (w && w->use && !c->quiet)
        w->use(w->user, x->u.name, pdl_infer_loc(in, x), b ? &b->def : NULL);
    if (b) {
        b->is_used = true;
        c->assumed = c->assumed || b->is_assumed;
        if (pdl_str_is(x->u.name, "pdl_scope")) c->reads_all = true;
        if (library) return pdl_checker_stdlib(c);
        return pdl_scope_type(&c->scope, b);
    }
    const pdl_native *global = pdl_global_find(x->u.name);
    if (!global) return &pdl_ty_any;
    return pdl_ty_new(pdl_checker_arena(c), (pdl_ty){.kinds = PDL_TY_NATIVE, .one.native = global});
}

static const pdl_ty *type_of_list(pdl_infer *in, const pdl_xnode *x) {
    pdl_arena *a = pdl_checker_arena(in->c);
    uint32_t n = x->u.list.n;
    const pdl_ty *item = NULL, **types = pdl_arena_new_n(a, const pdl_ty *, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        types[i] = pdl_infer_type(in, x->u.list.p[i]);
        item = item ? pdl_ty_join(a, item, types[i]) : types[i];
    }
    const pdl_ty *known = pdl_fold_sequence(a, types, n, x->kind == PDL_X_TUPLE);
    if (known) return known;
    return x->kind == PDL_X_LIST ? pdl_ty_list_sized(a, item, n, true)
                                 : pdl_ty_of_kinds(a, PDL_TY_TUPLE);
}

static const pdl_ty *type_of_dict(pdl_infer *in, const pdl_xnode *x) {
    pdl_arena *a = pdl_checker_arena(in->c);
    uint32_t n = x->u.dict.n;
    pdl_ty *t = pdl_arena_new(a, pdl_ty);
    pdl_ty_field *f = pdl_arena_new_n(a, pdl_ty_field, (size_t)n + 1);
    const pdl_ty **keys = pdl_arena_new_n(a, const pdl_ty *, 2 * (size_t)n + 1),
                 **values = keys + n;
    *t = (pdl_ty){.kinds = PDL_TY_DICT, .closed = true, .fields = f};
    for (uint32_t i = 0; i < n; i++) {
        const pdl_xnode *key = x->u.dict.keys[i];
        values[i] = pdl_infer_type(in, x->u.dict.vals[i]);
        keys[i] = pdl_infer_used(in, key, pdl_infer_type(in, key));
        if (key->kind == PDL_X_CONST && pdl_is_str(key->u.value))
            f[t->n_fields++] = (pdl_ty_field){pdl_str_get(key->u.value), values[i], false};
        else
            t->closed = false;
    }
    const pdl_ty *known = pdl_fold_object(a, keys, values, n);
    return known ? known : t;
}

static const pdl_ty *type_of_texts(pdl_infer *in, const pdl_xnode *x) {
    for (uint32_t i = 0; i < x->u.list.n; i++) {
        const pdl_xnode *part = x->u.list.p[i];
        pdl_infer_function(in, part, pdl_infer_used(in, part, pdl_infer_type(in, part)));
    }
    return &pdl_ty_str;
}

static bool is_constant(const pdl_xnode *x, bool truth) {
    return x->kind == PDL_X_CONST && pdl_val_truth(x->u.value) == truth;
}

/* Infers a if c else (b if d else e): the chain of `else` is walked in a loop. */
static const pdl_ty *type_of_choice(pdl_infer *in, const pdl_xnode *x) {
    pdl_checker *c = in->c;
    pdl_arena *a = pdl_checker_arena(c);
    size_t mark = pdl_scope_mark(&c->scope);
    /* decided is set when a constant condition has chosen a branch, so that no later branch ever
     * runs */
    bool sure = c->sure, dead = c->dead, decided = dead;
    const pdl_ty *t = NULL;
    for (; x && x->kind == PDL_X_COND; x = x->u.cond.no) {
        const pdl_xnode *test = x->u.cond.test;
        pdl_infer_function(in, test, pdl_infer_used(in, test, pdl_infer_type(in, test)));
        c->sure = false;
        c->dead = decided || is_constant(test, false);
        pdl_checker_narrow(c, test);
        const pdl_ty *yes = pdl_infer_type(in, x->u.cond.yes);
        decided = c->dead = decided || is_constant(test, true);
        t = t ? pdl_ty_join(a, t, yes) : yes;
        if (!x->u.cond.no) t = pdl_ty_join(a, t, pdl_ty_of_kinds(a, PDL_TY_UNDEFINED));
    }
    if (x) t = pdl_ty_join(a, t, pdl_infer_type(in, x));
    c->sure = sure;
    c->dead = dead;
    pdl_scope_back(&c->scope, mark);
    return t;
}

/* This function is a flat switch over the kinds of nodes without a left operand. */
static const pdl_ty *type_of_leaf(pdl_infer *in, const pdl_xnode *x) {
    pdl_arena *a = pdl_checker_arena(in->c);
    switch (x->kind) {
    case PDL_X_CONST: return pdl_ty_of_value(a, x->u.value);
    case PDL_X_NAME: return type_of_name(in, x);
    case PDL_X_COND: return type_of_choice(in, x);
    case PDL_X_LIST:
    case PDL_X_TUPLE: return type_of_list(in, x);
    case PDL_X_DICT: return type_of_dict(in, x);
    case PDL_X_CONCAT:
    case PDL_X_OUTPUT: return type_of_texts(in, x);
    case PDL_X_SEQ:
        for (uint32_t i = 0; i < x->u.list.n; i++) pdl_infer_type(in, x->u.list.p[i]);
        return &pdl_ty_str;
    case PDL_X_TEXT: return &pdl_ty_str;
    case PDL_X_ATTR:
    case PDL_X_ITEM:
    case PDL_X_SLICE:
    case PDL_X_CALL:
    case PDL_X_FILTER:
    case PDL_X_TEST:
    case PDL_X_UNARY:
    case PDL_X_BINARY:
    case PDL_X_AND:
    case PDL_X_OR:
    case PDL_X_COMPARE:
    PDL_X_STATEMENTS:
        break;
    }
    pdl_infer_statement(in, x);
    return &pdl_ty_any;
}

/* --- chains ----------------------------------------------------------------------------------- */

static const pdl_xnode *left_of(const pdl_xnode *x) {
    pdl_xkind k = x->kind;
    if (k == PDL_X_ATTR || k == PDL_X_ITEM) return x->u.access.obj;
    if (k == PDL_X_CALL) return x->u.call.obj;
    if (k == PDL_X_FILTER || k == PDL_X_TEST) return x->u.filter.obj;
    if (k == PDL_X_COMPARE) return x->u.compare.first;
    bool is_operator = k == PDL_X_UNARY || k == PDL_X_BINARY || k == PDL_X_AND || k == PDL_X_OR;
    return is_operator ? x->u.op.a : NULL;
}

/* Reports that the function x is equal to nothing of the other type. */
static void compare_function(pdl_infer *in, pdl_xop op, const pdl_xnode *x, const pdl_ty *t,
                             const pdl_ty *other) {
    bool equality = op == PDL_XOP_EQ || op == PDL_XOP_NE;
    if (!equality || pdl_ty_is_unknown(other) ||
        (other->kinds & (PDL_TY_FUNC | PDL_TY_NATIVE | PDL_TY_UNDEFINED)))
        return;
    pdl_infer_function(in, x, t);
}

static const pdl_ty *type_of_compare(pdl_infer *in, const pdl_xnode *x, const pdl_ty *first) {
    const pdl_ty *left = pdl_infer_used(in, x->u.compare.first, first), *t = &pdl_ty_bool;
    for (uint32_t i = 0; i < x->u.compare.n; i++) {
        const pdl_ty *right = pdl_infer_type(in, x->u.compare.rest[i]);
        right = pdl_infer_used(in, x->u.compare.rest[i], right);
        compare_function(in, x->u.compare.ops[i], i ? x->u.compare.rest[i - 1] : x->u.compare.first,
                         left, right);
        compare_function(in, x->u.compare.ops[i], x->u.compare.rest[i], right, left);
        t = pdl_infer_compare(in, x, x->u.compare.ops[i], left, right);
        left = right;
    }
    return x->u.compare.n == 1 ? t : &pdl_ty_bool;
}

/* Infers the right operand of and, or. The right operand may never be executed. The names that the
 * left operand tests are unknown in the right operand. */
static const pdl_ty *type_of_logic(pdl_infer *in, const pdl_xnode *x, const pdl_ty *left) {
    bool dead = in->c->dead;
    pdl_infer_function(in, x->u.op.a, pdl_infer_used(in, x->u.op.a, left));
    in->c->sure = false;
    in->c->dead = dead || is_constant(x->u.op.a, x->kind == PDL_X_OR);
    const pdl_ty *right = pdl_infer_type(in, x->u.op.b);
    in->c->dead = dead;
    pdl_checker_narrow(in->c, x->u.op.b);
    return pdl_ty_join(pdl_checker_arena(in->c), left, right);
}

/* Returns the type of x, whose left operand has the type t. */
static const pdl_ty *type_after(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    switch (x->kind) {
    case PDL_X_ATTR: return pdl_infer_attr(in, x, needed(in, x->u.access.obj, t));
    case PDL_X_ITEM: return pdl_infer_item(in, x, needed(in, x->u.access.obj, t));
    case PDL_X_CALL: return pdl_infer_call(in, x, needed(in, x->u.call.obj, t));
    case PDL_X_FILTER: return pdl_infer_filter(in, x, t);
    case PDL_X_TEST: return pdl_infer_test(in, x, t);
    case PDL_X_UNARY: return pdl_infer_unary(in, x, pdl_infer_used(in, x->u.op.a, t));
    case PDL_X_BINARY: {
        t = pdl_infer_used(in, x->u.op.a, t);
        const pdl_ty *b = pdl_infer_type(in, x->u.op.b);
        return pdl_infer_binary(in, x, t, pdl_infer_used(in, x->u.op.b, b));
    }
    case PDL_X_AND:
    case PDL_X_OR: return type_of_logic(in, x, t);
    case PDL_X_COMPARE: return type_of_compare(in, x, t);
    case PDL_X_CONST:
    case PDL_X_NAME:
    case PDL_X_SLICE:
    case PDL_X_CONCAT:
    case PDL_X_COND:
    case PDL_X_LIST:
    case PDL_X_TUPLE:
    case PDL_X_DICT:
    case PDL_X_TEXT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ:
    PDL_X_STATEMENTS:
        break;
    }
    return &pdl_ty_any;
}

const pdl_ty *pdl_infer_type(pdl_infer *in, const pdl_xnode *x) {
    pdl_checker *c = in->c;
    size_t base = c->spine.n, mark = pdl_scope_mark(&c->scope);
    bool sure = c->sure, logic = false, narrowed = false;
    for (const pdl_xnode *left; (left = left_of(x)) != NULL; x = left) {
        *pdl_vec_push(&c->spine) = x;
        logic = x->kind == PDL_X_AND || x->kind == PDL_X_OR;
    }
    const pdl_ty *t = type_of_leaf(in, x);
    for (bool first = true; c->spine.n > base; first = false) {
        const pdl_xnode *up = c->spine.p[--c->spine.n];
        bool is_logic = up->kind == PDL_X_AND || up->kind == PDL_X_OR;
        if (is_logic && (first || !logic)) pdl_checker_narrow(c, up->u.op.a);
        logic = is_logic;
        narrowed = narrowed || is_logic;
        t = type_after(in, up, t);
    }
    c->sure = sure;
    if (narrowed) pdl_scope_back(&c->scope, mark);
    return t;
}

/* --- texts of programs ------------------------------------------------------------------------ */

/* Infers the type of the whole expression. The reader accepts unknown filters and tests inside of
 * branches, so pdl_infer_filter and pdl_infer_test report them. */
static const pdl_ty *type_of_text(pdl_infer *in) {
    const pdl_expr *e = in->e;
    const pdl_ty *t = pdl_infer_type(in, e->root);
    if (e->form == PDL_X_NATIVE) return pdl_infer_used(in, e->root, t);
    return &pdl_ty_str;
}

pdl_rule_id pdl_infer_fault_rule(const pdl_xfault *f, pdl_rule_id other) {
    if (f->no_filter) return PDL_RULE_filter_unknown;
    return f->no_test ? PDL_RULE_test_unknown : other;
}

const pdl_ty *pdl_checker_expr(pdl_checker *c, const pdl_expr *e, const pdl_node *node,
                               pdl_loc loc) {
    pdl_infer in = {.c = c, .e = e, .node = node, .loc = loc};
    if (e->form == PDL_X_BROKEN) {
        const pdl_xnode at = {.start = e->fault->start, .end = e->fault->end};
        pdl_rule_id rule = pdl_infer_fault_rule(e->fault, PDL_RULE_expr_syntax);
        pdl_buf shown = PDL_BUF;
        pdl_expr_quote(e->source, e->fault->start, &shown);
        pdl_diag *d =
            pdl_checker_diag(c, rule, loc, pdl_infer_loc(&in, &at), "Syntax error in %.*s: %.*s",
                             PDL_FMT(pdl_buf_str(&shown)), PDL_FMT(e->fault->msg));
        pdl_buf_fini(&shown);
        pdl_str hint = pdl_fault_hint(e->fault, node);
        if (hint.n) pdl_checker_hint(c, d, "%.*s", PDL_FMT(hint));
        pdl_checker_use_words(c, e->source);
        return &pdl_ty_any;
    }
    if (!e->root) return &pdl_ty_str;
    pdl_checker_lint_text(c, e->source, node, loc);
    pdl_checker_free_names(c, e, node, loc, false);
    return type_of_text(&in);
}

static const pdl_ty *type_of_items(pdl_checker *c, const pdl_tree *t) {
    const pdl_ty *item = NULL;
    for (uint32_t i = 0; i < t->n; i++) {
        const pdl_ty *x = pdl_checker_tree(c, t->items[i]);
        item = item ? pdl_ty_join(pdl_checker_arena(c), item, x) : x;
    }
    return pdl_ty_list_sized(pdl_checker_arena(c), item, t->n, true);
}

static const pdl_ty *type_of_map(pdl_checker *c, const pdl_tree *t) {
    pdl_arena *a = pdl_checker_arena(c);
    pdl_ty *out = pdl_arena_new(a, pdl_ty);
    pdl_ty_field *f = pdl_arena_new_n(a, pdl_ty_field, (size_t)t->n + 1);
    *out = (pdl_ty){.kinds = PDL_TY_DICT, .closed = true, .fields = f};
    for (uint32_t i = 0; i < t->n; i++) {
        const pdl_tree *key = t->keys[i];
        const pdl_ty *name = pdl_checker_tree(c, key), *x = pdl_checker_tree(c, t->items[i]);
        if (key->kind == PDL_TREE_CONST && pdl_is_str(key->value))
            f[out->n_fields++] = (pdl_ty_field){pdl_str_get(key->value), x, false};
        else
            out->closed = name->has_value && out->closed;
    }
    return out;
}

const pdl_ty *pdl_checker_tree(pdl_checker *c, const pdl_tree *t) {
    if (!t) return &pdl_ty_any;
    switch (t->kind) {
    case PDL_TREE_CONST: return pdl_ty_of_value(pdl_checker_arena(c), t->value);
    case PDL_TREE_EXPR: return pdl_checker_expr(c, pdl_tree_expr(t), t->node, t->loc);
    case PDL_TREE_LIST: return type_of_items(c, t);
    case PDL_TREE_MAP: return type_of_map(c, t);
    }
    return &pdl_ty_any;
}

/* --- for editors ------------------------------------------------------------------------------ */

void pdl_scope_view_each(const pdl_scope_view *v, void (*fn)(void *user, const pdl_name_def *def),
                         void *user) {
    for (size_t i = 0; i < v->scope.names.n; i++) {
        const pdl_binding *b = v->scope.names.p[i].now;
        if (b) fn(user, &b->def);
    }
}

const pdl_ty *pdl_scope_view_type(pdl_scope_view *v, pdl_str expression) {
    static const pdl_xnames none = {0};
    pdl_buf text = PDL_BUF;
    bool quiet = v->quiet;
    pdl_buf_putf(&text, "${ %.*s }", PDL_FMT(expression));
    v->quiet = true;
    const pdl_ty *t = pdl_checker_expr(
        v, pdl_expr_read(pdl_checker_arena(v), pdl_buf_str(&text), &none), NULL, (pdl_loc){0});
    v->quiet = quiet;
    pdl_buf_fini(&text);
    return t;
}
