/* rates.c -- see rates.h.
 *
 * A run may want a thousand requests at once. Services answer too many requests with 429; if each
 * refused request only waited and retried, they would all return together and be refused together.
 * So requests queue here before they are sent. The limits of the user apply to the run; reports of
 * a service apply to its bucket: the requests to one provider, host and key, because that is what
 * services count. The number of open requests of a bucket follows the rule of TCP: halved when the
 * service complains, one more after each round of answers. Requests that were in flight together
 * are refused together, so a round counts as one complaint (`round`). A bucket without complaints
 * has no limit and costs nothing.
 *
 * Only pump admits waiting requests. The callbacks of these requests send at once and may call back
 * into this file; `pumping` prevents recursion, and the loop sees what they changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/rates.h"

#include <assert.h>
#include <math.h>

#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"
#include "io/clock.h"
#include "model/call/fault.h"

#include "base/banned.h"

#define SECOND UINT64_C(1000000000)

enum { MAX_HOLD_S = 120, WINDOW_S = 60, CATCH_UP_MS = 10 };

typedef struct pdl_rate_bucket {
    char *name; /* owned */
    size_t n_open;
    /* maximum number of open requests; INFINITY until a service complains */
    double max_open;
    uint64_t round; /* how often max_open was reduced */
    uint64_t answered;
    uint64_t hold_ns;            /* nothing is sent before this moment */
    unsigned refusals;           /* how many rounds were refused with 429 since the last answer */
    pdl_rate_slot *first, *last; /* slots that wait, oldest first */
} pdl_rate_bucket;

typedef struct spent {
    uint64_t ns;
    double tokens;
} spent;

struct pdl_rates {
    pdl_loop *loop;
    pdl_rate_limits limits;
    uint64_t next_ns;     /* the user's limits allow the next request at this time */
    PDL_VEC(spent) spent; /* spent[head..n): the tokens that requests of the last minute used */
    size_t head;
    double sum; /* sum of the tokens in spent */
    pdl_map buckets;
    pdl_timer *timer;
    uint64_t timer_ns;
    bool pumping;
};

pdl_rates *pdl_rates_new(pdl_loop *loop, pdl_rate_limits limits) {
    pdl_rates *r = PDL_NEW(pdl_rates);
    r->loop = loop;
    r->limits = limits;
    return r;
}

void pdl_rates_free(pdl_rates *r) {
    if (!r) return;
    pdl_timer_stop(r->timer);
    for (size_t i = 0; i < r->buckets.n; i++) {
        pdl_rate_bucket *bucket = r->buckets.entries[i].value;
        pdl_free(bucket->name);
        pdl_free(bucket);
    }
    pdl_map_fini(&r->buckets);
    pdl_vec_fini(&r->spent);
    pdl_free(r);
}

static pdl_rate_bucket *bucket_of(pdl_rates *r, pdl_str name) {
    pdl_rate_bucket *bucket = pdl_map_find(&r->buckets, name);
    if (bucket) return bucket;
    bucket = PDL_NEW(pdl_rate_bucket);
    bucket->name = pdl_str_dup(name);
    bucket->max_open = (double)INFINITY;
    pdl_map_put(&r->buckets, (pdl_str){bucket->name, name.n}, bucket);
    return bucket;
}

#ifndef NDEBUG
/* Returns true when the bucket is consistent. For assertions. */
static bool bucket_is_ok(const pdl_rate_bucket *b) {
    return b->max_open >= 1 && !b->first == !b->last && (!b->first || !b->first->prev) &&
           (!b->last || !b->last->next) && (!b->first || b->first->waits);
}
#endif

/* --- the pace of the run ---------------------------------------------------------------------- */

static void spend(pdl_rates *r, double tokens, uint64_t now) {
    if (r->limits.tokens_per_minute <= 0 || tokens <= 0) return;
    *pdl_vec_push(&r->spent) = (spent){now, tokens};
    r->sum += tokens;
}

/* Removes entries that are older than a minute. */
static void slide(pdl_rates *r, uint64_t now) {
    while (r->head < r->spent.n && r->spent.p[r->head].ns + WINDOW_S * SECOND <= now)
        r->sum -= r->spent.p[r->head++].tokens;
    if (r->head < r->spent.n) return;
    r->head = r->spent.n = 0;
    r->sum = 0;
}

/* Returns the time at which a request with this number of tokens may be sent. A request that alone
 * exceeds the limit of a minute is sent once no tokens were used for a minute. */
