/* quick_fixes.c -- quick fixes: the edits that a check offers, and the replacements that "did you
 * mean" suggests. A hint of a check has only words. This file finds the place in the text that
 * these words mean, because an edit needs a range.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/features.h"

#include "base/banned.h"

enum { MAX_ACTIONS = 200, MAX_WORDS = 16 };

typedef struct actions {
    pdl_lsp *s;
    lsp_doc *d;
    size_t low, high;
    /* the kinds of actions that the client wants; every kind when this is not a list */
    pdl_vref only;
    pdl_val list;
} actions;

static pdl_val put_changes(const lsp_doc *d, pdl_val edits) {
    pdl_val changes = pdl_dict_putz(pdl_dict_new(1), d->uri, edits);
    return pdl_dict_putz(pdl_dict_new(1), "changes", changes);
}

/* Returns true when the client wants this kind. `source` includes all kinds that begin with
 * `source.`. */
static bool is_wanted(const actions *a, const char *kind) {
    for (size_t i = 0; pdl_is_list(a->only) && i < pdl_list_len(a->only); i++) {
        pdl_vref item = pdl_list_at(a->only, i);
        pdl_str want = pdl_is_str(item) ? pdl_str_get(item) : PDL_STR("?");
        bool begins = pdl_str_starts(pdl_str_of(kind), want);
        if (begins && (!want.n || !kind[want.n] || kind[want.n] == '.')) return true;
    }
    return !pdl_is_list(a->only);
}

static void add(actions *a, pdl_val title, const char *kind, pdl_val edits, pdl_vref diag,
                bool preferred) {
    if (!is_wanted(a, kind)) {
        pdl_drop(title);
        pdl_drop(edits);
        return;
    }
    pdl_val v = pdl_dict_putz(pdl_dict_new(5), "title", title);
    v = pdl_dict_putz(v, "kind", pdl_textz(kind));
    if (preferred) v = pdl_dict_putz(v, "isPreferred", pdl_bool(true));
    if (!pdl_is_absent(diag))
        v = pdl_dict_putz(v, "diagnostics", pdl_list_push(pdl_list_new(1), pdl_keep(diag)));
    a->list = pdl_list_push(a->list, pdl_dict_putz(v, "edit", put_changes(a->d, edits)));
}

static pdl_val one_edit(const actions *a, lsp_range range, pdl_str text) {
    return pdl_list_push(pdl_list_new(1), pdl_lsp_put_edit(a->d, range, text));
}

static pdl_val put_edits(const actions *a, const pdl_diag *d) {
    pdl_val edits = pdl_list_new(d->n_edits);
    for (uint32_t i = 0; i < d->n_edits; i++) {
        const pdl_edit *e = &d->edits[i];
        if (!e->at.src || !pdl_str_is(e->at.src->name, a->d->key)) continue;
        lsp_range r = pdl_lsp_text_range(&a->d->text, e->at.start, e->at.end);
        edits = pdl_list_push(edits, pdl_lsp_put_edit(a->d, r, e->text));
    }
    return edits;
}

/* Returns the word x of a hint "did you mean 'x'?"; empty for any other hint. */
static pdl_str meant(pdl_str hint) {
    pdl_str begin = PDL_STR("did you mean '");
    size_t end = pdl_str_rfind(hint, PDL_STR("'?"));
    if (!pdl_str_starts(hint, begin) || end == PDL_NOT_FOUND || end < begin.n) return (pdl_str){0};
    return pdl_str_sub(hint, begin.n, end);
}

/* Returns the position of a word in the marked text. Only whole words count, and words outside of
 * quotes are preferred: in `'uper' | uper` the second one. */
static size_t find_whole(pdl_str at, pdl_str word) {
    size_t quoted = PDL_NOT_FOUND;
    for (size_t i = pdl_str_find(at, word, 0); i != PDL_NOT_FOUND;
         i = pdl_str_find(at, word, i + 1)) {
        size_t end = i + word.n;
        if ((i && pdl_lsp_is_word(at.p[i - 1])) || (end < at.n && pdl_lsp_is_word(at.p[end])))
            continue;
        if (!i || !pdl_byte_in(at.p[i - 1], PDL_STR("'\""))) return i;
        if (quoted == PDL_NOT_FOUND) quoted = i;
    }
    return quoted;
}

