/* ops_expr.c -- instructions of expressions: operators, access, calls of natives. Operands that are
 * promises are resolved first, to any depth; objects of a code worker are used through effects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "base/num.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/shape.h"
#include "value/text.h"
#include "vm/closure.h"
#include "vm/err_span.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/inflight_limit.h"
#include "vm/ops.h"
#include "vm/ops/object.h"
#include "vm/output_order.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

double pdl_run_random(void *user);

static double env_random(void *user) { return pdl_run_random(((pdl_fiber *)user)->run); }

static void env_show(void *user, pdl_str text, pdl_label label) { pdl_out_show(user, text, label); }

/* Names a wrong field by its path, since the value is not in the program's text. Models read this
 * message when the arguments of their tool calls are wrong. */
static void put_problem(pdl_buf *b, const pdl_problem *p) {
    pdl_str path = p->path.n && p->path.p[0] == '.' ? pdl_str_sub(p->path, 1, p->path.n) : p->path;
    if (b->len) PDL_PUT(b, "; ");
    if (path.n) pdl_buf_putf(b, "%.*s: ", PDL_FMT(path));
    pdl_buf_put(b, p->plain);
}

static bool env_check(void *user, pdl_vref type, pdl_vref v, pdl_err *err) {
    (void)user;
    /* the parts of a type must be released, and a reset to a mark would not do that */
    pdl_arena *own = pdl_arena_make();
    pdl_type_verdict found = {0};
    const pdl_type *t = NULL;
    bool done =
        pdl_type_from_val(own, type, &t, err) && pdl_type_check(t, v, NULL, own, &found, err);
    if (done && !found.fits) {
        pdl_buf b = PDL_BUF;
        for (size_t i = 0; i < found.problems.n; i++) put_problem(&b, &found.problems.p[i]);
        pdl_err_set(err, PDL_E_type, (pdl_loc){0}, "%s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
    }
    pdl_arena_free(own);
    return done && found.fits;
}

static pdl_val env_bound(void *user, pdl_vref type, pdl_val v) {
    const pdl_fiber *f = user;
    const pdl_type *t = NULL;
    pdl_err err = {0};
    if (!f->run->opt.guarded) return v;
    pdl_arena *own = pdl_arena_make();
    if (pdl_type_from_val(own, type, &t, &err)) v = pdl_type_bound(t, v, f->run->opt.capacity);
    pdl_err_fini(&err);
    pdl_arena_free(own);
    return v;
}

static pdl_vref env_variable(void *user, pdl_str name) {
    pdl_fiber *f = user;
    return pdl_scope_find(f->scope, pdl_intern(f->run->opt.names, name));
}

void pdl_vm_native_env_init(pdl_fiber *f) {
    f->env = (pdl_native_env){
        .random = env_random,
        .show = env_show,
        .bound = env_bound,
        .check = env_check,
        .variable = env_variable,
        .user = f,
    };
}

const pdl_native_env *pdl_vm_native_env(pdl_fiber *f) {
    f->env.autoescape = f->autoescape;
    f->env.lenient = f->code->jinja;
    return &f->env;
}

static void replace2(pdl_fiber *f, pdl_val v) {
    pdl_drop(pop(f));
    set_top(f, v);
}

pdl_step pdl_op_ARITH(pdl_fiber *f, pdl_arith how, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 2, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref a = *under(f, 1), b = *top(f);
    pdl_val v;
    bool formats =
        /* each placeholder of the text resolves its operand itself */
        how == PDL_OP_MOD && pdl_is_str(a);
    if (!refuse_undefined(a, err) || (!formats && !refuse_undefined(b, err))) return PDL_STEP_FAIL;
    if (formats ? pdl_vm_has_object(b) : is_handle(a) || is_handle(b)) {
        pdl_vm_start_binary(f, pdl_vm_arith_text(how), false);
        return PDL_STEP_DONE;
    }
    if (formats) {
        if (!pdl_format_percent(a, b, f->code->jinja, &v, err)) return PDL_STEP_FAIL;
    } else if (!pdl_val_arith(how, a, b, &v, err)) {
        return PDL_STEP_FAIL;
    }
    replace2(f, v);
    return PDL_STEP_DONE;
}

pdl_step pdl_vm_truth(pdl_fiber *f, bool *truth, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref v = *top(f);
    if (pdl_is(v, PDL_V_UNDEFINED) && !f->code->jinja) return step_of(pdl_undefined_error(v, err));
    if (is_handle(v)) return step_of(pdl_handle_truth(v, truth, err));
    *truth = pdl_is_bool(v) ? pdl_bool_of(v) : pdl_val_truth(v);
    return PDL_STEP_DONE;
}

pdl_step pdl_vm_unary(pdl_fiber *f, pdl_opcode op, pdl_err *err) {
    bool truth;
    if (op == PDL_OP_NOT) {
        pdl_step s = pdl_vm_truth(f, &truth, err);
        if (s == PDL_STEP_DONE)
            set_top(f, pdl_with_label(pdl_bool(!truth), pdl_label_of_truth(pdl_label_of(*top(f)))));
        return s;
    }
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref v = *top(f);
    pdl_val out;
    if (!refuse_undefined(v, err)) return PDL_STEP_FAIL;
    if (is_handle(v)) {
        pdl_vm_start_unary(f, op == PDL_OP_NEG ? "-" : "+");
        return PDL_STEP_DONE;
    }
    if (!pdl_is_int(v) && !pdl_is_bool(v) && !pdl_is(v, PDL_V_FLOAT)) {
        pdl_err_host(err, "TypeError", "bad operand type for unary %s: '%s'",
                     op == PDL_OP_NEG ? "-" : "+", pdl_type_full(v));
        return PDL_STEP_FAIL;
    }
    if (op == PDL_OP_NEG) {
        if (!pdl_num_neg(v, &out, err)) return PDL_STEP_FAIL;
    } else {
        out =
            pdl_is_bool(v) ? pdl_with_label(pdl_int(pdl_bool_of(v)), pdl_label_of(v)) : pdl_keep(v);
    }
    set_top(f, out);
    return PDL_STEP_DONE;
}

static inline bool equal(pdl_vref a, pdl_vref b, bool *out, pdl_err *err) {
    *out = pdl_val_eq(a, b);
    return pdl_tag_of(a) <= PDL_V_STR || pdl_check_walk(err);
}

static bool compare(pdl_xop op, pdl_vref a, pdl_vref b, bool *out, pdl_err *err) {
    switch (op) {
    case PDL_XOP_EQ: return equal(a, b, out, err);
    case PDL_XOP_NE:
        if (!equal(a, b, out, err)) return false;
        *out = !*out;
        return true;
    case PDL_XOP_LT: return pdl_val_order(a, b, '<', out, err);
    case PDL_XOP_GT: return pdl_val_order(a, b, '>', out, err);
    case PDL_XOP_LE: return pdl_val_order(a, b, 'l', out, err);
    case PDL_XOP_GE: return pdl_val_order(a, b, 'g', out, err);
    case PDL_XOP_IN: return pdl_val_in(a, b, out, err);
    case PDL_XOP_NOTIN:
        if (!pdl_val_in(a, b, out, err)) return false;
        *out = !*out;
        return true;
    case PDL_XOP_NONE:
    case PDL_XOP_NOT:
    case PDL_XOP_NEG:
    case PDL_XOP_POS:
    case PDL_XOP_ADD:
    case PDL_XOP_SUB:
    case PDL_XOP_MUL:
    case PDL_XOP_DIV:
    case PDL_XOP_FLOORDIV:
    case PDL_XOP_MOD:
    case PDL_XOP_POW: break;
    }
    PDL_BUG("operator %d compares nothing", (int)op);
}

static bool int_compare(pdl_xop op, int64_t a, int64_t b, bool *out) {
    switch (op) {
    case PDL_XOP_EQ: *out = a == b; return true;
    case PDL_XOP_NE: *out = a != b; return true;
    case PDL_XOP_LT: *out = a < b; return true;
    case PDL_XOP_GT: *out = a > b; return true;
    case PDL_XOP_LE: *out = a <= b; return true;
    case PDL_XOP_GE: *out = a >= b; return true;
    case PDL_XOP_NONE:
    case PDL_XOP_NOT:
    case PDL_XOP_NEG:
    case PDL_XOP_POS:
    case PDL_XOP_ADD:
    case PDL_XOP_SUB:
    case PDL_XOP_MUL:
    case PDL_XOP_DIV:
    case PDL_XOP_FLOORDIV:
    case PDL_XOP_MOD:
    case PDL_XOP_POW:
    case PDL_XOP_IN:
    case PDL_XOP_NOTIN: break;
    }
    return false;
}

/* Compares two operands of which at least one is undefined. In a lenient template, an undefined
 * value equals only another undefined value, and `in` finds nothing in it. Elsewhere nearly all
 * such comparisons fail. */
static bool compare_undefined(pdl_xop op, pdl_vref a, pdl_vref b, bool lenient, bool *out,
                              pdl_err *err) {
    bool ua = pdl_is(a, PDL_V_UNDEFINED), ub = pdl_is(b, PDL_V_UNDEFINED);
    bool equality = op == PDL_XOP_EQ || op == PDL_XOP_NE;
    bool member = op == PDL_XOP_IN || op == PDL_XOP_NOTIN;
    if (lenient && equality) {
        *out = (ua && ub) == (op == PDL_XOP_EQ);
        return true;
    }
    if (lenient && member && ub) {
        *out = op == PDL_XOP_NOTIN;
        return true;
    }
    if (lenient && member) return compare(op, a, b, out, err);
    bool list = pdl_is_list(b) || pdl_is(b, PDL_V_TUPLE);
    if (member && list && !pdl_list_len(b)) { /* the list has no item that could be compared */
        *out = op == PDL_XOP_NOTIN;
        return true;
    }
    if (member && !ub && !list && !pdl_is_dict(b)) return compare(op, a, b, out, err);
    return pdl_undefined_error(ua && !(member && ub) ? a : b, err);
}

/* Sets *out when x is in the list. Fails at an undefined item. */
static bool in_strict_list(pdl_vref x, pdl_vref list, bool *out, pdl_err *err) {
    *out = false;
    for (size_t i = 0; !*out && i < pdl_list_len(list); i++) {
        pdl_vref item = pdl_list_at(list, i);
        if (!refuse_undefined(item, err)) return false;
        if (!equal(item, x, out, err)) return false;
    }
    return true;
}

pdl_step pdl_op_COMPARE(pdl_fiber *f, pdl_xop how, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 2, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref a = *under(f, 1), b = *top(f);
    bool out, ok;
    if (pdl_is(a, PDL_V_INT) && pdl_is(b, PDL_V_INT) &&
        int_compare(how, pdl_int_of(a), pdl_int_of(b), &out))
        ok = true;
    else if (pdl_is(a, PDL_V_UNDEFINED) || pdl_is(b, PDL_V_UNDEFINED))
        ok = compare_undefined(how, a, b, f->code->jinja, &out, err);
    else if (pdl_vm_has_object(a) || pdl_vm_has_object(b)) {
        pdl_vm_start_binary(f, pdl_xop_text(how), false);
        return PDL_STEP_DONE;
    } else if (how == PDL_XOP_IN && pdl_is_list(b) && !f->code->jinja)
        ok = in_strict_list(a, b, &out, err);
    else
        ok = compare(how, a, b, &out, err);
    if (!ok) return PDL_STEP_FAIL;
    replace2(f,
             pdl_with_label(pdl_bool(out), pdl_label_of_truth(pdl_label_of(a) | pdl_label_of(b))));
    return PDL_STEP_DONE;
}

/* Returns the value of a name that is not in scope: a global function, or undefined. */
pdl_val pdl_vm_name_value(pdl_fiber *f, pdl_name name) {
    pdl_str s = pdl_name_str(f->run->opt.names, name);
    const pdl_native *g = pdl_global_find(s);
    if (g) return pdl_native_value(g, pdl_absent());
    return pdl_undefined(pdl_textf("'%.*s' is undefined", PDL_FMT(s)));
}

/* --- access ----------------------------------------------------------------------------------- */

/* Handles the two most frequent kinds of attributes in templates: a key of an object, and a counter
 * of a loop. */
static bool common_attr(pdl_vref x, pdl_vref name, bool is_method, pdl_val *out) {
    if (pdl_is(x, PDL_V_CELL)) return pdl_vm_loop_attr(x, pdl_str_get(name), out);
    if (!pdl_is_dict(x) || is_method) return false;
    pdl_val v = pdl_dict_part_at(x, name);
    if (pdl_is_absent(v)) return false;
    *out = v;
    return true;
}

pdl_step pdl_op_ATTR(pdl_fiber *f, bool is_method, pdl_vref name, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val x = *top(f), out;
    if (common_attr(x, name, is_method, &out)) {
        set_top(f, out);
        return PDL_STEP_DONE;
    }
    if (!refuse_undefined(x, err)) return PDL_STEP_FAIL;
    if (is_handle(x)) {
        pop(f);
        pdl_vm_start_attr(f, x, pdl_keep(name));
        return PDL_STEP_DONE;
    }
    if (pdl_vm_is_aggregator_messages(x, pdl_str_get(name), &out)) {
        set_top(f, out);
        return PDL_STEP_DONE;
    }
    if (!pdl_attr(x, pdl_str_get(name), &out, err)) return PDL_STEP_FAIL;
    set_top(f, pdl_with_label(out, pdl_label_of_part(x)));
    return PDL_STEP_DONE;
}

/* Returns the result of x[key] for an undefined key. As in Jinja, no item is found, and the message
 * names the attribute that x lacks. In an expression, a dict refuses such a key, and for any other
 * value the message ends with the undefined name, since the user has to correct that name. */
static bool undefined_item(pdl_fiber *f, pdl_vref x, pdl_vref key, pdl_val *out, pdl_err *err) {
    bool lenient = f->code->jinja;
    if (is_handle(x) || (pdl_is_dict(x) && !lenient)) return pdl_undefined_error(key, err);
    *out = pdl_no_element(x, key);
    if (lenient) return true;
    pdl_buf why = PDL_BUF;
    pdl_buf_put(&why, pdl_str_get(pdl_undefined_why(*out)));
    PDL_PUT(&why, ": ");
    pdl_buf_put(&why, pdl_str_get(pdl_undefined_why(key)));
    pdl_drop(*out);
    *out = pdl_undefined(pdl_text_of_buf(&why));
    return true;
}

pdl_step pdl_op_ITEM(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 2, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val key = *top(f), x = *under(f, 1), out;
    if (!refuse_undefined(x, err)) return PDL_STEP_FAIL;
    bool undefined = pdl_is(key, PDL_V_UNDEFINED);
    if (is_handle(x) && !undefined) {
        f->stack.n -= 2;
        pdl_vm_start_item(f, x, key);
        return PDL_STEP_DONE;
    }
    if (!(undefined ? undefined_item(f, x, key, &out, err) : pdl_item(x, key, &out, err)))
        return PDL_STEP_FAIL;
    /* The part that was chosen reveals something about the key. */
    replace2(f, pdl_with_label(out, pdl_label_of_part(x) | pdl_label_of(key)));
    return PDL_STEP_DONE;
}

/* Refuses an undefined bound with Python's words. In an expression the message ends with the
 * undefined name. */
static bool refuse_undefined_bound(pdl_fiber *f, pdl_vref bound, pdl_err *err) {
    if (!pdl_is(bound, PDL_V_UNDEFINED)) return true;
    pdl_str why = pdl_str_get(pdl_undefined_why(bound));
    return pdl_err_host(err, "TypeError",
                        "slice indices must be integers or None or have an __index__ method%s%.*s",
                        f->code->jinja ? "" : ": ", f->code->jinja ? 0 : (int)why.n, why.p);
}

/* Returns the label of the slice on the stack. When one bounded value chooses the slice of a text,
 * there are only as many possible slices as it has values. When several values choose it (bounds,
 * or the text itself), there are too many possible slices, so the label says that the result is
 * unbounded. */
static pdl_label label_of_slice(pdl_fiber *f) {
    pdl_vref x = *under(f, 3);
    pdl_label bounds = pdl_label_combined(pdl_label_of(*under(f, 2)), pdl_label_of(*under(f, 1)));
    bounds = pdl_label_combined(bounds, pdl_label_of(*top(f)));
    bool is_list = pdl_is_list(x) || pdl_is(x, PDL_V_TUPLE);
    return is_list ? pdl_label_gathered(pdl_label_of(x), bounds)
                   : pdl_label_combined(pdl_label_of(x), bounds);
}

pdl_step pdl_op_SLICE(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 4, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val out;
    if (!refuse_undefined(*under(f, 3), err)) return PDL_STEP_FAIL;
    for (size_t i = 3; i-- > 0;)
        if (!refuse_undefined_bound(f, *under(f, i), err)) return PDL_STEP_FAIL;
    if (is_handle(*under(f, 3))) {
        pdl_vm_start_slice(f);
        return PDL_STEP_DONE;
    }
    if (!pdl_slice(*under(f, 3), *under(f, 2), *under(f, 1), *top(f), &out, err))
        return PDL_STEP_FAIL;
    pdl_label label = label_of_slice(f);
    pdl_vm_cut_stack(f, f->stack.n - 3);
    set_top(f, pdl_with_label(out, label));
    return PDL_STEP_DONE;
}

/* --- text ------------------------------------------------------------------------------------- */

bool pdl_vm_put_str(pdl_fiber *f, pdl_vref v, pdl_buf *b, pdl_err *err) {
    if (pdl_is_str(v)) return pdl_buf_add(b, pdl_str_get(v), err);
    if (pdl_is(v, PDL_V_INT)) {
        char digits[PDL_NUM_MAX];
        return pdl_buf_add(b, (pdl_str){digits, pdl_num_int(pdl_int_of(v), digits)}, err);
    }
    if (pdl_is(v, PDL_V_UNDEFINED)) return f->code->jinja || pdl_undefined_error(v, err);
    return pdl_val_str(v, b, err);
}

bool pdl_vm_put_escaped(pdl_fiber *f, pdl_vref v, pdl_buf *b, pdl_err *err) {
    if (pdl_is(v, PDL_V_UNDEFINED)) return pdl_vm_put_str(f, v, b, err);
    pdl_val e;
    if (!pdl_escape_html(v, &e, err)) return false;
    bool ok = pdl_buf_add(b, pdl_str_get(e), err);
    pdl_drop(e);
    return ok;
}

static bool any_safe(pdl_fiber *f, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pdl_flags_of(*under(f, i)) & PDL_F_SAFE) return true;
    return false;
}

