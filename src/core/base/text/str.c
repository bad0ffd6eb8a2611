/* str.c -- compares, searches and cuts slices of text; see str.h.
 *
 * A slice may contain NULs and has none at its end, so functions of the C library that read up to a
 * NUL cannot be used. Searches take linear time in both directions, because a program may search a
 * text of any size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/str.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/word.h"

#include "base/banned.h"

bool pdl_str_eq_nocase(pdl_str a, pdl_str b) {
    if (a.n != b.n) return false;
    for (size_t i = 0; i < a.n; i++)
        if (pdl_lower(a.p[i]) != pdl_lower(b.p[i])) return false;
    return true;
}

int pdl_str_cmp(pdl_str a, pdl_str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    /* most names differ in their first byte */
    int c = n ? (unsigned char)a.p[0] - (unsigned char)b.p[0] : 0;
    if (!c && n) c = memcmp(a.p, b.p, n);
    if (c) return c < 0 ? -1 : 1;
    return a.n < b.n ? -1 : a.n > b.n;
}

bool pdl_str_starts(pdl_str s, pdl_str prefix) {
    return s.n >= prefix.n && pdl_bytes_eq(s.p, prefix.p, prefix.n);
}

bool pdl_str_ends(pdl_str s, pdl_str suffix) {
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* The memmem of the C library is linear (two-way), but first builds a table, which takes too long
 * for a short needle. */
enum { SHORT_NEEDLE = 4 };

/* Returns the first occurrence of needle in [p, end). */
static const char *find_short(const char *p, const char *end, pdl_str needle) {
    for (; p < end && (p = memchr(p, needle.p[0], (size_t)(end - p))); p++)
        if (pdl_bytes_eq(p, needle.p, needle.n)) return p;
    return NULL;
}

size_t pdl_str_find(pdl_str s, pdl_str needle, size_t from) {
    if (from > s.n) return PDL_NOT_FOUND;
    if (needle.n == 0) return from;
    if (needle.n > s.n - from) return PDL_NOT_FOUND;
    s.n -= needle.n - 1; /* the bytes where the needle may begin */
    const char *hit = needle.n <= SHORT_NEEDLE
                          ? find_short(s.p + from, s.p + s.n, needle)
                          : memmem(s.p + from, s.n - from + needle.n - 1, needle.p, needle.n);
    return hit ? (size_t)(hit - s.p) : PDL_NOT_FOUND;
}

size_t pdl_str_find_walk(pdl_str s, pdl_str needle, size_t from) {
    size_t piece = PDL_CANCEL_BYTES / 2;
    /* a search prepares the needle, so searching short pieces would waste time */
    if (piece < needle.n * 2) piece = needle.n * 2;
    size_t hit = PDL_NOT_FOUND;
    for (; hit == PDL_NOT_FOUND && from <= s.n; from += piece) {
        if (from + piece >= s.n) return pdl_str_find(s, needle, from);
        if (pdl_cancel_walk()) break;
        hit = pdl_str_find(pdl_str_sub(s, 0, from + piece + needle.n - 1), needle, from);
    }
    return hit;
}

/* Searches for needle from the end, in linear time, by the algorithm of Knuth, Morris and Pratt.
 * Its table is made for the reversed needle: back[k] is the length of the longest proper prefix of
 * the first k bytes that is also their suffix. */
static size_t find_backwards(pdl_str s, pdl_str needle, size_t *back) {
    size_t matched = 0;
    back[0] = back[1] = 0;
    for (size_t k = 1; k < needle.n; k++) {
        while (matched && needle.p[needle.n - 1 - k] != needle.p[needle.n - 1 - matched])
            matched = back[matched];
        matched += needle.p[needle.n - 1 - k] == needle.p[needle.n - 1 - matched];
        back[k + 1] = matched;
    }
    matched = 0;
    for (size_t i = s.n; i-- > 0 && pdl_walk_may_continue_at(i);) {
        while (matched && s.p[i] != needle.p[needle.n - 1 - matched]) matched = back[matched];
        matched += s.p[i] == needle.p[needle.n - 1 - matched];
        if (matched == needle.n) return i;
    }
    return PDL_NOT_FOUND;
}

size_t pdl_str_rfind(pdl_str s, pdl_str needle) {
    enum { SHORT = 32 };
    if (needle.n > s.n) return PDL_NOT_FOUND;
    if (needle.n == 0) return s.n;
    size_t small[SHORT + 1], *back = needle.n <= SHORT ? small : PDL_NEW_N(size_t, needle.n + 1);
    size_t hit = find_backwards(s, needle, back);
    if (back != small) pdl_free(back);
    return hit;
}

pdl_str pdl_file_folder(pdl_str path) {
    size_t slash = pdl_str_rfind(path, PDL_STR("/"));
    return slash == PDL_NOT_FOUND ? PDL_STR("") : pdl_str_sub(path, 0, slash == 0 ? 1 : slash);
}

pdl_str pdl_file_name(pdl_str path) {
    size_t slash = pdl_str_rfind(path, PDL_STR("/"));
    return slash == PDL_NOT_FOUND ? path : pdl_str_sub(path, slash + 1, path.n);
}

pdl_str pdl_file_plain(pdl_str path, char *out) {
    size_t n = 0;
    bool root = path.n && path.p[0] == '/';
    if (root) out[n++] = '/';
    for (size_t from = 0; from < path.n;) {
        size_t slash = pdl_str_find(path, PDL_STR("/"), from),
               end = slash == PDL_NOT_FOUND ? path.n : slash;
        pdl_str part = pdl_str_sub(path, from, end);
        from = end + 1;
        if (!part.n || pdl_str_is(part, ".")) continue;
        if (n > root) out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    if (!n && path.n) out[n++] = '.';
    return (pdl_str){out, n};
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

pdl_str pdl_str_trim(pdl_str s) {
    while (s.n && is_blank(s.p[0])) s.p++, s.n--;
    while (s.n && is_blank(s.p[s.n - 1])) s.n--;
    return s;
}

pdl_str pdl_str_take(pdl_str *list, pdl_str separators) {
    bool is_one = separators.n == 1 && list->n;
    const char *end = is_one ? memchr(list->p, separators.p[0], list->n) : NULL;
    size_t n = end ? (size_t)(end - list->p) : is_one ? list->n : 0;
    while (n < list->n && !pdl_byte_in(list->p[n], separators)) n++;
    pdl_str one = pdl_str_trim(pdl_str_sub(*list, 0, n));
    *list = n < list->n ? pdl_str_sub(*list, n + 1, list->n) : (pdl_str){0};
    return one;
}

bool pdl_str_is_yes(pdl_str answer) {
    pdl_str word = pdl_str_trim(answer);
    return pdl_str_is(word, "y") || pdl_str_is(word, "yes");
}

char *pdl_str_dup(pdl_str s) {
    char *z = pdl_alloc(s.n + 1);
    if (s.n) memcpy(z, s.p, s.n);
    z[s.n] = 0;
    return z;
}

enum { DISTANCE_MAX = 64 }; /* longer names are not worth a suggestion */

static size_t min3(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

size_t pdl_str_distance(pdl_str a, pdl_str b, size_t limit) {
    size_t rows[3][DISTANCE_MAX + 1]; /* rows i-2, i-1 and i of the table */
    if (a.n > DISTANCE_MAX || b.n > DISTANCE_MAX) return limit + 1;
    for (size_t j = 0; j <= b.n; j++) rows[0][j] = j;
    size_t *two = rows[2], *one = rows[0], *row = rows[1];
    for (size_t i = 1; i <= a.n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t change = a.p[i - 1] != b.p[j - 1];
            row[j] = min3(one[j] + 1, row[j - 1] + 1, one[j - 1] + change);
            bool swapped = i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1];
            if (swapped && two[j - 2] + 1 < row[j]) row[j] = two[j - 2] + 1;
        }
        size_t *free_row = two;
        two = one;
        one = row;
        row = free_row;
    }
    return one[b.n] <= limit ? one[b.n] : limit + 1;
}

enum { SHORT_WORD = 4 };

/* Returns true when short words differ only in their first letter. Such pairs are usually different
 * words: note, vote; node, code. */
static bool is_rhyme(pdl_str a, pdl_str b) {
    return a.n == b.n && a.n <= SHORT_WORD && a.n > 1 && a.p[0] != b.p[0] &&
           memcmp(a.p + 1, b.p + 1, a.n - 1) == 0;
}

pdl_str pdl_str_nearest(pdl_str name, const pdl_str *candidates, size_t n) {
    size_t best = name.n <= SHORT_WORD ? 1 : name.n <= 8 ? 2 : 3;
    pdl_str found = {0};
    for (size_t i = 0; i < n; i++) {
        if (pdl_str_eq(name, candidates[i])) continue;
        if (pdl_str_eq_nocase(name, candidates[i])) return candidates[i];
        size_t d = pdl_str_distance(name, candidates[i], best);
        if (d > best || d >= candidates[i].n || is_rhyme(name, candidates[i])) continue;
        if (!found.p || d < best) found = candidates[i];
        best = d;
    }
    return found;
}
