/* calculate.c -- computes an arithmetic expression that a model wrote (spec patterns 6). Evaluating
 * a model's text as code would let it do anything, so this is a separate evaluator. First
 * calculate_read.c makes nodes of the whole text. Then the nodes are evaluated with a stack, the
 * left operand before the right one. No name is looked up, nothing is called, and the size of
 * integers is limited.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"
#include "native/stdlib/calculate_read.h"
#include "value/int.h"

#include "base/banned.h"

/* Moves v to *out. When v is too large, returns false and sets *why. Takes v. */
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
               : UNSUPPORTED;
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
    int state; /* the number of operands that were evaluated */
} visit;

/* Evaluates a node without operands. Sets *value, or *why for a refused node. */
static bool enter(const arith_node *n, pdl_val *value, const char **why) {
    if (n->kind == N_REFUSED)
        *why = n->why;
    else if (n->kind == N_VALUE)
        *value = pdl_keep(n->value);
    return n->kind != N_REFUSED;
}

static bool leave(const arith_node *n, pdl_val *values, size_t *n_values, const char **why) {
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

static bool evaluate(const arith_reader *r, int root, pdl_val *out, const char **why) {
    PDL_VEC(visit) todo = {0};
    PDL_VEC(pdl_val) values = {0};
    bool ok = true;
    *pdl_vec_push(&todo) = (visit){root, 0};
    while (ok && todo.n) {
        visit *v = &todo.p[todo.n - 1];
        const arith_node *n = &r->nodes.p[v->node];
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
    arith_reader r = {.s = {pdl_strip_text(text, (pdl_str){0}, true, true, true), 0},
                      .floats = floats};
    int root = pdl_arithmetic_read(&r);
    *why = "syntax error";
    bool ok = root != NO_NODE && evaluate(&r, root, out, why);
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
