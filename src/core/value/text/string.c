/* string.c -- text values (val.h). A text that has only one owner grows in place, by half of its
 * size, so n appends cost O(n).
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "base/buf.h"

#include <assert.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "value/obj.h"

#include "base/banned.h"

enum {
    LARGE = 1 << 16
}; /* a length in bytes: for longer texts, copying costs more than the unused part of a buffer */

/* Makes an object with room for cap bytes and the NUL. */
static pdl_strobj *str_new(size_t cap) {
    if (cap > PDL_MAX_TEXT) PDL_BUG("text of %zu bytes", cap);
    pdl_strobj *s = pdl_obj_new(PDL_V_STR, sizeof *s + cap + 1);
    s->cap = (uint32_t)cap;
    s->n = 0;
    s->n_cp = UINT32_MAX;
    s->hash = 0;
    return s;
}

static pdl_val str_val(pdl_strobj *s) { return pdl_from_obj(PDL_V_STR, &s->head, 0); }

pdl_val pdl_text(pdl_str t) {
    pdl_strobj *s = str_new(t.n);
    if (t.n) memcpy(s->p, t.p, t.n);
    s->p[t.n] = 0;
    s->n = (uint32_t)t.n;
    return str_val(s);
}

pdl_val pdl_text_walk(pdl_str t) {
    if (PDL_LIKELY(t.n <= PDL_CANCEL_BYTES)) return pdl_text(t);
    pdl_strobj *s = str_new(t.n);
    size_t n = 0;
    while (n < t.n && !pdl_cancel_walk()) {
        pdl_str piece = pdl_str_sub(t, n, n + PDL_CANCEL_BYTES);
        memcpy(s->p + n, piece.p, piece.n);
        n += piece.n;
    }
    s->n = (uint32_t)pdl_utf8_cut(t, n).n;
    s->p[s->n] = 0;
    return str_val(s);
}

pdl_val pdl_text_around(const char *p) {
    const char *head = p - offsetof(pdl_strobj, p);
    return pdl_keep(str_val((pdl_strobj *)(uintptr_t)head));
}

pdl_val pdl_textz(const char *z) { return pdl_text(pdl_str_of(z)); }

pdl_val pdl_textf(const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    return pdl_text_of_buf(&b);
}

/* Turns the memory of a large buffer into the object. The content moves up by the size of the head,
 * so that no second copy is made. */
static pdl_val adopt(pdl_buf *b) {
    size_t n = b->len, head = sizeof(pdl_strobj);
    if (n > PDL_MAX_TEXT) PDL_BUG("text of %zu bytes", n);
    char *p = pdl_realloc(b->p, head + n + 1);
    *b = PDL_BUF_INIT(b->limit);
    memmove(p + head, p, n);
    pdl_strobj *s = pdl_obj_head(PDL_V_STR, p);
    s->n = s->cap = (uint32_t)n;
    s->n_cp = UINT32_MAX;
    s->hash = 0;
    s->p[n] = 0;
    return str_val(s);
}

pdl_val pdl_text_of_buf(pdl_buf *b) {
    if (b->len >= LARGE && b->p != b->lent) return adopt(b);
    pdl_val v = pdl_text(pdl_buf_str(b));
    size_t limit = b->limit;
    pdl_buf_fini(b);
    b->limit = limit;
    return v;
}

size_t pdl_text_len_cp(pdl_vref v) {
    assert(pdl_is_str(v));
    pdl_strobj *s = pdl_strobj_of(v);
    if (s->n_cp == UINT32_MAX) s->n_cp = (uint32_t)pdl_utf8_count((pdl_str){s->p, s->n});
    return s->n_cp;
}

/* Makes room for `need` bytes in s, which has only one owner, and returns it. */
static pdl_strobj *str_grow(pdl_strobj *s, size_t need) {
    size_t cap = (size_t)s->cap + s->cap / 2;
    if (cap < need) cap = need;
    if (cap < 32) cap = 32;
    if (cap > PDL_MAX_TEXT) cap = PDL_MAX_TEXT;
    s = pdl_realloc(s, sizeof *s + cap + 1);
    s->cap = (uint32_t)cap;
    return s;
}

bool pdl_text_append(pdl_val v, pdl_str more, pdl_val *out, pdl_err *err) {
    assert(pdl_is_str(v));
    pdl_strobj *s = pdl_strobj_of(v);
    if (more.n > PDL_MAX_TEXT - s->n) {
        pdl_drop(v);
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                           PDL_MAX_TEXT);
    }
    size_t need = s->n + more.n;
    if (need > s->cap && !pdl_err_memory(err, need / 2)) { /* the text grows by half */
        pdl_drop(v);
        return false;
    }
    bool ok = true;
    if (s->head.refs > 1) {
        pdl_strobj *copy = str_new(need > 64 ? need : 64);
        ok = pdl_copy_bytes(copy->p, s->p, s->n, err);
        copy->n = s->n;
        copy->n_cp = s->n_cp;
        s->head.refs--;
        s = copy;
    } else {
        /* `more` may be a part of the text of v, whose memory may move */
        uintptr_t at = (uintptr_t)more.p - (uintptr_t)s->p;
        bool inside = more.n && at < s->n;
        if (need > s->cap) s = str_grow(s, need);
        if (inside) more.p = s->p + at;
    }
    v.u.o = &s->head;
    if (!ok || !pdl_copy_bytes(s->p + s->n, more.p, more.n, err)) {
        pdl_drop(v);
        return false;
    }
    if (s->n_cp != UINT32_MAX) s->n_cp += (uint32_t)pdl_utf8_count((pdl_str){s->p + s->n, more.n});
    s->n = (uint32_t)need;
    s->p[need] = 0;
    s->hash = 0;
    *out = v;
    return true;
}

pdl_val pdl_text_slice(pdl_vref v, size_t from_cp, size_t to_cp) {
    assert(pdl_is_str(v));
    pdl_strobj *s = pdl_strobj_of(v);
    size_t n_cp = pdl_text_len_cp(v);
    if (to_cp > n_cp) to_cp = n_cp;
    if (from_cp > to_cp) from_cp = to_cp;
    if (from_cp == 0 && to_cp == n_cp) return pdl_keep(v);
    pdl_str t = {s->p, s->n};
    bool ascii = n_cp == s->n;
    size_t from = ascii ? from_cp : pdl_utf8_offset(t, from_cp);
    pdl_str rest = {t.p + from, t.n - from};
    size_t len = ascii ? to_cp - from_cp : pdl_utf8_offset(rest, to_cp - from_cp);
    pdl_val r = pdl_text_walk((pdl_str){rest.p, len});
    if (ascii) pdl_strobj_of(r)->n_cp = pdl_strobj_of(r)->n;
    r.flags = v.flags;
    return pdl_with_label(r, pdl_label_of(v));
}
