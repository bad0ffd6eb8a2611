/* fold_shown.c -- what a block showed on the way (stdlib.show, output of code), in the trace.
 *
 * It arrives in pieces, and a secret may be spread over them: code that prints a key letter by
 * letter. So the pieces are kept until the block is written, and then joined and redacted as one
 * text. What may be the beginning of a secret is left out where the rest is not known: while the
 * block runs, and where there was too much to keep.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/fold_shown.h"

#include "base/banned.h"

enum { MOST_PIECES = 1000, MOST_BYTES = 1 << 18 };

/* Returns true when no more pieces are kept after these. */
static bool is_full(pdl_vref pieces) {
    size_t bytes = 0, n = pdl_list_len(pieces);
    for (size_t i = 0; i < n; i++) bytes += pdl_str_get(pdl_list_at(pieces, i)).n;
    return n >= MOST_PIECES || bytes >= MOST_BYTES;
}

void pdl_fold_note_shown(fold_node *n, const char *key, pdl_vref text) {
    while (n && n->silent) n = n->parent;
    if (!n) return;
    fold_fact *old = pdl_fold_fact(n, FOLD_SHOWN, 0);
    if (!old)
        pdl_fold_fact_add(n, key, 0, pdl_list_push(pdl_list_new(1), pdl_keep(text)));
    else if (!is_full(old->value))
        old->value = pdl_list_push(old->value, pdl_keep(text));
}

pdl_val pdl_fold_shown(const pdl_fold *f, const fold_node *n) {
    const fold_fact *all = pdl_fold_fact(n, FOLD_SHOWN, 0);
    if (f->whole || !all) return pdl_absent();
    pdl_redactor redactor = PDL_REDACTOR(f->secrets);
    pdl_buf b = PDL_BUF;
    pdl_label label = 0;
    for (size_t i = 0; i < pdl_list_len(all->value); i++) {
        pdl_vref piece = pdl_list_at(all->value, i);
        pdl_redactor_feed(&redactor, pdl_str_get(piece), &b);
        label |= pdl_label_of(piece);
    }
    if (is_full(all->value))
        pdl_buf_put(&b, PDL_STR("\xe2\x80\xa6"));
    else if (n->over)
        pdl_redactor_end(&redactor, &b);
    pdl_buf_fini(&redactor.held);
    pdl_val text = pdl_with_label(pdl_text(pdl_buf_str(&b)), label);
    pdl_buf_fini(&b);
    return text;
}
