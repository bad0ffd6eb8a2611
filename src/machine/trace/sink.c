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

void pdl_sinks_send(const pdl_sinks *s, pdl_event *e) {
    assert(s->n <= PDL_MAX_SINKS);
    assert((unsigned)e->kind < PDL_EVENT_COUNT);
    if (!e->nanos && s->now) e->nanos = s->now(s->now_user, e);
    for (size_t i = 0; i < s->n; i++) s->p[i].event(s->p[i].user, e);
}
