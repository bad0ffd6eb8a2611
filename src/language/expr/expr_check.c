/* expr_check.c -- see read.h. Finds what the reference reports when it compiles a tree that was
 * read without error.
 *
 * The reference stops at the first problem in the order in which it writes code, and lets an
 * unknown filter or test inside of a branch pass until it is executed. Both rules depend on the
 * path from the root, so the whole tree is walked; only texts with something suspicious need that.
 * The walk keeps an explicit stack: chains have any length.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/vec.h"
#include "expr/read.h"

#include "base/banned.h"

enum { W_SOFT = 1, W_TOP = 2, W_LOOP_CHECK = 4 };

typedef struct {
    const pdl_xnode *n;
    unsigned flags;
} visit;

typedef struct {
    struct {
        visit *p;
        size_t n, cap;
    } todo;
    struct {
        const pdl_xnode **p;
        size_t n, cap;
    } blocks;
} walk;

static void push(walk *w, const pdl_xnode *n, unsigned flags) {
    if (n) *pdl_vec_push(&w->todo) = (visit){n, flags};
}

static void push_list(walk *w, const pdl_xnode **p, uint32_t n, unsigned flags) {
    while (n > 0) push(w, p[--n], flags);
}

/* Pushes the arguments from last to first, so that the first argument is visited first. */
static void push_args(walk *w, const pdl_xargs *a, unsigned flags) {
    push(w, a->starstar, flags);
    push(w, a->star, flags);
    push_list(w, a->kw, a->n_kw, flags);
    push_list(w, a->pos, a->n_pos, flags);
}

/* Returns true for `true or x` and `false and x`, whose right side is never compiled. */
static bool decides(const pdl_xnode *n) {
    const pdl_xnode *a = n->u.op.a;
    if (a->kind != PDL_X_CONST) return false;
    return pdl_val_truth(a->u.value) == (n->kind == PDL_X_OR);
}

static void push_choice(walk *w, const pdl_xnode *n, unsigned fl) {
    push(w, n->u.cond.no, fl);
    if (n->kind == PDL_X_COND) push(w, n->u.cond.test, fl);
    push(w, n->u.cond.yes, fl);
    if (n->kind == PDL_X_IF) push(w, n->u.cond.test, fl);
}

static void push_pairs(walk *w, const pdl_xnode *n, unsigned fl) {
    for (uint32_t i = n->u.dict.n; i > 0; i--) {
        push(w, n->u.dict.vals[i - 1], fl);
        push(w, n->u.dict.keys[i - 1], fl);
    }
}

static void push_expression(walk *w, const pdl_xnode *n, unsigned fl) {
    switch (n->kind) {
    case PDL_X_ATTR:
    case PDL_X_ITEM:
        push(w, n->u.access.key, fl);
        push(w, n->u.access.obj, fl);
        break;
    case PDL_X_SLICE:
        push(w, n->u.slice.step, fl);
        push(w, n->u.slice.to, fl);
        push(w, n->u.slice.from, fl);
        break;
    case PDL_X_CALL:
        push_args(w, &n->u.call.args, fl);
        push(w, n->u.call.obj, fl);
        break;
    case PDL_X_FILTER:
    case PDL_X_TEST:
        push_args(w, &n->u.filter.args, fl);
        push(w, n->u.filter.obj, fl);
        break;
    case PDL_X_AND:
    case PDL_X_OR:
        if (!decides(n)) push(w, n->u.op.b, fl);
        push(w, n->u.op.a, fl);
        break;
    case PDL_X_UNARY:
    case PDL_X_BINARY:
        push(w, n->u.op.b, fl);
        push(w, n->u.op.a, fl);
        break;
    case PDL_X_COMPARE:
        push_list(w, n->u.compare.rest, n->u.compare.n, fl);
        push(w, n->u.compare.first, fl);
        break;
    case PDL_X_COND:
    case PDL_X_IF: push_choice(w, n, fl | W_SOFT); break;
    case PDL_X_CONCAT:
    case PDL_X_LIST:
    case PDL_X_TUPLE:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ: push_list(w, n->u.list.p, n->u.list.n, fl); break;
    case PDL_X_DICT: push_pairs(w, n, fl); break;
    case PDL_X_RAISE: push(w, n->u.fault.value, fl); break;
    case PDL_X_CONST:
    case PDL_X_NAME:
    case PDL_X_NSREF:
    case PDL_X_TEXT:
    case PDL_X_FOR:
    case PDL_X_SET:
    case PDL_X_SETBLOCK:
    case PDL_X_MACRO:
    case PDL_X_CALLBLOCK:
    case PDL_X_FILTERBLOCK:
    case PDL_X_WITH:
    case PDL_X_BLOCK:
    case PDL_X_AUTOESCAPE:
    case PDL_X_COUNT: break;
    }
}

