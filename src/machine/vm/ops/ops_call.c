/* ops_call.c -- instructions of expressions that call: values, methods, filters, tests.
 *
 * A call lays its arguments on the stack in the order of the call site, whose form (pdl_callsig) is
 * known when it is compiled. So the usual call copies nothing: a native reads its arguments on the
 * stack. Only calls with `*list` or `**dict` have to collect their arguments. The called value may
 * be a native, whose result is available at once. For a closure or macro, a frame is pushed, and
 * the result is available when the frame returns. For a function outside of the machine, the result
 * is the promise of an effect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "base/num.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"
#include "vm/closure.h"
#include "vm/err_span.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/inflight_limit.h"
#include "vm/ops.h"
#include "vm/ops/object.h"
#include "vm/output_order.h"
#include "vm/particle.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

/* The arguments of a call as they are on the stack, with *list and **dict expanded. The values are
 * borrowed: from the stack, from the expanded containers, and from `walked`. */
typedef struct spread {
    pdl_call_args args;
    PDL_VEC(pdl_val) all;
    PDL_VEC(pdl_str) names;
    pdl_val walked; /* items of an expanded value that is not a list; or absent */
} spread;

static void spread_fini(spread *s) {
    pdl_vec_fini(&s->all);
    pdl_vec_fini(&s->names);
    pdl_drop(s->walked);
}

static bool spread_star(spread *s, pdl_vref list, bool lenient, pdl_err *err) {
    if (pdl_is_list(list) || pdl_is(list, PDL_V_TUPLE)) {
        for (size_t i = 0; i < pdl_list_len(list); i++)
            *pdl_vec_push(&s->all) =
                pdl_with_label(pdl_lent(pdl_list_at(list, i)), pdl_label_of_part(list));
        return true;
    }
    /* in a lenient template an undefined value is expanded to no items */
    if (lenient && pdl_is(list, PDL_V_UNDEFINED)) return true;
    if (refuse_undefined(list, err) && pdl_val_to_list(list, &s->walked, err))
        return spread_star(s, s->walked, lenient, err);
    s->walked = pdl_absent();
    if (pdl_is(list, PDL_V_UNDEFINED)) return false;
    pdl_err_fini(err);
    return pdl_err_host(err, "TypeError", "Value after * must be an iterable, not %s",
                        pdl_type_full(list));
}

static bool is_new_keyword(const pdl_callsig *sh, pdl_str name, pdl_err *err) {
    for (size_t i = 0; i < sh->n_kw; i++)
        if (pdl_str_eq(sh->kw[i], name))
            return pdl_err_host(err, "TypeError", "got multiple values for keyword argument '%.*s'",
                                PDL_FMT(name));
    return true;
}

/* Orders the arguments on top of the stack as the call signature says. `first` is the number of
 * values below them that count as positional (a receiver). */
static bool lay_out(pdl_fiber *f, const pdl_callsig *sh, size_t first, spread *s, pdl_err *err) {
    size_t n = sh->n_pos + sh->n_kw + sh->star + sh->starstar;
    pdl_val *base = f->stack.p + f->stack.n - n - first;
    *s = (spread){
        .args = {base, first + sh->n_pos, sh->kw, base + first + sh->n_pos, sh->n_kw, 0},
        .walked = pdl_absent(),
    };
    if (!sh->star && !sh->starstar) return true;
    for (size_t i = 0; i < s->args.n_pos; i++) *pdl_vec_push(&s->all) = base[i];
    if (sh->star && !spread_star(s, base[first + sh->n_pos + sh->n_kw], f->code->jinja, err))
        return false;
    s->args.n_pos = s->all.n;
    for (size_t i = 0; i < sh->n_kw; i++) {
        *pdl_vec_push(&s->all) = s->args.kw[i];
        *pdl_vec_push(&s->names) = sh->kw[i];
    }
    if (sh->starstar) {
        pdl_vref d = *top(f);
        if (!refuse_undefined(d, err)) return false;
        if (!pdl_is_dict(d))
            return pdl_err_host(err, "TypeError", "argument after ** must be a mapping, not %s",
                                pdl_type_name(d));
        for (size_t i = 0; i < pdl_dict_len(d); i++) {
            if (!pdl_is_str(pdl_dict_key_at(d, i)))
                return pdl_err_host(err, "TypeError", "keywords must be strings");
            if (!is_new_keyword(sh, pdl_str_get(pdl_dict_key_at(d, i)), err)) return false;
            *pdl_vec_push(&s->names) = pdl_str_get(pdl_dict_key_at(d, i));
            /* the key decides which argument gets the value */
            pdl_label label = pdl_label_of_part(d) | pdl_label_of(pdl_dict_key_at(d, i));
            *pdl_vec_push(&s->all) = pdl_with_label(pdl_lent(pdl_dict_val_at(d, i)), label);
            s->args.of_names |= label;
        }
    }
    s->args.pos = s->all.p;
    s->args.kw_names = s->names.p;
    s->args.kw = s->all.p + s->args.n_pos;
    s->args.n_kw = s->names.n;
    return true;
}

