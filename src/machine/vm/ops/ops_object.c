/* ops_object.c -- operators and filters on objects that live in the code worker: the worker
 * computes, and the promise of its answer replaces the operands (worker.h has the requests). A
 * filter may need attributes of many items, so all of them are requested before the first is waited
 * for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/handle.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops/object.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

static void ask(pdl_fiber *f, pdl_val request) {
    pdl_vm_start_effect(f, PDL_EFFECT_object, request,
                        f->code->sites.p[f->code->where.p[f->pc - 1].site].loc);
}

/* Makes {op, id, object}. The request holds the handle, so that the object lives until the answer
 * arrives. Takes handle. */
static pdl_val about(const char *op, pdl_val handle) {
    pdl_val r = pdl_dict_putz(pdl_dict_new(6), "op", pdl_textz(op));
    r = pdl_dict_putz(r, "id", pdl_int((int64_t)pdl_handle_of(handle)->id));
    return pdl_dict_putz(r, "object", handle);
}

/* Adds args and kwargs. Takes both. */
static pdl_val with_args(pdl_val r, pdl_val args, pdl_val kwargs) {
    r = pdl_dict_putz(r, "args", args);
    return pdl_dict_putz(r, "kwargs", pdl_is_absent(kwargs) ? pdl_dict_new(0) : kwargs);
}

void pdl_vm_start_attr(pdl_fiber *f, pdl_val handle, pdl_val name) {
    ask(f, pdl_dict_putz(about("attr", handle), "name", name));
}
void pdl_vm_start_item(pdl_fiber *f, pdl_val handle, pdl_val key) {
    ask(f, pdl_dict_putz(about("item", handle), "key", key));
}
void pdl_vm_start_iter(pdl_fiber *f, pdl_val handle) { ask(f, about("iter", handle)); }

void pdl_vm_start_call(pdl_fiber *f, pdl_val handle, pdl_val name, pdl_val args, pdl_val kwargs) {
    pdl_val r = about("call", handle);
    if (!pdl_is_absent(name)) r = pdl_dict_putz(r, "name", name);
    ask(f, with_args(r, args, kwargs));
}

/* --- operators -------------------------------------------------------------------------------- */

bool pdl_vm_has_object(pdl_vref v) { return (pdl_flags_of(v) & PDL_F_HANDLE) != 0; }

const char *pdl_vm_arith_text(pdl_arith op) {
    static const char *const text[] = {
        [PDL_OP_ADD] = "+",       [PDL_OP_SUB] = "-", [PDL_OP_MUL] = "*",  [PDL_OP_DIV] = "/",
        [PDL_OP_FLOORDIV] = "//", [PDL_OP_MOD] = "%", [PDL_OP_POW] = "**",
    };
    return text[op];
}

void pdl_vm_start_binary(pdl_fiber *f, const char *operator, bool negated) {
    pdl_val r = pdl_dict_putz(pdl_dict_new(4), "op", pdl_textz("binary"));
    r = pdl_dict_putz(r, "operator", pdl_textz(operator));
    if (negated) r = pdl_dict_putz(r, "negated", pdl_bool(true));
    r = pdl_dict_putz(r, "right", pop(f));
    ask(f, pdl_dict_putz(r, "left", pop(f)));
}

/* The tests that are operators. */
static const struct {
    const char *test, *operator;
} operators[] = {
    {"!=", "!="}, {"<", "<"},        {"<=", "<="}, {"==", "=="},         {">", ">"},  {">=", ">="},
    {"eq", "=="}, {"equalto", "=="}, {"ge", ">="}, {"greaterthan", ">"}, {"gt", ">"}, {"in", "in"},
    {"le", "<="}, {"lessthan", "<"}, {"lt", "<"},  {"ne", "!="},
};

/* Returns the operator of a test, or NULL when the test is not an operator. */
static const char *operator_of(pdl_str test) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (pdl_str_is(test, operators[i].test)) return operators[i].operator;
    return NULL;
}

