/* merge.h -- sends equal model calls, made by particles of an inference, as one request for several
 * answers, so that the prompt is paid for once. Private to api.
 *
 * Calls that may be merged wait here until the inference calls pdl_merge_send. The inference does
 * this when no particle can continue without an answer. So the program and the answers alone decide
 * which calls are merged, and time never does. Calls that code makes, and calls to providers that
 * cannot give several answers, are forwarded at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_MERGE_H
#define PDL_API_MERGE_H

#include "effect/effect.h"

typedef struct pdl_merge_options {
    /* Returns the parameters that the provider of a call takes, as bits PDL_TAKES_.... */
    unsigned (*takes)(void *user, const pdl_effect *e);
    void *user;
    /* When this is set, calls to servers that take a seed get one, made from this number and the
     * place of the call. Borrowed; with NULL, no call gets a seed. */
    const uint64_t *seed;
} pdl_merge_options;

/* Makes a world that merges calls and sends them to the next world, which it borrows. */
pdl_world *pdl_merge_world_new(const pdl_merge_options *o, pdl_world *next);
/* Sends the waiting calls in the order of their places. Returns false when no call waited. */
bool pdl_merge_send(pdl_world *w);

#endif
