/* symbols.c -- the outline of a file, and the search for names in all files. Both are read from the
 * indexes of the files, which are in memory for all programs of the workspace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/features.h"

#include "base/banned.h"

enum { MAX_RESULTS = 1000 };

/* Returns the number of the SymbolKind in the protocol. */
static int kind_number(lsp_sym_kind k) {
    switch (k) {
    case SYM_FUNCTION: return 12;
    case SYM_MODULE: return 2;
    case SYM_FIELD: return 8;
    case SYM_VARIABLE:
    case SYM_PARAMETER:
    case SYM_LOOP:
    case SYM_PATTERN:
    case SYM_RESPONSE: return 13;
    }
    return 13;
}

/* Returns true for symbols that the outline shows. It leaves out loop variables and
 * similar names. */
static bool is_outlined(const lsp_sym *s) {
    return s->kind == SYM_FUNCTION || s->kind == SYM_MODULE || s->kind == SYM_VARIABLE ||
           s->kind == SYM_RESPONSE || s->kind == SYM_FIELD;
}

static pdl_val put_symbol(const lsp_index *x, size_t i, pdl_val children) {
    const lsp_sym *sym = &x->syms.p[i];
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "name", pdl_text(sym->name));
    lsp_range whole = sym->whole, name = sym->range;
    if (sym->type.n) d = pdl_dict_putz(d, "detail", pdl_text(sym->type));
    d = pdl_dict_putz(d, "kind", pdl_int(kind_number(sym->kind)));
    if (name.from.line < whole.from.line ||
        (name.from.line == whole.from.line && name.from.ch < whole.from.ch))
        whole.from = name.from; /* a name in defs precedes its block */
    d = pdl_dict_putz(d, "range", pdl_lsp_put_range(whole));
    d = pdl_dict_putz(d, "selectionRange", pdl_lsp_put_range(name));
    return pdl_dict_putz(d, "children", children);
}

static pdl_val reversed(pdl_val list) {
    pdl_val out = pdl_list_new(pdl_list_len(list));
    for (size_t i = pdl_list_len(list); i-- > 0;)
        out = pdl_list_push(out, pdl_keep(pdl_list_at(list, i)));
    pdl_drop(list);
    return out;
}

/* Builds the tree from the last symbol to the first. Symbols are in the order of the file, and a
 * symbol comes before the symbols inside its text. So when a symbol is reached, all its children
 * were added already. */
pdl_val pdl_lsp_on_document_symbols(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    if (!d) return pdl_absent();
    const lsp_index *x = d->index;
    PDL_VEC(pdl_val) lists = {0};
    for (size_t i = 0; i <= x->syms.n; i++) *pdl_vec_push(&lists) = pdl_list_new(0);
    for (size_t i = x->syms.n; i-- > 0;) {
        if (!is_outlined(&x->syms.p[i])) {
            pdl_drop(lists.p[i + 1]);
            continue;
        }
        size_t up = x->syms.p[i].up;
        pdl_val one = put_symbol(x, i, reversed(lists.p[i + 1]));
        lists.p[up] = pdl_list_push(lists.p[up], one);
    }
    pdl_val result = reversed(lists.p[0]);
    pdl_vec_fini(&lists);
    return result;
}

/* --- all files -------------------------------------------------------------------------------- */

/* Returns true when the letters of the query occur in the name, in their order. */
static bool fits(pdl_str name, pdl_str query) {
    size_t k = 0;
    for (size_t i = 0; i < name.n && k < query.n; i++) k += (name.p[i] | 32) == (query.p[k] | 32);
    return k == query.n;
}

pdl_val pdl_lsp_on_workspace_symbols(pdl_lsp *s, pdl_vref params) {
    pdl_str query = pdl_member_str(params, "query");
    pdl_val list = pdl_list_new(8);
    pdl_lsp_workspace_finish(s);
    for (size_t i = 0; i < s->docs.n; i++) {
        lsp_doc *d = s->docs.p[i];
        const lsp_index *x = d->gone ? NULL : pdl_lsp_doc_index(s, d);
        for (size_t k = 0; x && k < x->syms.n && pdl_list_len(list) < MAX_RESULTS; k++) {
            const lsp_sym *sym = &x->syms.p[k];
            if (!is_outlined(sym) || sym->kind == SYM_FIELD || !fits(sym->name, query)) continue;
            pdl_val one = pdl_dict_putz(pdl_dict_new(4), "name", pdl_text(sym->name));
            one = pdl_dict_putz(one, "kind", pdl_int(kind_number(sym->kind)));
            one = pdl_dict_putz(one, "location", pdl_lsp_put_location(d, sym->range));
            if (sym->up)
                one = pdl_dict_putz(one, "containerName", pdl_text(x->syms.p[sym->up - 1].name));
            list = pdl_list_push(list, one);
        }
    }
    return list;
}
