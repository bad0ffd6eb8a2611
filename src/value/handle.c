/* handle.c -- see handle.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/handle.h"

#include <assert.h>

#include "base/buf.h"

#include "base/banned.h"

/* The last two may be absent, which ends the children. */
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
