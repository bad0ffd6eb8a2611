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

/* --- masks ------------------------------------------------------------------------------------ */

void pdl_mask_put(const pdl_mask *m, pdl_label l, pdl_buf *out) {
    pdl_buf_putc(out, '[');
    m->name(m->user, m->labels & l, out);
    pdl_buf_putc(out, ']');
}

static pdl_val mask_text(const pdl_mask *m, pdl_label l) {
    pdl_buf b = PDL_BUF;
    pdl_mask_put(m, l, &b);
    return pdl_text_of_buf(&b);
}

/* Takes v. What is nested deeper than values may be is hidden as a whole. */
static pdl_val masked(const pdl_mask *m, pdl_val v, unsigned depth) {
    pdl_label label = pdl_label_of(v);
    if (!pdl_mask_hides(m, label)) return v;
    bool whole = pdl_mask_hides(m, pdl_label_of_part(v)) || depth >= (unsigned)PDL_MAX_VALUE_DEPTH;
    bool list = pdl_is_list(v), dict = pdl_is_dict(v);
    if (whole || !(list || dict)) {
        pdl_drop(v);
        return mask_text(m, label);
    }
    size_t n = list ? pdl_list_len(v) : pdl_dict_len(v);
    pdl_val out = list ? pdl_list_new(n) : pdl_dict_new(n);
    for (size_t i = 0; i < n; i++) {
        if (list) {
            out = pdl_list_push(out, masked(m, pdl_keep(pdl_list_at(v, i)), depth + 1));
            continue;
        }
        pdl_val key = masked(m, pdl_keep(pdl_dict_key_at(v, i)), depth + 1);
        out = pdl_dict_put(out, key, masked(m, pdl_keep(pdl_dict_val_at(v, i)), depth + 1));
    }
    pdl_drop(v);
    return out;
}

pdl_val pdl_masked(const pdl_mask *m, pdl_val v) { return masked(m, v, 0); }

static pdl_val blank(const pdl_mask *m, pdl_label l, pdl_vref v, unsigned depth) {
    if (pdl_is_null(v) || pdl_is_absent(v)) return pdl_keep(v);
    if (pdl_is_bool(v)) return pdl_bool(false);
    if (pdl_is_int(v)) return pdl_int(0);
    if (pdl_is(v, PDL_V_FLOAT)) return pdl_float(0);
    if (pdl_is_list(v)) return pdl_list_new(0);
    if (!pdl_is_dict(v) || depth >= (unsigned)PDL_MAX_VALUE_DEPTH) return mask_text(m, l);
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0, n = pdl_dict_len(v); i < n; i++)
        out = pdl_dict_put(out, pdl_keep(pdl_dict_key_at(v, i)),
                           blank(m, l, pdl_dict_val_at(v, i), depth + 1));
    return out;
}

pdl_val pdl_mask_leaves(const pdl_mask *m, pdl_label l, pdl_val v) {
    pdl_val out = blank(m, l, v, 0);
    pdl_drop(v);
    return out;
}
