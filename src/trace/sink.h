/* sink.h -- receivers of events and their fan-out.
 *
 * Whatever is printed, traced, counted or recorded about a run is made from one stream of events
 * (event.h); each of these is a sink. The machine sends an event once and does not know who
 * listens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_SINK_H
#define PDL_TRACE_SINK_H

#include "trace/event.h"

/* Nothing reads back into the run: a sink only looks. */
typedef struct pdl_sink {
    void *user;
    void (*event)(void *user, const pdl_event *e);
    /* Wants block_*, field and attempt events, which the machine makes only if some sink does. */
    bool wants_blocks;
} pdl_sink;

/* At most PDL_MAX_SINKS sinks in order. */
enum { PDL_MAX_SINKS = 8 };
typedef struct pdl_sinks {
    pdl_sink p[PDL_MAX_SINKS];
    size_t n;
    bool wants_blocks;
    /* when e happens, in ns since the epoch: the wall clock, in a replay that of the recording;
     * NULL: 0 */
    int64_t (*now)(void *user, const pdl_event *e);
    void *now_user;
} pdl_sinks;

/* Adds a sink, which must outlive the run; then sends e to all of them, in order. */
void pdl_sinks_add(pdl_sinks *s, pdl_sink sink);
void pdl_sinks_send(const pdl_sinks *s, pdl_event *e); /* stamps e */

#endif
