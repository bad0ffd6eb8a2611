/* particle.c -- see particle.h: the functions of a run that is one of many in an inference. Such a
 * run has its own number and its own random numbers. It parks at factors and before effects of
 * chance, or ignores factors when the engine only counts votes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/particle.h"

#include <math.h>

#include "vm/effect_key.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

static pdl_step hold(pdl_fiber *f, pdl_held at) {
    f->run->fibers.held = at;
    f->state = FIBER_HELD;
    return PDL_STEP_WAIT;
}

/* A copy cannot have an effect in flight, so a fiber waits for its calls before it is held. */
pdl_step pdl_hold_at_chance(pdl_fiber *f, bool acts) {
    pdl_err none = {0};
    if (acts && pdl_inflight_is_repeatable(f)) return PDL_STEP_DONE;
    pdl_step s = pdl_inflight_await(f, 0, false, &none);
    return s == PDL_STEP_DONE ? hold(f, PDL_HELD_CHANCE) : s;
}

bool pdl_run_misses_chance(pdl_run *r, pdl_effect_kind kind, bool is_repeatable) {
    if (PDL_LIKELY(!r->opt.particle.holds_chance) || !pdl_effect_has(kind, PDL_EFFECT_CHANCE))
        return false;
    if (is_repeatable && pdl_effect_has(kind, PDL_EFFECT_ACTS)) return false;
    r->fibers.missed_chance = true;
    return true;
}

void pdl_run_cannot_copy(pdl_run *r, pdl_loc loc) {
    if (!r->fibers.not_copied.src) r->fibers.not_copied = loc;
}

/* --- factors ---------------------------------------------------------------------------------- */

void pdl_op_FACTOR_COUNTS(pdl_fiber *f) {
    push(f, pdl_bool(!f->run->opt.particle.ignores_factors));
}

void pdl_op_FACTOR_SKIPPED(pdl_fiber *f) {
    push(f, pdl_textz(""));
    set_val(&f->background, pdl_absent());
}

/* Returns true when other runs of the program may not reach this place: it is inside a branch, an
 * iteration of a map, or a block with `retry`, `fallback` or `expectations`. */
static bool is_optional(const pdl_fiber *f) {
    if (f->parent) return true;
    for (size_t i = f->blocks.n; i-- > 0;) {
        const pdl_vm_block *b = &f->blocks.p[i];
        pdl_block_kind kind = b->info ? b->info->block->kind : PDL_BLOCK_map;
        if (kind == PDL_BLOCK_if || kind == PDL_BLOCK_match || b->attempts) return true;
    }
    return false;
}

static bool is_weight(const pdl_run *r, double score, pdl_err *err) {
    if (!r->opt.particle.is_one || (!isnan(score) && !(isinf(score) && score > 0))) return true;
    return pdl_err_set(err, PDL_E_expression, (pdl_loc){0},
                       "factor is %s, which weighs nothing: expected a number on a log scale, or "
                       "-infinity for what cannot be",
                       isnan(score) ? "not a number" : "infinite");
}

/* Adds to the score only once. The instruction is executed again after the fiber was held. */
pdl_step pdl_op_FACTOR(pdl_fiber *f, const pdl_b_factor *b, pdl_err *err) {
    const pdl_particle *p = &f->run->opt.particle;
    if (!f->is_weighed) {
        pdl_step s = pdl_vm_force(f, top(f), err);
        if (s == PDL_STEP_DONE && p->holds_factors) s = pdl_inflight_await(f, 0, false, err);
        if (s != PDL_STEP_DONE) return s;
        pdl_vref v = *top(f);
        if (!pdl_is_int(v) && !pdl_is_bool(v) && !pdl_is(v, PDL_V_FLOAT)) {
            pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                        "factor is expected to be a number but got a value of type %s",
                        pdl_type_name(v));
            return PDL_STEP_FAIL;
        }
        double score = pdl_num_to_double(v);
        if (!is_weight(f->run, score, err)) return PDL_STEP_FAIL;
        if (isinf(score) && !isinf(f->run->outcome.score))
            f->run->outcome.impossible = pdl_fiber_loc(f);
        f->run->outcome.score += score;
        bool resamples = !b->resample.given || b->resample.value;
        if (p->holds_factors && resamples && !(p->aligned && is_optional(f))) {
            f->is_weighed = true;
            return hold(f, PDL_HELD_FACTOR);
        }
    }
    f->is_weighed = false;
    set_top(f, pdl_textz(""));
    set_val(&f->background, pdl_absent());
    return PDL_STEP_DONE;
}

/* --- what the engine asks --------------------------------------------------------------------- */

pdl_held pdl_run_held(const pdl_run *r) {
    bool is_quiet = !r->fibers.ready_first && !r->effects.by_id.n;
    return is_quiet && !r->outcome.finished && !r->outcome.failed ? r->fibers.held : PDL_HELD_NOT;
}

pdl_path *pdl_run_held_at(const pdl_run *r, pdl_loc *loc) {
    pdl_fiber *first = NULL;
    for (pdl_fiber *f = r->fibers.all; f; f = f->next_all)
        if (f->state == FIBER_HELD) first = f; /* the oldest fiber is last */
    *loc = first ? pdl_fiber_loc(first) : (pdl_loc){0};
    return first ? pdl_vm_place_path(first) : NULL;
}

void pdl_run_release(pdl_run *r) {
    PDL_VEC(pdl_fiber *) held = {0};
    r->fibers.held = PDL_HELD_NOT;
    for (pdl_fiber *f = r->fibers.all; f; f = f->next_all)
        if (f->state == FIBER_HELD) *pdl_vec_push(&held) = f;
    for (size_t i = held.n; i-- > 0;) pdl_fiber_ready(held.p[i]);
    pdl_vec_fini(&held);
}

bool pdl_run_missed_chance(const pdl_run *r) { return r->fibers.missed_chance; }

void pdl_run_become(pdl_run *r, const pdl_particle *p, pdl_path *place) {
    pdl_path *before = r->opt.place;
    r->opt.particle = *p;
    r->opt.place = pdl_path_keep(place);
    pdl_path_drop(before);
    r->random.is_seeded = false;
    /* Chains of calls begin with the place of the run, so they are dropped here. They are made
     * again when they are needed. */
    for (pdl_fiber *f = r->fibers.all; f; f = f->next_all)
        for (size_t i = 0; i < f->frames.n; i++) {
            pdl_path_drop(f->frames.p[i].chain);
            f->frames.p[i].chain = NULL;
        }
}
