/* fold_labels.c -- the origins of a block's values: {"result": ["model"], ...}.
 *
 * Each name is that of the field that has the value. When parts of an object or of a list have
 * other origins, they have separate entries, such as result.KEY and result[INDEX]. A value that
 * comes only from the program's text has no entry.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/fold_tree.h"
#include "value/label.h"

#include "base/banned.h"

enum { MAX_PARTS = 20 }; /* maximum number of parts of a value that get separate entries */

static pdl_val names_of(const pdl_fold *f, pdl_label origins) {
    pdl_val list = pdl_list_new(2);
    for (size_t i = 0; i < PDL_LABEL_ORIGIN_BITS; i++) {
        if (!(origins >> i & 1)) continue;
        pdl_buf b = PDL_BUF;
        f->put_label(f->label_user, (pdl_label)1 << i, &b);
        list = pdl_list_push(list, pdl_text_of_buf(&b));
    }
    return list;
}

static pdl_val put(const pdl_fold *f, pdl_val out, pdl_buf *name, pdl_vref v) {
    pdl_label origins = pdl_label_origins(pdl_label_of(v));
    if (!origins) return out;
    return pdl_dict_put(out, pdl_text(pdl_buf_str(name)), names_of(f, origins));
}

/* Appends a key. The key may be text that the trace does not show. */
static void put_key(const pdl_fold *f, pdl_vref dict, pdl_vref key, pdl_buf *name) {
    pdl_label label = pdl_label_of_part(dict) | pdl_label_of(key);
    pdl_buf_putc(name, '.');
    if (pdl_redaction_covers(f->redaction, label))
        pdl_redaction_put(f->redaction, label, name);
    else
        pdl_buf_put(name, pdl_str_get(key));
}

static pdl_val put_parts(const pdl_fold *f, pdl_val out, pdl_buf *name, pdl_vref v) {
    size_t at = name->len;
    for (size_t i = 0; pdl_is_dict(v) && i < pdl_dict_len(v) && i < MAX_PARTS; i++) {
        if (!pdl_is_str(pdl_dict_key_at(v, i))) continue;
        put_key(f, v, pdl_dict_key_at(v, i), name);
        out = put(f, out, name, pdl_dict_val_at(v, i));
        pdl_buf_cut(name, at);
    }
    for (size_t i = 0; pdl_is(v, PDL_V_LIST) && i < pdl_list_len(v) && i < MAX_PARTS; i++) {
        pdl_buf_putf(name, "[%zu]", i);
        out = put(f, out, name, pdl_list_at(v, i));
        pdl_buf_cut(name, at);
    }
    return out;
}

pdl_val pdl_fold_labels_put(const pdl_fold *f, pdl_val out, pdl_str field, pdl_vref v) {
    if (!f->put_label || pdl_is_absent(v) || !pdl_label_origins(pdl_label_of(v))) return out;
    pdl_buf name = PDL_BUF;
    pdl_buf_put(&name, pdl_str_is(field, "pdl__result") ? PDL_STR("result") : field);
    if (pdl_is_absent(out)) out = pdl_dict_new(2);
    out = put(f, out, &name, v);
    out = put_parts(f, out, &name, v);
    pdl_buf_fini(&name);
    return out;
}
