/* handle.c -- objects of Python and of the host program as values; see handle.h.
 *
 * A handle holds what arrived with an object of Python: class name, texts, truth and length. An
 * expression reads these without asking the process in which the object lives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/handle.h"

#include <assert.h>

#include "base/buf.h"
#include "base/limits.h"

#include "base/banned.h"

/* Returns the i-th child: the three texts, then `json` and `fetched` unless they are absent.
 * Returns absent after the last child. */
static pdl_vref child(const pdl_obj *o, size_t i) {
    const pdl_handle *h = (const void *)o;
    switch (i) {
    case 0: return h->type_name;
    case 1: return h->str;
    case 2: return h->repr;
    case 3: return pdl_is_absent(h->json) ? h->fetched : h->json;
    case 4: return pdl_is_absent(h->json) ? pdl_absent() : h->fetched;
    default: return pdl_absent();
    }
}

static void fini(pdl_obj *o) {
    pdl_handle *h = (void *)o;
    if (h->gone) h->gone(h->user, h->id);
}

static void text(const pdl_obj *o, bool repr, pdl_buf *out) {
    const pdl_handle *h = (const void *)o;
    pdl_err ignored = {0};
    if (h->ops && h->ops->text(h, repr, out, &ignored)) return;
    pdl_err_fini(&ignored);
    pdl_buf_put(out, pdl_str_get(repr ? h->repr : h->str));
}

static const pdl_class handle_class = {"object", child, fini, text};

pdl_val pdl_handle_new(uint64_t id, pdl_val type_name, pdl_val str, pdl_val repr, bool truth,
                       int64_t len) {
    assert(pdl_is_str(str) && pdl_is_str(repr));
    pdl_handle *h = pdl_ext_new(PDL_V_HANDLE, &handle_class, sizeof *h);
    h->id = id;
    h->type_name = type_name;
    h->str = str;
    h->repr = repr;
    h->truth = truth;
    h->len = len;
    return pdl_from_obj(PDL_V_HANDLE, &h->ext.head, PDL_F_HANDLE);
}

bool pdl_handle_text(pdl_vref v, bool repr, pdl_buf *out, pdl_err *err) {
    const pdl_handle *h = pdl_handle_of(v);
    if (h->ops) return h->ops->text(h, repr, out, err);
    pdl_vref t = repr ? h->repr : h->str;
    pdl_buf_put(out, pdl_is_str(t) ? pdl_str_get(t) : PDL_STR("<object>"));
    return true;
}

bool pdl_handle_truth(pdl_vref v, bool *out, pdl_err *err) {
    const pdl_handle *h = pdl_handle_of(v);
    if (h->ops) return h->ops->truth(h, out, err);
    *out = h->truth;
    return true;
}

bool pdl_handle_len(pdl_vref v, size_t *out) {
    const pdl_handle *h = pdl_handle_of(v);
    if (h->ops) return h->ops->len(h, out);
    if (h->len >= 0) *out = (size_t)h->len;
    return h->len >= 0;
}

/* Adds a label to the labels with which the objects in v arrived. Returns the labels that they then
 * have. */
static pdl_label add_made(pdl_vref v, pdl_label label, unsigned depth) {
    pdl_label all = 0;
    if (!(pdl_flags_of(v) & PDL_F_HANDLE) || depth > PDL_MAX_VALUE_DEPTH) return 0;
    if (pdl_is(v, PDL_V_HANDLE)) all = pdl_handle_of(v)->made |= label;
    if (pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE))
        for (size_t i = 0; i < pdl_list_len(v); i++)
            all |= add_made(pdl_list_at(v, i), label, depth + 1);
    if (pdl_is_dict(v))
        for (size_t i = 0; i < pdl_dict_len(v); i++)
            all |= add_made(pdl_dict_val_at(v, i), label, depth + 1);
    return all;
}

void pdl_handles_made(pdl_vref v, pdl_label label) { add_made(v, label, 0); }

pdl_label pdl_handles_making(pdl_vref v) { return add_made(v, 0, 0); }

/* Compares handles. Objects of different processes may have the same number. */
bool pdl_handle_eq(pdl_vref a, pdl_vref b) {
    const pdl_handle *x = pdl_handle_of(a), *y = pdl_handle_of(b);
    if (x->ops != y->ops) return false;
    return x->ops ? x->ops->eq(x, y) : x->id == y->id && x->user == y->user;
}