size_t pdl_vm_arg_count(const pdl_callsig *s) {
    return (size_t)s->n_pos + s->n_kw + s->star + s->starstar;
}

/* Calls a native with the arguments on the stack and the value below them. */
static bool call_native(pdl_fiber *f, const pdl_native *row, const pdl_callsig *sh, pdl_val *out,
                        pdl_err *err) {
    const pdl_native_env *env = pdl_vm_native_env(f);
    if (PDL_LIKELY(!sh->star && !sh->starstar)) { /* the arguments have the right order already */
        const pdl_val *pos = under(f, (size_t)sh->n_pos + sh->n_kw);
        const pdl_call_args args = {pos, sh->n_pos + 1, sh->kw, pos + 1 + sh->n_pos, sh->n_kw, 0};
        return pdl_native_call(row, env, &args, out, err);
    }
    spread s;
    bool ok = lay_out(f, sh, 1, &s, err) && pdl_native_call(row, env, &s.args, out, err);
    spread_fini(&s);
    return ok;
}

static bool call_handle(pdl_fiber *f, pdl_vref callee, const spread *s) {
    pdl_val pos = pdl_list_new(s->args.n_pos), kw = pdl_dict_new(s->args.n_kw);
    pdl_label label = pdl_vm_label_of_arguments(f, callee);
    for (size_t i = 0; i < s->args.n_pos; i++)
        pos = pdl_list_push(pos, pdl_with_label(pdl_keep(s->args.pos[i]), label));
    for (size_t i = 0; i < s->args.n_kw; i++)
        kw = pdl_dict_puts(kw, s->args.kw_names[i], pdl_with_label(pdl_keep(s->args.kw[i]), label));
    pdl_vm_start_call(f, pdl_keep(callee), pdl_absent(), pos, kw);
    return true;
}

/* Makes the promise of the effect that a native requests, see PDL_N_EFFECT. Takes ownership of
 * asked. label is the label of the value that chose the native. */
static pdl_step call_effect(pdl_fiber *f, pdl_val asked, pdl_label label, pdl_val *out,
                            pdl_err *err) {
    pdl_effect_kind kind;
    pdl_step st = pdl_vm_force(f, &asked, err); /* on WAIT, the native is called again later */
    if (st == PDL_STEP_DONE) st = pdl_await_effect_slot(f);
    pdl_label before = f->chosen;
    f->chosen |= label;
    if (st == PDL_STEP_DONE) {
        if (!pdl_effect_kind_find(pdl_str_get(pdl_list_at(asked, 0)), &kind))
            PDL_BUG("effect of a native");
        pdl_loc loc =
            f->code ? f->code->sites.p[f->code->where.p[f->pc - 1].site].loc : (pdl_loc){0};
        pdl_vm_start_effect(f, kind, pdl_keep(pdl_list_at(asked, 1)), loc);
        *out = pop(f);
    }
    f->chosen = before;
    pdl_drop(asked);
    return st;
}

/* Called when the frame of a call was pushed above the arguments of the call. Drops the n topmost
 * values below the frame. has_value says that the top value is for the routine of the frame, and
 * stays. */
static pdl_step drop_under_frame(pdl_fiber *f, size_t n, bool has_value) {
    pdl_vm_frame *fr = frame(f);
    pdl_val value = has_value ? pop(f) : pdl_absent();
    pdl_vm_cut_stack(f, f->stack.n - n);
    fr->stack = (uint32_t)f->stack.n;
    if (has_value) push(f, value);
    return PDL_STEP_DONE;
}

