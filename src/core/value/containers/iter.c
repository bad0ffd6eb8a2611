/* iter.c -- iterates over every value over which Python iterates; see pyvalues.h.
 *
 * An iterator owns a reference to its value, so the value cannot change while its items are read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"

#include <assert.h>

#include "base/utf8.h"
#include "value/context.h"
#include "value/handle.h"
#include "value/obj.h"
#include "value/pyvalues.h"

#include "base/banned.h"

static bool len_of(pdl_vref v, size_t *out) {
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_LIST || t == PDL_V_TUPLE)
        *out = pdl_list_len(v);
    else if (t == PDL_V_STR)
        *out = pdl_text_len_cp(v);
    else if (t == PDL_V_DICT)
        *out = pdl_dict_len(v);
    else if (t == PDL_V_SET || t == PDL_V_VIEW)
        *out = pdl_dict_len(pdl_boxobj_of(v)->in);
    else if (t == PDL_V_BYTES)
        *out = pdl_bytes_get(v).n;
    else if (t == PDL_V_RANGE)
        *out = pdl_range_len(v);
    else
        return false;
    return true;
}

bool pdl_val_len(pdl_vref v, size_t *out) {
    if (pdl_is(v, PDL_V_CONTEXT)) {
        *out = pdl_context_len(v);
        return true;
    }
    if (pdl_is(v, PDL_V_HANDLE)) return pdl_handle_len(v, out);
    return len_of(v, out);
}

bool pdl_iter_init(pdl_iter *it, pdl_vref v, pdl_err *err) {
    if (pdl_is(v, PDL_V_CONTEXT)) {
        pdl_val list = pdl_with_label(pdl_context_to_list(v), pdl_label_of(v));
        *it = (pdl_iter){.over = list, .n = pdl_list_len(list)};
        return true;
    }
    size_t n;
    if (!len_of(v, &n))
        return pdl_err_host(err, "TypeError", "'%s' object is not iterable", pdl_type_full(v));
    *it = (pdl_iter){.over = pdl_keep(v), .n = n};
    return true;
}

static pdl_val next_char(pdl_iter *it) {
    pdl_str s = pdl_str_get(it->over);
    const char *p = s.p + it->off, *from = p;
    (void)pdl_utf8_next(&p);
    it->off = (size_t)(p - s.p);
    return pdl_with_label(pdl_text((pdl_str){from, (size_t)(p - from)}), pdl_label_of(it->over));
}

/* Returns the value at an index. A function also gets the labels of its key, because the author of
 * the keys decides which function is at an index. When a program reads a member by its name, the
 * program makes this choice itself (vm/run/run_globals.c). */
static pdl_val value_by_place(pdl_vref d, size_t i) {
    pdl_vref v = pdl_dict_val_at(d, i);
    pdl_label of_key = pdl_is(v, PDL_V_FUNC) ? pdl_label_of(pdl_dict_key_at(d, i)) : 0;
    return pdl_with_label(pdl_keep(v), of_key);
}

static pdl_val next_of_view(pdl_vref view, size_t i) {
    pdl_vref d = pdl_view_dict(view);
    switch (pdl_view_kind_of(view)) {
    case PDL_VIEW_KEYS: return pdl_keep(pdl_dict_key_at(d, i));
    case PDL_VIEW_VALUES: return value_by_place(d, i);
    case PDL_VIEW_ITEMS: break;
    }
    pdl_val pair[2] = {pdl_keep(pdl_dict_key_at(d, i)), value_by_place(d, i)};
    return pdl_tuple_new(pair, 2);
}

bool pdl_iter_next(pdl_iter *it, pdl_val *out) {
    if (it->i >= it->n) return false;
    size_t i = it->i++;
    pdl_vref v = it->over;
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_LIST || t == PDL_V_TUPLE)
        *out = pdl_keep(pdl_list_at(v, i));
    else if (t == PDL_V_STR)
        *out = next_char(it);
    else if (t == PDL_V_DICT)
        *out = pdl_keep(pdl_dict_key_at(v, i));
    else if (t == PDL_V_SET)
        *out = pdl_keep(pdl_dict_key_at(pdl_set_dict(v), i));
    else if (t == PDL_V_VIEW)
        *out = next_of_view(v, i);
    else if (t == PDL_V_RANGE)
        *out = pdl_with_label(pdl_int(pdl_range_at(v, i)), pdl_label_of(v));
    else
        *out = pdl_with_label(pdl_int((unsigned char)pdl_bytes_get(v).p[i]), pdl_label_of(v));
    return true;
}

void pdl_iter_fini(pdl_iter *it) {
    pdl_drop(it->over);
    *it = (pdl_iter){0};
}

bool pdl_val_to_list(pdl_vref v, pdl_val *out, pdl_err *err) {
    if (pdl_is_list(v)) {
        *out = pdl_keep(v);
        return true;
    }
    pdl_iter it = {0};
    if (!pdl_iter_init(&it, v, err)) return false;
    if (it.n > PDL_MAX_RANGE_ITEMS) {
        pdl_iter_fini(&it);
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "list is longer than %d items",
                           PDL_MAX_RANGE_ITEMS);
    }
    /* Each character of a text becomes an object. */
    size_t each = sizeof(pdl_val) + (pdl_is_str(v) ? sizeof(pdl_strobj) + 8 : 0);
    if (!pdl_err_memory(err, it.n * each)) {
        pdl_iter_fini(&it);
        return false;
    }
    pdl_val list = pdl_list_new(it.n), x;
    bool ok = true;
    while (ok && pdl_iter_next(&it, &x)) {
        list = pdl_list_push(list, x);
        ok = pdl_check_cancel_at(it.i, err);
    }
    pdl_iter_fini(&it);
    if (ok)
        *out = pdl_with_label(list, pdl_label_of(v));
    else
        pdl_drop(list);
    return ok;
}
