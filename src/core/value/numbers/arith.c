/* arith.c -- computes binary operators on any operands (int.h). Numbers come first, then sequences,
 * sets and contexts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cancel.h"
#include "base/limits.h"
#include "value/context.h"
#include "value/int.h"
#include "value/label.h"
#include "value/obj.h"
#include "value/pyvalues.h"

#include "base/banned.h"

static const char *const symbols[] = {
    [PDL_OP_ADD] = "+",       [PDL_OP_SUB] = "-", [PDL_OP_MUL] = "*",           [PDL_OP_DIV] = "/",
    [PDL_OP_FLOORDIV] = "//", [PDL_OP_MOD] = "%", [PDL_OP_POW] = "** or pow()",
};

static bool unsupported(pdl_arith op, pdl_vref a, pdl_vref b, pdl_err *err) {
    return pdl_err_host(err, "TypeError", "unsupported operand type(s) for %s: '%s' and '%s'",
                        symbols[op], pdl_type_full(a), pdl_type_full(b));
}

/* --- addition --------------------------------------------------------------------------------- */

static bool append_escaped(pdl_val v, pdl_str s, pdl_val *out, pdl_err *err) {
    static const struct {
        char c;
        const char *entity;
    } escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'\'', "&#39;"}, {'"', "&#34;"}};
    size_t from = 0;
    for (size_t i = 0; i < s.n && pdl_walk_may_continue_at(i); i++) {
        size_t k = 0;
        while (k < 5 && escapes[k].c != s.p[i]) k++;
        if (k == 5) continue;
        if (!pdl_text_append(v, pdl_str_sub(s, from, i), &v, err)) return false;
        if (!pdl_text_append(v, pdl_str_of(escapes[k].entity), &v, err)) return false;
        from = i + 1;
    }
    return pdl_text_append(v, pdl_str_sub(s, from, s.n), out, err);
}

static bool add_strings(pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    bool sa = pdl_flags_of(a) & PDL_F_SAFE, sb = pdl_flags_of(b) & PDL_F_SAFE;
    pdl_val r;
    if (sb && !sa) {
        if (!append_escaped(pdl_text((pdl_str){0}), pdl_str_get(a), &r, err)) return false;
        if (!pdl_text_append(r, pdl_str_get(b), &r, err)) return false;
    } else if (sa && !sb) {
        if (!append_escaped(pdl_keep(a), pdl_str_get(b), &r, err)) return false;
    } else {
        if (!pdl_text_append(pdl_keep(a), pdl_str_get(b), &r, err)) return false;
    }
    *out = sa || sb ? pdl_with_flags(r, PDL_F_SAFE) : r;
    return true;
}

static bool add_bytes(pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    pdl_str x = pdl_bytes_get(a), y = pdl_bytes_get(b);
    if (y.n > PDL_MAX_TEXT - x.n)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "bytes are longer than %zu",
                           PDL_MAX_TEXT);
    pdl_buf buf = PDL_BUF;
    pdl_buf_put(&buf, x);
    pdl_buf_put(&buf, y);
    *out = pdl_bytes(pdl_buf_str(&buf));
    pdl_buf_fini(&buf);
    return true;
}

static bool add_sequences(pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    pdl_tag ta = pdl_tag_of(a);
    if (ta == PDL_V_BYTES && pdl_tag_of(b) != ta)
        return pdl_err_host(err, "TypeError", "can't concat %s to bytes", pdl_type_full(b));
    if (pdl_tag_of(b) != ta) {
        const char *name = ta == PDL_V_STR ? "str" : pdl_type_name(a);
        pdl_err_host(err, "TypeError", "can only concatenate %s (not \"%s\") to %s", name,
                     pdl_type_full(b), name);
        if (ta == PDL_V_STR && pdl_tag_of(b) != PDL_V_NATIVE)
            pdl_err_hint(err, "a text and another value are joined by ~: a ~ b");
        return false;
    }
    if (ta == PDL_V_STR) return add_strings(a, b, out, err);
    if (ta == PDL_V_BYTES) return add_bytes(a, b, out, err);
    if (pdl_list_len(a) + pdl_list_len(b) > PDL_MAX_RANGE_ITEMS)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "list is longer than %d items",
                           PDL_MAX_RANGE_ITEMS);
    if (!pdl_err_memory(err, (pdl_list_len(a) + pdl_list_len(b)) * sizeof(pdl_val))) return false;
    *out = pdl_list_concat(pdl_keep(a), b);
    return true;
}

