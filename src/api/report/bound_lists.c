/* bound_lists.c -- finds out how long lists are at most, and which numbers a program shows, before
 * a run; see bound_impl.h.
 *
 * A length or number is an upper bound: an expression that can only shorten a list has the length
 * of that list. Where the exact number matters, as for a step, only a constant counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/bound_impl.h"

#include "base/word_list.h"
#include "expr/cases.h"
#include "value/int.h"

#include "base/banned.h"

/* One question about a value. An expression can name a variable whose expression names another
 * variable, and so on. So the number of steps is limited, and beyond the limit nothing is known. */
typedef struct bound_asking {
    const bound_names *names;
    int left;
    bool subtracts; /* a number was subtracted, so the result may be below zero */
} bound_asking;

enum { MAX_STEPS = 1000, MAX_DEPTH = 100 };

static double length_of_node(bound_asking *a, const pdl_xnode *x, int depth);
static double number_of_node(bound_asking *a, const pdl_xnode *x, int depth);
static double length_of_tree(bound_asking *a, const pdl_tree *t, int depth);

/* --- values, and names that have one ---------------------------------------------------------- */

static double number_of(pdl_vref v) {
    int64_t n;
    if (pdl_is(v, PDL_V_FLOAT)) return pdl_float_of(v);
    return pdl_int_get(v, &n) ? (double)n : -1;
}

/* Returns the number of items of a list, or of keys of an object; -1 for other values. */
static double length_of(pdl_vref v) {
    if (pdl_is_dict(v)) return (double)pdl_dict_len(v);
    return pdl_is_list(v) ? (double)pdl_list_len(v) : -1;
}

static const pdl_xnode *node_of(const pdl_tree *t) {
    const pdl_expr *e = t && t->kind == PDL_TREE_EXPR ? pdl_tree_expr(t) : NULL;
    return e && e->form == PDL_X_NATIVE ? e->root : NULL;
}

/* Returns the smaller of two limits. A negative number means no limit. */
static double smaller(double a, double b) {
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return fmin(a, b);
}

/* Returns the larger of two lengths; negative when one of them is not known. */
static double larger(double a, double b) { return a < 0 || b < 0 ? -1 : fmax(a, b); }

static double rounds_of(bound_asking *a, const pdl_fors *fors, const pdl_tree *max, int depth) {
    const pdl_xnode *x = node_of(max);
    double n = !max                          ? -1
               : max->kind == PDL_TREE_CONST ? number_of(max->value)
               : x                           ? number_of_node(a, x, depth + 1)
                                             : -1;
    for (uint32_t i = 0; fors && i < fors->n; i++)
        n = smaller(n, length_of_tree(a, fors->lists[i], depth + 1));
    return n;
}

/* Returns the length of the list that a loop or an array makes. */
static double length_of_block(bound_asking *a, const pdl_block *b, int depth) {
    const pdl_join *join;
    if (b->kind == PDL_BLOCK_array) return PDL_AS(array, b)->items.n;
    if (b->kind == PDL_BLOCK_map) {
        const pdl_b_map *m = PDL_AS(map, b);
        join = m->join;
        return join && join->kind == PDL_JOIN_ARRAY ? rounds_of(a, m->fors, m->max, depth) : -1;
    }
    if (b->kind != PDL_BLOCK_repeat) return -1;
    const pdl_b_repeat *r = PDL_AS(repeat, b);
    join = r->join;
    return join && join->kind == PDL_JOIN_ARRAY
               ? rounds_of(a, r->fors, r->max ? r->max : r->num, depth)
               : -1;
}

static double length_of_name(bound_asking *a, pdl_str name, int depth) {
    const bound_name *n = pdl_bound_once(a->names, name);
    if (!n) return -1;
    if (!pdl_is_absent(n->given)) return length_of(n->given);
    double typed = n->type ? pdl_bound_type_length(n->type) : -1;
    if (n->tree) return smaller(typed, length_of_tree(a, n->tree, depth + 1));
    return n->block ? smaller(typed, length_of_block(a, n->block, depth + 1)) : typed;
}

static double number_of_name(bound_asking *a, pdl_str name, int depth) {
    const bound_name *n = pdl_bound_once(a->names, name);
    if (!n) return -1;
    if (!pdl_is_absent(n->given)) return number_of(n->given);
    if (!n->tree) return -1;
    if (n->tree->kind == PDL_TREE_CONST) return number_of(n->tree->value);
    const pdl_xnode *x = node_of(n->tree);
    return x ? number_of_node(a, x, depth + 1) : -1;
}

/* --- expressions ------------------------------------------------------------------------------ */

