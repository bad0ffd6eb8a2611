/* signature.c -- shows the parameters of the function whose arguments the user is typing. The call
 * around the cursor is incomplete while it is typed, so it is found by counting brackets and
 * commas, and not by parsing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/complete/complete.h"
#include "lsp/features.h"
#include "lsp/xref.h"
#include "native/native.h"

#include "base/banned.h"

enum { MAX_LOOKED_AT = 4000 };

static bool is_name(char c) { return c == '.' || pdl_lsp_is_word(c); }

/* Finds the bracket of the call that is open at off, and the number of commas between it and
 * off. */
static bool open_bracket(pdl_str text, size_t low, size_t off, size_t *bracket, size_t *commas) {
    int depth = 0;
    *commas = 0;
    for (size_t i = off; i > low; i--) {
        char c = text.p[i - 1];
        if (c == ')' || c == ']' || c == '}') depth++;
        if (c == ',' && !depth) ++*commas;
        if ((c == '(' || c == '[' || c == '{') && depth-- == 0) {
            *bracket = i - 1;
            return c == '(';
        }
    }
    return false;
}

static pdl_val put_signature(pdl_str label, pdl_str doc, pdl_val params, size_t active) {
    pdl_val one = pdl_dict_putz(pdl_dict_new(3), "label", pdl_text(label));
    if (doc.n) one = pdl_dict_putz(one, "documentation", pdl_text(doc));
    one = pdl_dict_putz(one, "parameters", params);
    pdl_val v = pdl_dict_putz(pdl_dict_new(3), "signatures", pdl_list_push(pdl_list_new(1), one));
    v = pdl_dict_putz(v, "activeSignature", pdl_int(0));
    return pdl_dict_putz(v, "activeParameter", pdl_int((int64_t)active));
}

static pdl_val of_function(pdl_lsp *s, const lsp_thing *t, size_t active) {
    const lsp_index *x = pdl_lsp_doc_index(s, t->doc);
    const lsp_sym *sym = pdl_lsp_thing_sym(s, t);
    pdl_val params = pdl_list_new(4);
    pdl_buf label = PDL_BUF;
    if (sym->kind != SYM_FUNCTION) {
        pdl_drop(params);
        return pdl_null();
    }
    pdl_buf_putf(&label, "%.*s(", PDL_FMT(sym->name));
    const lsp_region *body = &x->regions.p[sym->body];
    for (uint32_t i = 0; sym->body && i < body->n_params; i++) {
        const lsp_sym *p = &x->syms.p[body->param + i];
        pdl_buf one = PDL_BUF;
        pdl_buf_putf(&one, "%.*s%s%.*s", PDL_FMT(p->name), p->type.n ? ": " : "", PDL_FMT(p->type));
        pdl_buf_putf(&label, "%s%s", pdl_list_len(params) ? ", " : "", pdl_buf_z(&one));
        params = pdl_list_push(
            params, pdl_dict_putz(pdl_dict_new(1), "label", pdl_text(pdl_buf_str(&one))));
        pdl_buf_fini(&one);
    }
    PDL_PUT(&label, ")");
    pdl_val v = put_signature(pdl_buf_str(&label), sym->doc, params, active);
    pdl_buf_fini(&label);
    return v;
}

static pdl_val of_native(const pdl_native *row, size_t active) {
    pdl_buf label = PDL_BUF;
    pdl_val params = pdl_list_new(4);
    pdl_str rest = pdl_str_of(row->params ? row->params : "");
    pdl_buf_putf(&label, "%s(%.*s)", row->name, PDL_FMT(rest));
    while (rest.n) {
        pdl_str one = pdl_str_take(&rest, PDL_STR(","));
        params = pdl_list_push(params, pdl_dict_putz(pdl_dict_new(1), "label", pdl_text(one)));
    }
    pdl_val v = put_signature(pdl_buf_str(&label), pdl_str_of(row->doc), params, active);
    pdl_buf_fini(&label);
    return v;
}

pdl_val pdl_lsp_on_signature(pdl_lsp *s, pdl_vref params) {
    size_t off, bracket, commas;
    lsp_doc *d = pdl_lsp_doc_at(s, params, &off);
    if (!d) return pdl_absent();
    pdl_str text = pdl_lsp_text_str(&d->text);
    size_t low = off > MAX_LOOKED_AT ? off - MAX_LOOKED_AT : 0, line = off;
    while (line > low && text.p[line - 1] != '\n') line--;
    size_t open = pdl_lsp_expr_start(text, line, off, true);
    if (open == PDL_NOT_FOUND || !open_bracket(text, open, off, &bracket, &commas))
        return pdl_null();
    size_t from = bracket;
    while (from > open && is_name(text.p[from - 1])) from--;
    pdl_str name = pdl_str_sub(text, from, bracket);
    pdl_buf chain = PDL_BUF;
    pdl_lsp_chain_before(pdl_str_sub(text, open, bracket), &chain);
    pdl_str rest = pdl_buf_str(&chain);
    uint32_t region = pdl_lsp_index_region(d->index, (uint32_t)off);
    lsp_thing t;
    bool known = rest.n && pdl_lsp_follow(s, d, region, &rest, &t) && !rest.n;
    pdl_buf_fini(&chain);
    if (known) return of_function(s, &t, commas);
    bool filter =
        from > open && pdl_str_ends(pdl_str_trim(pdl_str_sub(text, open, from)), PDL_STR("|"));
    const pdl_native *row = filter ? pdl_filter_find(name) : pdl_global_find(name);
    return row ? of_native(row, commas + (filter ? 1 : 0)) : pdl_null();
}
