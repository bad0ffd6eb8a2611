/* sort.c -- sorts large arrays, with checks for cancellation; see sort.h.
 *
 * Runs of items are sorted by qsort. Then passes of merges write from one array to the other and
 * back. When a pass is cancelled, the array from which it reads still has every item.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#include "base/banned.h"

enum { RUN = PDL_CANCEL_EVERY }; /* number of items that qsort sorts at a time */

typedef struct sorter {
    size_t n, size;
    int (*cmp)(const void *, const void *);
    pdl_err *err;
} sorter;

/* Merges the runs [lo, mid) and [mid, hi) of src into dst. */
static bool merge(const sorter *s, const char *src, char *dst, size_t lo, size_t mid, size_t hi) {
    size_t i = lo, j = mid, k = lo, size = s->size;
    for (; i < mid && j < hi; k++) {
        if (!pdl_check_cancel_at(k, s->err)) return false;
        bool right = s->cmp(src + j * size, src + i * size) < 0;
        memcpy(dst + k * size, src + (right ? j++ : i++) * size, size);
    }
    if (i < mid) memcpy(dst + k * size, src + i * size, (mid - i) * size);
    if (j < hi) memcpy(dst + k * size, src + j * size, (hi - j) * size);
    return true;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Merges runs of `width` items of src, in pairs, into dst. */
static bool merge_all(const sorter *s, const char *src, char *dst, size_t width) {
    for (size_t lo = 0; lo < s->n; lo += 2 * width) {
        size_t mid = least(lo + width, s->n), hi = least(mid + width, s->n);
        if (!merge(s, src, dst, lo, mid, hi)) return false;
    }
    return true;
}

bool pdl_sort(void *items, size_t n, size_t size, int (*cmp)(const void *, const void *),
              pdl_err *err) {
    const sorter s = {n, size, cmp, err};
    for (size_t lo = 0; lo < n; lo += RUN) {
        if (!pdl_check_cancel(err)) return false;
        qsort((char *)items + lo * size, least(RUN, n - lo), size, cmp);
    }
    if (n <= RUN) return true;
    char *other = pdl_realloc_n(NULL, n, size), *src = items, *dst = other;
    bool ok = true;
    for (size_t width = RUN; ok && width < n; width *= 2) {
        ok = merge_all(&s, src, dst, width);
        if (!ok) break; /* src still has every item */
        char *swap = src;
        src = dst;
        dst = swap;
    }
    if (src != items) memcpy(items, src, n * size);
    pdl_free(other);
    return ok;
}
