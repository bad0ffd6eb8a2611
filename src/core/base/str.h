/* str.h -- pdl_str: a borrowed slice of UTF-8 text. Text inside the library is a pdl_str (borrowed)
 * or a pdl_buf (being built, buf.h). A slice is not NUL-terminated and may hold NULs. Lengths are
 * in bytes; names of functions that count code points have _cp.
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
    const char *p; /* n bytes, valid UTF-8 unless a function takes bytes; may be NULL when n is 0 */
    size_t n;      /* bytes */
} pdl_str;

#define PDL_STR(lit) ((pdl_str){"" lit, sizeof(lit) - 1})
#define PDL_FMT(s)   (int)(s).n, (s).p /* for "%.*s" */

static inline pdl_str pdl_str_of(const char *z) { return (pdl_str){z, z ? strlen(z) : 0}; }

static inline bool pdl_str_eq(pdl_str a, pdl_str b) {
    return a.n == b.n &&
           (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); /* NOLINT: p is not NULL when n > 0 */
}

/* Returns true when a is equal to z, a word of a table. The words of a table are tried one after
 * the other, and most differ in their first byte. */
static inline bool pdl_str_is(pdl_str a, const char *z) {
    if (a.n && z && a.p[0] != z[0]) return false;
    return pdl_str_eq(a, pdl_str_of(z));
}

/* Returns true when c is a byte of set. */
static inline bool pdl_byte_in(char c, pdl_str set) {
    return set.n > 0 && memchr(set.p, c, set.n) != NULL; /* NOLINT: as above */
}

/* Returns true when a and b are equal, without regard to the case of ASCII letters. */
bool pdl_str_eq_nocase(pdl_str a, pdl_str b);

/* Returns an ASCII letter in lower case; other bytes are unchanged. */
static inline char pdl_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Returns -1, 0 or 1 in byte order, which for UTF-8 is code point order. */
int pdl_str_cmp(pdl_str a, pdl_str b);

bool pdl_str_starts(pdl_str s, pdl_str prefix);
bool pdl_str_ends(pdl_str s, pdl_str suffix);

#define PDL_NOT_FOUND ((size_t)-1)

/* pdl_str_find returns the byte offset of the first occurrence at or after from, pdl_str_rfind the
 * offset of the last occurrence. Both return PDL_NOT_FOUND when there is no occurrence.
 * pdl_str_find finds the empty needle at from, pdl_str_rfind at the end of s. The time is linear in
 * the length of s. */
size_t pdl_str_find(pdl_str s, pdl_str needle, size_t from);
size_t pdl_str_rfind(pdl_str s, pdl_str needle);
/* Searches as pdl_str_find, but as a walk (cancel.h) over a value. When the walk is cancelled, the
 * function returns PDL_NOT_FOUND. */
size_t pdl_str_find_walk(pdl_str s, pdl_str needle, size_t from);

/* Returns the bytes [from, to) of s; both bounds are cut at the ends of s. */
static inline pdl_str pdl_str_sub(pdl_str s, size_t from, size_t to) {
    if (to > s.n) to = s.n;
    if (from > to) from = to;
    return (pdl_str){s.p ? s.p + from : NULL, to - from};
}

/* Returns the folder of a path, which is the text before its last slash. Returns "/" at the root,
 * and "" for a path without a slash. */
pdl_str pdl_file_folder(pdl_str path);
pdl_str pdl_file_name(pdl_str path);
/* Returns the path in the form that users see, without parts that are "." and doubled slashes
 * ("./a//b" becomes "a/b"). It is written to out, which has room for path.n + 1 bytes. */
pdl_str pdl_file_plain(pdl_str path, char *out);

/* Returns s without blanks (space, tab, CR, LF, FF, VT) at both ends. */
pdl_str pdl_str_trim(pdl_str s);
/* Removes from *list the text up to the next separator, and this separator. Without a separator,
 * removes all of the text. Returns the removed text without blanks at both ends; it is empty
 * between two separators. */
pdl_str pdl_str_take(pdl_str *list, pdl_str separators);
/* Returns true when the answer to a question is "y" or "yes". */
bool pdl_str_is_yes(pdl_str answer);

/* Returns a NUL-terminated copy. The caller owns it and releases it with pdl_free. */
char *pdl_str_dup(pdl_str s);

/* Returns the number of single-byte edits (insert, delete, replace, swap of neighbours) from a to
 * b, or limit + 1 when there are more than limit edits, or when a or b has more than 64 bytes. Used
 * for "did you mean". */
size_t pdl_str_distance(pdl_str a, pdl_str b, size_t limit);

/* Returns the candidate that is most like name, or an empty slice when none is close enough to be
 * meant. A candidate that is equal to name does not count. */
pdl_str pdl_str_nearest(pdl_str name, const pdl_str *candidates, size_t n);

#endif
