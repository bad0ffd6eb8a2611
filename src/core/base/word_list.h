/* word_list.h -- lists of words that are known when the library is built: whether a text is one of
 * them, and which one. The functions are inline because such lists are short and mostly constant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_WORD_LIST_H
#define PDL_BASE_WORD_LIST_H

#include "base/str.h"

/* Returns the index of the word that is equal to s; n when none of the n words is equal to s. */
static inline size_t pdl_word_of(pdl_str s, const char *const *words, size_t n) {
    size_t i = 0;
    while (i < n && !pdl_str_is(s, words[i])) i++;
    return i;
}

/* Returns true when s is one of the words. */
static inline bool pdl_str_in(pdl_str s, const char *const *words, size_t n) {
    return pdl_word_of(s, words, n) < n;
}
/* Returns true when s is one of the words of an array. */
#define PDL_STR_IN(s, words) pdl_str_in((s), (words), sizeof(words) / sizeof(words)[0])

/* Does the same as pdl_str_in, but ignores the case of ASCII letters. */
static inline bool pdl_str_in_nocase(pdl_str s, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pdl_str_eq_nocase(s, pdl_str_of(words[i]))) return true;
    return false;
}
#define PDL_STR_IN_NOCASE(s, words)                                                                \
    pdl_str_in_nocase((s), (words), sizeof(words) / sizeof(words)[0])

#endif
