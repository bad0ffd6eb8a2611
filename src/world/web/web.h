/* web.h -- the world that answers HTTP effects: requests of a program to servers of the web.
 *
 * One effect is one request. Redirects are not followed here: the program's library makes another
 * effect for each of them, so that policy, budget and journal judge it like the first request.
 * Everything that a server can make long is bounded: headers, body, time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WEB_WEB_H
#define PDL_WEB_WEB_H

#include "base/debug.h"
#include "effect/effect.h"
#include "io/loop.h"

/* The options of a world. When all members are zero, the world has no environment. */
typedef struct pdl_web_options {
    /* Returns the value of an environment variable, or NULL when it is not set. The value is
     * borrowed until the next call. The variables that `auth` names are read with this function.
     * When the function is NULL, no variable is set. */
    const char *(*env)(void *user, const char *name);
    void *user;
    /* Returns true for a variable that holds the key of a model's service. When the function is
     * NULL, no variable holds such a key. */
    bool (*is_model_key)(pdl_str variable);
    const pdl_debug *debug; /* category http; borrowed */
    /* Credentials that are sent or received are registered here, and redacted in messages;
     * borrowed; may be NULL. */
    pdl_secrets *secrets;
    /* Writes the header `traceparent` of a request for this effect, ending with a NUL; returns
     * false when the effect has none. When the function is NULL, no request has the header. */
    bool (*traceparent)(void *user, uint32_t effect, char out[56]);
    void *trace_user;
} pdl_web_options;

/* Answers effects of kind http (effects.def); other kinds are refused. Every answer with a status
 * is a reply. Errors are those of the network (connection, timeout, protocol), of the limits
 * (limit), of `auth` (config) and of malformed requests (bad_request). Borrows loop. close cancels
 * open requests. */
pdl_world *pdl_web_world_new(pdl_loop *loop, const pdl_web_options *opt);

#endif