/* Calls a closure. Pushes its frame. */
static pdl_step call_func(pdl_fiber *f, pdl_vref callee, const spread *s, size_t drop,
                          pdl_err *err) {
    const pdl_call_args *given = &s->args;
    pdl_val func = pdl_keep(callee);
    pdl_val *kept = PDL_NEW_N(pdl_val, given->n_pos + given->n_kw);
    pdl_label label = pdl_vm_label_of_arguments(f, callee);
    for (size_t i = 0; i < given->n_pos; i++)
        kept[i] = pdl_with_label(pdl_keep(given->pos[i]), label);
    for (size_t i = 0; i < given->n_kw; i++)
        kept[given->n_pos + i] = pdl_with_label(pdl_keep(given->kw[i]), label);
    pdl_call_args args = *given;
    args.pos = kept;
    args.kw = kept + given->n_pos;
    pdl_step st = pdl_vm_call_closure(f, func, &args, err);
    pdl_free(kept);
    return st == PDL_STEP_DONE ? drop_under_frame(f, drop, false) : st;
}

/* Calls a native that is a value. Sets *out to the result. */
static pdl_step call_bound(pdl_fiber *f, pdl_vref callee, const spread *s, pdl_val *out,
                           pdl_err *err) {
    const pdl_native *row = pdl_native_row(callee);
    pdl_val with[PDL_NATIVE_MAX_ARGS + 1];
    pdl_vref receiver = pdl_native_receiver(callee);
    size_t n = 0;
    if (!pdl_is_absent(receiver)) with[n++] = pdl_lent(receiver);
    if (!pdl_is_absent(receiver)) pdl_cell_choose(receiver, f->control);
    if (s->args.n_pos > PDL_NATIVE_MAX_ARGS)
        return step_of(pdl_err_host(err, "TypeError", "%s() got too many arguments", row->name));
    for (size_t i = 0; i < s->args.n_pos; i++) with[n++] = s->args.pos[i];
    const pdl_call_args args = {with, n, s->args.kw_names, s->args.kw, s->args.n_kw, 0};
    if (!pdl_native_call(row, pdl_vm_native_env(f), &args, out, err)) return PDL_STEP_FAIL;
    if (row->flags & PDL_N_EFFECT) {
        pdl_step st = call_effect(f, *out, pdl_label_of(callee), out, err);
        if (st != PDL_STEP_DONE) return st;
    } else if (row->flags &
               PDL_N_MUTATES) { /* called through a value: there is no variable to change */
        pdl_val v = pdl_list_part(*out, 1);
        pdl_drop(*out);
        *out = v;
    }
    *out = pdl_with_label(*out, pdl_label_of(callee));
    return PDL_STEP_DONE;
}

/* Calls callee with the arguments that lay_out has ordered. Pushes the result, or a frame. drop is
 * the number of values below the result that are then removed. */
static pdl_step call_value(pdl_fiber *f, pdl_val callee, spread *s, size_t drop, pdl_err *err) {
    pdl_val out = pdl_absent();
    bool handled = false;
    if (pdl_is(callee, PDL_V_FUNC)) return call_func(f, callee, s, drop, err);
    if (pdl_is(callee, PDL_V_HANDLE)) {
        call_handle(f, callee, s);
        out = pop(f);
    } else if (pdl_is(callee, PDL_V_NATIVE)) {
        pdl_step st = call_bound(f, callee, s, &out, err);
        if (st != PDL_STEP_DONE) return st;
    } else if (pdl_is(callee, PDL_V_CELL)) {
        size_t before = f->stack.n;
        pdl_step st = pdl_vm_cell_call(f, callee, &s->args, &handled, &out, err);
        if (st != PDL_STEP_DONE) return st;
        if (!handled)
            return step_of(pdl_err_host(err, "TypeError", "'%s' object is not callable",
                                        pdl_type_full(callee)));
        if (pdl_is_absent(out)) {
            pdl_vm_enter_chosen(f, pdl_label_of(callee));
            return drop_under_frame(f, drop, f->stack.n > before);
        }
        out = pdl_with_label(out, pdl_label_of(callee));
    } else {
        if (!refuse_undefined(callee, err)) return PDL_STEP_FAIL;
        return step_of(
            pdl_err_host(err, "TypeError", "'%s' object is not callable", pdl_type_full(callee)));
    }
    pdl_vm_cut_stack(f, f->stack.n - drop);
    push(f, out);
    return PDL_STEP_DONE;
}

