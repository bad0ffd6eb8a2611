/* park.c -- ends the process of a run that waits for a person: --park, and approvals that the user
 * cannot give now. A run parks when every open effect is a question. Its rows are committed, the
 * questions stay open in the file, and pdl answer (run_answer.c) or a resume answers them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"

#include "base/banned.h"

bool pdl_durable_is_unanswered(const pdl_durable *d, const pending_effect *o, const pdl_reply *r) {
    if (o->e->kind == PDL_EFFECT_approval)
        return r->err.kind != PDL_E_NONE && !r->err.uncatchable && d->setup.opt.approvals_park;
    return d->setup.opt.park && o->e->kind == PDL_EFFECT_input && !r->err.kind &&
           pdl_is_null(r->value);
}

/* Returns true when every open effect is a question that waits for an answer. */
static bool only_asks(const pdl_durable *d) {
    uint32_t others = d->pending.n_open - (d->setup.opt.park ? d->pending.n_inputs : 0);
    return !others && ((d->setup.opt.park && d->pending.n_inputs) || d->pending.unanswered.n);
}

bool pdl_durable_only_waits(const pdl_durable *d) {
    return !d->group.server && !d->progress.parked && !d->pending.waiting.n && only_asks(d);
}

static bool park(pdl_durable *d) {
    if (d->progress.parked || !only_asks(d)) return false;
    for (size_t i = 0; i < pdl_idmap_places(&d->pending.open); i++) {
        pending_effect *o = pdl_idmap_at(&d->pending.open, i);
        if (o && o->sent && o->e->kind == PDL_EFFECT_input)
            *pdl_vec_push(&d->pending.unanswered) = o;
    }
    d->progress.parked = true;
    pdl_durable_commit(d, true);
    return true;
}

bool pdl_durable_is_parked(const pdl_durable *d) { return d->progress.parked; }

bool pdl_durable_park(pdl_durable *d) {
    if (!pdl_durable_only_waits(d)) return false;
    pdl_durable_flush(d);
    if (pdl_durable_deliver(d)) return true;
    (void)pdl_durable_poll_next(d, 0);
    return pdl_durable_deliver(d) || park(d);
}
