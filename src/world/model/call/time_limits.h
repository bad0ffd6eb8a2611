/* time_limits.h -- the four time limits of a request (connect, first, idle, total), which
 * the block, the provider's variable, the run or the defaults set. Private to model (spec providers
 * 7).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_TIME_LIMITS_H
#define PDL_MODEL_TIME_LIMITS_H

#include "model/providers.h"

/* Limits in ms; 0 is no limit. */
typedef struct pdl_timing {
    uint64_t connect;
    /* the limit until the first event of a stream; 0 for answers that do not stream */
    uint64_t first;
    uint64_t idle;  /* the limit between two pieces of a stream; 0 for answers that do not stream */
    uint64_t total; /* from the request to the end of the answer, even of a streamed one */
} pdl_timing;

/* The sources from which the limits of a call may come. */
typedef struct pdl_timing_sources {
    const pdl_provider *provider; /* NULL when it is not known yet */
    pdl_vref given;               /* the parameters of the block */
    const pdl_env *env;
    const char *run; /* the limits of the run as a text (pdl_timing_check), or NULL */
} pdl_timing_sources;

/* Computes the limits of a call. Error: bad_request for a limit that is not a number of seconds. */
PDL_MUST bool pdl_timing_of(const pdl_timing_sources *s, bool stream, pdl_timing *out,
                            pdl_err *err);

#endif
