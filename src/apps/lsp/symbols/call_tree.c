/* call_tree.c -- shows which code calls a function, and which functions it calls. A call is
 * recorded in the index as a reference, and its caller is the function whose region contains the
 * reference. So no program is run or compiled for this.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/features.h"
#include "lsp/xref.h"

#include "base/banned.h"

/* Returns an item for a function, or for the top of a file when sym is NULL. `data` identifies the
 * item in later requests. */
static pdl_val put_item(const lsp_doc *d, const lsp_sym *sym, lsp_range whole) {
    pdl_str file = pdl_file_name(pdl_str_of(d->key));
    pdl_val v = pdl_dict_putz(pdl_dict_new(8), "name", pdl_text(sym ? sym->name : file));
    v = pdl_dict_putz(v, "kind", pdl_int(sym ? 12 : 1));
    v = pdl_dict_putz(v, "detail", pdl_text(sym ? sym->type : PDL_STR("program")));
    v = pdl_dict_putz(v, "uri", pdl_textz(d->uri));
    v = pdl_dict_putz(v, "range", pdl_lsp_put_range(sym ? sym->whole : whole));
    v = pdl_dict_putz(v, "selectionRange",
                      pdl_lsp_put_range(sym ? sym->range : (lsp_range){whole.from, whole.from}));
    pdl_val data =
        pdl_dict_putz(pdl_dict_new(2), "region", pdl_int(sym ? (int64_t)sym->region : -1));
    return pdl_dict_putz(v, "data", pdl_dict_putz(data, "body", pdl_int(sym ? sym->body : 0)));
}

pdl_val pdl_lsp_on_prepare_calls(pdl_lsp *s, pdl_vref params) {
    size_t off;
    lsp_doc *d = pdl_lsp_doc_at(s, params, &off);
    lsp_thing t;
    lsp_range range;
    if (!d || !pdl_lsp_thing_at(s, d, off, &t, &range)) return pdl_null();
    const lsp_sym *sym = pdl_lsp_thing_sym(s, &t);
    if (sym->kind != SYM_FUNCTION) return pdl_null();
    return pdl_list_push(pdl_list_new(1), put_item(t.doc, sym, sym->whole));
}

/* Returns the innermost named function around a region; NULL for the top of the file. */
static const lsp_sym *function_of(const lsp_index *x, uint32_t region) {
    while (region && !x->regions.p[region].sym) region = x->regions.p[region].up;
    return region ? &x->syms.p[x->regions.p[region].sym - 1] : NULL;
}

static bool is_call(const lsp_ref *r) {
    return r->kind == REF_CALL || (r->kind == REF_MEMBER && r->called);
}

/* Adds a range to the entry of an item, or makes a new entry. key: "from" or "to". */
static pdl_val add_call(pdl_val list, const char *key, pdl_val item, lsp_range range) {
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref entry = pdl_list_at(list, i);
        if (!pdl_val_eq(pdl_dict_getz(entry, key), item)) continue;
        pdl_val ranges = pdl_keep(pdl_dict_getz(entry, "fromRanges"));
        ranges = pdl_list_push(ranges, pdl_lsp_put_range(range));
        pdl_val changed = pdl_dict_putz(pdl_keep(entry), "fromRanges", ranges);
        pdl_drop(item);
        return pdl_list_set(list, i, changed);
    }
    pdl_val entry = pdl_dict_putz(pdl_dict_new(2), key, item);
    entry = pdl_dict_putz(entry, "fromRanges",
                          pdl_list_push(pdl_list_new(1), pdl_lsp_put_range(range)));
    return pdl_list_push(list, entry);
}

/* Finds the function of an item. Returns false when the file has changed meanwhile, or when the
 * item is the top of a file. */
static bool item_thing(pdl_lsp *s, pdl_vref item, lsp_thing *out) {
    lsp_doc *d = pdl_lsp_doc_of_uri(s, pdl_member_str(item, "uri"));
    const lsp_index *x = d ? pdl_lsp_doc_index(s, d) : NULL;
    int64_t region = pdl_member_int(pdl_member(item, "data"), "region", -1);
    if (!x || region < 0 || (size_t)region >= x->regions.n) return false;
    *out = (lsp_thing){d, (uint32_t)region, pdl_member_str(item, "name")};
    return pdl_lsp_thing_sym(s, out) != NULL;
}

pdl_val pdl_lsp_on_incoming(pdl_lsp *s, pdl_vref params) {
    pdl_val list = pdl_list_new(4);
    lsp_thing t, other;
    pdl_lsp_workspace_finish(s);
    if (!item_thing(s, pdl_member(params, "item"), &t)) return list;
    for (size_t i = 0; i < s->docs.n; i++) {
        lsp_doc *d = s->docs.p[i];
        const lsp_index *x = d->gone && !d->open ? NULL : pdl_lsp_doc_index(s, d);
        for (size_t k = 0; x && k < x->refs.n; k++) {
            const lsp_ref *r = &x->refs.p[k];
            if (!is_call(r) || !pdl_str_eq(r->name, t.name) || !pdl_lsp_resolve(s, d, r, &other) ||
                !pdl_lsp_same_thing(&t, &other))
                continue;
            pdl_val item = put_item(d, function_of(x, r->region), x->regions.p[0].range);
            list = add_call(list, "from", item, r->range);
        }
    }
    return list;
}

/* Returns true when a region is `outer`, or is inside it. */
static bool is_inside(const lsp_index *x, uint32_t region, uint32_t outer) {
    while (region && region != outer) region = x->regions.p[region].up;
    return region == outer;
}

pdl_val pdl_lsp_on_outgoing(pdl_lsp *s, pdl_vref params) {
    pdl_vref item = pdl_member(params, "item");
    pdl_val list = pdl_list_new(4);
    lsp_doc *d = pdl_lsp_doc_of_uri(s, pdl_member_str(item, "uri"));
    const lsp_index *x = d ? pdl_lsp_doc_index(s, d) : NULL;
    int64_t body = pdl_member_int(pdl_member(item, "data"), "body", 0);
    lsp_thing t;
    for (size_t i = 0; x && body >= 0 && (size_t)body < x->regions.n && i < x->refs.n; i++) {
        const lsp_ref *r = &x->refs.p[i];
        if (!is_call(r) || !is_inside(x, r->region, (uint32_t)body) ||
            !pdl_lsp_resolve(s, d, r, &t))
            continue;
        const lsp_sym *sym = pdl_lsp_thing_sym(s, &t);
        if (sym->kind == SYM_FUNCTION)
            list = add_call(list, "to", put_item(t.doc, sym, sym->whole), r->range);
    }
    return list;
}
