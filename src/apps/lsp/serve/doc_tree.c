/* doc_tree.c -- reads a tree from a text with mistakes; see doc_tree.h.
 *
 * A tolerant reader skips the parts that it cannot read. Other parts can be read but have no
 * meaning, such as an unknown tag, or an alias without an anchor. A line with such a part is
 * replaced by blanks, so that all other positions stay the same, and the text is read again. This
 * is rare, so the number of tries is small.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/serve/doc_tree.h"

#include "base/buf.h"
#include "yaml/tree.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_ATTEMPTS = 6 };

/* Replaces the line at an offset by blanks. Returns false when the line has nothing to replace. */
static bool blank_line(pdl_buf *b, size_t off) {
    bool changed = false;
    if (off >= b->len) off = b->len ? b->len - 1 : 0;
    size_t from = off;
    while (from > 0 && b->p[from - 1] != '\n') from--;
    for (size_t i = from; i < b->len && b->p[i] != '\n'; i++) {
        changed = changed || b->p[i] != ' ';
        b->p[i] = ' ';
    }
    return changed;
}

/* Reads the text in its present state. *at: position of a part that has no meaning. */
static bool attempt(pdl_arena *a, pdl_str name, const pdl_buf *text, lsp_tree *out, size_t *at) {
    pdl_err err = {0};
    pdl_source *src = NULL;
    *at = 0;
    out->root = NULL;
    if (pdl_yaml_source(a, name, pdl_buf_str(text), &src, &err))
        out->root = pdl_ytree_load(a, src, &err);
    out->source = src;
    if (err.loc.src) *at = err.mark.src ? err.mark.start : err.loc.start;
    bool ok = out->root != NULL;
    pdl_err_fini(&err);
    return ok;
}

lsp_tree pdl_lsp_tree_read(pdl_arena *a, pdl_str name, pdl_str text) {
    lsp_tree out = {0};
    pdl_buf b = PDL_BUF;
    size_t at;
    pdl_buf_put(&b, text);
    bool ok = attempt(a, name, &b, &out, &at);
    for (int i = 0; !ok && i < MAX_ATTEMPTS && b.len && blank_line(&b, at); i++)
        ok = attempt(a, name, &b, &out, &at);
    pdl_buf_fini(&b);
    return out;
}