static uint64_t due_ns(pdl_rates *r, double tokens, uint64_t now) {
    uint64_t due = r->limits.requests_per_second > 0 && r->next_ns > now ? r->next_ns : now;
    if (r->limits.tokens_per_minute <= 0) return due;
    slide(r, now);
    double sum = r->sum;
    for (size_t i = r->head; i < r->spent.n && sum + tokens > r->limits.tokens_per_minute; i++) {
        uint64_t free_ns = r->spent.p[i].ns + WINDOW_S * SECOND;
        sum -= r->spent.p[i].tokens;
        if (free_ns > due) due = free_ns;
    }
    return due;
}

static void count_sent(pdl_rates *r, double tokens, uint64_t now) {
    spend(r, tokens, now);
    if (r->limits.requests_per_second <= 0) return;
    /* Timers fire one or two milliseconds late, so the next request is sent earlier by as much. */
    uint64_t from = now > CATCH_UP_MS * (SECOND / 1000) ? now - CATCH_UP_MS * (SECOND / 1000) : 0;
    if (r->next_ns > from) from = r->next_ns;
    static const double longest = 1e18;
    r->next_ns = from + (uint64_t)fmin((double)SECOND / r->limits.requests_per_second, longest);
}

void pdl_rates_used(pdl_rates *r, double tokens) { spend(r, tokens, pdl_clock_ns()); }

/* --- admission -------------------------------------------------------------------------------- */

/* Returns the time at which the next request of a bucket may be sent; UINT64_MAX when one of its
 * requests must end first. */
static uint64_t bucket_due_ns(pdl_rates *r, const pdl_rate_bucket *bucket, double tokens,
                              uint64_t now) {
    if ((double)bucket->n_open >= bucket->max_open) return UINT64_MAX;
    uint64_t due = due_ns(r, tokens, now);
    return bucket->hold_ns > due ? bucket->hold_ns : due;
}

static void admit(pdl_rates *r, pdl_rate_slot *slot, uint64_t now) {
    assert(!slot->waits && !slot->inside);
    slot->inside = true;
    slot->bucket->n_open++;
    slot->round = slot->bucket->round;
    slot->answered = slot->bucket->answered;
    count_sent(r, slot->tokens, now);
}

static void dequeue(pdl_rate_slot *slot) {
    pdl_rate_bucket *bucket = slot->bucket;
    assert(slot->waits && bucket_is_ok(bucket));
    if (slot->prev)
        slot->prev->next = slot->next;
    else
        bucket->first = slot->next;
    if (slot->next)
        slot->next->prev = slot->prev;
    else
        bucket->last = slot->prev;
    slot->prev = slot->next = NULL;
    slot->waits = false;
    assert(bucket_is_ok(bucket));
}

static void pump(pdl_rates *r);

static void on_timer(void *user) {
    pdl_rates *r = user;
    r->timer = NULL;
    pump(r);
}

static void wake_at(pdl_rates *r, uint64_t ns, uint64_t now) {
    if (r->timer && r->timer_ns <= ns) return;
    pdl_timer_stop(r->timer);
    r->timer_ns = ns;
    r->timer =
        pdl_timer_start(r->loop, (ns - now + SECOND / 1000 - 1) / (SECOND / 1000), on_timer, r);
}

/* Admits the requests that may be sent, oldest first in each bucket. The callbacks of the requests
 * may call back into this file. */
static void pump(pdl_rates *r) {
    if (r->pumping) return;
    r->pumping = true;
    for (size_t i = 0; i < r->buckets.n; i++) {
        pdl_rate_bucket *bucket = r->buckets.entries[i].value;
        while (bucket->first) {
            uint64_t now = pdl_clock_ns(),
                     due = bucket_due_ns(r, bucket, bucket->first->tokens, now);
            pdl_rate_slot *slot = bucket->first;
            if (due > now) {
                if (due != UINT64_MAX) wake_at(r, due, now);
                break;
            }
            dequeue(slot);
            admit(r, slot, now);
            slot->fn(slot->user);
        }
    }
    r->pumping = false;
}

double pdl_rates_held_s(pdl_rates *r, pdl_str name) {
    uint64_t until = bucket_of(r, name)->hold_ns, now = pdl_clock_ns();
    return until > now ? (double)(until - now) / (double)SECOND : 0;
}

