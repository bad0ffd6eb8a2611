/* field_words.c -- finds the words that a field accepts; see field_words.h. The rows of a group are
 * neighbours in the table, so a group is a part of the table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/field_words.h"

#include "base/banned.h"

static const pdl_word words[] = {
#define W(group, word, doc) {PDL_WORDS_##group, word, doc},
#include "lang/field_words.def"
};
enum { N_WORDS = sizeof words / sizeof *words };

const pdl_word *pdl_words_of(pdl_word_group group, size_t *n) {
    size_t first = 0, last;
    while (first < N_WORDS && words[first].group != group) first++;
    for (last = first; last < N_WORDS && words[last].group == group;) last++;
    *n = last - first;
    return words + first;
}

const pdl_word *pdl_word_find(pdl_word_group group, pdl_str word) {
    size_t n;
    const pdl_word *w = pdl_words_of(group, &n);
    for (size_t i = 0; i < n; i++)
        if (pdl_str_is(word, w[i].word)) return &w[i];
    return NULL;
}
