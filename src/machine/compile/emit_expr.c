/* emit_expr.c -- expressions to bytecode.
 *
 * The machine has a value stack and no registers for temporaries. Operands are pushed in the order
 * in which Python evaluates them. An instruction that must wait is executed again, with its
 * operands still on the stack. Only variables of closed template loops have numbered slots in the
 * frame, because they are read millions of times and no closure can see them. A chain of
 * left-associative operators, such as a + b + c, is compiled in a loop. So the depth of the C stack
 * depends only on nesting, which the reader bounds (PDL_MAX_EXPR_DEPTH).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include "base/word_list.h"
#include "expr/cases.h"

#include "base/banned.h"

/* Pushes all variables. Variables in slots are bound in the scope first. */
static void emit_scope(pdl_emit *e) {
    if (e->locals.n) emit_SCOPE_SAVE(e);
    for (uint32_t slot = 0; slot < e->locals.n; slot++) {
        emit_LOCAL(e, slot);
        emit_BIND(e, e->locals.p[slot]);
    }
    emit_NAME(e, pdl_emit_intern(e, PDL_STR("stdlib")));
    emit_SCOPE(e);
    if (e->locals.n) emit_SCOPE_RESTORE(e);
}

static void emit_name(pdl_emit *e, const pdl_xnode *x) {
    pdl_str s = x->u.name;
    uint32_t slot;
    pdl_emit_set_span(e, x);
    if (pdl_str_is(s, "pdl_context"))
        emit_CONTEXT(e);
    else if (pdl_str_is(s, "pdl_scope"))
        emit_scope(e);
    else if (pdl_emit_local_find(e, pdl_emit_intern(e, s), &slot))
        emit_LOCAL(e, slot);
    else if (pdl_str_is(s, "pdl_usage"))
        emit_USAGE(e, pdl_emit_intern(e, s));
    else
        emit_NAME(e, pdl_emit_intern(e, s));
}

/* Emits arguments: positional, keywords, *list, **dict. Returns their call signature. */
static pdl_callsig *emit_args(pdl_emit *e, const pdl_xargs *args) {
    pdl_callsig *s = pdl_arena_new(e->a, pdl_callsig);
    s->n_pos = args->n_pos;
    s->n_kw = args->n_kw;
    s->kw = args->kw_names;
    for (uint32_t i = 0; i < args->n_pos; i++) pdl_emit_xnode(e, args->pos[i]);
    for (uint32_t i = 0; i < args->n_kw; i++) pdl_emit_xnode(e, args->kw[i]);
    if (args->star) pdl_emit_xnode(e, args->star);
    if (args->starstar) pdl_emit_xnode(e, args->starstar);
    s->star = args->star != NULL;
    s->starstar = args->starstar != NULL;
    return s;
}

/* Returns true when x is a variable, or a chain of attributes and items that begins with a
 * variable. Sets *n_keys to the length of the chain. A mutating method changes its receiver, which
 * is then stored along this chain. */
static bool path_root(const pdl_xnode *x, uint32_t *n_keys) {
    *n_keys = 0;
    while (x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM) {
        if (x->kind == PDL_X_ITEM && x->u.access.key->kind == PDL_X_SLICE) return false;
        x = x->u.access.obj;
        ++*n_keys;
    }
    return x->kind == PDL_X_NAME && *n_keys <= PDL_MAX_PATH_KEYS;
}

static const pdl_xnode *root_of(const pdl_xnode *x) {
    while (x->kind != PDL_X_NAME) x = x->u.access.obj;
    return x;
}

/* Stores in chain the steps of a path, beginning with the step next to the variable. Returns their
 * number. */
static size_t path_steps(const pdl_xnode *x, const pdl_xnode *chain[PDL_MAX_PATH_KEYS]) {
    size_t n = 0;
    for (const pdl_xnode *i = x; i->kind != PDL_X_NAME; i = i->u.access.obj) n++;
    for (size_t k = n; k-- > 0; x = x->u.access.obj) chain[k] = x;
    return n;
}

/* Emits the keys of a path and then the receiver at its end. A key is computed once, because it may
 * call a function. */
