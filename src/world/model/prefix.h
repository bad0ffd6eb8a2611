/* prefix.h -- what a provider's prompt cache finds again of a request: the order in which it reads
 * the request, the least length of a shared beginning, its steps (spec know 1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PREFIX_H
#define PDL_MODEL_PREFIX_H

#include "value/val.h"

/* These options say what a run does so that prompt caches find more. */
typedef struct pdl_prefix_options {
    bool marks; /* requests say where shared beginnings end, where the provider wants that */
    bool first; /* one of several calls that begin alike goes out before the others */
} pdl_prefix_options;

typedef struct pdl_prefix_facts {
    const char *provider;
    const char *order; /* names of members of a request, separated by blanks */
    int64_t least, step; /* in tokens; 1 when nothing is known */
    unsigned marks;      /* places that a request may mark; 0: beginnings are found without */
} pdl_prefix_facts;

/* Returns the facts of a provider, by its prefix; those of an unknown cache for others. */
const pdl_prefix_facts *pdl_prefix_facts_of(pdl_str provider);

/* Returns how many of so many shared tokens at the beginning the provider finds. */
int64_t pdl_prefix_found(const pdl_prefix_facts *f, int64_t tokens);

/* Returns a request without its marks, which are no part of what is compared. Takes body. */
pdl_val pdl_prefix_unmarked(pdl_str provider, pdl_val body);

#endif
