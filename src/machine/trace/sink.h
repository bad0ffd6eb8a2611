/* sink.h -- receivers of events and their fan-out.
 *
 * Everything that is printed, traced, counted or recorded about a run is made from one stream of
 * events (event.h); each receiver is a sink. The machine sends an event once and does not know the
 * receivers, so output, trace and statistics cannot disagree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_SINK_H
#define PDL_TRACE_SINK_H

#include "trace/event.h"

/* A sink only observes: it returns nothing to the run. */
typedef struct pdl_sink {
    void *user;
    void (*event)(void *user, const pdl_event *e);
    /* True: the sink also gets block_*, field and attempt events. These events are made only if a
     * sink wants them. */
    bool wants_blocks;
} pdl_sink;

/* An array of at most PDL_MAX_SINKS sinks, in order. */
enum { PDL_MAX_SINKS = 8 };
typedef struct pdl_sinks {
    pdl_sink p[PDL_MAX_SINKS];
    size_t n;
    bool wants_blocks;
    /* Returns the time of e in ns since the epoch: the time of the wall clock or, in a replay, the
     * recorded time. When the function is NULL, all times are 0. */
    int64_t (*now)(void *user, const pdl_event *e);
    void *now_user;
} pdl_sinks;

/* Adds a sink, which must outlive the run. pdl_sinks_send sends e to all of them, in order. */
void pdl_sinks_add(pdl_sinks *s, pdl_sink sink);
void pdl_sinks_send(const pdl_sinks *s, pdl_event *e); /* sets the time of e */

#endif
