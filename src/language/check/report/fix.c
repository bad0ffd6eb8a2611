/* fix.c -- pdl_program_fix, which applies the edits of diagnostics to the bytes of a file. Places
 * count bytes of the source, which has LF line ends and no byte order mark, while the file may have
 * CR LF line ends and a byte order mark. So a cursor walks through the bytes and the source at the
 * same time, edit by edit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "check/check.h"

#include "base/banned.h"

/* An edit of the diag-th diagnostic. */
typedef struct change {
    const pdl_edit *edit;
    size_t diag;
} change;

static int by_place(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->edit->at.start != y->edit->at.start)
        return x->edit->at.start < y->edit->at.start ? -1 : 1;
    return x->diag < y->diag ? -1 : x->diag > y->diag;
}

typedef struct cursor {
    pdl_str bytes;
    size_t at;    /* offset in the bytes */
    uint32_t off; /* offset of `at` in the source */
    bool crlf;    /* the line end before `at`, or else the first one, is CR LF */
} cursor;

/* Moves forward to a place of the source. Returns the bytes between the old and the new place. */
static pdl_str advance(cursor *c, uint32_t off) {
    size_t from = c->at;
    while (c->off < off && c->at < c->bytes.n) {
        bool crlf = pdl_str_starts(pdl_str_sub(c->bytes, c->at, c->bytes.n), PDL_STR("\r\n"));
        if (crlf) c->at++;
        if (c->bytes.p[c->at] == '\n') c->crlf = crlf;
        c->at++;
        c->off++;
    }
    return pdl_str_sub(c->bytes, from, c->at);
}

static void put_edit(const cursor *c, pdl_str text, pdl_buf *out) {
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n' && c->crlf) pdl_buf_putc(out, '\r');
        pdl_buf_putc(out, text.p[i]);
    }
}

/* Returns true when the fix of the diagnostic is sure, and all its edits are in the program's own
 * text and not in an included file. */
static bool is_applied(const pdl_program *p, const pdl_diag *d) {
    if (!d->fix_is_sure || !d->n_edits) return false;
    for (uint32_t i = 0; i < d->n_edits; i++)
        if (d->edits[i].at.src != p->source) return false;
    return true;
}

/* Drops diagnostics with an edit that overlaps an earlier one. The changes are sorted. */
static void drop_overlaps(const change *all, size_t n, bool *dropped) {
    uint32_t end = 0;
    for (size_t i = 0; i < n; i++) {
        if (dropped[all[i].diag]) continue;
        if (i && all[i].edit->at.start < end)
            dropped[all[i].diag] = true;
        else
            end = all[i].edit->at.end;
    }
}

size_t pdl_program_fix(const pdl_program *p, pdl_str bytes, pdl_buf *out) {
    PDL_VEC(change) all = {0};
    bool *dropped = PDL_NEW_N(bool, p->diags.n + 1);
    size_t fixed = 0;
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        dropped[i] = !is_applied(p, d);
        for (uint32_t k = 0; !dropped[i] && k < d->n_edits; k++)
            *pdl_vec_push(&all) = (change){&d->edits[k], i};
    }
    if (all.n) qsort(all.p, all.n, sizeof *all.p, by_place);
    drop_overlaps(all.p, all.n, dropped);
    size_t first = pdl_str_find(bytes, PDL_STR("\n"), 0);
    cursor c = {.bytes = bytes,
                .crlf = first != PDL_NOT_FOUND && first && bytes.p[first - 1] == '\r',
                .at = pdl_str_starts(bytes, PDL_STR("\xef\xbb\xbf")) ? 3 : 0};
    pdl_buf_put(out, pdl_str_sub(bytes, 0, c.at));
    for (size_t i = 0; i < all.n; i++) {
        if (dropped[all.p[i].diag]) continue;
        pdl_buf_put(out, advance(&c, all.p[i].edit->at.start));
        put_edit(&c, all.p[i].edit->text, out);
        advance(&c, all.p[i].edit->at.end);
    }
    pdl_buf_put(out, pdl_str_sub(bytes, c.at, bytes.n));
    for (size_t i = 0; i < p->diags.n; i++) fixed += !dropped[i];
    pdl_vec_fini(&all);
    pdl_free(dropped);
    return fixed;
}