static pdl_step join_str(pdl_fiber *f, size_t n, bool escape, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, n, err);
    if (s != PDL_STEP_DONE) return s;
    char space[PDL_SHORT_TEXT];
    pdl_buf b = pdl_buf_in(space, sizeof space, PDL_MAX_TEXT);
    pdl_label label = 0;
    bool ok = true;
    size_t i = n;
    while (ok && i-- > 0) {
        pdl_vref v = *under(f, i);
        label |= pdl_label_of(v);
        ok = escape ? pdl_vm_put_escaped(f, v, &b, err) : pdl_vm_put_str(f, v, &b, err);
    }
    if (ok) {
        pdl_vm_cut_stack(f, f->stack.n - n);
        push(f, pdl_with_flags(
                    pdl_with_label(pdl_text_of_buf(&b), n > 1 ? pdl_label_built(label) : label),
                    escape ? PDL_F_SAFE : 0));
    } else {
        pdl_vm_mark_part(f, n - 1 - i, err);
    }
    pdl_buf_fini(&b);
    return step_of(ok);
}

pdl_step pdl_op_CONCAT(pdl_fiber *f, size_t n, pdl_err *err) {
    return join_str(f, n, f->autoescape && any_safe(f, n), err);
}

pdl_step pdl_op_STR_JOIN(pdl_fiber *f, size_t n, pdl_err *err) {
    return join_str(f, n, false, err);
}

/* --- containers ------------------------------------------------------------------------------- */

pdl_step pdl_op_DICT(pdl_fiber *f, size_t n, pdl_err *err) {
    for (size_t i = 0; i < n; i++) { /* keys are resolved; values may stay promises */
        pdl_step s = pdl_vm_force(f, under(f, 2 * (n - i) - 1), err);
        if (s != PDL_STEP_DONE) return s;
        pdl_vref k = *under(f, 2 * (n - i) - 1);
        if (!refuse_undefined(k, err) || !pdl_is_hashable(k)) {
            if (!err->kind && pdl_check_walk(err))
                pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_type_name(k));
            return PDL_STEP_FAIL;
        }
    }
    f->stack.n -= 2 * n;
    struct pdl_shape **shape = &f->run->code.literals[f->pc % PDL_RUN_LITERALS];
    push(f, pdl_dict_of_pairs(n ? f->stack.p + f->stack.n : NULL, n, shape));
    return step_of(pdl_check_walk(err));
}
