/* template_tests.c -- the table of tests (spec syntax 4.5), sorted by name. A test is a native
 * whose result is a boolean; `x is NAME` calls it with x.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/pyvalues.h"

#include "base/banned.h"

enum { UNDEF = PDL_N_UNDEFINED };

#define YIELD(x) return *out = pdl_bool(x), true

static bool t_boolean(PDL_ARGS) { YIELD(pdl_is_bool(argv[0])); }
static bool t_defined(PDL_ARGS) { YIELD(!pdl_is(argv[0], PDL_V_UNDEFINED)); }
static bool t_escaped(PDL_ARGS) { YIELD(pdl_is_safe(argv[0])); }
static bool t_false(PDL_ARGS) { YIELD(pdl_is_bool(argv[0]) && !pdl_bool_of(argv[0])); }
static bool t_float(PDL_ARGS) { YIELD(pdl_is(argv[0], PDL_V_FLOAT)); }
static bool t_integer(PDL_ARGS) { YIELD(pdl_is_int(argv[0])); }
static bool t_none(PDL_ARGS) { YIELD(pdl_is_null(argv[0])); }
static bool t_number(PDL_ARGS) {
    YIELD(pdl_is(argv[0], PDL_V_HANDLE) ? pdl_handle_of(argv[0])->number : pdl_is_number(argv[0]));
}
static bool t_string(PDL_ARGS) { YIELD(pdl_is_str(argv[0])); }
static bool t_true(PDL_ARGS) { YIELD(pdl_is_bool(argv[0]) && pdl_bool_of(argv[0])); }
static bool t_undefined(PDL_ARGS) { YIELD(pdl_is(argv[0], PDL_V_UNDEFINED)); }
static bool t_mapping(PDL_ARGS) {
    YIELD(pdl_is(argv[0], PDL_V_HANDLE) ? pdl_handle_of(argv[0])->mapping : pdl_is_dict(argv[0]));
}

/* Returns true even for undefined: in Jinja an undefined value has a __call__, which fails with its
 * explanation. */
static bool t_callable(PDL_ARGS) {
    pdl_tag t = pdl_tag_of(argv[0]);
    bool handle = t == PDL_V_HANDLE && pdl_handle_of(argv[0])->callable;
    bool cell = t == PDL_V_CELL && !pdl_is_namespace(argv[0]) &&
                !pdl_str_is(pdl_str_of(pdl_type_name(argv[0])), "jinja2.utils.Cycler");
    YIELD(t == PDL_V_FUNC || t == PDL_V_NATIVE || t == PDL_V_UNDEFINED || handle || cell);
}

static bool t_iterable(PDL_ARGS) {
    pdl_tag t = pdl_tag_of(argv[0]);
    if (t == PDL_V_UNDEFINED && !env->lenient) return pdl_undefined_error(argv[0], err);
    size_t n;
    if (t == PDL_V_HANDLE) YIELD(pdl_handle_of(argv[0])->iterable);
    YIELD(t == PDL_V_UNDEFINED || pdl_val_len(argv[0], &n));
}

/* Returns true for values that have a length and items by key, and for an undefined value when env
 * is lenient. Sets and the views of objects have no items. */
static bool t_sequence(PDL_ARGS) {
    pdl_tag t = pdl_tag_of(argv[0]);
    size_t n;
    if (t == PDL_V_HANDLE) YIELD(pdl_handle_of(argv[0])->sequence);
    bool items = t != PDL_V_SET && t != PDL_V_VIEW;
    YIELD(t == PDL_V_UNDEFINED ? env->lenient : items && pdl_val_len(argv[0], &n));
}

/* Returns true when two values are the same object. Equal integers of 64 bits, equal strings that
 * are not marked as safe, and empty tuples count as the same object. Two floats never count as the
 * same object. */
static bool t_sameas(PDL_ARGS) {
    pdl_vref a = argv[0], b = argv[1];
    pdl_tag t = pdl_tag_of(a);
    if (t != pdl_tag_of(b)) YIELD(false);
    if (t <= PDL_V_INT || (t == PDL_V_STR && pdl_is_safe(a) == pdl_is_safe(b) && !pdl_is_safe(a)))
        YIELD(pdl_val_eq(a, b));
    if (t == PDL_V_FLOAT) YIELD(false);
    if (t == PDL_V_TUPLE && pdl_list_len(a) == 0 && pdl_list_len(b) == 0) YIELD(true);
    YIELD(pdl_obj_of(a) == pdl_obj_of(b));
}

/* Compares the remainder of the first argument by the second with a number, in the sense of ==. */
static bool remainder_is(pdl_vref a, pdl_vref b, int64_t want, pdl_val *out, pdl_err *err) {
    pdl_val r;
    if (pdl_is(a, PDL_V_UNDEFINED)) return pdl_undefined_error(a, err);
    if (pdl_is(b, PDL_V_UNDEFINED)) return pdl_undefined_error(b, err);
    if (pdl_is_str(a)) { /* for a text, % is formatting */
        if (!pdl_format_percent(a, b, false, &r, err)) return false;
    } else if (!pdl_val_arith(PDL_OP_MOD, a, b, &r, err)) {
        return false;
    }
    *out = pdl_bool(pdl_val_eq(r, pdl_int(want)));
    pdl_drop(r);
    return true;
}

