/* nearest_vectors.c -- finds the vectors of a list that are most similar to a given vector, by
 * cosine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/sort.h"
#include "native/natives.h"
#include "value/int.h"

#include "base/banned.h"

static int by_score(const void *a, const void *b) {
    const pdl_hit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

bool pdl_hits_best(pdl_hit *hits, size_t n, int64_t k, pdl_val *out, pdl_err *err) {
    if (!pdl_sort(hits, n, sizeof *hits, by_score, err)) return false;
    pdl_val r = pdl_list_new(0);
    for (size_t i = 0; i < n && (int64_t)i < k; i++) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(2), "index", pdl_int((int64_t)hits[i].index));
        r = pdl_list_push(r, pdl_dict_putz(d, "score", pdl_float(hits[i].score)));
    }
    *out = r;
    return true;
}

static bool number_at(pdl_vref v, size_t i, double *out, pdl_err *err) {
    pdl_vref x = pdl_list_at(v, i);
    if (!pdl_is(x, PDL_V_INT) && !pdl_is(x, PDL_V_FLOAT))
        return pdl_err_host(err, "TypeError", "a number of a vector is of type %s", pdl_py_type(x));
    *out = pdl_num_to_double(x);
    return true;
}

/* Computes v . w and |v|. */
static bool products(pdl_vref v, const double *w, size_t n, double *dot, double *length,
                     pdl_err *err) {
    double x, sum = 0, square = 0;
    if (!pdl_is_list(v) || pdl_list_len(v) != n)
        return pdl_err_host(err, "ValueError", "the vectors do not all have %zu numbers", n);
    for (size_t i = 0; i < n; i++) {
        if (!number_at(v, i, &x, err)) return false;
        sum += x * w[i]; /* NOLINT: nearest has set all of w */
        square += x * x;
    }
    *dot = sum;
    *length = sqrt(square);
    return true;
}

/* Stores the score of each vector in hits, rounded to six digits as in tfidf. */
static bool rank(pdl_vref vectors, const double *w, size_t n, double length, pdl_hit *hits,
                 pdl_err *err) {
    for (size_t i = 0; i < pdl_list_len(vectors); i++) {
        if (!pdl_check_cancel_often(err)) return false;
        double dot = 0, own = 0;
        pdl_val rounded;
        if (!products(pdl_list_at(vectors, i), w, n, &dot, &own, err)) return false;
        double score = own > 0 && length > 0 ? dot / (own * length) : 0;
        if (!pdl_round(pdl_float(score), true, 6, &rounded, err)) return false;
        hits[i] = (pdl_hit){pdl_float_of(rounded), i};
    }
    return true;
}

bool pdl_g_nearest(PDL_ARGS) {
    int64_t k = 0;
    pdl_vref vectors = argv[0], query = argv[1];
    if (!pdl_arg_int(argv[2], &k, err)) return false;
    if (!pdl_is_list(vectors) || !pdl_is_list(query))
        return pdl_err_host(err, "TypeError",
                            "nearest: vectors and vector should be arrays of numbers");
    size_t n = pdl_list_len(query);
    double *w = PDL_NEW_N(double, n), length = 0;
    pdl_hit *hits = PDL_NEW_N(pdl_hit, pdl_list_len(vectors));
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = number_at(query, i, &w[i], err);
        length += ok ? w[i] * w[i] : 0;
    }
    ok = ok && rank(vectors, w, n, sqrt(length), hits, err);
    ok = ok && pdl_hits_best(hits, pdl_list_len(vectors), k, out, err);
    pdl_free(w);
    pdl_free(hits);
    return ok;
}
