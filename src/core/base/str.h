/* str.h -- pdl_str: a borrowed slice of UTF-8 text.
 *
 * Text inside the library is a pdl_str (borrowed) or a pdl_buf (being built, buf.h). A slice is not
 * NUL-terminated and may hold NULs. Lengths are bytes; counts of code points say _cp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_STR_H
#define PDL_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *p; /* n bytes, valid UTF-8 unless a function says bytes; may be NULL when n is 0 */
    size_t n;      /* bytes */
} pdl_str;

#define PDL_STR(lit) ((pdl_str){"" lit, sizeof(lit) - 1})
#define PDL_FMT(s)   (int)(s).n, (s).p /* for "%.*s" */

static inline pdl_str pdl_str_of(const char *z) { return (pdl_str){z, z ? strlen(z) : 0}; }

static inline bool pdl_str_eq(pdl_str a, pdl_str b) {
    return a.n == b.n &&
           (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); /* NOLINT: p is not NULL when n > 0 */
}

/* Words of tables are tried one after the other: most differ in their first byte. */
static inline bool pdl_str_is(pdl_str a, const char *z) {
    if (a.n && z && a.p[0] != z[0]) return false;
    return pdl_str_eq(a, pdl_str_of(z));
}

/* Is c a byte of set? */
static inline bool pdl_byte_in(char c, pdl_str set) {
    return set.n > 0 && memchr(set.p, c, set.n) != NULL; /* NOLINT: as above */
}

/* Equal, ASCII letters compared without case. */
/* A letter of ASCII as a small one; other bytes as they are. */
static inline char pdl_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
bool pdl_str_eq_nocase(pdl_str a, pdl_str b);

/* -1, 0 or 1: byte order, which for UTF-8 is code point order. */
int pdl_str_cmp(pdl_str a, pdl_str b);

bool pdl_str_starts(pdl_str s, pdl_str prefix);
bool pdl_str_ends(pdl_str s, pdl_str suffix);

#define PDL_NOT_FOUND ((size_t)-1)

/* Byte offset of the first (last) occurrence at or after from (starting at or before the end), or
 * PDL_NOT_FOUND. The empty needle is found at from (at the end). Linear in the length of s. */
size_t pdl_str_find(pdl_str s, pdl_str needle, size_t from);
size_t pdl_str_rfind(pdl_str s, pdl_str needle);
/* pdl_str_find as a walk (cancel.h) over a value: when it is cancelled it finds nothing. */
size_t pdl_str_find_walk(pdl_str s, pdl_str needle, size_t from);

/* Bytes [from, to) of s, cut at its ends. */
static inline pdl_str pdl_str_sub(pdl_str s, size_t from, size_t to) {
    if (to > s.n) to = s.n;
    if (from > to) from = to;
    return (pdl_str){s.p ? s.p + from : NULL, to - from};
}

/* The folder of a path: what precedes its last slash, "/" at the root, "" where there is none. */
pdl_str pdl_file_folder(pdl_str path);
pdl_str pdl_file_name(pdl_str path);
/* The path without parts that are "." and doubled slashes ("./a//b" is "a/b"), as people are shown
 * it. Written to out, which has room for path.n + 1 bytes. */
pdl_str pdl_file_plain(pdl_str path, char *out);

/* Without blanks (space, tab, CR, LF, FF, VT) at both ends. */
pdl_str pdl_str_trim(pdl_str s);
/* Does an answer to a question say yes: y, or yes? */
bool pdl_str_is_yes(pdl_str answer);

/* NUL-terminated copy; the caller owns it and releases it with pdl_free. */
char *pdl_str_dup(pdl_str s);

/* Number of single-byte edits (insert, delete, replace, swap of neighbours) from a to b, or limit +
 * 1 when it is larger than limit. For "did you mean". */
size_t pdl_str_distance(pdl_str a, pdl_str b, size_t limit);

/* The candidate next to name, or an empty slice when none is close enough to be meant. */
pdl_str pdl_str_nearest(pdl_str name, const pdl_str *candidates, size_t n);

#endif