/* Finds the words that a message quotes and that the text at the mark contains, too. A quoted text
 * may itself contain the character ', so the text between any two neighbouring quotes counts. */
static size_t quoted_words(pdl_str message, pdl_str at, pdl_str *out) {
    size_t n = 0, from = pdl_str_find(message, PDL_STR("'"), 0);
    while (from != PDL_NOT_FOUND && n < MAX_WORDS) {
        size_t to = pdl_str_find(message, PDL_STR("'"), from + 1);
        if (to == PDL_NOT_FOUND) break;
        pdl_str word = pdl_str_sub(message, from + 1, to);
        if (word.n && find_whole(at, word) != PDL_NOT_FOUND) out[n++] = word;
        from = to;
    }
    return n;
}

/* Finds the word that the suggestion `meant` replaces. It is the word of the message that is most
 * similar to `meant`. When the message names no words, it is the whole mark. */
static bool find_word(const actions *a, const pdl_diag *d, pdl_str meant, size_t *from,
                      size_t *to) {
    pdl_str at = pdl_str_sub(pdl_lsp_text_str(&a->d->text), d->mark.start, d->mark.end);
    pdl_str words[MAX_WORDS];
    size_t n = quoted_words(d->text, at, words);
    pdl_str word = n == 1 ? words[0] : pdl_str_nearest(meant, words, n);
    *from = d->mark.start + (word.n ? find_whole(at, word) : 0);
    *to = word.n ? *from + word.n : d->mark.end;
    return word.n || (!pdl_byte_in('\'', d->text) && at.n && !pdl_byte_in(' ', at));
}

static void add_for(actions *a, const pdl_diag *d, pdl_vref diag) {
    pdl_str word = meant(d->hint);
    size_t from, to;
    if (d->n_edits) {
        pdl_val edits = put_edits(a, d);
        if (pdl_list_len(edits))
            add(a, d->hint.n ? pdl_textf("Fix: %.*s", PDL_FMT(d->hint)) : pdl_textz("Fix"),
                "quickfix", edits, diag, d->fix_is_sure || word.n);
        else
            pdl_drop(edits);
    } else if (word.n && find_word(a, d, word, &from, &to)) {
        lsp_range r = pdl_lsp_text_range(&a->d->text, from, to);
        add(a, pdl_textf("Change to '%.*s'", PDL_FMT(word)), "quickfix", one_edit(a, r, word), diag,
            true);
    }
}

/* Adds a missing field before the block's first key, on a line with the same indentation. When the
 * block is in braces, adds it after the {. */
static void add_missing(actions *a, const pdl_diag *d, pdl_vref diag) {
    pdl_buf text = PDL_BUF;
    if (!d->lacks || d->n_edits) return;
    pdl_str all = pdl_lsp_text_str(&a->d->text);
    bool braces = d->mark.start < all.n && all.p[d->mark.start] == '{';
    lsp_pos at = pdl_lsp_text_pos(&a->d->text, d->mark.start + (uint32_t)braces);
    pdl_buf_putf(&text, "%s: %s", d->lacks, braces ? ", " : "\n");
    for (uint32_t i = 0; !braces && i < at.ch; i++) pdl_buf_putc(&text, ' ');
    add(a, pdl_textf("Add the field '%s'", d->lacks), "quickfix",
        one_edit(a, (lsp_range){at, at}, pdl_buf_str(&text)), diag, false);
    pdl_buf_fini(&text);
}

/* --- comments --------------------------------------------------------------------------------- */

static size_t end_of_line(const lsp_doc *d, uint32_t line) {
    return pdl_lsp_text_line_start(&d->text, line) + pdl_lsp_text_line_str(&d->text, line).n;
}

/* Returns the scalar that is at the end of a line and continues on other lines; NULL when there is
 * no such scalar. A # after such a line would be text, or would end the scalar. */
static const pdl_node *text_at_end(const lsp_doc *d, uint32_t line) {
    size_t off = end_of_line(d, line);
    lsp_way way;
    if (!d->tree.root) return NULL;
    pdl_lsp_way_to(d->tree.root, (uint32_t)off, &way);
    const lsp_spot *p = pdl_lsp_way_end(&way);
    const pdl_node *n = way.on_key ? p->key : p->node;
    if (n->kind != PDL_NODE_SCALAR || n->start > off || off > n->end) return NULL;
    bool block = n->style == PDL_STYLE_LITERAL || n->style == PDL_STYLE_FOLDED;
    uint32_t takes = pdl_lsp_text_line(&d->text, block ? n->start : n->end);
    return takes == line ? NULL : n;
}

