/* methods_list.c -- Python's methods of lists, tuples and ranges. Methods that change a list return
 * (new list, value of the call).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"
#include "value/context.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

static bool changed(pdl_val self, pdl_val value, pdl_val *out) {
    const pdl_val pair[2] = {self, value};
    *out = pdl_tuple_new(pair, 2);
    return true;
}

static bool m_append(PDL_ARGS) {
    return changed(pdl_list_push(pdl_keep(argv[0]), pdl_keep(argv[1])), pdl_null(), out);
}

static bool m_clear(PDL_ARGS) { return changed(pdl_list_new(0), pdl_null(), out); }

static bool m_copy(PDL_ARGS) {
    *out = pdl_keep(argv[0]);
    return true;
}

static bool m_extend(PDL_ARGS) {
    pdl_val more;
    if (!pdl_arg_list(env, argv[1], &more, err)) return false;
    pdl_val self = pdl_list_concat(pdl_keep(argv[0]), more);
    pdl_drop(more);
    return changed(self, pdl_null(), out);
}

/* Adds the labels of v, a value that decided about the items of self or about their order. Takes
 * self. */
static pdl_val chosen_by(pdl_val self, pdl_vref v) {
    return pdl_is_absent(v) ? self : pdl_with_label(self, pdl_label_of(v));
}

static bool m_insert(PDL_ARGS) {
    int64_t i = 0, n = (int64_t)pdl_list_len(argv[0]);
    if (!pdl_arg_size(argv[1], &i, err)) return false;
    if (i < 0) i = i < -n ? 0 : i + n;
    if (i > n) i = n;
    pdl_val self = pdl_list_insert(pdl_keep(argv[0]), (size_t)i, pdl_keep(argv[2]));
    return changed(chosen_by(self, argv[1]), pdl_null(), out);
}

static bool m_pop(PDL_ARGS) {
    int64_t i = -1, n = (int64_t)pdl_list_len(argv[0]);
    if (!pdl_arg_size(argv[1], &i, err)) return false;
    if (n == 0) return pdl_err_host(err, "IndexError", "pop from empty list");
    if (i < 0) i += n;
    if (i < 0 || i >= n) return pdl_err_host(err, "IndexError", "pop index out of range");
    pdl_val x = pdl_keep(pdl_list_at(argv[0], (size_t)i));
    return changed(chosen_by(pdl_list_remove(pdl_keep(argv[0]), (size_t)i), argv[1]), x, out);
}

/* Returns the index of x in v from `from` to `to`, or PDL_NOT_FOUND. */
static size_t place_of(pdl_vref v, pdl_vref x, size_t from, size_t to) {
    for (size_t i = from; i < to && pdl_walk_may_continue_at(i); i++)
        if (pdl_val_eq(pdl_list_at(v, i), x)) return i;
    return PDL_NOT_FOUND;
}

static bool m_remove(PDL_ARGS) {
    size_t at = place_of(argv[0], argv[1], 0, pdl_list_len(argv[0]));
    if (at == PDL_NOT_FOUND)
        return pdl_err_host(err, "ValueError", "list.remove(x): x not in list");
    /* The values of the items decide which item is removed. */
    pdl_val self = chosen_by(pdl_list_remove(pdl_keep(argv[0]), at), argv[0]);
    return changed(chosen_by(self, argv[1]), pdl_null(), out);
}

static bool m_reverse(PDL_ARGS) {
    pdl_val r = pdl_list_new(pdl_list_len(argv[0]));
    for (size_t i = pdl_list_len(argv[0]); i-- > 0 && pdl_walk_may_continue_at(i);)
        r = pdl_list_push(r, pdl_keep(pdl_list_at(argv[0], i)));
    return changed(r, pdl_null(), out);
}

static bool m_sort(PDL_ARGS) {
    if (pdl_given(argv[1]))
        return pdl_err_host(err, "TypeError",
                            "sort(key=...) is not supported: use the filter sort(attribute=...)");
    bool reverse;
    pdl_val r;
    if (!pdl_arg_reverse(argv[2], &reverse, err) || !pdl_sorted(argv[0], argv[0], reverse, &r, err))
        return false;
    return changed(chosen_by(chosen_by(r, argv[0]), argv[2]), pdl_null(), out);
}

static bool m_count(PDL_ARGS) {
    int64_t n = 0;
    for (size_t i = 0; i < pdl_list_len(argv[0]) && pdl_walk_may_continue_at(i); i++)
        n += pdl_val_eq(pdl_list_at(argv[0], i), argv[1]);
    *out = pdl_int(n);
    return true;
}