bool pdl_object_test(pdl_fiber *f, const pdl_callsig *sh, bool negated) {
    if (sh->n_pos != 1 || pdl_vm_arg_count(sh) != 1 ||
        (!pdl_vm_has_object(*top(f)) && !pdl_vm_has_object(*under(f, 1))))
        return false;
    const char *operator= operator_of(sh->name);
    if (operator) pdl_vm_start_binary(f, operator, negated);
    return operator!= NULL;
}

void pdl_vm_start_unary(pdl_fiber *f, const char *operator) {
    ask(f, pdl_dict_putz(about("unary", pop(f)), "operator", pdl_textz(operator)));
}

void pdl_vm_start_slice(pdl_fiber *f) {
    pdl_val bounds = pdl_list_new(3);
    for (size_t i = 3; i-- > 0;) {
        pdl_vref v = *under(f, i);
        bounds = pdl_list_push(bounds, pdl_is_absent(v) ? pdl_null() : pdl_keep(v));
    }
    pdl_vm_cut_stack(f, f->stack.n - 3);
    ask(f, with_args(about("slice", pop(f)), bounds, pdl_absent()));
}

/* --- filters ---------------------------------------------------------------------------------- */

/* The ways in which a filter may use objects. */
typedef enum {
    WALKS = 1,  /* iterates over the items, so the value may be any iterator */
    COUNTS = 2, /* calculates with the items or compares them, which the worker does */
    LOOKS = 4,  /* reads an attribute of each item */
    TESTS = 8,  /* selects items by a test; the test may be an operator */
} object_use;

static const struct {
    const char *filter;
    unsigned use;
} uses[] = {
    {"abs", COUNTS},
    {"batch", WALKS},
    {"first", WALKS},
    {"float", COUNTS},
    {"format", COUNTS},
    {"groupby", WALKS | LOOKS},
    {"int", COUNTS},
    {"join", WALKS | LOOKS},
    {"list", WALKS},
    {"map", WALKS | LOOKS},
    {"max", WALKS | COUNTS},
    {"min", WALKS | COUNTS},
    {"reject", WALKS | TESTS},
    {"rejectattr", WALKS | LOOKS | TESTS},
    {"round", COUNTS},
    {"select", WALKS | TESTS},
    {"selectattr", WALKS | LOOKS | TESTS},
    {"slice", WALKS},
    {"sort", WALKS | COUNTS},
    {"sum", WALKS | COUNTS},
    {"unique", WALKS | LOOKS},
};

static unsigned use_of(pdl_str filter) {
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (pdl_str_is(filter, uses[i].filter)) return uses[i].use;
    return 0;
}

/* Returns the argument of a filter that names attributes: a keyword argument, or the argument at
 * the position that the filter has for it. Absent when the call has no such argument. */
static pdl_vref attribute_of(const pdl_fiber *f, const pdl_callsig *sh) {
    const pdl_val *args = f->stack.p + f->stack.n - pdl_vm_arg_count(sh);
    for (size_t i = 0; i < sh->n_kw; i++)
        if (pdl_str_is(sh->kw[i], "attribute")) return args[sh->n_pos + i];
    size_t at = pdl_str_is(sh->name, "groupby") || pdl_str_ends(sh->name, PDL_STR("attr")) ? 0 : 1;
    bool positional = !pdl_str_is(sh->name, "map") && !sh->star && at < sh->n_pos;
    return positional ? args[at] : pdl_absent();
}

/* Returns the promise of the attribute `key` of an object. The fetch starts now, unless it was
 * started before. Borrowed. */
static pdl_vref fetch(pdl_fiber *f, pdl_vref object, pdl_vref key) {
    pdl_handle *h = pdl_handle_of(object);
    pdl_vref known = pdl_is_absent(h->fetched) ? pdl_absent() : pdl_dict_find(h->fetched, key);
    if (!pdl_is_absent(known)) return known;
    pdl_vm_start_item(f, pdl_keep(object), pdl_keep(key));
    if (pdl_is_absent(h->fetched)) h->fetched = pdl_dict_new(1);
    pdl_val promise = pop(f);
    h->fetched = pdl_dict_put(h->fetched, pdl_keep(key), promise);
    return promise;
}

