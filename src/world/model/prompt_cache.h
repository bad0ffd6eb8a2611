/* prompt_cache.h -- how much of an earlier request a provider's prompt cache finds again. That
 * depends on the order in which the cache reads the request, on the minimum length of a shared
 * beginning, and on the steps in which this length is counted (spec know 1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PROMPT_CACHE_H
#define PDL_MODEL_PROMPT_CACHE_H

#include "value/val.h"

/* The options of a run that let prompt caches find more. */
typedef struct pdl_prefix_options {
    /* requests contain marks at the ends of shared beginnings, for providers that want marks */
    bool marks;
    bool first; /* when several requests begin alike, one is sent before the others */
} pdl_prefix_options;

typedef struct pdl_prefix_facts {
    const char *provider;
    const char *order; /* names of members of a request, separated by blanks */
    /* least: minimum length of a shared beginning, in tokens; step: a found length is a multiple of
     * it; both are 1 when nothing is known */
    int64_t least, step;
    /* how many marks a request may have; 0 when the cache finds beginnings without marks */
    unsigned marks;
    /* After how many seconds without use a beginning may be dropped: `kept` seconds, or `longer`
     * seconds when the request asks for a longer time. kept is 0 when the time is unknown; longer
     * is 0 when no request can ask for it. */
    int64_t kept, longer;
    /* the parameter by which a request asks for the time `longer`; NULL when no request can ask for
     * it */
    const char *how;
} pdl_prefix_facts;

/* Returns the facts about the cache of a provider, found by its prefix. A provider that is not in
 * the table gets the facts of an unknown cache. */
const pdl_prefix_facts *pdl_prefix_facts_of(pdl_str provider);

/* Two requests begin with the same `tokens` tokens. Returns how many of these tokens the provider's
 * cache finds. */
int64_t pdl_prefix_found(const pdl_prefix_facts *f, int64_t tokens);

/* Returns how many seconds the provider keeps a request after its last use; 0 when that is not
 * known, or when the request has no marks for a provider that needs them. */
int64_t pdl_prefix_kept(pdl_str provider, pdl_vref body);

/* Returns true when the provider keeps a beginning that ends with a part of a request: the provider
 * needs no marks, or the part ends with a mark. */
bool pdl_prefix_ends(pdl_str provider, pdl_vref part);

/* Returns `body`, a request, without its marks, so that requests can be compared. Takes body. */
pdl_val pdl_prefix_unmarked(pdl_str provider, pdl_val body);

#endif
