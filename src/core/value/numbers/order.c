/* order.c -- compares values by Python's < and searches them by Python's `in`; see val.h.
 *
 * Recursion is bounded by PDL_MAX_VALUE_DEPTH. Operands that Python cannot order fail with the text
 * of Python's TypeError.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cancel.h"
#include "base/limits.h"
#include "value/context.h"
#include "value/int.h"
#include "value/obj.h"
#include "value/pyvalues.h"

#include "base/banned.h"

static bool order(pdl_vref a, pdl_vref b, char op, size_t depth, bool *out, pdl_err *err);

/* Returns true when op holds for cmp, the result of a comparison: -1, 0, 1, or 2 when one operand
 * is NaN. */
static bool holds(char op, int cmp) {
    if (cmp == 2) return false;
    return op == '<' ? cmp < 0 : op == '>' ? cmp > 0 : op == 'l' ? cmp <= 0 : cmp >= 0;
}

static bool not_supported(pdl_vref a, pdl_vref b, char op, pdl_err *err) {
    const char *sign = op == '<' ? "<" : op == '>' ? ">" : op == 'l' ? "<=" : ">=";
    return pdl_err_host(err, "TypeError", "'%s' not supported between instances of '%s' and '%s'",
                        sign, pdl_type_full(a), pdl_type_full(b));
}

/* Orders lists by the first items in which they differ. */
static bool order_lists(pdl_vref a, pdl_vref b, char op, size_t depth, bool *out, pdl_err *err) {
    if (depth >= PDL_MAX_VALUE_DEPTH)
        return pdl_err_host(err, "RecursionError",
                            "maximum recursion depth exceeded in comparison");
    size_t na = pdl_list_len(a), nb = pdl_list_len(b);
    for (size_t i = 0; i < na && i < nb; i++) {
        pdl_vref x = pdl_list_at(a, i), y = pdl_list_at(b, i);
        bool same = pdl_val_eq(x, y);
        if (!pdl_check_cancel_at(i + 1, err) || !pdl_check_walk(err)) return false;
        if (!same) return order(x, y, op, depth + 1, out, err);
    }
    *out = holds(op, (na > nb) - (na < nb));
    return true;
}

static bool is_subset(pdl_vref a, pdl_vref b) {
    for (size_t i = 0; i < pdl_dict_len(a) && pdl_walk_may_continue_at(i); i++)
        if (pdl_is_absent(pdl_dict_find(b, pdl_dict_key_at(a, i)))) return false;
    return true;
}

static bool order_sets(pdl_vref a, pdl_vref b, char op) {
    size_t na = pdl_dict_len(a), nb = pdl_dict_len(b);
    if (op == '<') return na < nb && is_subset(a, b);
    if (op == 'l') return na <= nb && is_subset(a, b);
    if (op == '>') return nb < na && is_subset(b, a);
    return nb <= na && is_subset(b, a);
}

static bool order_times(pdl_vref a, pdl_vref b, char op, bool *out, pdl_err *err) {
    /* datetime is a subtype of date, so its comparison is tried first */
    if (pdl_tag_of(a) != pdl_tag_of(b))
        return pdl_err_host(err, "TypeError", "can't compare datetime.datetime to datetime.date");
    if (pdl_time_is_zoned(a) != pdl_time_is_zoned(b))
        return pdl_err_host(err, "TypeError",
                            "can't compare offset-naive and offset-aware datetimes");
    *out = holds(op, pdl_time_cmp(a, b));
    return true;
}

static bool is_number(pdl_vref v) {
    pdl_tag t = pdl_tag_of(v);
    return t == PDL_V_INT || t == PDL_V_BOOL || t == PDL_V_FLOAT || t == PDL_V_BIGINT;
}

static bool is_time(pdl_vref v) { return pdl_is(v, PDL_V_DATE) || pdl_is(v, PDL_V_DATETIME); }

/* Returns the dict that has the keys of a set or of a key view; absent for other values. */
static pdl_vref set_like(pdl_vref v) {
    if (pdl_is(v, PDL_V_SET)) return pdl_set_dict(v);
    if (pdl_is(v, PDL_V_VIEW) && pdl_view_kind_of(v) == PDL_VIEW_KEYS) return pdl_view_dict(v);
    return pdl_absent();
}

static bool order(pdl_vref a, pdl_vref b, char op, size_t depth, bool *out, pdl_err *err) {
    pdl_tag ta = pdl_tag_of(a), tb = pdl_tag_of(b);
    if (is_number(a) && is_number(b)) {
        *out = holds(op, pdl_num_cmp(a, b));
        return true;
    }
    if (ta == PDL_V_STR && tb == PDL_V_STR) {
        *out = holds(op, pdl_str_cmp(pdl_str_get(a), pdl_str_get(b)));
        return true;
    }
    if (is_time(a) && is_time(b)) return order_times(a, b, op, out, err);
    if (ta == tb && (ta == PDL_V_LIST || ta == PDL_V_TUPLE))
        return order_lists(a, b, op, depth, out, err);
    if (ta == tb && ta == PDL_V_BYTES) {
        *out = holds(op, pdl_str_cmp(pdl_bytes_get(a), pdl_bytes_get(b)));
        return true;
    }
    pdl_vref x = set_like(a), y = set_like(b);
    if (pdl_is_absent(x) || pdl_is_absent(y)) return not_supported(a, b, op, err);
    *out = order_sets(x, y, op);
    return true;
}

