/* distribution.h -- weighted results: finds which of them are equal, and how probable each value
 * is. Private to infer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_INFER_DISTRIBUTION_H
#define PDL_INFER_DISTRIBUTION_H

#include "base/map.h"
#include "infer/particles.h"

/* A value and all results that are equal to it as data. */
typedef struct distinct {
    pdl_val value; /* the first of these results in the order of lineage; owned */
    double weight; /* votes, or the sum of weights */
} distinct;

typedef struct distribution {
    population *p;
    /* the code of the expression --by; NULL when the results themselves are counted */
    pdl_code *by;
    pdl_map index; /* text of the counted value -> 1 + index in values */
    PDL_VEC(distinct) values;
    PDL_VEC(char *) keys;    /* texts in the index, owned */
    PDL_VEC(uint32_t) which; /* for each result that was added, the number of its value */
    PDL_VEC(double) logits;  /* for each result that was added, its log weight */
    /* for each result that was added, the lineage of its particle (pdl_particle_lineage); absent
     * when the inference is not durable */
    pdl_val lineages;
} distribution;

/* Opens an empty distribution. Errors: the errors of the expression --by. */
PDL_MUST bool pdl_distribution_open(distribution *d, population *p, pdl_err *err);
void pdl_distribution_fini(distribution *d);
/* Returns true when the invariants hold: each distinct value has one text, by which it is found;
 * each result has a weight and is one of the values, and each value has a result. */
bool pdl_distribution_ok(const distribution *d);
/* Adds the result of a particle. Sets *which to the number of the value. Error: the result cannot
 * be compared, or --by raises an error. */
PDL_MUST bool pdl_distribution_add(distribution *d, const particle *q, double logit, size_t *which,
                                   pdl_err *err);

/* Returns log(sum(exp(x))) of the n numbers at x; -infinity when n is 0. */
double pdl_infer_log_sum(const double *x, size_t n);
/* Returns the probability that the first of two values would get more than half of all votes, when
 * the two have a and b votes now and all shares are equally probable beforehand. */
double pdl_infer_lead(double a, double b);

#endif
