/* embedded_languages.c -- finds texts of other languages inside a program, for the other language
 * servers of an editor. `pdl/regions` is an extension of the protocol: {textDocument} ->
 * [{language, range, indent}]. An editor puts the lines of a region, without `indent` columns, into
 * a document of that language and asks the server of the language. A code block has the language of
 * its `lang`. The content of any other block scalar is examined: JSON is recognised by reading it,
 * and Jinja by `{%`. All other texts count as Markdown, because most prompts are Markdown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/features.h"
#include "value/json_read.h"

#include "base/banned.h"

enum { MAX_REGIONS = 10000, MAX_DEPTH = 1000 };

typedef struct regions {
    const lsp_doc *d;
    pdl_val list;
} regions;

static const char *code_language(const pdl_node *block) {
    pdl_str lang = pdl_lsp_lang_of(block);
    if (pdl_str_eq_nocase(lang, PDL_STR("command"))) return "shellscript";
    if (pdl_str_eq_nocase(lang, PDL_STR("jinja"))) return "jinja";
    return pdl_str_eq_nocase(lang, PDL_STR("pdl")) ? "pdl" : "python";
}

static bool is_json(pdl_str text) {
    pdl_str s = pdl_str_trim(text);
    pdl_val v;
    pdl_err err = {0};
    if (!s.n || !pdl_byte_in(s.p[0], PDL_STR("{["))) return false;
    bool ok = pdl_json_read(s, 0, &v, NULL, &err);
    if (ok) pdl_drop(v);
    pdl_err_fini(&err);
    return ok;
}

static const char *language(const lsp_spot *p) {
    pdl_str text = p->node->text;
    if (p->role == ROLE_CODE) return code_language(p->up->node);
    if (is_json(text)) return "json";
    if (pdl_str_find(text, PDL_STR("{%"), 0) != PDL_NOT_FOUND) return "jinja";
    return "markdown";
}

static void add(regions *r, const lsp_spot *p) {
    const pdl_node *n = p->node;
    bool block = n->style == PDL_STYLE_LITERAL || n->style == PDL_STYLE_FOLDED;
    if ((!block && p->role != ROLE_CODE) || !n->text.n || pdl_list_len(r->list) >= MAX_REGIONS)
        return;
    pdl_loc first = pdl_node_text_loc(n, 0, 1);
    uint32_t from = first.start, to = n->end;
    pdl_str text = pdl_lsp_text_str(&r->d->text);
    while (to > from && text.p[to - 1] == '\n' && to - 1 > from && text.p[to - 2] == '\n') to--;
    lsp_range range = pdl_lsp_text_range(&r->d->text, from, to);
    pdl_val v = pdl_dict_putz(pdl_dict_new(3), "language", pdl_textz(language(p)));
    v = pdl_dict_putz(v, "indent", pdl_int(block ? range.from.ch : 0));
    r->list = pdl_list_push(r->list, pdl_dict_putz(v, "range", pdl_lsp_put_range(range)));
}

static void walk(regions *r, const lsp_spot *p, unsigned depth) {
    if (depth > MAX_DEPTH || p->node->shared) return;
    if (p->node->kind == PDL_NODE_SCALAR && p->role != ROLE_NONE) add(r, p);
    for (uint32_t i = 0; i < p->node->n; i++) {
        lsp_spot child = pdl_lsp_spot_child(p, i);
        walk(r, &child, depth + 1);
    }
}

pdl_val pdl_lsp_on_regions(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    if (!d) return pdl_absent();
    regions r = {d, pdl_list_new(4)};
    if (d->tree.root) {
        lsp_spot root = pdl_lsp_spot_root(d->tree.root);
        walk(&r, &root, 0);
    }
    return r.list;
}
