/* eq.c -- Python's == and bool() (val.h). PDL_MAX_VALUE_DEPTH bounds the recursion but not the
 * number of steps: two values of forty objects each may have 2^40 pairs of parts. So a walk checks
 * for cancellation. The result of a cancelled walk is arbitrary (cancel.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cancel.h"
#include "base/limits.h"
#include "value/context.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/obj.h"
#include "value/pyvalues.h"

#include "base/banned.h"

typedef struct eq_walk {
    size_t depth;
    pdl_steps steps;
} eq_walk;

static bool eq(pdl_vref a, pdl_vref b, eq_walk *w);

static bool eq_lists(pdl_vref a, pdl_vref b, eq_walk *w) {
    size_t n = pdl_list_len(a);
    if (n != pdl_list_len(b)) return false;
    for (size_t i = 0; i < n && pdl_walk_may_continue_at(i); i++)
        if (!eq(pdl_list_at(a, i), pdl_list_at(b, i), w)) return false;
    return true;
}

static bool eq_dicts(pdl_vref a, pdl_vref b, eq_walk *w) {
    if (pdl_dict_len(a) != pdl_dict_len(b)) return false;
    for (size_t i = 0; i < pdl_dict_len(a) && pdl_walk_may_continue_at(i); i++) {
        pdl_vref other = pdl_dict_find(b, pdl_dict_key_at(a, i));
        if (pdl_is_absent(other) || !eq(pdl_dict_val_at(a, i), other, w)) return false;
    }
    return true;
}

/* Keys and items are compared as sets. A view of values is only equal to itself. */
static bool eq_views(pdl_vref a, pdl_vref b, eq_walk *w) {
    pdl_vref x = pdl_view_dict(a), y = pdl_view_dict(b);
    if (pdl_view_kind_of(a) != pdl_view_kind_of(b)) return false;
    if (pdl_view_kind_of(a) == PDL_VIEW_VALUES) return false;
    if (pdl_view_kind_of(a) == PDL_VIEW_ITEMS) return eq_dicts(x, y, w);
    if (pdl_dict_len(x) != pdl_dict_len(y)) return false;
    for (size_t i = 0; i < pdl_dict_len(x) && pdl_walk_may_continue_at(i); i++)
        if (pdl_is_absent(pdl_dict_find(y, pdl_dict_key_at(x, i)))) return false;
    return true;
}

/* Compares ranges as sequences. */
static bool eq_ranges(pdl_vref a, pdl_vref b) {
    size_t n = pdl_range_len(a);
    if (n != pdl_range_len(b)) return false;
    return n == 0 || (pdl_range_at(a, 0) == pdl_range_at(b, 0) &&
                      pdl_range_at(a, n - 1) == pdl_range_at(b, n - 1));
}

static bool eq_times(pdl_vref a, pdl_vref b) {
    return pdl_time_is_zoned(a) == pdl_time_is_zoned(b) && pdl_time_cmp(a, b) == 0;
}

static bool is_number(pdl_tag t) {
    return t == PDL_V_INT || t == PDL_V_BOOL || t == PDL_V_FLOAT || t == PDL_V_BIGINT;
}

static bool eq_part(void *user, pdl_vref a, pdl_vref b) { return eq(a, b, user); }

static bool eq_parts(pdl_tag t, pdl_vref a, pdl_vref b, eq_walk *w) {
    if (t == PDL_V_LIST || t == PDL_V_TUPLE) return eq_lists(a, b, w);
    if (t == PDL_V_DICT) return eq_dicts(a, b, w);
    if (t == PDL_V_SET) return eq_dicts(pdl_set_dict(a), pdl_set_dict(b), w);
    if (t == PDL_V_VIEW) return eq_views(a, b, w);
    if (t == PDL_V_CONTEXT) return pdl_context_eq_by(a, b, eq_part, w);
    return false;
}

/* Compares two values of the same tag above STR. */
static bool eq_same_tag(pdl_vref a, pdl_vref b, eq_walk *w) {
    if (pdl_obj_of(a) == pdl_obj_of(b)) return true;
    pdl_tag t = pdl_tag_of(a);
    if (t == PDL_V_BYTES) return pdl_str_eq(pdl_bytes_get(a), pdl_bytes_get(b));
    if (t == PDL_V_DATE || t == PDL_V_DATETIME) return eq_times(a, b);
    if (t == PDL_V_RANGE) return eq_ranges(a, b);
    if (t == PDL_V_UNDEFINED) return true;
    if (t == PDL_V_HANDLE) return pdl_handle_eq(a, b);
    if (w->depth >= PDL_MAX_VALUE_DEPTH || !pdl_steps_may_continue(&w->steps)) return false;
    w->depth++;
    bool same = eq_parts(t, a, b, w);
    w->depth--;
    return same;
}

/* Returns 1 for equal values, 0 for different ones, and -1 when both have the same tag
 * above STR. */
static inline int eq_simple(pdl_vref a, pdl_vref b) {
    pdl_tag ta = pdl_tag_of(a), tb = pdl_tag_of(b);
    if (ta == PDL_V_INT && tb == PDL_V_INT) return pdl_int_of(a) == pdl_int_of(b);
    if (is_number(ta) && is_number(tb)) return pdl_num_cmp(a, b) == 0;
    if (ta != tb) return 0;
    if (ta == PDL_V_STR) return pdl_str_eq(pdl_str_get(a), pdl_str_get(b));
    return ta <= PDL_V_NULL ? 1 : -1;
}

static bool eq(pdl_vref a, pdl_vref b, eq_walk *w) {
    int same = eq_simple(a, b);
    return same < 0 ? eq_same_tag(a, b, w) : same;
}

PDL_APART static bool eq_whole(pdl_vref a, pdl_vref b) {
    eq_walk w = {0};
    return eq_same_tag(a, b, &w);
}

bool pdl_val_eq(pdl_vref a, pdl_vref b) {
    int same = eq_simple(a, b);
    return same < 0 ? eq_whole(a, b) : same;
}

bool pdl_val_truth(pdl_vref v) {
    pdl_tag t = pdl_tag_of(v);
    size_t n;
    if (t == PDL_V_BOOL) return pdl_bool_of(v);
    if (t <= PDL_V_NULL || t == PDL_V_UNDEFINED) return false;
    if (t == PDL_V_INT) return pdl_int_of(v) != 0;
    if (t == PDL_V_FLOAT) return pdl_float_of(v) != 0.0;
    if (t == PDL_V_STR) return pdl_str_get(v).n > 0;
    if (t == PDL_V_HANDLE) {
        pdl_err ignored = {0};
        bool truth = true; /* the result for an object that gives no answer */
        if (!pdl_handle_truth(v, &truth, &ignored)) pdl_err_fini(&ignored);
        return truth;
    }
    if (t == PDL_V_CONTEXT) return !pdl_context_is_empty(v);
    return pdl_val_len(v, &n) ? n > 0 : true;
}