/* --- repetition ------------------------------------------------------------------------------- */

/* Reads n as a number of copies; a negative number means no copies. Fails when the copies would be
 * larger than max. unit is the size of one copy. */
static bool times_of(pdl_vref n, size_t unit, size_t max, size_t *out, pdl_err *err) {
    int64_t k;
    if (!pdl_int_get(n, &k))
        return pdl_err_host(err, "OverflowError", "cannot fit 'int' into an index-sized integer");
    if (k <= 0 || unit == 0) {
        *out = 0;
        return true;
    }
    if ((uint64_t)k > max / unit)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "repetition makes more than %zu items or bytes", max);
    *out = (size_t)k;
    return true;
}

static bool repeat_text(pdl_vref v, pdl_vref n, pdl_val *out, pdl_err *err) {
    bool bytes = pdl_is(v, PDL_V_BYTES);
    pdl_str s = bytes ? pdl_bytes_get(v) : pdl_str_get(v);
    size_t times = 0;
    if (!times_of(n, s.n, PDL_MAX_TEXT, &times, err)) return false;
    pdl_buf buf = PDL_BUF;
    if (!pdl_buf_fill(&buf, s, times, err)) return false;
    pdl_val r = bytes ? pdl_bytes(pdl_buf_str(&buf)) : pdl_text_of_buf(&buf);
    pdl_buf_fini(&buf);
    *out = bytes ? r : pdl_with_flags(r, pdl_flags_of(v) & PDL_F_SAFE);
    return true;
}

static bool repeat_list(pdl_vref v, pdl_vref n, pdl_val *out, pdl_err *err) {
    size_t len = pdl_list_len(v), times = 0;
    if (!times_of(n, len, PDL_MAX_RANGE_ITEMS, &times, err)) return false;
    if (!pdl_err_memory(err, len * times * sizeof(pdl_val))) return false;
    pdl_val r = pdl_list_new(len * times);
    for (size_t k = 0, i = 0; k < len * times; k++, i = i + 1 < len ? i + 1 : 0) {
        r = pdl_list_push(r, pdl_list_part(v, i));
        if (PDL_LIKELY(pdl_check_cancel_at(k, err))) continue;
        pdl_drop(r);
        return false;
    }
    *out = pdl_is(v, PDL_V_TUPLE) ? pdl_list_as_tuple(r) : r;
    return true;
}

static bool is_repeatable(pdl_vref v) {
    pdl_tag t = pdl_tag_of(v);
    return t == PDL_V_STR || t == PDL_V_BYTES || t == PDL_V_LIST || t == PDL_V_TUPLE;
}

static bool repeat(pdl_vref v, pdl_vref n, pdl_val *out, pdl_err *err) {
    if (!pdl_is_int(n) && !pdl_is_bool(n))
        return pdl_err_host(err, "TypeError", "can't multiply sequence by non-int of type '%s'",
                            pdl_type_full(n));
    return pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE) ? repeat_list(v, n, out, err)
                                                    : repeat_text(v, n, out, err);
}

/* --- others ----------------------------------------------------------------------------------- */

static bool is_keys(pdl_vref v) {
    return pdl_is(v, PDL_V_VIEW) && pdl_view_kind_of(v) != PDL_VIEW_VALUES;
}

static bool add_keys(pdl_vref v, pdl_val *dict, pdl_err *err) {
    pdl_val items;
    *dict = pdl_dict_new(0);
    if (!pdl_val_to_list(v, &items, err)) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < pdl_list_len(items); i++) {
        pdl_vref x = pdl_list_at(items, i);
        ok = pdl_is_hashable(x) && pdl_walk_may_continue_at(i);
        if (ok)
            *dict = pdl_dict_put(*dict, pdl_keep(x), pdl_null());
        else
            pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_type_name(x));
    }
    pdl_drop(items);
    return ok;
}