pdl_step pdl_op_CALL(pdl_fiber *f, const pdl_callsig *sh, pdl_err *err) {
    size_t n = pdl_vm_arg_count(sh);
    pdl_step st = pdl_vm_force(f, under(f, n), err);
    if (st != PDL_STEP_DONE) return st;
    if (pdl_is(*under(f, n), PDL_V_NATIVE)) {
        uint8_t flags = pdl_native_row(*under(f, n))->flags;
        if (flags & PDL_N_IMPURE) st = pdl_await_chance(f, (flags & PDL_N_EFFECT) != 0);
        if (st != PDL_STEP_DONE) return st;
    }
    if (!pdl_is(*under(f, n), PDL_V_FUNC)) { /* a PDL function takes promises as they are */
        st = pdl_vm_force_n(f, n, err);
        if (st != PDL_STEP_DONE) return st;
    }
    spread s;
    bool ok = lay_out(f, sh, 0, &s, err);
    st = ok ? call_value(f, *under(f, n), &s, n + 1, err) : PDL_STEP_FAIL;
    spread_fini(&s);
    return st;
}

/* Calls obj.name(args) of an object of the worker. One request reads the attribute and calls it. */
static pdl_step method_of_handle(pdl_fiber *f, const pdl_callsig *sh, pdl_err *err) {
    size_t n = pdl_vm_arg_count(sh);
    spread s;
    if (!lay_out(f, sh, 0, &s, err)) {
        spread_fini(&s);
        return PDL_STEP_FAIL;
    }
    pdl_val pos = pdl_list_new(s.args.n_pos), kw = pdl_dict_new(s.args.n_kw);
    for (size_t i = 0; i < s.args.n_pos; i++) pos = pdl_list_push(pos, pdl_keep(s.args.pos[i]));
    for (size_t i = 0; i < s.args.n_kw; i++)
        kw = pdl_dict_puts(kw, s.args.kw_names[i], pdl_keep(s.args.kw[i]));
    spread_fini(&s);
    pdl_vm_start_call(f, pdl_keep(*under(f, n)), pdl_text(sh->name), pos, kw);
    pdl_val out = pop(f);
    pdl_vm_cut_stack(f, f->stack.n - n - 1);
    /* REBIND expects keys, receiver and value, but nothing will be bound */
    if (sh->root) push(f, pdl_absent());
    push(f, out);
    return PDL_STEP_DONE;
}

/* Calls an attribute whose value is a function: a function in an object, a macro, or a value of a
 * module. */
static pdl_step method_of_value(pdl_fiber *f, const pdl_callsig *sh, pdl_err *err) {
    size_t n = pdl_vm_arg_count(sh);
    pdl_val out;
    if (!pdl_attr(*under(f, n), sh->name, &out, err)) return PDL_STEP_FAIL;
    out = pdl_with_label(out, pdl_label_of_part(*under(f, n)));
    pdl_step st = PDL_STEP_FAIL;
    spread s;
    if (lay_out(f, sh, 0, &s, err)) {
        /* Some types have a mutating method of this name, but the type of this value has none. So
         * REBIND leaves the variable unchanged. */
        if (sh->root) {
            st = call_value(f, out, &s, n, err);
            if (st == PDL_STEP_DONE && !pdl_is(out, PDL_V_FUNC)) set_val(under(f, 1), pdl_absent());
        } else {
            st = call_value(f, out, &s, n + 1, err);
        }
    }
    spread_fini(&s);
    pdl_drop(out);
    return st;
}

pdl_step pdl_op_METHOD(pdl_fiber *f, const pdl_callsig *sh, pdl_err *err) {
    size_t n = pdl_vm_arg_count(sh);
    pdl_step st = pdl_vm_force_n(f, n + 1, err);
    if (st != PDL_STEP_DONE) return st;
    pdl_val x = *under(f, n), out;
    if (!refuse_undefined(x, err)) return PDL_STEP_FAIL;
    if (pdl_is(x, PDL_V_HANDLE)) return method_of_handle(f, sh, err);
    if (pdl_object_method(f, sh)) return PDL_STEP_DONE;
    const pdl_native *row = pdl_method_find(x, sh->name);
    if (!row) return method_of_value(f, sh, err);
    pdl_cell_choose(x, f->control);
    if (!call_native(f, row, sh, &out, err)) return PDL_STEP_FAIL;
    pdl_label label = pdl_label_of(x), whole = pdl_label_of_part(x);
    pdl_vm_cut_stack(f, f->stack.n - n - 1);
    if (row->flags & PDL_N_MUTATES) {
        if (sh->root) push(f, pdl_with_label(pdl_keep(pdl_list_at(out, 0)), whole));
        /* most such methods return null, which reveals nothing about the object */
        bool null = pdl_is_null(pdl_list_at(out, 1));
        push(f, null ? pdl_null() : pdl_with_label(pdl_list_part(out, 1), label));
        pdl_drop(out);
    } else {
        if (sh->root) push(f, pdl_absent());
        push(f, pdl_with_label(out, pdl_is_bool(out) ? pdl_label_of_truth(label) : label));
    }
    return PDL_STEP_DONE;
}