static void emit_path(pdl_emit *e, const pdl_xnode *x) {
    const pdl_xnode *chain[PDL_MAX_PATH_KEYS];
    size_t n = path_steps(x, chain);
    for (size_t i = 0; i < n; i++) {
        if (chain[i]->kind == PDL_X_ATTR)
            pdl_emit_text(e, chain[i]->u.access.name);
        else
            pdl_emit_xnode(e, chain[i]->u.access.key);
    }
    pdl_emit_xnode(e, root_of(x));
    for (size_t i = 0; i < n; i++) {
        pdl_emit_set_span(e, chain[i]);
        if (chain[i]->kind == PDL_X_ATTR) {
            pdl_emit_attr(e, chain[i]->u.access.name);
        } else {
            emit_PICK(e, (uint32_t)(n - i));
            emit_ITEM(e);
        }
    }
}

static bool is_mutator(pdl_str name) {
    static const char *const names[] = {"append",  "clear",      "extend",  "insert",
                                        "pop",     "remove",     "reverse", "sort",
                                        "popitem", "setdefault", "update"};
    return PDL_STR_IN(name, names);
}

/* Returns true for a call of a mutating method whose receiver is reached from a variable. */
static bool rebinds(const pdl_xnode *x, uint32_t *n_keys) {
    const pdl_xnode *callee = x->u.call.obj;
    return callee->kind == PDL_X_ATTR && is_mutator(callee->u.access.name) &&
           path_root(callee->u.access.obj, n_keys);
}

/* Emits a call whose callee, or the receiver of a method, is already on the stack. */
static pdl_callsig *emit_call_step(pdl_emit *e, const pdl_xnode *x) {
    const pdl_xnode *callee = x->u.call.obj;
    pdl_callsig *s = emit_args(e, &x->u.call.args);
    bool method = callee->kind == PDL_X_ATTR;
    if (method) s->name = callee->u.access.name;
    pdl_emit_set_span(e, x);
    if (method)
        emit_METHOD(e, s);
    else
        emit_CALL(e, s);
    return s;
}

static void emit_rebinding_call(pdl_emit *e, const pdl_xnode *x) {
    const pdl_xnode *receiver = x->u.call.obj->u.access.obj;
    uint32_t n_keys;
    path_root(receiver, &n_keys);
    emit_path(e, receiver);
    pdl_callsig *s = emit_call_step(e, x);
    s->root = pdl_emit_intern(e, root_of(receiver)->u.name);
    uint32_t slot;
    if (pdl_emit_local_find(e, s->root, &slot)) s->local = slot + 1;
    s->n_keys = n_keys;
    emit_REBIND(e, s);
}

static void emit_filter_call(pdl_emit *e, const pdl_xnode *x) {
    pdl_callsig *s = emit_args(e, &x->u.filter.args);
    s->name = x->u.filter.name;
    bool test = x->kind == PDL_X_TEST;
    s->row = x->u.filter.unknown ? NULL : test ? pdl_test_find(s->name) : pdl_filter_find(s->name);
    pdl_emit_set_span(e, x);
    if (test)
        emit_TEST(e, x->u.filter.negated, s);
    else
        emit_FILTER(e, s);
}

void pdl_emit_filter_on_top(pdl_emit *e, const pdl_xnode *x) {
    size_t base = e->spine.n;
    for (; x; x = x->u.filter.obj) *pdl_vec_push(&e->spine) = x;
    while (e->spine.n > base) emit_filter_call(e, e->spine.p[--e->spine.n]);
}

static void emit_compare(pdl_emit *e, const pdl_xnode *x) {
    uint32_t n = x->u.compare.n;
    uint32_t *outs = pdl_arena_new_n(e->a, uint32_t, n);
    pdl_emit_xnode(e, x->u.compare.first);
    for (uint32_t i = 0; i < n; i++) {
        pdl_emit_xnode(e, x->u.compare.rest[i]);
        bool last = i + 1 == n;
        if (!last) {
            emit_DUP(e);
            emit_ROT3(e);
        }
        pdl_emit_set_span(e, x);
        emit_COMPARE(e, x->u.compare.ops[i]);
        if (!last) outs[i] = emit_JUMP_FALSE_KEEP(e, PDL_LATER);
    }
    if (n < 2) return;
    uint32_t over = emit_JUMP(e, PDL_LATER);
    /* When an earlier comparison is false, this drops the operand that was kept for the next
     * comparison. */
    for (uint32_t i = 0; i + 1 < n; i++) pdl_emit_patch(e, outs[i]);
    emit_SWAP(e);
    emit_POP(e);
    pdl_emit_patch(e, over);
}