/* Follows a path of keys from v. The value of each attribute on the path is kept in its object.
 * *open gets the promise of the first attribute that has not arrived yet, borrowed, or absent. With
 * `forget`, the kept attributes are dropped. */
static bool follow(pdl_fiber *f, pdl_vref v, pdl_vref path, bool forget, pdl_vref *open,
                   pdl_err *err) {
    pdl_val at = pdl_keep(v), next;
    *open = pdl_absent();
    for (size_t i = 0; i < pdl_list_len(path); i++) {
        pdl_vref key = pdl_list_at(path, i);
        if (pdl_is(at, PDL_V_HANDLE)) {
            pdl_vref p = fetch(f, at, key);
            if (pdl_promise_of(p)->state != PDL_PROMISE_FILLED) {
                *open = p;
                break;
            }
            next = pdl_keep(pdl_promise_of(p)->value);
            if (forget) set_val(&pdl_handle_of(at)->fetched, pdl_absent());
        } else if (!pdl_is_dict(at) && !pdl_is_list(at) && !pdl_is(at, PDL_V_TUPLE)) {
            break;
        } else if (!pdl_item(at, key, &next, err)) {
            pdl_drop(at);
            return false;
        }
        set_val(&at, next);
    }
    pdl_drop(at);
    return true;
}

/* Resolves the attributes of all items along all paths. All of them are requested before the first
 * is waited for. With `forget`, the filter has ended, and the fetched attributes are dropped. */
static pdl_step look(pdl_fiber *f, pdl_vref items, pdl_vref paths, bool forget, pdl_err *err) {
    pdl_vref first = pdl_absent(), open;
    for (size_t i = 0; i < pdl_list_len(items); i++)
        for (size_t k = 0; k < pdl_list_len(paths); k++) {
            if (!follow(f, pdl_list_at(items, i), pdl_list_at(paths, k), forget, &open, err))
                return PDL_STEP_FAIL;
            if (pdl_is_absent(first)) first = open;
        }
    if (pdl_is_absent(first) || forget) return PDL_STEP_DONE;
    pdl_val wanted = pdl_keep(first);
    pdl_step s = pdl_vm_force(f, &wanted, err);
    pdl_drop(wanted);
    return s == PDL_STEP_DONE ? look(f, items, paths, false, err) : s;
}

static pdl_step look_at(pdl_fiber *f, const pdl_callsig *sh, bool forget, pdl_err *err) {
    pdl_vref x = *under(f, pdl_vm_arg_count(sh)), attribute = attribute_of(f, sh);
    if (!pdl_vm_has_object(x) || !(pdl_is_list(x) || pdl_is(x, PDL_V_TUPLE)) ||
        pdl_is_absent(attribute) || pdl_is_null(attribute))
        return PDL_STEP_DONE;
    pdl_val paths = pdl_attribute_paths(attribute, pdl_str_is(sh->name, "unique"));
    pdl_step s = look(f, x, paths, forget, err);
    pdl_drop(paths);
    return s;
}

bool pdl_vm_any_object(const pdl_fiber *f, size_t n) {
    bool any = false;
    for (size_t i = 0; i < n; i++) any = any || pdl_vm_has_object(f->stack.p[f->stack.n - 1 - i]);
    return any;
}

/* Returns the operator by which a filter selects items. Returns "" for `map` with a filter that
 * calculates, and NULL for all other filters. */