/* --- values that methods changed -------------------------------------------------------------- */

/* Returns the content of v, owned, without the promises that the call has waited for. */
static pdl_val settled(pdl_vref v) {
    pdl_val out;
    pdl_err ignored = {0};
    if (pdl_may_hold_promise(v) && pdl_is_absent(pdl_promise_blocking(v))) {
        if (pdl_promise_resolve(v, &out, &ignored)) return out;
        pdl_err_fini(&ignored);
    }
    return pdl_keep(v);
}

/* Returns the part of a container at a key of a path. */
static bool part_at(pdl_vref box, pdl_vref key, pdl_val *out) {
    pdl_err ignored = {0};
    bool ok = pdl_is_namespace(box) && pdl_is_str(key)
                  ? pdl_attr(box, pdl_str_get(key), out, &ignored)
                  : pdl_item(box, key, out, &ignored);
    pdl_err_fini(&ignored);
    return ok;
}

/* Returns the container with x at the key. Takes box and x. The list of a tuple can change, so the
 * tuple is made again. A namespace is changed itself. Other containers stay as they are. */
static pdl_val put_at(pdl_val box, pdl_vref key, pdl_val x) {
    int64_t i;
    if (pdl_is_dict(box)) return pdl_dict_put(box, pdl_keep(key), x);
    bool tuple = pdl_is(box, PDL_V_TUPLE);
    if ((tuple || pdl_is_list(box)) && pdl_int_get(key, &i)) {
        int64_t n = (int64_t)pdl_list_len(box);
        if (i < 0) i += n;
        /* an argument of the call may have shortened the list */
        if (i >= 0 && i < n) {
            x = pdl_with_label(x, pdl_label_of(key));
            if (!tuple) return pdl_list_set(box, (size_t)i, x);
            pdl_val list = pdl_list_new((size_t)n);
            for (size_t k = 0; k < (size_t)n; k++)
                list = pdl_list_push(list, k == (size_t)i ? x : pdl_list_part(box, k));
            list = pdl_with_flags(pdl_list_as_tuple(list), pdl_flags_of(box));
            pdl_drop(box);
            return list;
        }
    } else if (pdl_is_namespace(box) && pdl_is_str(key)) {
        pdl_err ignored = {0};
        if (!pdl_namespace_set(box, pdl_str_get(key), x, &ignored)) pdl_err_fini(&ignored);
        return box;
    }
    pdl_drop(x);
    return box;
}

/* Stores x in the n containers of the path that begins at root, and returns the new root. keys[0]
 * is the first key. Takes root and x. */
static pdl_val put_along(pdl_val root, const pdl_val *keys, size_t n, pdl_val x) {
    pdl_val at[PDL_MAX_PATH_KEYS]; /* the containers along the path, outermost first */
    size_t depth = 0;
    if (!n) {
        pdl_drop(root);
        return x;
    }
    at[0] = root;
    while (depth + 1 < n && part_at(at[depth], keys[depth], &at[depth + 1])) depth++;
    bool found = depth + 1 == n;
    if (!found) pdl_drop(x); /* an argument of the call has removed the receiver */
    for (size_t k = depth + 1; k-- > 0;) {
        if (found)
            x = put_at(at[k], keys[k], x);
        else if (k)
            pdl_drop(at[k]);
    }
    return found ? x : root;
}

/* On the stack: keys.. receiver value -> value. Stores the changed receiver in the variable from
 * which it was read. */
void pdl_vm_rebind(pdl_fiber *f, const pdl_callsig *sh) {
    pdl_val value = pop(f), x = pop(f);
    size_t n = sh->n_keys;
    pdl_vref root = sh->local ? *local(f, sh->local - 1) : pdl_scope_find(f->scope, sh->root);
    if (pdl_is_absent(x) || pdl_is_absent(root)) {
        pdl_drop(x);
    } else {
        for (size_t i = 0; i < n; i++) set_val(under(f, i), settled(*under(f, i)));
        pdl_val old = pdl_keep(root);
        /* A choice decided that the receiver was changed. Several choices can build any value. */
        if (f->control) x = pdl_with_label(x, pdl_label_combined(pdl_label_of(x), f->control));
        x = put_along(settled(root), n ? under(f, n - 1) : NULL, n, x);
        if (f->code->jinja && !sh->local) pdl_vm_rebind_outside(f, sh->root, old, x);
        if (sh->local)
            set_val(local(f, sh->local - 1), x);
        else
            f->scope = pdl_scope_put(f->scope, sh->root, x);
        pdl_drop(old);
    }
    pdl_vm_cut_stack(f, f->stack.n - n);
    push(f, value);
}