/* Puts the comment after the line. When a text that begins on this line continues below it, puts
 * the comment above the line. */
static bool put_comment(const lsp_doc *d, uint32_t line, const char *code, lsp_range *at,
                        pdl_buf *out) {
    const pdl_node *text = text_at_end(d, line);
    size_t off = end_of_line(d, line);
    if (!text) {
        pdl_buf_putf(out, "  # pdl: ignore %s", code);
    } else if (pdl_lsp_text_line(&d->text, text->start) == line) {
        pdl_str now = pdl_lsp_text_line_str(&d->text, line);
        size_t indent = 0;
        while (indent < now.n && now.p[indent] == ' ') indent++;
        pdl_buf_putf(out, "%.*s# pdl: ignore %s\n", (int)indent, now.p, code);
        off = pdl_lsp_text_line_start(&d->text, line);
    }
    *at = pdl_lsp_text_range(&d->text, off, off);
    return out->len > 0;
}

/* Adds a comment that switches the rule off for the line. For a text of many lines, the comment
 * goes to the line to which the text belongs, because inside the text it would not be a comment. */
static void add_ignore(actions *a, const pdl_diag *d, pdl_vref diag) {
    lsp_range at;
    pdl_buf text = PDL_BUF;
    if (d->at_load || d->severity == PDL_DIAG_ERROR) return;
    bool here = d->loc.src && pdl_str_is(d->loc.src->name, a->d->key);
    if (put_comment(a->d, pdl_lsp_text_line(&a->d->text, d->mark.start), d->code, &at, &text) ||
        (here &&
         put_comment(a->d, pdl_lsp_text_line(&a->d->text, d->loc.start), d->code, &at, &text)))
        add(a, pdl_textf("Ignore '%s' on this line", d->code), "quickfix",
            one_edit(a, at, pdl_buf_str(&text)), diag, false);
    pdl_buf_fini(&text);
}

/* Adds an action that applies all fixes that have no alternatives. */
static void add_fix_all(actions *a) {
    pdl_val edits = pdl_list_new(4);
    const pdl_program *p = a->d->program;
    uint32_t last = 0;
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (!d->fix_is_sure || !d->n_edits || d->edits[0].at.start < last) continue;
        last = d->edits[d->n_edits - 1].at.end;
        pdl_val more = put_edits(a, d);
        edits = pdl_list_concat(edits, more);
        pdl_drop(more);
    }
    if (pdl_list_len(edits))
        add(a, pdl_textz("Fix all that has one right answer"), "source.fixAll.pdl", edits,
            pdl_absent(), false);
    else
        pdl_drop(edits);
}

pdl_val pdl_lsp_on_actions(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    lsp_range r = pdl_lsp_get_range(pdl_member(params, "range"));
    if (!d) return pdl_absent();
    actions a = {s,
                 d,
                 pdl_lsp_text_offset(&d->text, r.from),
                 pdl_lsp_text_offset(&d->text, r.to),
                 pdl_member(pdl_member(params, "context"), "only"),
                 pdl_list_new(4)};
    pdl_vref shown = pdl_lsp_diagnose(s, d);
    if (!d->program) return a.list;
    size_t k = 0; /* index in `shown`, which lacks the problems with reference_only */
    for (size_t i = 0; i < d->program->diags.n && pdl_list_len(a.list) < MAX_ACTIONS; i++) {
        const pdl_diag *g = &d->program->diags.p[i];
        if (g->reference_only) continue;
        pdl_vref diag = k < pdl_list_len(shown) ? pdl_list_at(shown, k) : pdl_absent();
        k++;
        bool here = g->mark.src && pdl_str_is(g->mark.src->name, d->key);
        if (!here || g->mark.end < a.low || g->mark.start > a.high) continue;
        add_for(&a, g, diag);
        add_missing(&a, g, diag);
        add_ignore(&a, g, diag);
    }
    add_fix_all(&a);
    return a.list;
}