static void emit_logic(pdl_emit *e, const pdl_xnode *x) {
    /* `a or b or c` is parsed as ((a or b) or c). This loop follows the left operands instead of
     * recursing. */
    size_t base = e->spine.n;
    pdl_xkind kind = x->kind;
    for (; x->kind == kind; x = x->u.op.a) *pdl_vec_push(&e->spine) = x;
    emit_CHOICE(e);
    pdl_emit_xnode(e, x);
    while (e->spine.n > base) {
        const pdl_xnode *op = e->spine.p[--e->spine.n];
        pdl_emit_set_span(e, op);
        uint32_t out = kind == PDL_X_AND ? emit_JUMP_FALSE_KEEP(e, PDL_LATER)
                                         : emit_JUMP_TRUE_KEEP(e, PDL_LATER);
        pdl_emit_xnode(e, op->u.op.b);
        pdl_emit_patch(e, out);
    }
    emit_CHOSEN(e);
}

static void emit_undefined(pdl_emit *e, const char *why) {
    emit_UNDEFINED(e, pdl_emit_add_const(e, pdl_textz(why)));
}

/* Emits a if b else c if d ...: a loop, since a chain may be long. A chain without a last `else`
 * may have no value: this is the empty text when becomes_text is set, and otherwise an error. */
static void emit_cond(pdl_emit *e, const pdl_xnode *x, bool becomes_text) {
    PDL_VEC(uint32_t) overs = {0};
    emit_CHOICE(e);
    for (; x && x->kind == PDL_X_COND; x = x->u.cond.no) {
        pdl_emit_xnode(e, x->u.cond.test);
        pdl_emit_set_span(e, x);
        uint32_t no = emit_JUMP_FALSE(e, PDL_LATER);
        pdl_emit_xnode(e, x->u.cond.yes);
        *pdl_vec_push(&overs) = emit_JUMP(e, PDL_LATER);
        pdl_emit_patch(e, no);
    }
    if (x)
        pdl_emit_xnode(e, x);
    else if (becomes_text)
        pdl_emit_text(e, PDL_STR(""));
    else
        emit_undefined(
            e, "the inline if-expression evaluated to false and no else section was defined.");
    for (size_t i = 0; i < overs.n; i++) pdl_emit_patch(e, overs.p[i]);
    pdl_vec_fini(&overs);
    emit_CHOSEN(e);
}

static void emit_for_text(pdl_emit *e, const pdl_xnode *x) {
    if (x->kind == PDL_X_COND)
        emit_cond(e, x, true);
    else
        pdl_emit_xnode(e, x);
}

/* Emits the items and returns their number. */
static uint32_t emit_items(pdl_emit *e, const pdl_xnode *x) {
    for (uint32_t i = 0; i < x->u.list.n; i++) pdl_emit_xnode(e, x->u.list.p[i]);
    pdl_emit_set_span(e, x);
    return x->u.list.n;
}

static void emit_or_null(pdl_emit *e, const pdl_xnode *x) {
    if (x)
        pdl_emit_xnode(e, x);
    else
        pdl_emit_const(e, pdl_null());
}

static void emit_item_access(pdl_emit *e, const pdl_xnode *x) {
    const pdl_xnode *key = x->u.access.key;
    if (key->kind == PDL_X_SLICE) {
        emit_or_null(e, key->u.slice.from);
        emit_or_null(e, key->u.slice.to);
        emit_or_null(e, key->u.slice.step);
        pdl_emit_set_span(e, x);
        emit_SLICE(e);
        return;
    }
    pdl_emit_xnode(e, key);
    pdl_emit_set_span(e, x);
    emit_ITEM(e);
}

/* Emits one step of a chain of postfix or binary operators; the left operand is on the stack
 * already. */
