/* fold_shown.c -- text that a block showed while it ran (stdlib.show, output of code), in the
 * trace.
 *
 * The text arrives in pieces, and a secret may be spread over several pieces, for example when code
 * prints a key letter by letter. So the pieces are kept until the block is written, and then joined
 * and redacted as one text. A possible beginning of a secret is left out when the rest is unknown:
 * while the block runs, and when there was too much to keep.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/fold_shown.h"

#include "base/banned.h"

enum { MAX_PIECES = 1000, MAX_BYTES = 1 << 18 };

/* The list of a block begins with the total length of its pieces. So the lengths of the earlier
 * pieces need not be added up for each new piece. */
enum { SUM, FIRST_PIECE };

/* Adds a piece to the list. Takes list. */
static pdl_val add_piece(pdl_val list, pdl_vref piece) {
    int64_t sum = pdl_int_of(pdl_list_at(list, SUM)) + (int64_t)pdl_str_get(piece).n;
    return pdl_list_push(pdl_list_set(list, SUM, pdl_int(sum)), pdl_keep(piece));
}

/* Returns true when no further pieces are kept. */
static bool is_full(pdl_vref list) {
    return pdl_list_len(list) - FIRST_PIECE >= MAX_PIECES ||
           pdl_int_of(pdl_list_at(list, SUM)) >= MAX_BYTES;
}

void pdl_fold_note_shown(fold_node *n, const char *key, pdl_vref text) {
    while (n && n->silent) n = n->parent;
    if (!n) return;
    fold_fact *old = pdl_fold_fact(n, FOLD_SHOWN, 0);
    if (!old)
        pdl_fold_fact_add(n, key, 0, add_piece(pdl_list_push(pdl_list_new(2), pdl_int(0)), text));
    else if (!is_full(old->value))
        old->value = add_piece(old->value, text);
}

pdl_val pdl_fold_shown(const pdl_fold *f, const fold_node *n) {
    const fold_fact *all = pdl_fold_fact(n, FOLD_SHOWN, 0);
    if (f->whole || !all) return pdl_absent();
    pdl_redactor redactor = PDL_REDACTOR(f->secrets);
    pdl_buf b = PDL_BUF;
    pdl_label label = 0;
    for (size_t i = FIRST_PIECE; i < pdl_list_len(all->value); i++) {
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
