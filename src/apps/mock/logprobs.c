/* logprobs.c -- log-probabilities of the words of an answer, and scores of continuations.
 *
 * Judges and planners compare the likelihoods of words; with these numbers, such a program runs
 * without a model. A word for which no item has a number counts as certain, so that a program
 * without a script gets the same numbers each time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mock/script.h"
#include "value/int.h"

#include "base/banned.h"

/* The log-probability of an impossible token. OpenAI uses this number, too. */
static const double IMPOSSIBLE = -9999;

static pdl_val token_of(pdl_str token, double logprob) {
    pdl_val bytes = pdl_list_new(token.n);
    for (size_t i = 0; i < token.n; i++)
        bytes = pdl_list_push(bytes, pdl_int((unsigned char)token.p[i]));
    pdl_val v = pdl_dict_putz(pdl_dict_new(4), "token", pdl_text(token));
    v = pdl_dict_putz(v, "logprob", pdl_float(logprob));
    return pdl_dict_putz(v, "bytes", bytes);
}

/* Returns the numbers of the item for the first word of an answer; absent for other words, or when
 * the item has no numbers. */
static pdl_vref weighed(const pdl_mock_item *item, bool first) {
    return first && item && pdl_is_dict(item->logprobs) ? item->logprobs : pdl_absent();
}

/* Returns the log-probability that the item gives to a word. A word that the item does not list is
 * certain. */
double pdl_mock_logprob(const pdl_mock_item *item, pdl_str word, bool first) {
    pdl_vref of = weighed(item, first);
    pdl_str bare = pdl_str_trim(word);
    for (size_t i = 0; pdl_is_dict(of) && i < pdl_dict_len(of); i++)
        if (pdl_str_eq(pdl_str_trim(pdl_str_get(pdl_dict_key_at(of, i))), bare))
            return pdl_num_to_double(pdl_dict_val_at(of, i));
    return 0;
}

/* Returns at most `most` alternatives of a word. They are the alternatives of the item, in its
 * order. When the item has none, they are the word and an impossible word, so that a client that
 * compares two alternatives finds both. */
static pdl_val alternatives(const pdl_mock_item *item, pdl_str word, bool first, int64_t most) {
    pdl_vref of = weighed(item, first);
    pdl_val list = pdl_list_new(2);
    for (size_t i = 0; pdl_is_dict(of) && i < pdl_dict_len(of) && (int64_t)i < most; i++)
        list = pdl_list_push(list, token_of(pdl_str_get(pdl_dict_key_at(of, i)),
                                            pdl_num_to_double(pdl_dict_val_at(of, i))));
    if (pdl_is_dict(of)) return list;
    if (most > 0) list = pdl_list_push(list, token_of(word, 0));
    if (most > 1) list = pdl_list_push(list, token_of(PDL_STR(" "), IMPOSSIBLE));
    return list;
}

pdl_val pdl_mock_entry(const pdl_mock_item *item, pdl_str word, bool first, int64_t most) {
    return pdl_dict_putz(token_of(word, pdl_mock_logprob(item, word, first)), "top_logprobs",
                         alternatives(item, word, first, most));
}

pdl_val pdl_mock_entries(const pdl_mock_item *item, pdl_str said, int64_t most) {
    size_t at = 0;
    if (item && pdl_is_list(item->logprobs)) return pdl_keep(item->logprobs);
    pdl_val list = pdl_list_new(8);
    for (pdl_str word = pdl_mock_next_word(said, &at); word.n; word = pdl_mock_next_word(said, &at))
        list = pdl_list_push(list, pdl_mock_entry(item, word, at == word.n, most));
    return list;
}

/* Returns the number of bytes of the last letter of a text. */
static size_t last_letter(pdl_str s) {
    size_t n = s.n;
    while (n && ((unsigned char)s.p[n - 1] & 0xC0) == 0x80) n--;
    return s.n - n + (n > 0);
}

bool pdl_mock_score(const pdl_mock_item *item, pdl_str prompt, size_t number, size_t *tail,
                    double *out) {
    pdl_vref scores = item->scores, found = pdl_absent();
    *tail = 0;
    if (pdl_is_list(scores) && number < pdl_list_len(scores)) {
        found = pdl_list_at(scores, number);
        *tail = last_letter(prompt);
    }
    for (size_t i = 0; pdl_is_dict(scores) && i < pdl_dict_len(scores); i++) {
        pdl_str end = pdl_str_get(pdl_dict_key_at(scores, i));
        if (end.n < *tail || !pdl_str_ends(prompt, end)) continue;
        *tail = end.n;
        found = pdl_dict_val_at(scores, i);
    }
    if (pdl_is_absent(found)) return false;
    *out = pdl_num_to_double(found);
    return true;
}

pdl_str pdl_mock_next_word(pdl_str s, size_t *at) {
    size_t from = *at, i = from;
    while (i < s.n && s.p[i] != ' ' && s.p[i] != '\n') i++;
    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\n')) i++;
    *at = i;
    return pdl_str_sub(s, from, i);
}