static void emit_step(pdl_emit *e, const pdl_xnode *x) {
    if (x->kind == PDL_X_ATTR) {
        pdl_emit_set_span(e, x);
        pdl_emit_attr(e, x->u.access.name);
    } else if (x->kind == PDL_X_ITEM) {
        emit_item_access(e, x);
    } else if (x->kind == PDL_X_FILTER || x->kind == PDL_X_TEST) {
        emit_filter_call(e, x);
    } else if (x->kind == PDL_X_CALL) {
        emit_call_step(e, x);
    } else if (x->kind == PDL_X_BINARY) {
        pdl_emit_xnode(e, x->u.op.b);
        pdl_emit_set_span(e, x);
        emit_ARITH(e, pdl_xop_arith(x->u.op.op));
    } else {
        PDL_BUG("expression kind %d in a chain", (int)x->kind);
    }
}

/* Returns the left operand of a chain step; NULL when x is not a step. */
static const pdl_xnode *left_of(const pdl_xnode *x) {
    uint32_t n_keys;
    if (x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM) return x->u.access.obj;
    if (x->kind == PDL_X_FILTER || x->kind == PDL_X_TEST) return x->u.filter.obj;
    if (x->kind == PDL_X_BINARY) return x->u.op.a;
    if (x->kind != PDL_X_CALL || rebinds(x, &n_keys)) return NULL;
    return x->u.call.obj->kind == PDL_X_ATTR ? x->u.call.obj->u.access.obj : x->u.call.obj;
}

static void emit_chain(pdl_emit *e, const pdl_xnode *x) {
    size_t base = e->spine.n;
    for (const pdl_xnode *left; (left = left_of(x)) != NULL; x = left) *pdl_vec_push(&e->spine) = x;
    if (x->kind == PDL_X_CALL)
        emit_rebinding_call(e, x);
    else
        pdl_emit_xnode(e, x);
    while (e->spine.n > base) emit_step(e, e->spine.p[--e->spine.n]);
}

static void emit_unary(pdl_emit *e, const pdl_xnode *x) {
    pdl_emit_xnode(e, x->u.op.a);
    pdl_emit_set_span(e, x);
    if (x->u.op.op == PDL_XOP_NOT)
        emit_NOT(e);
    else if (x->u.op.op == PDL_XOP_NEG)
        emit_NEG(e);
    else
        emit_POS(e);
}

static void emit_dict(pdl_emit *e, const pdl_xnode *x) {
    for (uint32_t i = 0; i < x->u.dict.n; i++) {
        pdl_emit_xnode(e, x->u.dict.keys[i]);
        pdl_emit_xnode(e, x->u.dict.vals[i]);
    }
    pdl_emit_set_span(e, x);
    emit_DICT(e, x->u.dict.n);
}

/* Emits the error of a slice that is only a part of a key, as in x[1:2, 0]. No value has an item
 * under such a key. */
static void emit_stray_slice(pdl_emit *e, const pdl_xnode *x) {
    pdl_val what = pdl_list_push(pdl_list_new(2), pdl_textz("invalid syntax"));
    pdl_emit_set_span(e, x);
    emit_RAISE(e, pdl_emit_add_const(e, pdl_list_push(what, pdl_textz("SyntaxError"))));
}

void pdl_emit_xnode(pdl_emit *e, const pdl_xnode *x) {
    switch (x->kind) {
    case PDL_X_CONST: pdl_emit_const(e, pdl_keep(x->u.value)); return;
    case PDL_X_NAME: emit_name(e, x); return;
    case PDL_X_ATTR:
    case PDL_X_ITEM:
    case PDL_X_FILTER:
    case PDL_X_TEST:
    case PDL_X_BINARY:
    case PDL_X_CALL: emit_chain(e, x); return;
    case PDL_X_UNARY: emit_unary(e, x); return;
    case PDL_X_AND:
    case PDL_X_OR: emit_logic(e, x); return;
    case PDL_X_COMPARE: emit_compare(e, x); return;
    case PDL_X_CONCAT:
        for (uint32_t i = 0; i < x->u.list.n; i++) emit_for_text(e, x->u.list.p[i]);
        pdl_emit_set_span(e, x);
        emit_CONCAT(e, x->u.list.n);
        return;
    case PDL_X_COND: emit_cond(e, x, false); return;
    case PDL_X_LIST: emit_LIST(e, emit_items(e, x)); return;
    case PDL_X_TUPLE: emit_TUPLE(e, emit_items(e, x)); return;
    case PDL_X_DICT: emit_dict(e, x); return;
    case PDL_X_SLICE: emit_stray_slice(e, x); return;
    case PDL_X_TEXT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ:
    PDL_X_STATEMENTS:
        break;
    }
    PDL_BUG("expression kind %d", (int)x->kind);
}

