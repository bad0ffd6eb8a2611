/* path.c -- makes, shares and prints the ids of blocks; see path.h.
 *
 * A segment refers to the segment before it, so blocks side by side share everything before their
 * last segment. The text of an id is made from this chain, which is collected first, because the
 * root is its last link.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/path.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"

#include "base/banned.h"

static pdl_path *path_new(pdl_path *up, const char *name, uint32_t n, bool numbered) {
    pdl_path *p = pdl_alloc(sizeof *p);
    *p = (pdl_path){.refs = 1, .n = n, .name = name, .numbered = numbered, .up = pdl_path_keep(up)};
    return p;
}

pdl_path *pdl_path_name(pdl_path *up, const char *name) {
    assert(name);
    return path_new(up, name, 0, false);
}
pdl_path *pdl_path_index(pdl_path *up, uint32_t i) { return path_new(up, NULL, i, false); }
pdl_path *pdl_path_iteration(pdl_path *up, uint32_t i) {
    pdl_path *p = path_new(up, NULL, i, false);
    p->iterates = true;
    return p;
}
pdl_path *pdl_path_numbered(pdl_path *up, const char *name, uint32_t n) {
    return path_new(up, name, n, true);
}

pdl_path *pdl_path_keep(pdl_path *p) {
    assert(!p || p->refs > 0);
    if (p) p->refs++;
    return p;
}

void pdl_path_drop(pdl_path *p) {
    assert(!p || p->refs > 0);
    while (p && --p->refs == 0) {
        pdl_path *up = p->up;
        pdl_free(p);
        p = up;
    }
}

pdl_path *pdl_path_rebase(pdl_path *onto, const pdl_path *p, const pdl_path *from) {
    PDL_VEC(const pdl_path *) chain = {0};
    for (; p && p != from; p = p->up) *pdl_vec_push(&chain) = p;
    pdl_path *at = pdl_path_keep(onto);
    while (chain.n) {
        const pdl_path *seg = chain.p[--chain.n];
        pdl_path *next = path_new(at, seg->name, seg->n, seg->numbered);
        next->iterates = seg->iterates;
        pdl_path_drop(at);
        at = next;
    }
    pdl_vec_fini(&chain);
    return at;
}

static void put_number(uint32_t n, pdl_buf *out) {
    char t[PDL_NUM_MAX];
    pdl_buf_put(out, (pdl_str){t, pdl_num_int(n, t)});
}

void pdl_path_put_iterations(const pdl_path *p, pdl_buf *out) {
    for (; p; p = p->up) {
        if (!p->iterates) continue;
        pdl_buf_putc(out, '.');
        put_number(p->n, out);
    }
}

static void put_segment(const pdl_path *seg, pdl_buf *out) {
    if (seg->name) pdl_buf_put(out, pdl_str_of(seg->name));
    if (!seg->name || seg->numbered) put_number(seg->n, out);
}

void pdl_path_text(const pdl_path *p, pdl_buf *out) { pdl_path_end(p, SIZE_MAX, out); }

void pdl_path_end(const pdl_path *p, size_t most, pdl_buf *out) {
    PDL_VEC(const pdl_path *) chain = {0};
    for (; p && chain.n < most; p = p->up) *pdl_vec_push(&chain) = p;
    if (p) PDL_PUT(out, "...");
    for (size_t i = chain.n; i-- > 0;) {
        if (p || i + 1 < chain.n) pdl_buf_putc(out, '.');
        put_segment(chain.p[i], out);
    }
    pdl_vec_fini(&chain);
}

void pdl_path_put_hidden(const pdl_path *p, const char *under, pdl_str instead, pdl_buf *out) {
    PDL_VEC(const pdl_path *) chain = {0};
    for (; p; p = p->up) *pdl_vec_push(&chain) = p;
    bool hides = false;
    for (size_t i = chain.n; i-- > 0;) {
        const pdl_path *seg = chain.p[i];
        if (i + 1 < chain.n) pdl_buf_putc(out, '.');
        if (hides && seg->name)
            pdl_buf_put(out, instead);
        else
            put_segment(seg, out);
        hides = hides || (seg->name && strcmp(seg->name, under) == 0);
    }
    pdl_vec_fini(&chain);
}