/* Pushes children in the order in which the reference compiles them. A new scope has neither W_SOFT
 * nor W_TOP. */
static void push_children(walk *w, const pdl_xnode *n, unsigned fl) {
    if (n->kind == PDL_X_FOR) {
        if (n->u.loop.recursive) push(w, n->u.loop.over, fl);
        push(w, n->u.loop.otherwise, 0);
        push(w, n->u.loop.body, 0);
        if (!n->u.loop.recursive) push(w, n->u.loop.over, fl);
        push(w, n, W_LOOP_CHECK);
        push(w, n->u.loop.test, 0);
    } else if (n->kind == PDL_X_SET || n->kind == PDL_X_SETBLOCK || n->kind == PDL_X_FILTERBLOCK ||
               n->kind == PDL_X_AUTOESCAPE) {
        push(w, n->u.set.filter, 0);
        push(w, n->u.set.body, 0);
        push(w, n->u.set.value, n->kind == PDL_X_SET ? fl : 0);
    } else if (n->kind == PDL_X_MACRO || n->kind == PDL_X_CALLBLOCK) {
        push(w, n->u.macro.call, fl);
        push(w, n->u.macro.body, 0);
        push_list(w, n->u.macro.defaults, n->u.macro.n_defaults, 0);
    } else if (n->kind == PDL_X_WITH) {
        push(w, n->u.with.body, 0);
        push_list(w, n->u.with.values, n->u.with.n, fl);
    } else {
        push_expression(w, n, fl);
    }
}

static bool sets_loop(const pdl_xnode *target) {
    if (!target) return false;
    if (target->kind == PDL_X_TUPLE) {
        for (uint32_t i = 0; i < target->u.list.n; i++)
            if (sets_loop(target->u.list.p[i])) return true;
        return false;
    }
    return target->kind == PDL_X_NAME && pdl_str_is(target->u.name, "loop");
}

/* Returns true when a statement inside this loop sets the variable `loop`. */
static bool loop_is_set(const pdl_xnode *loop) {
    walk w = {0};
    bool found = false;
    push(&w, loop, 0);
    while (!found && w.todo.n) {
        visit v = w.todo.p[--w.todo.n];
        if (v.flags & W_LOOP_CHECK) continue;
        if (v.n->kind == PDL_X_FOR)
            found = sets_loop(v.n->u.loop.target);
        else if (v.n->kind == PDL_X_SET || v.n->kind == PDL_X_SETBLOCK)
            found = sets_loop(v.n->u.set.target);
        else if (v.n->kind == PDL_X_BLOCK)
            push(&w, v.n->u.macro.body, 0);
        push_children(&w, v.n, 0);
    }
    pdl_vec_fini(&w.todo);
    return found;
}

PDL_PRINTF(3, 4) static bool refuse(pdl_reader *r, const pdl_xnode *n, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    pdl_xfail_vset(&r->fail, r->arena, "TemplateAssertionError", (pdl_xspan){n->start, n->end}, fmt,
                   ap);
    va_end(ap);
    r->fail.as_written = true;
    return false;
}