bool pdl_val_order(pdl_vref a, pdl_vref b, char op, bool *out, pdl_err *err) {
    if (pdl_is(a, PDL_V_INT) && pdl_is(b, PDL_V_INT)) {
        int64_t x = pdl_int_of(a), y = pdl_int_of(b);
        *out = holds(op, (x > y) - (x < y));
        return true;
    }
    return order(a, b, op, 0, out, err);
}

/* --- in --------------------------------------------------------------------------------------- */

static bool in_keys(pdl_vref x, pdl_vref dict, bool of_set, bool *out, pdl_err *err) {
    if (of_set && pdl_is(x,
                         /* Python would search an equal frozen set, but a PDL set contains none */
                         PDL_V_SET)) {
        *out = false;
        return true;
    }
    bool view = pdl_is(x, PDL_V_VIEW) && pdl_view_kind_of(x) != PDL_VIEW_VALUES;
    if (view || (!pdl_is_hashable(x) && pdl_tag_of(x) <= PDL_V_SET))
        return pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_type_full(x));
    *out = !pdl_is_absent(pdl_dict_find(dict, x));
    return true;
}

static bool in_bytes(pdl_vref x, pdl_str s, bool *out, pdl_err *err) {
    int64_t i;
    if (pdl_is(x, PDL_V_BYTES)) {
        *out = pdl_str_find_walk(s, pdl_bytes_get(x), 0) != PDL_NOT_FOUND;
        return true;
    }
    if (!pdl_is_int(x) && !pdl_is_bool(x))
        return pdl_err_host(err, "TypeError", "a bytes-like object is required, not '%s'",
                            pdl_type_full(x));
    if (!pdl_int_get(x, &i) || i < 0 || i > 255)
        return pdl_err_host(err, "ValueError", "byte must be in range(0, 256)");
    *out = s.n && memchr(s.p, (int)i, s.n) != NULL;
    return true;
}

static bool in_range(pdl_vref x, pdl_vref range) {
    int64_t i, start, stop, step;
    pdl_val whole;
    if (pdl_is(x, PDL_V_FLOAT)) { /* 2.0 in range(3) is true */
        if (!pdl_int_from_double(pdl_float_of(x), &whole)) return false;
        bool same = pdl_val_eq(whole, x) && pdl_int_get(whole, &i);
        pdl_drop(whole);
        if (!same) return false;
    } else if (!pdl_int_get(x, &i)) {
        return false;
    }
    pdl_range_get(range, &start, &stop, &step);
    if (step > 0 ? i < start || i >= stop : i > start || i <= stop) return false;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t off = step > 0 ? (uint64_t)i - (uint64_t)start : (uint64_t)start - (uint64_t)i;
    return off % by == 0;
}

/* Searches any other value that can be walked: views of values and items, and contexts. */
static bool in_walk(pdl_vref x, pdl_vref c, bool *out, pdl_err *err) {
    pdl_iter it;
    if (!pdl_iter_init(&it, c, err)) return false;
    pdl_val item;
    bool found = false;
    bool ok = true;
    while (ok && !found && pdl_iter_next(&it, &item)) {
        found = pdl_val_eq(item, x);
        pdl_drop(item);
        ok = pdl_check_cancel_at(it.i, err);
    }
    pdl_iter_fini(&it);
    *out = found;
    return ok;
}

static bool is_in(pdl_vref x, pdl_vref c, bool *out, pdl_err *err) {
    pdl_tag t = pdl_tag_of(c);
    if (t == PDL_V_STR) {
        if (!pdl_is_str(x))
            return pdl_err_host(err, "TypeError",
                                "'in <string>' requires string as left operand, not %s",
                                pdl_type_full(x));
        *out = pdl_str_find_walk(pdl_str_get(c), pdl_str_get(x), 0) != PDL_NOT_FOUND;
        return true;
    }
    if (t == PDL_V_LIST || t == PDL_V_TUPLE) {
        bool found = false;
        for (size_t i = 0; !found && i < pdl_list_len(c); i++) {
            found = pdl_val_eq(pdl_list_at(c, i), x);
            if (!pdl_check_cancel_at(i + 1, err)) return false;
        }
        *out = found;
        return true;
    }
    if (t == PDL_V_DICT) return in_keys(x, c, false, out, err);
    pdl_vref keys = set_like(c);
    if (!pdl_is_absent(keys)) return in_keys(x, keys, t == PDL_V_SET, out, err);
    if (t == PDL_V_BYTES) return in_bytes(x, pdl_bytes_get(c), out, err);
    if (t == PDL_V_RANGE) {
        *out = in_range(x, c);
        return true;
    }
    if (t == PDL_V_VIEW || t == PDL_V_CONTEXT) return in_walk(x, c, out, err);
    return pdl_err_host(err, "TypeError", "argument of type '%s' is not iterable",
                        pdl_type_full(c));
}

bool pdl_val_in(pdl_vref x, pdl_vref c, bool *out, pdl_err *err) {
    bool ok = is_in(x, c, out, err);
    if (PDL_LIKELY(!pdl_is_walk_cancelled())) return ok;
    if (!ok) pdl_err_fini(err); /* a cancelled walk may report a wrong error */
    return pdl_check_walk(err);
}