/* Emits a text with holes and without statements. Its pieces are pushed and joined at once. Returns
 * false when the text has statements. */
static bool emit_simple_template(pdl_emit *e, const pdl_xnode *seq) {
    for (uint32_t i = 0; i < seq->u.list.n; i++) {
        pdl_xkind k = seq->u.list.p[i]->kind;
        if (k != PDL_X_TEXT && k != PDL_X_OUTPUT) return false;
    }
    size_t n = 0;
    for (uint32_t i = 0; i < seq->u.list.n; i++) {
        const pdl_xnode *x = seq->u.list.p[i];
        if (x->kind == PDL_X_TEXT) {
            pdl_emit_text(e, x->u.text);
            n++;
            continue;
        }
        for (uint32_t k = 0; k < x->u.list.n; k++) {
            emit_for_text(e, x->u.list.p[k]);
            pdl_emit_set_span(e, x->u.list.p[k]);
            /* the error has the place of the name, not the place of the whole text */
            emit_DEFINED(e);
        }
        n += x->u.list.n;
    }
    e->start = seq->start;
    e->end = seq->end;
    emit_STR_JOIN(e, n);
    return true;
}

/* Returns true when x may be undefined. Operators and displays fail on undefined operands or make a
 * new value, so only a look-up may be undefined. */
static bool may_be_undefined(const pdl_xnode *x) {
    bool makes_value = x->kind == PDL_X_CONST || x->kind == PDL_X_LIST || x->kind == PDL_X_TUPLE ||
                       x->kind == PDL_X_DICT;
    bool is_operator = x->kind == PDL_X_TEST || x->kind == PDL_X_UNARY || x->kind == PDL_X_BINARY ||
                       x->kind == PDL_X_COMPARE || x->kind == PDL_X_CONCAT;
    return !makes_value && !is_operator;
}

void pdl_emit_expr(pdl_emit *e, const pdl_expr *x, const pdl_node *node, pdl_loc loc) {
    if (x->form == PDL_X_PLAIN) {
        pdl_emit_text(e, x->source);
        return;
    }
    emit_place old = pdl_emit_at_site(e, x, node, loc);
    uint32_t from;
    switch (x->form) {
    case PDL_X_BROKEN:
        e->start = x->fault->start;
        e->end = x->fault->end;
        emit_FAIL_TO_READ(e);
        break;
    case PDL_X_NATIVE:
        pdl_emit_xnode(e, x->root);
        e->start = x->root->start;
        e->end = x->root->end;
        if (may_be_undefined(x->root)) emit_DEFINED(e);
        break;
    case PDL_X_TEMPLATE:
        if (emit_simple_template(e, x->root)) break;
        from = emit_SCOPE_SAVE(e) + 1;
        emit_BUF_PUSH(e);
        pdl_emit_stmt(e, x->root);
        emit_BUF_POP(e, false);
        /* what a method has changed stays changed */
        if (pdl_emit_has_bindings(e, from))
            emit_SCOPE_RESTORE(e);
        else
            emit_SCOPE_FORGET(e);
        break;
    case PDL_X_PLAIN: break;
    }
    pdl_emit_at_place(e, old);
}

void pdl_emit_template(pdl_emit *e, const pdl_expr *x, const pdl_node *node, pdl_loc loc) {
    emit_place old = pdl_emit_at_site(e, x, node, loc);
    if (x->form == PDL_X_BROKEN) {
        e->start = x->fault->start;
        e->end = x->fault->end;
        emit_FAIL_TO_READ(e);
    } else {
        pdl_emit_self(e, x->root);
        emit_BUF_PUSH(e);
        pdl_emit_stmt(e, x->root);
        emit_BUF_POP(e, false);
    }
    emit_RETURN(e);
    pdl_emit_at_place(e, old);
}