/* --- filters, tests and calls ----------------------------------------------------------------- */

static pdl_step filter(pdl_fiber *f, const pdl_callsig *sh, bool test, bool negated, pdl_err *err) {
    if (!sh->row) {
        pdl_err_host(err, "TemplateRuntimeError", "No %s named '%.*s' found.",
                     test ? "test" : "filter", PDL_FMT(sh->name));
        return PDL_STEP_FAIL;
    }
    size_t n = pdl_vm_arg_count(sh);
    if (!(sh->row->flags & PDL_N_RAW)) {
        pdl_step st = pdl_vm_force_n(f, n + 1, err);
        if (st != PDL_STEP_DONE) return st;
    }
    if (sh->row->flags & PDL_N_IMPURE) {
        pdl_step st = pdl_await_chance(f, false);
        if (st != PDL_STEP_DONE) return st;
    }
    if (test && pdl_object_test(f, sh, negated)) return PDL_STEP_DONE;
    bool objects = !test && pdl_vm_any_object(f, n + 1), done;
    if (objects) {
        pdl_step st = pdl_object_filter(f, sh, &done, err);
        if (st != PDL_STEP_DONE || done) return st;
    }
    pdl_val x = *under(f, n), out;
    bool ok = call_native(f, sh->row, sh, &out, err);
    if (objects) pdl_object_filter_end(f, sh);
    if (!ok) return PDL_STEP_FAIL;
    if (negated) {
        bool truth = pdl_val_truth(out);
        pdl_label kept = pdl_label_of(out);
        pdl_drop(out);
        out = pdl_with_label(pdl_bool(!truth), kept);
    }
    pdl_label label = pdl_label_of(x);
    out = pdl_with_label(out, pdl_is_bool(out) ? pdl_label_of_truth(label) : label);
    pdl_vm_cut_stack(f, f->stack.n - n);
    set_top(f, out);
    return PDL_STEP_DONE;
}

pdl_step pdl_op_FILTER(pdl_fiber *f, const pdl_callsig *sh, pdl_err *err) {
    return filter(f, sh, false, false, err);
}

pdl_step pdl_op_TEST(pdl_fiber *f, bool is_negated, const pdl_callsig *sh, pdl_err *err) {
    return filter(f, sh, true, is_negated, err);
}

/* Outputs the result of a filter whose operands were removed. The result may be a promise of the
 * code worker. */
static pdl_step out_filtered(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, &f->filtered, err);
    if (s == PDL_STEP_WAIT) return s;
    push(f, f->filtered);
    f->filtered = pdl_absent();
    return s == PDL_STEP_DONE ? pdl_op_OUT(f, false, err) : s;
}

pdl_step pdl_op_OUT_FILTER(pdl_fiber *f, const pdl_callsig *sh, pdl_err *err) {
    size_t n = (size_t)sh->n_pos + 1;
    if (!pdl_is_absent(f->filtered)) return out_filtered(f, err);
    pdl_step s = pdl_vm_force_n(f, n, err);
    if (s == PDL_STEP_DONE && (sh->row->flags & PDL_N_IMPURE)) s = pdl_await_chance(f, false);
    if (s != PDL_STEP_DONE) return s;
    if (f->autoescape || pdl_vm_any_object(f, n)) {
        s = filter(f, sh, false, false, err);
        if (s != PDL_STEP_DONE) return s;
        f->filtered = pop(f);
        return out_filtered(f, err);
    }
    pdl_outbuf *to = outbuf(f);
    const pdl_val *argv = under(f, n - 1);
    for (size_t i = 0; i < n; i++) to->label |= pdl_label_of(argv[i]);
    const pdl_call_args args = {.pos = argv, .n_pos = n};
    if (!pdl_native_write(sh->row, sh->writer, pdl_vm_native_env(f), &args, &to->text, err))
        return PDL_STEP_FAIL;
    pdl_vm_cut_stack(f, f->stack.n - n);
    return PDL_STEP_DONE;
}
