/* members.c -- the tasks of an engine share a session. Each task has its own session, which is a
 * member of the shared one and has a slot there; the slot determines the ids of its effects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include "base/banned.h"

bool pdl_group_join(pdl_session *s, pdl_session *shared, pdl_err *err) {
    pdl_group *g = &shared->group;
    if (!g->jobs) g->jobs = pdl_jobs_new(shared->opt.run.jobs);
    if (!g->members) g->members = PDL_NEW_N(pdl_session *, PDL_MEMBER_SLOTS);
    uint32_t slot = g->next_slot % PDL_MEMBER_SLOTS, tried = 0;
    while (tried < PDL_MEMBER_SLOTS && g->members[slot]) {
        slot = (slot + 1) % PDL_MEMBER_SLOTS;
        tried++;
    }
    if (tried == PDL_MEMBER_SLOTS)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "more than %d tasks of an engine at a time", PDL_MEMBER_SLOTS);
    g->next_slot = slot + 1;
    g->members[slot] = s;
    s->group.shared = shared;
    s->group.slot = slot;
    return true;
}

void pdl_group_leave(pdl_session *s) {
    if (s->group.shared) s->group.shared->group.members[s->group.slot] = NULL;
}

void pdl_group_end(pdl_group *g) {
    pdl_jobs_free(g->jobs);
    pdl_free(g->members);
}

bool pdl_group_ok(const pdl_session *s) {
    const pdl_session *shared = s->group.shared;
    return !shared || (shared->group.members[s->group.slot] == s && !s->group.members);
}
