/* tfidf.c -- finds the texts that are most similar to a query: TF-IDF weights, cosine (spec
 * patterns 11). Words are runs of two or more word characters of the lower-cased text. Each text is
 * a list of (number of a word, count), sorted by number. The weight of a word is count * idf, and
 * vectors have the length 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/map.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "native/natives.h"

#include "base/banned.h"

typedef struct {
    uint32_t word;
    uint32_t count;
} term;

typedef struct {
    pdl_buf lower; /* the words of the vocabulary are slices of this text */
    PDL_VEC(term) terms;
    double length;
} text;

typedef struct {
    pdl_map ids;          /* maps a word to its number plus one */
    PDL_VEC(uint32_t) df; /* df[i] texts contain the word with the number i */
    PDL_VEC(double) idf;
} vocabulary;

/* Finds the next word of s at or after *pos. Returns false when there is none. */
static bool next_word(pdl_str s, size_t *pos, pdl_str *word) {
    const char *p = s.p + *pos, *end = s.p + s.n;
    while (p < end) {
        const char *from = p, *to = p;
        size_t n = 0;
        for (; p < end; n++, to = p) {
            uint32_t c = pdl_utf8_next(&p);
            if (c != '_' && !pdl_cp_is_alnum(c)) break;
        }
        if (n < 2) continue;
        *word = (pdl_str){from, (size_t)(to - from)};
        *pos = (size_t)(p - s.p);
        return true;
    }
    return false;
}

/* Returns 1 + the number of a word; 0 when it is unknown and is not added. */
static uint32_t number_of(vocabulary *v, pdl_str word, bool add) {
    uintptr_t id = (uintptr_t)pdl_map_find(&v->ids, word);
    if (id || !add) return (uint32_t)id;
    *pdl_vec_push(&v->df) = 0;
    id = v->df.n;
    (void)pdl_map_put(&v->ids, word, (void *)id);
    return (uint32_t)id;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = ((const term *)a)->word, y = ((const term *)b)->word;
    return (x > y) - (x < y);
}

/* Sorts the terms by word, and replaces terms of the same word by one with their count. */
static bool count_terms(text *t, pdl_err *err) {
    size_t n = 0;
    if (!pdl_sort(t->terms.p, t->terms.n, sizeof(term), by_number, err)) return false;
    for (size_t i = 0; i < t->terms.n; i++) {
        if (n && t->terms.p[n - 1].word == t->terms.p[i].word)
            t->terms.p[n - 1].count++;
        else
            t->terms.p[n++] = t->terms.p[i];
    }
    t->terms.n = n;
    return true;
}

/* Reads the words of s into t. With add, new words are added to the vocabulary. */
static bool read_text(text *t, pdl_str s, vocabulary *v, bool add, pdl_err *err) {
    pdl_str word;
    t->lower = PDL_BUF;
    pdl_utf8_lower(&t->lower, s);
    for (size_t pos = 0, i = 0; next_word(pdl_buf_str(&t->lower), &pos, &word); i++) {
        if (!pdl_check_cancel_at(i, err)) return false;
        uint32_t id = number_of(v, word, add);
        if (id) *pdl_vec_push(&t->terms) = (term){id - 1, 1};
    }
    if (!count_terms(t, err)) return false;
    for (size_t i = 0; add && i < t->terms.n; i++) v->df.p[t->terms.p[i].word]++;
    return true;
}

static void weigh(text *t, const vocabulary *v) {
    double sum = 0;
    for (size_t i = 0; i < t->terms.n; i++) {
        double w = t->terms.p[i].count * v->idf.p[t->terms.p[i].word];
        sum += w * w;
    }
    t->length = sqrt(sum);
}

/* Computes the cosine. The terms of both texts are in the order of their numbers. */
static double score(const text *a, const text *b, const vocabulary *v) {
    double sum = 0;
    for (size_t i = 0, k = 0; i < a->terms.n && k < b->terms.n;) {
        term x = a->terms.p[i], y = b->terms.p[k];
        double idf = v->idf.p[x.word];
        if (x.word == y.word) sum += x.count * idf / a->length * (y.count * idf / b->length);
        i += x.word <= y.word;
        k += y.word <= x.word;
    }
    return sum;
}

static bool all_texts(pdl_vref list, pdl_err *err) {
    if (!pdl_is_list(list))
        return pdl_err_host(err, "TypeError", "texts must be a list, not %s", pdl_py_type(list));
    for (size_t i = 0; i < pdl_list_len(list); i++)
        if (!pdl_is_str(pdl_list_at(list, i)))
            return pdl_err_host(err, "TypeError", "a text is of type %s, not str",
                                pdl_py_type(pdl_list_at(list, i)));
    return true;
}

/* Stores the score of each text in hits, rounded to six digits. */
static bool rank(pdl_vref texts, pdl_str query, pdl_hit *hits, pdl_err *err) {
    size_t n = pdl_list_len(texts);
    text *t = PDL_NEW_N(text, n + 1), *q = &t[n];
    vocabulary v = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = read_text(&t[i], pdl_str_get(pdl_list_at(texts, i)), &v, true, err);
    ok = ok && read_text(q, query, &v, false, err);
    for (size_t i = 0; i < v.df.n; i++)
        *pdl_vec_push(&v.idf) = log((1.0 + (double)n) / (1.0 + (double)v.df.p[i])) + 1.0;
    if (ok) weigh(q, &v);
    for (size_t i = 0; ok && i < n; i++) {
        pdl_val rounded = pdl_absent();
        weigh(&t[i], &v);
        ok = pdl_round(pdl_float(score(&t[i], q, &v)), true, 6, &rounded, err);
        hits[i] = (pdl_hit){ok ? pdl_float_of(rounded) : 0, i};
    }
    for (size_t i = 0; i <= n; i++) {
        pdl_buf_fini(&t[i].lower);
        pdl_vec_fini(&t[i].terms);
    }
    pdl_free(t);
    pdl_map_fini(&v.ids);
    pdl_vec_fini(&v.df);
    pdl_vec_fini(&v.idf);
    return ok;
}

bool pdl_g_tfidf(PDL_ARGS) {
    int64_t k = 0;
    pdl_val query;
    if (!all_texts(argv[0], err) || !pdl_arg_int(argv[2], &k, err) ||
        !pdl_arg_text(env, argv[1], &query, err))
        return false;
    size_t n = pdl_list_len(argv[0]);
    pdl_hit *hits = PDL_NEW_N(pdl_hit, n + 1);
    bool ok = rank(argv[0], pdl_str_get(query), hits, err);
    ok = ok && pdl_hits_best(hits, n, k, out, err);
    pdl_free(hits);
    pdl_drop(query);
    return ok;
}
