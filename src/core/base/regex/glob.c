/* glob.c -- see glob.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/glob.h"

#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

/* Returns true when byte c is in the set that begins after '[' at p. *end: after its ']', or NULL
 * when the set is not closed (then '[' is literal). */
static bool in_set(pdl_str glob, size_t p, char c, size_t *end) {
    bool not = p < glob.n && glob.p[p] == '!', hit = false;
    size_t i = p + not, first = i;
    *end = 0;
    for (; i < glob.n && (glob.p[i] != ']' || i == first); i++) {
        bool range = i + 2 < glob.n && glob.p[i + 1] == '-' && glob.p[i + 2] != ']';
        char lo = glob.p[i], hi = range ? glob.p[i + 2] : lo;
        if ((unsigned char)lo <= (unsigned char)c && (unsigned char)c <= (unsigned char)hi)
            hit = true;
        if (range) i += 2;
    }
    if (i < glob.n) *end = i + 1;
    return hit != not ;
}

/* Where what follows a star can begin at the earliest: most of it are letters. */
static size_t next_start(pdl_str glob, size_t g, pdl_str s, size_t from) {
    if (g >= glob.n || from >= s.n || strchr("*?[", glob.p[g])) return from;
    const char *p = memchr(s.p + from, glob.p[g], s.n - from);
    return p ? (size_t)(p - s.p) : s.n;
}

/* On a mismatch only the last star moves, so it is at worst quadratic in two short texts. */
bool pdl_glob_fits(pdl_str glob, pdl_str s, unsigned special) {
    size_t g = 0, i = 0, star = PDL_NOT_FOUND, from = 0;
    while (i < s.n || g < glob.n) {
        size_t end = 0, width = 1;
        bool ok = false;
        if (g < glob.n && glob.p[g] == '*') {
            star = g++;
            from = i;
            continue;
        }
        if (g < glob.n && i < s.n) {
            bool hit =
                special & PDL_GLOB_SETS && glob.p[g] == '[' && in_set(glob, g + 1, s.p[i], &end);
            bool any = special & PDL_GLOB_ONE && glob.p[g] == '?';
            ok = end ? hit : any || glob.p[g] == s.p[i];
            if (any) width = pdl_utf8_len((unsigned char)s.p[i]);
        }
        if (ok) {
            i += width;
            g = end ? end : g + 1;
        } else if (star != PDL_NOT_FOUND && from < s.n) {
            g = star + 1;
            i = from = next_start(glob, g, s, from + 1);
        } else {
            return false;
        }
    }
    return true;
}