/* Returns true for a filter whose result never has more items than its input. */
static bool keeps_length(pdl_str filter) {
    static const char *const kept[] = {
        "list",       "sort",       "reverse", "unique", "map",     "select",   "reject",
        "selectattr", "rejectattr", "batch",   "items",  "groupby", "dictsort",
    };
    return PDL_STR_IN(filter, kept);
}

static bool whole_constant(const pdl_xnode *x, int64_t *n) {
    if (x && x->kind == PDL_X_UNARY && x->u.op.op == PDL_XOP_NEG)
        return whole_constant(x->u.op.a, n) && !PDL_SUB_OVERFLOWS((int64_t)0, *n, n);
    return x && x->kind == PDL_X_CONST && pdl_int_get(x->u.value, n);
}

/* Returns the length of range(...). The end may be an upper bound when the range goes upwards. */
static double range_length(bound_asking *a, const pdl_xargs *args, int depth) {
    int64_t from = 0, step = 1, to;
    if (!args->n_pos || args->n_pos > 3 || args->n_kw || args->star || args->starstar) return -1;
    if (args->n_pos > 1 && !whole_constant(args->pos[0], &from)) return -1;
    if (args->n_pos > 2 && !whole_constant(args->pos[2], &step)) return -1;
    if (step == 0) return -1;
    const pdl_xnode *end = args->pos[args->n_pos > 1];
    double limit = whole_constant(end, &to) ? (double)to
                   : step > 0               ? number_of_node(a, end, depth + 1)
                                            : -1;
    if (limit < 0 && !whole_constant(end, &to)) return -1;
    return fmax(0, ceil((limit - (double)from) / (double)step));
}

static double length_of_call(bound_asking *a, const pdl_xnode *x, int depth) {
    const pdl_xnode *f = x->u.call.obj;
    if (f->kind == PDL_X_NAME && pdl_str_is(f->u.name, "range") &&
        !pdl_bound_find(a->names, PDL_STR("range")))
        return range_length(a, &x->u.call.args, depth);
    return -1;
}

/* Returns the maximum length of list[from:to]. */
static double length_of_slice(bound_asking *a, const pdl_xnode *x, int depth) {
    const pdl_xnode *key = x->u.access.key;
    int64_t from = 0, to = 0, step;
    if (!key || key->kind != PDL_X_SLICE) return -1;
    double whole = length_of_node(a, x->u.access.obj, depth + 1);
    if (key->u.slice.step && (!whole_constant(key->u.slice.step, &step) || step < 1)) return whole;
    bool starts = !key->u.slice.from || whole_constant(key->u.slice.from, &from);
    bool ends = key->u.slice.to && whole_constant(key->u.slice.to, &to);
    if (!key->u.slice.to && starts && from < 0) return smaller(whole, -(double)from);
    if (!ends || to < 0) return whole;
    bool inside = starts && from >= 0;
    return smaller(whole, inside ? fmax(0, (double)to - (double)from) : (double)to);
}

static double length_of_filter(bound_asking *a, const pdl_xnode *x, int depth) {
    const pdl_xargs *args = &x->u.filter.args;
    if (!x->u.filter.obj) return -1;
    double n = length_of_node(a, x->u.filter.obj, depth + 1);
    if (keeps_length(x->u.filter.name)) return n;
    bool is_default = pdl_str_is(x->u.filter.name, "default") || pdl_str_is(x->u.filter.name, "d");
    return is_default && args->n_pos ? larger(n, length_of_node(a, args->pos[0], depth + 1)) : -1;
}

/* Returns the length of the list that a + b or a * n makes; -1 when it is unknown. */
static double length_of_sum(bound_asking *a, const pdl_xnode *x, int depth) {
    double left = length_of_node(a, x->u.op.a, depth + 1);
    double right = length_of_node(a, x->u.op.b, depth + 1);
    if (x->u.op.op == PDL_XOP_ADD) return left < 0 || right < 0 ? -1 : left + right;
    if (x->u.op.op != PDL_XOP_MUL) return -1;
    double n = number_of_node(a, left >= 0 ? x->u.op.b : x->u.op.a, depth + 1);
    double list = left >= 0 ? left : right;
    return n < 0 || list < 0 ? -1 : list * n;
}

static double length_of_choice(bound_asking *a, const pdl_xnode *x, int depth) {
    double yes = length_of_node(a, x->u.cond.yes, depth + 1);
    return x->u.cond.no ? larger(yes, length_of_node(a, x->u.cond.no, depth + 1)) : yes;
}

