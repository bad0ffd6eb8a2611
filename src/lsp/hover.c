/* hover.c -- what is under the cursor: keys, words, variables, filters, models, types.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/explain.h"
#include "lsp/features.h"

#include "base/banned.h"

typedef struct hoverer {
    pdl_lsp *s;
    lsp_doc *d;
    size_t off;
    pdl_buf text;
    size_t from, to; /* what the text is about */
} hoverer;

static void about(hoverer *h, const pdl_node *n) {
    h->from = n->start;
    h->to = n->end;
}

static bool hover_key(hoverer *h, const lsp_spot *p) {
    const lsp_spot *up = p->up;
    const pdl_word *w = NULL;
    if (p->key->kind != PDL_NODE_SCALAR) return false;
    about(h, p->key);
    if (up->role == ROLE_BLOCK || up->role == ROLE_BLOCKS) {
        if (p->field) pdl_lsp_document_field(p->field, &h->text);
        return p->field != NULL;
    }
    if (up->role == ROLE_WORDS) w = pdl_word_find(up->group, p->key->text);
    if (up->role == ROLE_PATTERN) w = pdl_word_find(PDL_WORDS_PATTERN, p->key->text);
    if (up->role == ROLE_TYPE) w = pdl_word_find(PDL_WORDS_TYPE_KEY, p->key->text);
    if (w) pdl_buf_putf(&h->text, "**%s** -- %s", w->word, w->doc);
    return w != NULL;
}

static bool hover_value(hoverer *h, const lsp_spot *p) {
    const pdl_word *w = NULL;
    if (p->node->kind != PDL_NODE_SCALAR) return false;
    about(h, p->node);
    if (p->role == ROLE_WORD) w = pdl_word_find(p->group, p->node->text);
    if (p->role == ROLE_TYPE) w = pdl_word_find(PDL_WORDS_TYPE, p->node->text);
    if (w) pdl_buf_putf(&h->text, "**%s** -- %s", w->word, w->doc);
    return w != NULL;
}

pdl_val pdl_lsp_on_hover(pdl_lsp *s, pdl_vref params) {
    hoverer h = {.s = s, .text = PDL_BUF};
    lsp_way way;
    h.d = pdl_lsp_doc_at(s, params, &h.off);
    if (!h.d) return pdl_absent();
    if (!h.d->tree.root) return pdl_null();
    pdl_lsp_way_to(h.d->tree.root, (uint32_t)h.off, &way);
    const lsp_spot *p = pdl_lsp_way_end(&way);
    bool found = way.on_key ? hover_key(&h, p) : hover_value(&h, p);
    if (!found) {
        pdl_buf_fini(&h.text);
        return pdl_null();
    }
    pdl_val v =
        pdl_dict_putz(pdl_dict_new(2), "contents", pdl_lsp_put_markdown(s, pdl_buf_str(&h.text)));
    pdl_buf_fini(&h.text);
    return pdl_dict_putz(v, "range",
                         pdl_lsp_put_range(pdl_lsp_text_range(&h.d->text, h.from, h.to)));
}