bool pdl_rates_enter(pdl_rates *r, pdl_str name, double tokens, pdl_rate_slot *slot) {
    uint64_t now = pdl_clock_ns();
    pdl_rate_bucket *bucket = bucket_of(r, name);
    assert(!slot->waits && !slot->inside);
    slot->bucket = bucket;
    slot->tokens = tokens;
    uint64_t due = bucket->first ? UINT64_MAX : bucket_due_ns(r, bucket, tokens, now);
    if (due <= now) {
        admit(r, slot, now);
        return true;
    }
    slot->waits = true;
    slot->prev = bucket->last;
    slot->next = NULL;
    if (bucket->last)
        bucket->last->next = slot;
    else
        bucket->first = slot;
    bucket->last = slot;
    assert(bucket_is_ok(bucket));
    if (due != UINT64_MAX) wake_at(r, due, now);
    return false;
}

/* --- what services say ------------------------------------------------------------------------ */

static const struct {
    const char *left, *all, *reset;
} limit_headers[] = {
    {"x-ratelimit-remaining-requests", "x-ratelimit-limit-requests", "x-ratelimit-reset-requests"},
    {"x-ratelimit-remaining-tokens", "x-ratelimit-limit-tokens", "x-ratelimit-reset-tokens"},
    {"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-limit", NULL},
    {"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-limit", NULL},
};

static double header_number(const pdl_http_reply *reply, const char *name) {
    double v;
    return pdl_num_read_double(pdl_http_header(reply, name), &v) ? v : -1;
}

/* Returns the seconds to wait because the quota is used up. A quota refills steadily: when N
 * requests are given back within T seconds, the first is available after T / N. */
static double empty_quota_wait_s(const pdl_http_reply *reply) {
    double wait = 0;
    if (pdl_str_find(reply->header_text, PDL_STR("atelimit"), 0) == PDL_NOT_FOUND) return 0;
    for (size_t i = 0; i < sizeof limit_headers / sizeof limit_headers[0]; i++) {
        if (header_number(reply, limit_headers[i].left) != 0) continue;
        double all = header_number(reply, limit_headers[i].all);
        double span = limit_headers[i].reset
                          ? pdl_http_span(pdl_http_header(reply, limit_headers[i].reset))
                          : -1;
        double s = span < 0 ? 1 : all > 1 ? span / all : span;
        if (s > wait) wait = s;
    }
    return wait;
}

static void hold(pdl_rate_bucket *bucket, double seconds) {
    if (!(seconds > 0)) return;
    if (seconds > MAX_HOLD_S) seconds = MAX_HOLD_S;
    uint64_t until = pdl_clock_ns() + (uint64_t)(seconds * (double)SECOND);
    if (until > bucket->hold_ns) bucket->hold_ns = until;
}

/* Sets the maximum of open requests to half of the requests that are open now. Requests of one
 * round are refused together, and that counts as one complaint. */
static void refused(pdl_rate_bucket *bucket, const pdl_rate_slot *slot,
                    const pdl_http_reply *reply) {
    bool is_date;
    double after = pdl_backoff_header(reply, (double)pdl_clock_wall_ns() / 1e9, &is_date);
    if (slot->round == bucket->round) {
        bucket->max_open = fmax(1, floor((double)bucket->n_open / 2));
        bucket->round++;
        bucket->refusals++;
    }
    hold(bucket,
         after > 0 ? after
                   : fmin(0.25 * (double)(1u << (bucket->refusals < 6 ? bucket->refusals : 6)), 8));
}

static void answered(pdl_rate_bucket *bucket, const pdl_http_reply *reply) {
    bucket->answered++;
    bucket->refusals = 0;
    if (isfinite(bucket->max_open)) bucket->max_open += 1 / bucket->max_open;
    hold(bucket, empty_quota_wait_s(reply));
}

void pdl_rates_on_reply(pdl_rates *r, pdl_rate_slot *slot, const pdl_http_reply *reply) {
    if (!slot->inside) return;
    slot->inside = false;
    if (reply->status == 429)
        refused(slot->bucket, slot, reply);
    else if (reply->status >= 200 && reply->status < 300)
        answered(slot->bucket, reply);
    assert(slot->bucket->n_open > 0 && bucket_is_ok(slot->bucket));
    slot->bucket->n_open--;
    pump(r);
}

void pdl_rates_leave(pdl_rates *r, pdl_rate_slot *slot) {
    if (slot->waits) dequeue(slot);
    if (!slot->inside) return;
    slot->inside = false;
    assert(slot->bucket->n_open > 0 && bucket_is_ok(slot->bucket));
    slot->bucket->n_open--;
    pump(r);
}

bool pdl_rates_had_progress(const pdl_rate_slot *slot) {
    return slot->bucket && slot->bucket->answered > slot->answered;
}