/* Computes the keys or items of a dict minus the items of any iterable, or the reverse. */
static bool view_minus(pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    pdl_val left = pdl_absent(), right = pdl_absent(), rest = pdl_dict_new(0);
    bool ok = add_keys(a, &left, err) && add_keys(b, &right, err);
    for (size_t i = 0; ok && i < pdl_dict_len(left) && pdl_walk_may_continue_at(i); i++) {
        pdl_vref k = pdl_dict_key_at(left, i);
        if (pdl_is_absent(pdl_dict_find(right, k)))
            rest = pdl_dict_put(rest, pdl_keep(k), pdl_null());
    }
    pdl_drop(left);
    pdl_drop(right);
    if (ok)
        *out = pdl_set_from_dict(rest);
    else
        pdl_drop(rest);
    return ok;
}

static pdl_val set_minus(pdl_vref a, pdl_vref b) {
    pdl_vref from = pdl_set_dict(a), what = pdl_set_dict(b);
    pdl_val d = pdl_dict_new(0);
    for (size_t i = 0; i < pdl_dict_len(from) && pdl_walk_may_continue_at(i); i++) {
        pdl_vref key = pdl_dict_key_at(from, i);
        if (pdl_is_absent(pdl_dict_find(what, key))) d = pdl_dict_put(d, pdl_keep(key), pdl_null());
    }
    return pdl_set_from_dict(d);
}

/* Composes contexts: `+` makes them independent, `*` dependent. */
static bool compose(pdl_arith op, pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    pdl_val x, y;
    if (!pdl_context_from(a, &x, err)) return false;
    if (!pdl_context_from(b, &y, err)) {
        pdl_drop(x);
        return false;
    }
    pdl_val both = op == PDL_OP_ADD ? pdl_context_ind(x, y) : pdl_context_dep(x, y);
    if (!pdl_context_fits(both, err)) {
        pdl_drop(both);
        return false;
    }
    *out = both;
    return true;
}

static bool arith_others(pdl_arith op, pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    bool context = pdl_is(a, PDL_V_CONTEXT) || pdl_is(b, PDL_V_CONTEXT);
    if (context && (op == PDL_OP_ADD || op == PDL_OP_MUL)) return compose(op, a, b, out, err);
    if (op == PDL_OP_ADD && is_repeatable(a)) return add_sequences(a, b, out, err);
    if (op == PDL_OP_MUL && is_repeatable(a)) return repeat(a, b, out, err);
    if (op == PDL_OP_MUL && is_repeatable(b)) return repeat(b, a, out, err);
    if (op == PDL_OP_SUB && (is_keys(a) || is_keys(b))) return view_minus(a, b, out, err);
    if (op == PDL_OP_SUB && pdl_is(a, PDL_V_SET) && pdl_is(b, PDL_V_SET)) {
        *out = set_minus(a, b);
        return true;
    }
    return unsupported(op, a, b, err);
}

bool pdl_val_arith(pdl_arith op, pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    if (pdl_is(a, PDL_V_INT) && pdl_is(b, PDL_V_INT) && op <= PDL_OP_MUL) {
        int64_t x = pdl_int_of(a), y = pdl_int_of(b), r;
        bool over = op == PDL_OP_ADD   ? PDL_ADD_OVERFLOWS(x, y, &r)
                    : op == PDL_OP_SUB ? PDL_SUB_OVERFLOWS(x, y, &r)
                                       : PDL_MUL_OVERFLOWS(x, y, &r);
        if (PDL_LIKELY(!over)) {
            *out = pdl_with_label(pdl_int(r), pdl_label_combined(pdl_label_of(a), pdl_label_of(b)));
            return true;
        }
    }
    bool handled;
    if (!pdl_num_arith(op, a, b, &handled, out, err)) return false;
    if (handled) return true;
    pdl_val r;
    if (!arith_others(op, a, b, &r, err)) return false;
    pdl_label label = pdl_label_of(a) | pdl_label_of(b);
    *out = pdl_with_label(r, pdl_is_str(r) ? pdl_label_built(label) : label);
    return true;
}