static bool check_known(pdl_reader *r, const pdl_xnode *n) {
    bool is_filter = n->kind == PDL_X_FILTER;
    refuse(r, n, "No %s named '%.*s'.", is_filter ? "filter" : "test", PDL_FMT(n->u.filter.name));
    r->fail.no_filter = is_filter;
    r->fail.no_test = !is_filter;
    pdl_buf b = PDL_BUF;
    if (is_filter && r->known->advise_filter) r->known->advise_filter(n->u.filter.name, &b);
    if (!is_filter && r->known->advise_test) r->known->advise_test(n->u.filter.name, &b);
    if (b.len) r->fail.hint = pdl_arena_str(r->arena, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return false;
}

static bool check_caller(pdl_reader *r, const pdl_xnode *n) {
    for (uint32_t i = 0; n->u.macro.uses_caller && i < n->u.macro.n_params; i++)
        if (pdl_str_is(n->u.macro.params[i], "caller") &&
            n->u.macro.n_params - i > n->u.macro.n_defaults)
            return refuse(
                r, n,
                "When defining macros or call blocks the special \"caller\" argument must be "
                "omitted or be given a default.");
    return true;
}

static bool check_node(pdl_reader *r, visit v) {
    const pdl_xnode *n = v.n;
    if (v.flags & W_LOOP_CHECK)
        return !loop_is_set(n) ||
               refuse(r, n, "Can't assign to special loop variable in for-loop target");
    if (n->kind == PDL_X_FILTER || n->kind == PDL_X_TEST)
        return !n->u.filter.unknown || (v.flags & W_SOFT) || check_known(r, n);
    if (n->kind == PDL_X_MACRO || n->kind == PDL_X_CALLBLOCK) return check_caller(r, n);
    if (n->kind == PDL_X_RAISE && n->u.fault.extends && !(v.flags & W_TOP))
        return refuse(r, n, "cannot use extend from a non top-level scope");
    return true;
}

static bool check_below(pdl_reader *r, walk *w) {
    while (w->todo.n) {
        visit v = w->todo.p[--w->todo.n];
        if (!check_node(r, v)) return false;
        if (!(v.flags & W_LOOP_CHECK)) push_children(w, v.n, v.flags);
    }
    return true;
}

/* Collects all blocks in the order of the text. Their names must differ. */
static bool collect_blocks(pdl_reader *r, walk *w, const pdl_xnode *root) {
    pdl_map seen = {0};
    bool ok = true;
    push(w, root, 0);
    while (ok && w->todo.n) {
        visit v = w->todo.p[--w->todo.n];
        if (v.flags & W_LOOP_CHECK) continue;
        push_children(w, v.n, 0);
        if (v.n->kind != PDL_X_BLOCK) continue;
        push(w, v.n->u.macro.body, 0);
        *pdl_vec_push(&w->blocks) = v.n;
        ok = !pdl_map_put(&seen, v.n->u.macro.name, &seen) ||
             refuse(r, v.n, "block '%.*s' defined twice", PDL_FMT(v.n->u.macro.name));
    }
    pdl_map_fini(&seen);
    return ok;
}

void pdl_check(pdl_reader *r, const pdl_xnode *root) {
    walk w = {0};
    bool ok = !r->n_blocks || collect_blocks(r, &w, root);
    push(&w, root, W_TOP);
    ok = ok && check_below(r, &w);
    for (size_t i = 0; ok && i < w.blocks.n; i++) {
        push(&w, w.blocks.p[i]->u.macro.body, 0);
        ok = check_below(r, &w);
    }
    pdl_vec_fini(&w.todo);
    pdl_vec_fini(&w.blocks);
}

const char *pdl_xnode_word(const pdl_xnode *n) {
    static const char *const kinds[] = {
        [PDL_X_CONST] = "const",   [PDL_X_NAME] = "name",       [PDL_X_ATTR] = "getattr",
        [PDL_X_ITEM] = "getitem",  [PDL_X_SLICE] = "slice",     [PDL_X_CALL] = "call",
        [PDL_X_FILTER] = "filter", [PDL_X_TEST] = "test",       [PDL_X_AND] = "and",
        [PDL_X_OR] = "or",         [PDL_X_COMPARE] = "compare", [PDL_X_CONCAT] = "concat",
        [PDL_X_COND] = "condexpr", [PDL_X_LIST] = "list",       [PDL_X_TUPLE] = "tuple",
        [PDL_X_DICT] = "dict"};
    static const char *const ops[] = {
        [PDL_XOP_NOT] = "not", [PDL_XOP_NEG] = "neg",           [PDL_XOP_POS] = "pos",
        [PDL_XOP_ADD] = "add", [PDL_XOP_SUB] = "sub",           [PDL_XOP_MUL] = "mul",
        [PDL_XOP_DIV] = "div", [PDL_XOP_FLOORDIV] = "floordiv", [PDL_XOP_MOD] = "mod",
        [PDL_XOP_POW] = "pow"};
    if (n->kind == PDL_X_UNARY || n->kind == PDL_X_BINARY) return ops[n->u.op.op];
    if (n->kind == PDL_X_TEST && n->u.filter.negated) return "not";
    return n->kind < sizeof kinds / sizeof kinds[0] && kinds[n->kind] ? kinds[n->kind]
                                                                      : "expression";
}
