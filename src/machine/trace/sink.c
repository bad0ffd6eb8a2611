/* sink.c -- passes events to all sinks of a run; see sink.h. The time of an event is set once, so
 * all receivers get the same time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/sink.h"

#include <assert.h>

#include "base/banned.h"

static const char *const names[] = {
#define EVENT(id, doc) #id,
#include "trace/events.def"
};
static_assert(sizeof names / sizeof names[0] == PDL_EVENT_COUNT, "one name per event");

const char *pdl_event_name(pdl_event_kind k) {
    assert((unsigned)k < PDL_EVENT_COUNT);
    return names[k];
}

void pdl_sinks_add(pdl_sinks *s, pdl_sink sink) {
    assert(sink.event);
    if (s->n == PDL_MAX_SINKS) PDL_BUG("more than %d sinks", PDL_MAX_SINKS);
    s->p[s->n++] = sink;
    s->wants_blocks = s->wants_blocks || sink.wants_blocks;
}

/* Returns true for an event that only the sinks that want blocks get. */
static bool is_of_block(pdl_event_kind k) {
    return k >= PDL_EVENT_block_begin && k <= PDL_EVENT_attempt;
}
static_assert(PDL_EVENT_block_begin + 4 == PDL_EVENT_attempt, "the events of blocks, in a row");

/* Returns true for an event whose time is used. Reading the clock takes longer than most blocks
 * need for a field or a piece of output. */
static bool has_time(pdl_event_kind k) {
    return k != PDL_EVENT_field && k != PDL_EVENT_text && k != PDL_EVENT_message &&
           k != PDL_EVENT_out;
}

void pdl_sinks_send(const pdl_sinks *s, pdl_event *e) {
    assert(s->n <= PDL_MAX_SINKS);
    assert((unsigned)e->kind < PDL_EVENT_COUNT);
    if (!e->nanos && s->now && has_time(e->kind)) e->nanos = s->now(s->now_user, e);
    bool for_all = !is_of_block(e->kind);
    for (size_t i = 0; i < s->n; i++)
        if (for_all || s->p[i].wants_blocks) s->p[i].event(s->p[i].user, e);
}