static bool m_index(PDL_ARGS) {
    int64_t n = (int64_t)pdl_list_len(argv[0]), from = 0, to = INT64_MAX;
    for (size_t i = 2; i < 4; i++)
        if (!pdl_is_absent(argv[i]) && !pdl_is_int(argv[i]) && !pdl_is_bool(argv[i]))
            return pdl_err_host(err, "TypeError",
                                "slice indices must be integers or have an __index__ method");
    if (!pdl_arg_int(argv[2], &from, err) || !pdl_arg_int(argv[3], &to, err)) return false;
    if (from < 0) from = from < -n ? 0 : from + n;
    if (to < 0) to = to < -n ? 0 : to + n;
    if (to > n) to = n;
    size_t at = from < to ? place_of(argv[0], argv[1], (size_t)from, (size_t)to) : PDL_NOT_FOUND;
    if (at != PDL_NOT_FOUND) {
        *out = pdl_int((int64_t)at);
        return true;
    }
    if (pdl_is(argv[0], PDL_V_TUPLE))
        return pdl_err_host(err, "ValueError", "tuple.index(x): x not in tuple");
    pdl_buf b = PDL_BUF;
    pdl_val_show(argv[1], true, 300, &b);
    pdl_err_host(err, "ValueError", "%s is not in list", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

static const pdl_native methods[] = {
    {"append", m_append, "self, object", 2, 2, PDL_N_MUTATES, "Adds an item at the end.", NULL,
     PDL_NS_ONE, "list, any -> null"},
    {"clear", m_clear, "self", 1, 1, PDL_N_MUTATES, "Removes all items.", NULL, PDL_NS_NONE,
     "list -> null"},
    {"copy", m_copy, "self", 1, 1, 0, "The same list.", NULL, PDL_NS_NONE, "list -> same"},
    {"count", m_count, "self, value", 2, 2, 0, "How often an item occurs.", NULL, PDL_NS_ONE,
     "list, any -> integer"},
    {"extend", m_extend, "self, iterable", 2, 2, PDL_N_MUTATES, "Adds items at the end.", NULL,
     PDL_NS_ONE, "list, iterable -> null"},
    {"index", m_index, "self, value, start, stop", 2, 4, 0, "Place of an item.", NULL, PDL_NS_POS,
     "list, any, integer, integer -> integer"},
    {"insert", m_insert, "self, index, object", 3, 3, PDL_N_MUTATES, "Adds an item at a place.",
     NULL, PDL_NS_POS, "list, integer, any -> null"},
    {"pop", m_pop, "self, index", 1, 2, PDL_N_MUTATES, "Removes and gives an item.", NULL,
     PDL_NS_POS, "list, integer -> item"},
    {"remove", m_remove, "self, value", 2, 2, PDL_N_MUTATES, "Removes the first equal item.", NULL,
     PDL_NS_ONE, "list, any -> null"},
    {"reverse", m_reverse, "self", 1, 1, PDL_N_MUTATES, "Turns the order around.", NULL,
     PDL_NS_NONE, "list -> null"},
    {"sort", m_sort, "self, key, reverse", 1, 3, PDL_N_MUTATES, "Puts the items in order.", NULL,
     PDL_NS_NAMED, "list, any, any -> null"},
};

pdl_rows pdl_rows_list(void) { return (pdl_rows){methods, PDL_N_COUNT(methods)}; }

static const pdl_native tuple_methods[] = {
    {"count", m_count, "self, value", 2, 2, 0, "How often an item occurs.", NULL, PDL_NS_ONE,
     "tuple, any -> integer"},
    {"index", m_index, "self, value, start, stop", 2, 4, 0, "Place of an item.", NULL, PDL_NS_POS,
     "tuple, any, integer, integer -> integer"},
};

pdl_rows pdl_rows_tuple(void) { return (pdl_rows){tuple_methods, PDL_N_COUNT(tuple_methods)}; }

/* --- ranges ----------------------------------------------------------------------------------- */

/* Finds the index of a number in a range. Returns false, with PDL_NOT_FOUND in *at, when the range
 * does not have the number. */
static bool range_place(pdl_vref range, pdl_vref x, size_t *at) {
    int64_t start, stop, step, v = 0;
    double d = pdl_is(x, PDL_V_FLOAT) ? pdl_float_of(x) : 0;
    pdl_range_get(range, &start, &stop, &step);
    *at = PDL_NOT_FOUND;
    if (pdl_is(x, PDL_V_FLOAT) && d >= -9e18 && d <= 9e18 && (double)(int64_t)d == d)
        v = (int64_t)d;
    else if (pdl_is(x, PDL_V_FLOAT) || !pdl_is_number(x) || !pdl_int_get(x, &v))
        return false;
    if (step > 0 ? v < start : v > start) return false;
    uint64_t gap = step > 0 ? (uint64_t)v - (uint64_t)start : (uint64_t)start - (uint64_t)v;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    if (gap % by || gap / by >= pdl_range_len(range)) return false;
    *at = (size_t)(gap / by);
    return true;
}

static bool m_range_count(PDL_ARGS) {
    size_t at;
    *out = pdl_int(range_place(argv[0], argv[1], &at));
    return true;
}

static bool m_range_index(PDL_ARGS) {
    size_t at;
    if (range_place(argv[0], argv[1], &at)) {
        *out = pdl_int((int64_t)at);
        return true;
    }
    if (!pdl_is_int(argv[1]) && !pdl_is_bool(argv[1]))
        return pdl_err_host(err, "ValueError", "sequence.index(x): x not in sequence");
    pdl_buf b = PDL_BUF;
    pdl_val_show(argv[1], true, 300, &b);
    pdl_err_host(err, "ValueError", "%s is not in range", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

static const pdl_native range_methods[] = {
    {"count", m_range_count, "self, value", 2, 2, 0, "1 for a number of the range, else 0.", NULL,
     PDL_NS_ONE, "any, any -> integer"},
    {"index", m_range_index, "self, value", 2, 2, 0, "Place of a number.", NULL, PDL_NS_ONE,
     "any, any -> integer"},
};

pdl_rows pdl_rows_range(void) { return (pdl_rows){range_methods, PDL_N_COUNT(range_methods)}; }

/* Returns the messages as a flat list, whatever the argument `mode` is. */
static bool m_context_serialize(PDL_ARGS) {
    *out = pdl_context_to_list(argv[0]);
    return true;
}

static const pdl_native context_methods[] = {
    {"serialize", m_context_serialize, "self, mode", 2, 2, 0, "The messages as a list of objects.",
     "DependentContext.serialize", PDL_NS_DEF, "any, string -> any"},
};

pdl_rows pdl_rows_context(void) {
    return (pdl_rows){context_methods, PDL_N_COUNT(context_methods)};
}