static bool t_odd(PDL_ARGS) { return remainder_is(argv[0], pdl_int(2), 1, out, err); }
static bool t_even(PDL_ARGS) { return remainder_is(argv[0], pdl_int(2), 0, out, err); }
static bool t_divisibleby(PDL_ARGS) { return remainder_is(argv[0], argv[1], 0, out, err); }

/* Calls fn, a method of texts, with the text of v. */
static bool is_cased(const pdl_native_env *env, pdl_vref v, pdl_native_fn *fn, pdl_val *out,
                     pdl_err *err) {
    pdl_val s;
    if (!pdl_arg_text(env, v, &s, err)) return false;
    bool ok = fn(env, &s, 1, pdl_absent(), out, err);
    pdl_drop(s);
    return ok;
}
static bool t_lower(PDL_ARGS) { return is_cased(env, argv[0], pdl_m_islower, out, err); }
static bool t_upper(PDL_ARGS) { return is_cased(env, argv[0], pdl_m_isupper, out, err); }

static bool t_in(PDL_ARGS) {
    bool r;
    /* an undefined value, which only a lenient call has here, counts as empty */
    if (pdl_is(argv[1], PDL_V_UNDEFINED)) YIELD(false);
    if (!pdl_val_in(argv[0], argv[1], &r, err)) return false;
    YIELD(r);
}

static bool t_eq(PDL_ARGS) { YIELD(pdl_val_eq(argv[0], argv[1])); }
static bool t_ne(PDL_ARGS) { YIELD(!pdl_val_eq(argv[0], argv[1])); }

static bool ordered(const pdl_val *argv, char op, pdl_val *out, pdl_err *err) {
    bool r;
    for (size_t i = 0; i < 2; i++)
        if (pdl_is(argv[i], PDL_V_UNDEFINED)) return pdl_undefined_error(argv[i], err);
    if (!pdl_val_order(argv[0], argv[1], op, &r, err)) return false;
    YIELD(r);
}
static bool t_lt(PDL_ARGS) { return ordered(argv, '<', out, err); }
static bool t_gt(PDL_ARGS) { return ordered(argv, '>', out, err); }
static bool t_le(PDL_ARGS) { return ordered(argv, 'l', out, err); }
static bool t_ge(PDL_ARGS) { return ordered(argv, 'g', out, err); }

/* Returns true when a name is in a table. An unhashable name is an error, as for a key of Python's
 * dict. */
static bool named(pdl_vref name, bool test, pdl_val *out, pdl_err *err) {
    if (!pdl_is_hashable(name) && !pdl_is(name, PDL_V_UNDEFINED) && !pdl_is(name, PDL_V_RANGE))
        return pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_py_type(name));
    bool found = pdl_is_str(name) && (test ? pdl_test_find(pdl_str_get(name))
                                           : pdl_filter_find(pdl_str_get(name))) != NULL;
    YIELD(found);
}
static bool t_filter(PDL_ARGS) { return named(argv[0], false, out, err); }
static bool t_test(PDL_ARGS) { return named(argv[0], true, out, err); }

