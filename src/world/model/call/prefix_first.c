/* prefix_first.c -- for --prefix-first: of several calls whose requests begin alike, one
 * is sent first (spec know 1).
 *
 * A prompt cache knows the beginning of a request only after the answer to this request has begun.
 * So calls that are sent together all pay for the beginning in full. Here the first call leads: the
 * others wait until its answer begins to arrive, or until it fails or is cancelled. When the answer
 * is not streamed, they wait for the whole answer. A call waits once at most, so this costs no more
 * than the time of one call to the first byte of its answer. Calls begin alike when they share a
 * beginning of the minimum length that the provider keeps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/hash.h"
#include "io/clock.h"
#include "model/call/life.h"
#include "value/json_write.h"

#include "base/banned.h"

enum {
    BYTES_OF_TOKEN = 4,
    MIN_TOKENS = 1024, /* used when the provider's documentation names no minimum length */
    MAX_KNOWN = 4096,  /* number of beginnings that are remembered */
};
#define KEPT_NS (UINT64_C(240) * 1000000000) /* providers keep a beginning for 5 minutes or more */

/* The beginning of a request that is in flight, or was in flight a short time ago. */
typedef struct beginning {
    pdl_call *leader;     /* the call for which the others wait; NULL once its answer has begun */
    uint64_t answered_ns; /* when the answer of the leader began */
} beginning;

/* --- which calls begin alike ------------------------------------------------------------------ */

/* Appends the members of the body in the order of the provider until there are n bytes. */
static void put_beginning(const char *order, pdl_vref body, size_t n, pdl_buf *out) {
    pdl_str names = pdl_str_of(order);
    for (size_t from = 0; from < names.n && out->len < n;) {
        size_t blank = pdl_str_find(names, PDL_STR(" "), from),
               to = blank == PDL_NOT_FOUND ? names.n : blank;
        pdl_vref v = pdl_dict_gets(body, pdl_str_sub(names, from, to));
        pdl_err ignored = {0};
        if (!pdl_is_absent(v) && !pdl_json_write(v, PDL_JSON_LOOSE, 0, out, &ignored))
            pdl_err_fini(&ignored);
        from = to + 1;
    }
}

void pdl_follow_read(pdl_call *c, pdl_vref body) {
    const pdl_prefix_facts *f = pdl_prefix_facts_of(pdl_str_of(c->route.provider->prefix));
    size_t least = (size_t)(f->least > 1 ? f->least : MIN_TOKENS) * BYTES_OF_TOKEN;
    pdl_buf text = PDL_BUF;
    c->beginning = 0;
    /* calls of a batch are sent together and answered within hours, so none of them waits */
    if (c->calls->opt.carrier) return;
    if (!c->calls->opt.prefix.first || c->has_followed || !pdl_is_dict(body)) return;
    put_beginning(f->order, body, least, &text);
    if (text.len >= least) {
        pdl_str start = pdl_str_sub(pdl_buf_str(&text), 0, least);
        uint64_t whose =
            (uint64_t)pdl_hash_str(pdl_buf_str(&c->url)) << 32 | pdl_hash_str(c->ask.name);
        c->beginning = (uintptr_t)pdl_hash_u64(whose ^ pdl_hash_str(start)) << 1 | 1;
    }
    pdl_buf_fini(&text);
}

/* --- the known beginnings --------------------------------------------------------------------- */

/* Forgets the beginnings that have no leader. */
static void forget(pdl_calls *calls) {
    pdl_idmap kept = {0}, *all = &calls->beginnings;
    for (size_t i = 0; i < pdl_idmap_places(all); i++) {
        beginning *b = pdl_idmap_at(all, i);
        if (b && b->leader)
            pdl_idmap_put(&kept, b->leader->beginning, b);
        else
            pdl_free(b);
    }
    pdl_idmap_fini(all);
    *all = kept;
}

static void lead(pdl_call *c) {
    beginning *b = pdl_idmap_find(&c->calls->beginnings, c->beginning);
    if (!b && c->calls->beginnings.n >= MAX_KNOWN) forget(c->calls);
    if (!b) {
        b = PDL_NEW(beginning);
        pdl_idmap_put(&c->calls->beginnings, c->beginning, b);
    }
    b->leader = c;
    c->leads = true;
}

/* Adds c to the calls that wait for leader, as the last one. */
static void join(pdl_call *c, pdl_call *leader) {
    if (!leader->followers) leader->followers_end = &leader->followers;
    c->leader = leader;
    c->prev_follower = leader->followers_end;
    *leader->followers_end = c;
    leader->followers_end = &c->next_follower;
}

bool pdl_follow_waits(pdl_call *c) {
    if (!c->beginning || c->has_followed || c->leads) return false;
    beginning *b = pdl_idmap_find(&c->calls->beginnings, c->beginning);
    if (!b || (!b->leader && pdl_clock_ns() - b->answered_ns > KEPT_NS)) {
        lead(c);
        return false;
    }
    if (!b->leader) return false;
    c->has_followed = true;
    join(c, b->leader);
    pdl_call_enter(c, PDL_CALL_AWAITS_FIRST);
    return true;
}

void pdl_follow_leave(pdl_call *c) {
    if (!c->leader) return;
    *c->prev_follower = c->next_follower;
    if (c->next_follower)
        c->next_follower->prev_follower = c->prev_follower;
    else
        c->leader->followers_end = c->prev_follower;
    c->leader = c->next_follower = NULL;
    c->prev_follower = NULL;
}

void pdl_follow_settle(pdl_call *c, bool answered) {
    beginning *b = pdl_idmap_find(&c->calls->beginnings, c->beginning);
    c->leads = false;
    if (b && b->leader == c) {
        b->leader = NULL;
        b->answered_ns = pdl_clock_ns();
        if (!answered) {
            pdl_idmap_del(&c->calls->beginnings, c->beginning);
            pdl_free(b);
        }
    }
    /* The followers are sent from the loop, because this function runs inside a step of c. */
    while (c->followers) {
        pdl_call *other = c->followers;
        pdl_follow_leave(other);
        pdl_call_wait(other, 0);
    }
}

void pdl_follow_close(pdl_calls *calls) {
    forget(calls);
    pdl_idmap_fini(&calls->beginnings);
}
