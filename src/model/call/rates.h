/* rates.h -- how fast requests go out: the pace that the user set for the run, and for each
 * provider, host and key what services say (429, Retry-After, headers of rate limits). Inside of
 * model only.
 *
 * A request enters, perhaps after waiting, is heard of or leaves. What services say becomes a
 * number of requests open at a time (halved at the first 429 of a round, grown by one a round of
 * answers) and a moment before which nothing goes out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_RATES_H
#define PDL_MODEL_RATES_H

#include "io/http.h"

typedef struct pdl_rates pdl_rates;
struct pdl_rate_bucket;

/* Limits of the run; 0: none. */
pdl_rates *pdl_rates_new(pdl_loop *loop, double requests_per_second, double tokens_per_minute);
void pdl_rates_free(pdl_rates *r); /* nobody may be inside or wait */

/* One request. All-zero: neither waits nor is inside. */
typedef struct pdl_rate_slot {
    struct pdl_rate_bucket *bucket; /* stays after the request left */
    struct pdl_rate_slot *prev, *next;
    bool waits, inside;
    double tokens;
    uint64_t round, answered; /* of the bucket when it entered */
    void (*fn)(void *user);
    void *user;
} pdl_rate_slot;

/* True: the request goes out now. False: fn of the slot is called when it may, from the loop or
 * from another request that is heard of. bucket: who limits (provider, host, key); tokens: an
 * estimate. */
bool pdl_rates_enter(pdl_rates *r, pdl_str bucket, double tokens, pdl_rate_slot *p);
/* The request was answered, or failed. */
void pdl_rates_on_reply(pdl_rates *r, pdl_rate_slot *p, const pdl_http_reply *reply);
/* It was given up, waiting or inside; neither: nothing. */
void pdl_rates_leave(pdl_rates *r, pdl_rate_slot *p);
/* Tokens of an answer. */
void pdl_rates_used(pdl_rates *r, double tokens);
/* Were others of the bucket answered since this one entered? Then a 429 says when, not whether. */
bool pdl_rates_had_progress(const pdl_rate_slot *p);

#endif