static double length_of_node(bound_asking *a, const pdl_xnode *x, int depth) {
    if (!x || depth > MAX_DEPTH || --a->left < 0) return -1;
    switch (x->kind) {
    case PDL_X_CONST: return length_of(x->u.value);
    case PDL_X_LIST:
    case PDL_X_TUPLE: return (double)x->u.list.n;
    case PDL_X_DICT: return (double)x->u.dict.n;
    case PDL_X_NAME: return length_of_name(a, x->u.name, depth);
    case PDL_X_CALL: return length_of_call(a, x, depth);
    case PDL_X_ITEM: return length_of_slice(a, x, depth);
    case PDL_X_FILTER: return length_of_filter(a, x, depth);
    case PDL_X_BINARY: return length_of_sum(a, x, depth);
    case PDL_X_COND: return length_of_choice(a, x, depth);
    case PDL_X_OR:
        return larger(length_of_node(a, x->u.op.a, depth + 1),
                      length_of_node(a, x->u.op.b, depth + 1));
    case PDL_X_ATTR:
    case PDL_X_SLICE:
    case PDL_X_TEST:
    case PDL_X_UNARY:
    case PDL_X_AND:
    case PDL_X_COMPARE:
    case PDL_X_CONCAT:
    case PDL_X_TEXT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ:
    PDL_X_STATEMENTS:
        break;
    }
    return -1;
}

static double length_of_tree(bound_asking *a, const pdl_tree *t, int depth) {
    if (!t || depth > MAX_DEPTH) return -1;
    if (t->kind == PDL_TREE_CONST) return length_of(t->value);
    if (t->kind == PDL_TREE_LIST || t->kind == PDL_TREE_MAP) return (double)t->n;
    return length_of_node(a, node_of(t), depth + 1);
}

/* Returns an upper bound of the number that `x | length`, `x | count` or `x | int` gives; -1 when
 * it is not known. */
static double number_of_filter(bound_asking *a, const pdl_xnode *x, int depth) {
    static const char *const counts[] = {"length", "count"};
    if (!x->u.filter.obj) return -1;
    if (PDL_STR_IN(x->u.filter.name, counts)) return length_of_node(a, x->u.filter.obj, depth + 1);
    return pdl_str_is(x->u.filter.name, "int") ? number_of_node(a, x->u.filter.obj, depth + 1) : -1;
}

/* Returns an upper bound of a + b, a * b and a - b; negative when it is not known. */
static double number_of_sum(bound_asking *a, const pdl_xnode *x, int depth) {
    int64_t less;
    double left = number_of_node(a, x->u.op.a, depth + 1);
    if (left < 0) return -1;
    if (x->u.op.op == PDL_XOP_SUB) {
        a->subtracts = true;
        return whole_constant(x->u.op.b, &less) && less >= 0 ? fmax(0, left - (double)less) : -1;
    }
    if (x->u.op.op != PDL_XOP_ADD && x->u.op.op != PDL_XOP_MUL) return -1;
    double right = number_of_node(a, x->u.op.b, depth + 1);
    if (right < 0) return -1;
    if (x->u.op.op == PDL_XOP_ADD) return left + right;
    /* two factors below zero would have a product above zero */
    return a->subtracts ? -1 : left * right;
}

static double number_of_node(bound_asking *a, const pdl_xnode *x, int depth) {
    if (!x || depth > MAX_DEPTH || --a->left < 0) return -1;
    switch (x->kind) {
    case PDL_X_CONST: return number_of(x->u.value);
    case PDL_X_NAME: return number_of_name(a, x->u.name, depth);
    case PDL_X_FILTER: return number_of_filter(a, x, depth);
    case PDL_X_BINARY: return number_of_sum(a, x, depth);
    case PDL_X_COND:
        return x->u.cond.no ? larger(number_of_node(a, x->u.cond.yes, depth + 1),
                                     number_of_node(a, x->u.cond.no, depth + 1))
                            : -1;
    case PDL_X_ATTR:
    case PDL_X_ITEM:
    case PDL_X_SLICE:
    case PDL_X_CALL:
    case PDL_X_TEST:
    case PDL_X_UNARY:
    case PDL_X_AND:
    case PDL_X_OR:
    case PDL_X_COMPARE:
    case PDL_X_CONCAT:
    case PDL_X_LIST:
    case PDL_X_TUPLE:
    case PDL_X_DICT:
    case PDL_X_TEXT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ:
    PDL_X_STATEMENTS:
        break;
    }
    return -1;
}

/* --- the questions ---------------------------------------------------------------------------- */

double pdl_bound_length(const bound_names *names, const pdl_tree *t) {
    return length_of_tree(&(bound_asking){names, MAX_STEPS, false}, t, 0);
}

double pdl_bound_number(const bound_names *names, const pdl_tree *t) {
    bound_asking a = {names, MAX_STEPS, false};
    if (t && t->kind == PDL_TREE_CONST) return number_of(t->value);
    return number_of_node(&a, node_of(t), 0);
}

double pdl_bound_rounds(const bound_names *names, const pdl_fors *fors, const pdl_tree *max) {
    return rounds_of(&(bound_asking){names, MAX_STEPS, false}, fors, max, 0);
}
