/* pending.c -- the lists of effects that the machine waits for, and how they end.
 *
 * An effect is in one list at a time: queued, answered, waiting or unanswered; or it is in flight,
 * and then only found by its id. So each effect is released exactly once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"

#include "base/banned.h"

void pdl_durable_drop_list(pending_effect **list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (list[i]) pdl_durable_drop_open(list[i]);
}

static bool is_unanswered(const durable_pending *p, const pending_effect *o) {
    for (size_t i = 0; i < p->unanswered.n; i++)
        if (p->unanswered.p[i] == o) return true;
    return false;
}

void pdl_durable_pending_end(durable_pending *p) {
    for (size_t i = 0; i < pdl_idmap_places(&p->open); i++) {
        pending_effect *o = pdl_idmap_at(&p->open, i);
        if (o && !is_unanswered(p, o)) pdl_durable_drop_open(o);
    }
    pdl_idmap_fini(&p->open);
    pdl_durable_drop_list(p->unanswered.p, p->unanswered.n);
    pdl_durable_drop_list(p->queued.p, p->queued.n);
    pdl_durable_drop_list(p->answered.p + p->answered_head, p->answered.n - p->answered_head);
    pdl_durable_drop_list(p->waiting.p, p->waiting.n);
    pdl_vec_fini(&p->unanswered);
    pdl_vec_fini(&p->queued);
    pdl_vec_fini(&p->answered);
    pdl_vec_fini(&p->waiting);
}

bool pdl_durable_pending_ok(const durable_pending *p) {
    return p->answered_head <= p->answered.n && p->n_inputs <= p->n_open;
}

bool pdl_durable_progress_ok(const durable_progress *p) {
    return !(p->flushing && p->parked) && p->clock.seen >= 0;
}
