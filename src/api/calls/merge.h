/* merge.h -- equal calls of models, made by particles of an inference, as one request for several
 * answers: the prompt is paid once. Private to api.
 *
 * Calls that may be merged wait here until pdl_merge_send is called, which its user does when no
 * particle can continue otherwise. So what is merged never depends on time, but on the program and
 * on the answers. Calls that code makes, and those to other
 * providers, are forwarded at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_MERGE_H
#define PDL_API_MERGE_H

#include "effect/effect.h"

typedef struct pdl_merge_options {
    /* Returns which parameters the provider of a call takes, some of PDL_TAKES_*. */
    unsigned (*takes)(void *user, const pdl_effect *e);
    void *user;
    /* Calls to servers that take a seed get one, made of this number and the place of the call;
     * borrowed; NULL: they get none. */
    const uint64_t *seed;
} pdl_merge_options;

/* Makes a world that merges the calls for the next world, which it borrows. */
pdl_world *pdl_merge_world_new(const pdl_merge_options *o, pdl_world *next);
/* Sends the calls that wait, in the order of their places. Returns false when none did. */
bool pdl_merge_send(pdl_world *w);

#endif
