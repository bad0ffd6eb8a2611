/* label.c -- see label.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/label.h"

#include "base/limits.h"

#include "base/banned.h"

static pdl_label rest_of(pdl_label l, pdl_label origins) {
    pdl_label rest = l & ~origins;
    return pdl_label_origins(rest) ? rest : 0;
}

static pdl_val without(pdl_val v, pdl_label origins, unsigned depth);

/* The parts have labels of their own, so the container is made again from what they become. */
static pdl_val list_without(pdl_val v, pdl_label origins, unsigned depth) {
    size_t n = pdl_list_len(v);
    pdl_label whole = rest_of(pdl_label_of_part(v), origins);
    pdl_val *items = PDL_NEW_N(pdl_val, n + 1);
    for (size_t i = 0; i < n; i++)
        items[i] = without(pdl_keep(pdl_list_at(v, i)), origins, depth + 1);
    pdl_val out = pdl_is(v, PDL_V_TUPLE) ? pdl_tuple_new(items, n) : pdl_list_new(n);
    for (size_t i = 0; i < n && pdl_is_list(v); i++) out = pdl_list_push(out, items[i]);
    pdl_free(items);
    pdl_drop(v);
    return pdl_with_label(out, whole);
}

static pdl_val dict_without(pdl_val v, pdl_label origins, unsigned depth) {
    pdl_label whole = rest_of(pdl_label_of_part(v), origins);
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0, n = pdl_dict_len(v); i < n; i++) {
        pdl_val key = pdl_keep(pdl_dict_key_at(v, i));
        key = pdl_relabelled(key, rest_of(pdl_label_of(key), origins));
        out = pdl_dict_put(out, key, without(pdl_keep(pdl_dict_val_at(v, i)), origins, depth + 1));
    }
    pdl_drop(v);
    return pdl_with_label(out, whole);
}

/* Takes v. What is nested deeper than values may be keeps its labels. */
static pdl_val without(pdl_val v, pdl_label origins, unsigned depth) {
    if (!(pdl_label_of(v) & origins) || depth >= (unsigned)PDL_MAX_VALUE_DEPTH) return v;
    if (pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE)) return list_without(v, origins, depth);
    if (pdl_is_dict(v) && !(pdl_flags_of(v) & PDL_F_MODULE)) return dict_without(v, origins, depth);
    return pdl_relabelled(v, rest_of(pdl_label_of(v), origins));
}

pdl_val pdl_without_labels(pdl_val v, pdl_label origins) { return without(v, origins, 0); }