static const pdl_native tests[] = {
    {"!=", t_ne, "a, b", 2, 2, 0, "The two differ.", "ne", PDL_NS_POS, "any, any -> boolean"},
    {"<", t_lt, "a, b", 2, 2, 0, "The first is smaller.", "lt", PDL_NS_POS, "any, any -> boolean"},
    {"<=", t_le, "a, b", 2, 2, 0, "The first is not larger.", "le", PDL_NS_POS,
     "any, any -> boolean"},
    {"==", t_eq, "a, b", 2, 2, 0, "The two are equal.", "eq", PDL_NS_POS, "any, any -> boolean"},
    {">", t_gt, "a, b", 2, 2, 0, "The first is larger.", "gt", PDL_NS_POS, "any, any -> boolean"},
    {">=", t_ge, "a, b", 2, 2, 0, "The first is not smaller.", "ge", PDL_NS_POS,
     "any, any -> boolean"},
    {"boolean", t_boolean, "value", 1, 1, UNDEF, "True or false.", "test_boolean", PDL_NS_DEF,
     "any -> boolean"},
    {"callable", t_callable, "obj", 1, 1, UNDEF, "Can be called.", "callable", PDL_NS_ONE,
     "any -> boolean"},
    {"defined", t_defined, "value", 1, 1, UNDEF, "Exists.", "test_defined", PDL_NS_DEF,
     "any -> boolean"},
    {"divisibleby", t_divisibleby, "value, num", 2, 2, 0, "The remainder is 0.", "test_divisibleby",
     PDL_NS_DEF, "number|string, any -> boolean"},
    {"eq", t_eq, "a, b", 2, 2, 0, "The two are equal.", "eq", PDL_NS_POS, "any, any -> boolean"},
    {"equalto", t_eq, "a, b", 2, 2, 0, "The two are equal.", "eq", PDL_NS_POS,
     "any, any -> boolean"},
    {"escaped", t_escaped, "value", 1, 1, UNDEF, "Text marked safe.", "test_escaped", PDL_NS_DEF,
     "any -> boolean"},
    {"even", t_even, "value", 1, 1, 0, "An even number.", "test_even", PDL_NS_DEF,
     "number|string -> boolean"},
    {"false", t_false, "value", 1, 1, UNDEF, "The value false.", "test_false", PDL_NS_DEF,
     "any -> boolean"},
    {"filter", t_filter, "value", 1, 1, 0, "The name of a filter.", "test_filter", PDL_NS_ENV,
     "any -> boolean"},
    {"float", t_float, "value", 1, 1, UNDEF, "A float.", "test_float", PDL_NS_DEF,
     "any -> boolean"},
    {"ge", t_ge, "a, b", 2, 2, 0, "The first is not smaller.", "ge", PDL_NS_POS,
     "any, any -> boolean"},
    {"greaterthan", t_gt, "a, b", 2, 2, 0, "The first is larger.", "gt", PDL_NS_POS,
     "any, any -> boolean"},
    {"gt", t_gt, "a, b", 2, 2, 0, "The first is larger.", "gt", PDL_NS_POS, "any, any -> boolean"},
    {"in", t_in, "value, seq", 2, 2, 0, "An item or a part of the argument.", "test_in", PDL_NS_DEF,
     "any, iterable -> boolean"},
    {"integer", t_integer, "value", 1, 1, UNDEF, "An integer; true and false are not integers.",
     "test_integer", PDL_NS_DEF, "any -> boolean"},
    {"iterable", t_iterable, "value", 1, 1, UNDEF, "Has items to go through.", "test_iterable",
     PDL_NS_DEF, "any -> boolean"},
    {"le", t_le, "a, b", 2, 2, 0, "The first is not larger.", "le", PDL_NS_POS,
     "any, any -> boolean"},
    {"lessthan", t_lt, "a, b", 2, 2, 0, "The first is smaller.", "lt", PDL_NS_POS,
     "any, any -> boolean"},
    {"lower", t_lower, "value", 1, 1, 0, "Text in lower case.", "test_lower", PDL_NS_DEF,
     "any -> boolean"},
    {"lt", t_lt, "a, b", 2, 2, 0, "The first is smaller.", "lt", PDL_NS_POS, "any, any -> boolean"},
    {"mapping", t_mapping, "value", 1, 1, UNDEF, "An object.", "test_mapping", PDL_NS_DEF,
     "any -> boolean"},
    {"ne", t_ne, "a, b", 2, 2, 0, "The two differ.", "ne", PDL_NS_POS, "any, any -> boolean"},
    {"none", t_none, "value", 1, 1, UNDEF, "The value null.", "test_none", PDL_NS_DEF,
     "any -> boolean"},
    {"number", t_number, "value", 1, 1, UNDEF, "An integer, a float, true or false.", "test_number",
     PDL_NS_DEF, "any -> boolean"},
    {"odd", t_odd, "value", 1, 1, 0, "An odd number.", "test_odd", PDL_NS_DEF,
     "number|string -> boolean"},
    {"sameas", t_sameas, "value, other", 2, 2, UNDEF, "The very same value.", "test_sameas",
     PDL_NS_DEF, "any, any -> boolean"},
    {"sequence", t_sequence, "value", 1, 1, UNDEF, "Has a length and items by number or key.",
     "test_sequence", PDL_NS_DEF, "any -> boolean"},
    {"string", t_string, "value", 1, 1, UNDEF, "Text.", "test_string", PDL_NS_DEF,
     "any -> boolean"},
    {"test", t_test, "value", 1, 1, 0, "The name of a test.", "test_test", PDL_NS_ENV,
     "any -> boolean"},
    {"true", t_true, "value", 1, 1, UNDEF, "The value true.", "test_true", PDL_NS_DEF,
     "any -> boolean"},
    {"undefined", t_undefined, "value", 1, 1, UNDEF, "Does not exist.", "test_undefined",
     PDL_NS_DEF, "any -> boolean"},
    {"upper", t_upper, "value", 1, 1, 0, "Text in upper case.", "test_upper", PDL_NS_DEF,
     "any -> boolean"},
};

static pdl_rows rows(void) { return (pdl_rows){tests, PDL_N_COUNT(tests)}; }

const pdl_native *pdl_test_find(pdl_str name) { return pdl_rows_find(rows(), name); }

const pdl_native *pdl_tests(size_t *n) {
    *n = PDL_N_COUNT(tests);
    return tests;
}

pdl_str pdl_test_near(pdl_str name) { return pdl_rows_near(rows(), name); }
