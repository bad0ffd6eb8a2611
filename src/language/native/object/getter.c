/* getter.c -- reads attributes of items by path ("address.city", "age,name"), and sorts items by
 * these attributes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/pyvalues.h"

#include "base/banned.h"

/* --- paths ------------------------------------------------------------------------------------ */

/* Returns true when the part is an index: it has at least one digit, of any script, and no other
 * character. */
static bool all_digits(pdl_str s) {
    const char *p = s.p, *end = s.p + s.n;
    while (p < end)
        if (!pdl_cp_is_digit(pdl_utf8_next(&p))) return false;
    return s.n > 0;
}

static pdl_val key_of_part(pdl_str part) {
    pdl_val n;
    if (all_digits(part) && pdl_int_read(part, 10, &n)) return n;
    return pdl_text(part);
}

/* Finds the piece of s from *pos to the next sep. Returns false after the last piece. */
static bool next_piece(pdl_str s, char sep, size_t *pos, pdl_str *piece) {
    if (*pos > s.n) return false;
    const char *hit = *pos < s.n ? memchr(s.p + *pos, sep, s.n - *pos) : NULL;
    size_t end = hit ? (size_t)(hit - s.p) : s.n;
    *piece = pdl_str_sub(s, *pos, end);
    *pos = end + 1;
    return true;
}

static pdl_val path_of(pdl_vref attribute) {
    pdl_val path = pdl_list_new(1);
    if (pdl_is_null(attribute)) return path;
    if (!pdl_is_str(attribute)) return pdl_list_push(path, pdl_keep(attribute));
    size_t pos = 0;
    pdl_str part;
    while (next_piece(pdl_str_get(attribute), '.', &pos, &part))
        path = pdl_list_push(path, key_of_part(part));
    return path;
}

pdl_val pdl_attribute_paths(pdl_vref attribute, bool multi) {
    pdl_val paths = pdl_list_new(1);
    if (!multi || !pdl_is_str(attribute)) return pdl_list_push(paths, path_of(attribute));
    size_t pos = 0;
    pdl_str piece;
    while (next_piece(pdl_str_get(attribute), ',', &pos, &piece)) {
        pdl_val text = pdl_text(piece);
        paths = pdl_list_push(paths, path_of(text));
        pdl_drop(text);
    }
    return paths;
}

void pdl_getter_init(pdl_getter *g, pdl_vref attribute, bool multi, bool fold) {
    *g = (pdl_getter){.paths = pdl_absent(), .multi = multi, .fold = fold, .deflt = pdl_absent()};
    if (!pdl_given(attribute)) {
        g->multi = false;
        return;
    }
    g->paths = pdl_attribute_paths(attribute, multi);
}

void pdl_getter_fini(pdl_getter *g) {
    pdl_drop(g->paths);
    g->paths = pdl_absent();
}

/* Returns v in lower case if it is text. Takes v. */
static pdl_val folded(pdl_val v) {
    if (!pdl_is_str(v)) return v;
    pdl_buf b = PDL_BUF;
    pdl_utf8_lower(&b, pdl_str_get(v));
    pdl_val low = pdl_with_label(pdl_text_of_buf(&b), pdl_label_of(v));
    pdl_drop(v);
    return low;
}

static bool follow(const pdl_getter *g, pdl_vref path, pdl_vref item, pdl_val *out, pdl_err *err) {
    pdl_val v = pdl_keep(item);
    for (size_t i = 0; i < pdl_list_len(path); i++) {
        pdl_val next;
        bool ok = pdl_item(v, pdl_list_at(path, i), &next, err);
        pdl_drop(v);
        if (!ok) return false;
        v = next;
        if (pdl_is(v, PDL_V_UNDEFINED) && pdl_given(g->deflt)) {
            pdl_drop(v);
            v = pdl_keep(g->deflt);
        }
    }
    *out = g->fold ? folded(v) : v;
    return true;
}

bool pdl_getter_get(const pdl_getter *g, pdl_vref item, pdl_val *out, pdl_err *err) {
    if (!pdl_check_cancel(err)) return false;
    if (pdl_is_absent(g->paths)) {
        *out = g->fold ? folded(pdl_keep(item)) : pdl_keep(item);
        return true;
    }
    if (!g->multi) return follow(g, pdl_list_at(g->paths, 0), item, out, err);
    pdl_val list = pdl_list_new(pdl_list_len(g->paths));
    for (size_t i = 0; i < pdl_list_len(g->paths); i++) {
        pdl_val v;
        if (!follow(g, pdl_list_at(g->paths, i), item, &v, err)) {
            pdl_drop(list);
            return false;
        }
        list = pdl_list_push(list, v);
    }
    *out = list;
    return true;
}

