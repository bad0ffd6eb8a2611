/* running.c -- holds the run of a session, the programs inside it and the runs beside it, and ends
 * them in the right order. The order matters: a run and its inner programs refer to the worlds of
 * the chain, so they end before the chain is closed. The budget and the reserve are used until
 * then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include "base/banned.h"

void pdl_running_stop(pdl_session *s) {
    pdl_running *r = &s->running;
    if (!s->opt.host.shared) pdl_subruns_free(r->subs);
    pdl_run_free(r->run);
    if (s->group.shared) pdl_subruns_cancel(r->subs, PDL_SUB_RANGES + s->group.slot);
    r->run = NULL;
    if (!s->opt.host.shared) r->subs = NULL;
}

void pdl_beside_end(pdl_session *s) {
    pdl_beside *b = &s->running.beside;
    if (!b->chains && !b->group_views) return;
    for (uint32_t i = 0; i < PDL_SPAWN_SLOTS; i++) {
        pdl_session_end_durable(s, i);
        if (b->group_views) pdl_cache_view_close(b->group_views[i]);
    }
    pdl_free(b->chains);
    pdl_free(b->group_views);
    pdl_free(b->views);
    b->chains = NULL;
    b->group_views = b->views = NULL;
}

void pdl_running_end(pdl_running *r) {
    pdl_budget_drop(r->budget);
    pdl_reserve_drop(r->reserve);
}

bool pdl_running_ok(const pdl_running *r) {
    return r->subs && r->reserve && !r->beside.views == !r->beside.group_views;
}
