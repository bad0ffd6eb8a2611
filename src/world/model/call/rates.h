/* rates.h -- decides when requests are sent: the user sets limits for the run, and services report
 * limits per provider, host and key (429, Retry-After, headers of rate limits). Private to model.
 *
 * A request acquires a slot, perhaps after waiting, and gives it back with its reply or when it is
 * abandoned. Reports of services become a maximum of open requests, and a moment before which
 * nothing is sent. At the first 429 of a round, the maximum becomes half of the requests that are
 * open. Each round of answers increases it by one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_RATES_H
#define PDL_MODEL_RATES_H

#include "effect/budget.h"
#include "io/http.h"

typedef struct pdl_rates pdl_rates;
struct pdl_rate_bucket;

pdl_rates *pdl_rates_new(pdl_loop *loop, pdl_rate_limits limits);
void pdl_rates_free(pdl_rates *r); /* no slot may be in use or waiting */

/* One request. When all members are zero, it neither waits nor occupies a slot. */
typedef struct pdl_rate_slot {
    struct pdl_rate_bucket *bucket; /* stays set after the request is sent */
    struct pdl_rate_slot *prev, *next;
    bool waits, inside;
    double tokens;
    /* the counters of the bucket at the time when the request entered it */
    uint64_t round, answered;
    void (*fn)(void *user);
    void *user;
} pdl_rate_slot;

/* Returns true when the request may be sent now. Otherwise returns false, and calls fn of the slot
 * when the request may be sent. This call comes from the loop, or while the reply to another
 * request is handled. bucket: name of what the service limits (provider, host and key); tokens: an
 * estimate for the request. */
bool pdl_rates_enter(pdl_rates *r, pdl_str bucket, double tokens, pdl_rate_slot *p);
/* Reports that the request was answered or failed. */
void pdl_rates_on_reply(pdl_rates *r, pdl_rate_slot *p, const pdl_http_reply *reply);
/* Reports that the request was abandoned, while it waited or was in flight. Does nothing for a slot
 * that is not in use. */
void pdl_rates_leave(pdl_rates *r, pdl_rate_slot *p);
/* Returns the seconds for which a service wants no request of the bucket, 0 when the service has
 * not asked for a pause. */
double pdl_rates_held_s(pdl_rates *r, pdl_str bucket);
/* Adds the tokens of an answer to those of the last minute. */
void pdl_rates_used(pdl_rates *r, double tokens);
/* Returns true when other requests of the bucket were answered since this one was sent. In that
 * case a 429 only postpones the request. */
bool pdl_rates_had_progress(const pdl_rate_slot *p);

#endif
