/* scalars.c -- values for which C has no type (large integers, dates, bytes). Other functions read
 * a whole container at once, or walk through it without a handle for each item. All these functions
 * are separate from values.c, because few host programs need them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/handles.h"
#include "value/int.h"
#include "value/pyvalues.h"

#include "base/banned.h"

/* --- integers ----------------------------------------------------------------------------- */

/* Returns true for digits, optionally after a minus sign. */
static bool is_number(pdl_str s, int base) {
    size_t i = s.n && s.p[0] == '-';
    if (i == s.n) return false;
    for (; i < s.n; i++) {
        char c = s.p[i];
        bool digit = c >= '0' && c <= '9';
        bool letter = base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
        if (!digit && !letter) return false;
    }
    return true;
}

pdl_value *pdl_value_int_text(const char *digits, int base) {
    pdl_val v;
    pdl_str s = pdl_str_of(digits ? digits : "");
    if ((base != 10 && base != 16) || !is_number(s, base) || !pdl_int_read(s, base, &v))
        return NULL;
    return pdl_value_box(v);
}

pdl_value *pdl_value_get_int_text(const pdl_value *v, int base) {
    if (!v || (base != 10 && base != 16) || pdl_value_kind(v) != PDL_KIND_INT) return NULL;
    pdl_buf b = PDL_BUF;
    pdl_int_write(pdl_value_settled(v), base, &b);
    return pdl_value_box(pdl_with_label(pdl_text_of_buf(&b), pdl_label_of(v->v)));
}

/* --- dates and bytes ---------------------------------------------------------------------- */

pdl_value *pdl_value_date(const char *text) {
    bool is_date;
    pdl_time t;
    pdl_val v;
    pdl_err ignored = {0};
    if (!text || !pdl_time_read(pdl_str_of(text), &is_date, &t)) return NULL;
    if (is_date ? pdl_date_new(&t, &v, &ignored) : pdl_datetime_new(&t, &v, &ignored))
        return pdl_value_box(v);
    pdl_err_fini(&ignored);
    return NULL;
}

const char *pdl_value_get_bytes(const pdl_value *v, size_t *n_bytes) {
    if (!v || !pdl_is(pdl_value_settled(v), PDL_V_BYTES)) return NULL;
    pdl_str s = pdl_bytes_get(pdl_value_settled(v));
    if (n_bytes) *n_bytes = s.n;
    return s.p ? s.p : "";
}

/* --- containers --------------------------------------------------------------------------- */

bool pdl_value_put_at(pdl_value *v, const pdl_value *key, const pdl_value *item) {
    if (!v || !key || !item || !pdl_is_dict(v->v)) return false;
    pdl_vref k = pdl_value_settled(key);
    if (!pdl_is_hashable(k)) return false;
    pdl_val x = pdl_keep(item->v);
    v->v = pdl_dict_put(v->v, pdl_keep(k), x);
    return true;
}

pdl_value *pdl_value_tuple(const pdl_value *list) {
    if (!list || !pdl_is_list(pdl_value_settled(list))) return NULL;
    return pdl_value_box(pdl_list_as_tuple(pdl_keep(pdl_value_settled(list))));
}

bool pdl_value_is_tuple(const pdl_value *v) {
    return v && pdl_is(pdl_value_settled(v), PDL_V_TUPLE);
}

/* Stores v (taken) in the handle *slot. When *slot is NULL, makes the handle. */
static void hold(pdl_value **slot, pdl_val v) {
    if (!*slot) {
        *slot = pdl_value_box(v);
        return;
    }
    pdl_drop((*slot)->v);
    (*slot)->v = v;
}

static void release(pdl_value **slot) {
    if (!slot) return;
    pdl_value_drop(*slot);
    *slot = NULL;
}

bool pdl_value_next(const pdl_value *v, size_t *i, pdl_value **key, pdl_value **item) {
    if (!v || !i || !item) return false;
    size_t n = pdl_value_len(v), at = *i;
    pdl_vref x = pdl_value_settled(v);
    bool is_dict = pdl_is_dict(x), is_list = pdl_is_list(x) || pdl_is(x, PDL_V_TUPLE);
    if (at >= n || pdl_is_str(x)) {
        release(item);
        release(key);
        return false;
    }
    ++*i;
    if (is_dict && key) hold(key, pdl_value_part(x, pdl_dict_key_at(x, at)));
    if (is_dict || is_list) {
        hold(item, pdl_value_part(x, is_dict ? pdl_dict_val_at(x, at) : pdl_list_at(x, at)));
        return true;
    }
    pdl_value *one = pdl_value_at(v, at);
    hold(item, pdl_keep(one->v));
    pdl_value_drop(one);
    return true;
}

bool pdl_value_get_ints(const pdl_value *v, int64_t *out, size_t n) {
    if (!v || !out) return false;
    pdl_vref x = pdl_value_settled(v);
    if (!pdl_is_list(x) || pdl_list_len(x) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (!pdl_is(pdl_list_at(x, i), PDL_V_INT)) return false;
    for (size_t i = 0; i < n; i++) out[i] = pdl_int_of(pdl_list_at(x, i));
    return true;
}

pdl_value *pdl_value_ints(const int64_t *numbers, size_t n) {
    if (!numbers || n > UINT32_MAX / 2) return NULL;
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) list = pdl_list_push(list, pdl_int(numbers[i]));
    return pdl_value_box(list);
}
