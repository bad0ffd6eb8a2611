/* distribution.h -- weighted results: which are equal, how probable each is. Private to infer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_INFER_DISTRIBUTION_H
#define PDL_INFER_DISTRIBUTION_H

#include "base/map.h"
#include "infer/particles.h"

/* A value and all results that are equal to it as data. */
typedef struct distinct {
    pdl_val value; /* the first of them in the order of lineage; owned */
    double weight; /* votes, or the sum of weights */
} distinct;

typedef struct distribution {
    population *p;
    pdl_code *by; /* code of --by; NULL: results are counted themselves */
    pdl_map index; /* text of the counted value -> 1 + index in values */
    PDL_VEC(distinct) values;
    PDL_VEC(char *) keys;     /* texts in the index, owned */
    PDL_VEC(uint32_t) which;  /* for each result that was added: its value */
    PDL_VEC(double) logits;   /* ... and its log weight */
} distribution;

/* Errors: of the expression of --by. */
PDL_MUST bool pdl_distribution_open(distribution *d, population *p, pdl_err *err);
void pdl_distribution_fini(distribution *d);
/* Invariants: each distinct value has one text, by which it is found; each result has a weight and
 * is one of the values, and there is no value without a result. */
bool pdl_distribution_ok(const distribution *d);
/* Adds the result of a particle. Returns its value in *which. Error: a result that cannot be
 * compared; what --by raises. */
PDL_MUST bool pdl_distribution_add(distribution *d, const particle *q, double logit, size_t *which,
                               pdl_err *err);

/* Returns log(sum(exp(x))) of n numbers at a distance of `stride` bytes; -infinity for none. */
double pdl_infer_log_sum(const double *x, size_t n);
/* Returns the probability that more than half of all votes would be for the first of two values
 * that have a and b votes, if each share is as probable beforehand. */
double pdl_infer_lead(double a, double b);

#endif
