/* random_source.c -- the random numbers of a run.
 *
 * When a run first needs a number, it requests a seed by an effect, and computes all its numbers
 * from the seed. A replay answers this effect from the recording, so it draws the same numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/int.h"
#include "vm/inflight.h"
#include "vm/run.h"

#include "base/banned.h"

double pdl_run_random(void *user) {
    pdl_run *r = user;
    if (!r->random.is_seeded && r->opt.particle.is_one) {
        if (r->opt.particle.holds_chance) r->fibers.missed_chance = true;
        pdl_rand_seed(&r->random.numbers, r->opt.particle.seed);
        r->random.is_seeded = true;
    }
    if (!r->random.is_seeded) { /* every world answers this effect at once */
        pdl_inflight *c = pdl_inflight_new(r->fibers.main, PDL_EFFECT_random, (pdl_loc){0});
        pdl_val v = pdl_promise_new(c->id);
        pdl_path *place = pdl_path_name(r->opt.place, "random");
        c->value = pdl_keep(v);
        pdl_inflight_start_at(r->fibers.main, c, pdl_dict_new(0), place, 0);
        pdl_path_drop(place);
        pdl_promise *p = pdl_promise_of(v);
        int64_t s = 0;
        if (p->state == PDL_PROMISE_FILLED && !pdl_int_get(p->value, &s))
            s = (int64_t)pdl_int_hash(p->value);
        if (p->state == PDL_PROMISE_FAILED && !r->random.err.kind)
            pdl_err_copy(&r->random.err, &p->err);
        pdl_rand_seed(&r->random.numbers, (uint64_t)s);
        r->random.is_seeded = true;
        pdl_drop(v);
    }
    return pdl_rand_double(&r->random.numbers);
}

void pdl_random_source_end(pdl_random_source *s) { pdl_err_fini(&s->err); }

bool pdl_random_source_ok(const pdl_random_source *s) { return s->is_seeded || !s->err.kind; }
