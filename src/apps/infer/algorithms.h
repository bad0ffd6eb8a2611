/* algorithms.h -- the algorithms, and an inference in progress. Private to infer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_INFER_ALGORITHMS_H
#define PDL_INFER_ALGORITHMS_H

#include "base/rand.h"
#include "infer/distribution.h"

typedef struct inference {
    const pdl_infer_options *o;
    population p;
    distribution d;
    /* the effective number of particles of each round; smc adds none for a round without weight */
    PDL_VEC(double) ess;
    double log_evidence;
    uint64_t runs; /* runs of the program that were begun; copies are not counted */
} inference;

/* Each of these runs its algorithm and fills the distribution. */
PDL_MUST bool pdl_infer_maj(inference *f, pdl_err *err);
PDL_MUST bool pdl_infer_is(inference *f, pdl_err *err);
PDL_MUST bool pdl_infer_smc(inference *f, pdl_err *err);
PDL_MUST bool pdl_infer_rejection(inference *f, pdl_err *err);

/* Adds the results of the first n particles, with their weights. Particles that have not ended or
 * have an error are left out. */
PDL_MUST bool pdl_infer_collect(inference *f, uint32_t n, pdl_err *err);
/* Stores the log weights of the particles that have begun, at most p.n of them. The weight of a
 * failed particle is zero; with PDL_INFER_DROP it is left out. Returns the number of weights. */
uint32_t pdl_infer_weights(const inference *f, double *out);
/* Returns the effective number of particles with these log weights; 0 when all weights are zero. */
double pdl_infer_ess(const double *w, size_t n);
/* Sets the error that all weights are zero, or that all runs failed. Always returns false. */
bool pdl_infer_impossible(const inference *f, pdl_err *err);

#endif