bool pdl_getter_all(const pdl_getter *g, pdl_vref items, pdl_val *out, pdl_err *err) {
    size_t n = pdl_list_len(items);
    pdl_val all = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_val x;
        if (!pdl_getter_get(g, pdl_list_at(items, i), &x, err)) {
            pdl_drop(all);
            return false;
        }
        all = pdl_list_push(all, x);
    }
    *out = all;
    return true;
}

/* --- sorting ---------------------------------------------------------------------------------- */

/* Computes a < b. Undefined values fail with their explanation, even inside of the lists of several
 * attributes. */
static bool less(pdl_vref a, pdl_vref b, bool *out, pdl_err *err) {
    if (pdl_is(a, PDL_V_INT) && pdl_is(b, PDL_V_INT)) {
        *out = pdl_int_of(a) < pdl_int_of(b);
        return true;
    }
    const pdl_vref both[2] = {a, b};
    for (size_t k = 0; k < 2; k++) {
        if (pdl_is(both[k], PDL_V_UNDEFINED)) return pdl_undefined_error(both[k], err);
        if (!pdl_is_list(both[k])) continue;
        for (size_t i = 0; i < pdl_list_len(both[k]); i++)
            if (pdl_is(pdl_list_at(both[k], i), PDL_V_UNDEFINED))
                return pdl_undefined_error(pdl_list_at(both[k], i), err);
    }
    return pdl_val_order(a, b, '<', out, err);
}

typedef struct {
    pdl_vref keys;
    bool reverse;
} order;

/* Merges two neighbouring sorted runs [lo, mid) and [mid, hi) of src into dst. `at` has lo, mid and
 * hi. */
static bool merge(const order *o, const uint32_t *src, uint32_t *dst, const size_t at[3],
                  pdl_err *err) {
    size_t i = at[0], j = at[1], k = at[0];
    while (i < at[1] && j < at[2]) {
        pdl_vref left = pdl_list_at(o->keys, src[i]), right = pdl_list_at(o->keys, src[j]);
        bool take_right = false;
        if (!pdl_check_cancel(err)) return false;
        if (!(o->reverse ? less(left, right, &take_right, err)
                         : less(right, left, &take_right, err)))
            return false;
        dst[k++] = take_right ? src[j++] : src[i++];
    }
    while (i < at[1]) dst[k++] = src[i++];
    while (j < at[2]) dst[k++] = src[j++];
    return true;
}

bool pdl_sort_by(pdl_vref keys, bool reverse, uint32_t *idx, pdl_err *err) {
    const order o = {keys, reverse};
    size_t n = pdl_list_len(keys);
    uint32_t *other = PDL_NEW_N(uint32_t, n + 1), *src = idx, *dst = other;
    for (size_t i = 0; i < n; i++) idx[i] = (uint32_t)i;
    bool ok = true;
    for (size_t width = 1; ok && width < n; width *= 2) {
        for (size_t lo = 0; ok && lo < n; lo += 2 * width) {
            size_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n;
            ok = merge(&o, src, dst, (const size_t[3]){lo, mid, hi}, err);
        }
        uint32_t *swap = src;
        src = dst;
        dst = swap;
    }
    if (ok && src != idx && n) memcpy(idx, src, n * sizeof *idx);
    pdl_free(other);
    return ok;
}

bool pdl_sorted(pdl_vref list, pdl_vref keys, bool reverse, pdl_val *out, pdl_err *err) {
    size_t n = pdl_list_len(list);
    uint32_t *idx = PDL_NEW_N(uint32_t, n + 1);
    bool ok = pdl_sort_by(keys, reverse, idx, err);
    if (ok) {
        pdl_val r = pdl_list_new(n);
        for (size_t i = 0; i < n && pdl_walk_may_continue_at(i); i++)
            r = pdl_list_push(r, pdl_keep(pdl_list_at(list, idx[i])));
        *out = r;
    }
    pdl_free(idx);
    return ok;
}