static const char *counts_items(const pdl_fiber *f, const pdl_callsig *sh, unsigned use) {
    const pdl_val *args = f->stack.p + f->stack.n - pdl_vm_arg_count(sh);
    if (sh->n_kw) return NULL;
    if (use & TESTS) {
        size_t at = use & LOOKS ? 1 : 0;
        return sh->n_pos == at + 2 && pdl_is_str(args[at]) ? operator_of(pdl_str_get(args[at]))
                                                           : NULL;
    }
    bool maps = pdl_str_is(sh->name, "map") && sh->n_pos && pdl_is_str(args[0]);
    return maps && (use_of(pdl_str_get(args[0])) & COUNTS) ? "" : NULL;
}

/* Returns true when the worker executes the filter. *operator gets the operator with which the
 * filter selects. */
static bool is_done_there(const pdl_fiber *f, const pdl_callsig *sh, unsigned use,
                          const char **operator) {
    pdl_vref x = f->stack.p[f->stack.n - 1 - pdl_vm_arg_count(sh)];
    *operator= NULL;
    if (sh->star || sh->starstar) return false;
    if (pdl_str_is(sh->name, "format")) return true;
    if (!pdl_vm_has_object(x)) return false;
    if (use & COUNTS) return pdl_is(x, PDL_V_HANDLE) || (use & WALKS);
    *operator= counts_items(f, sh, use);
    return *operator!= NULL;
}

/* Makes the worker execute the filter or method, in place of the value and the arguments. */
static void count_there(pdl_fiber *f, const char *name, const pdl_callsig *sh,
                        const char *operator) {
    size_t n = pdl_vm_arg_count(sh);
    pdl_val args = pdl_list_new(1 + sh->n_pos), kwargs = pdl_dict_new(sh->n_kw);
    for (size_t i = 0; i <= sh->n_pos; i++) args = pdl_list_push(args, pdl_keep(*under(f, n - i)));
    for (size_t i = 0; i < sh->n_kw; i++)
        kwargs = pdl_dict_puts(kwargs, sh->kw[i], pdl_keep(*under(f, n - 1 - sh->n_pos - i)));
    pdl_vm_cut_stack(f, f->stack.n - n - 1);
    pdl_val r = pdl_dict_putz(pdl_dict_new(4), "op", pdl_textz("filter"));
    r = pdl_dict_putz(r, "name", pdl_textz(name));
    if (operator) r = pdl_dict_putz(r, "operator", pdl_textz(operator));
    ask(f, with_args(r, args, kwargs));
}

pdl_step pdl_object_filter(pdl_fiber *f, const pdl_callsig *sh, bool *done, pdl_err *err) {
    pdl_val *x = under(f, pdl_vm_arg_count(sh));
    unsigned use = use_of(sh->name);
    const char *operator;
    *done = false;
    /* the worker that owns the object refuses an object over which it cannot iterate */
    if (pdl_is(*x, PDL_V_HANDLE) && (use & WALKS)) {
        pdl_vm_start_iter(f, pdl_keep(*x));
        pdl_val items = pop(f);
        x = under(f, pdl_vm_arg_count(sh));
        set_val(x, items);
        pdl_step s = pdl_vm_force(f, x, err);
        if (s != PDL_STEP_DONE) return s;
    }
    *done = is_done_there(f, sh, use, &operator);
    if (*done) count_there(f, sh->row->name, sh, operator);
    return !*done && (use & LOOKS) ? look_at(f, sh, false, err) : PDL_STEP_DONE;
}

bool pdl_object_method(pdl_fiber *f, const pdl_callsig *sh) {
    size_t n = pdl_vm_arg_count(sh);
    bool formats = pdl_is_str(*under(f, n)) && pdl_str_is(sh->name, "format") && !sh->star &&
                   !sh->starstar && pdl_vm_any_object(f, n);
    if (formats) count_there(f, "str.format", sh, NULL);
    return formats;
}

void pdl_object_filter_end(pdl_fiber *f, const pdl_callsig *sh) {
    pdl_err ignored = {0};
    if ((use_of(sh->name) & LOOKS) && look_at(f, sh, true, &ignored) != PDL_STEP_DONE)
        pdl_err_fini(&ignored);
}
