/* delayed_events.h -- events that are kept while a run computes and handed on when there is time.
 *
 * A page that shows a run needs its trace when the run is over. When each event was folded at once,
 * a run without requests took four times as long. So the parts of an event that the fold needs are
 * only kept, which takes a few dozen instructions. They are folded when the trace is requested.
 * When a run makes more events than may be kept, the oldest ones are folded while it runs, one
 * chunk at a time. So no single event waits until very many others are folded.
 *
 * Values are kept, not copied. So they live longer than the run needs them. The amount is limited:
 * by the bytes of texts, and by the number of values with very many parts. A value that is outside
 * of this process, or may change, is not kept.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_DELAYED_EVENTS_H
#define PDL_TRACE_DELAYED_EVENTS_H

#include "trace/sink.h"

typedef struct pdl_later pdl_later;

/* Makes a list of events for this sink, which must be a fold: anything that a fold does not use is
 * left out. */
pdl_later *pdl_later_new(pdl_sink next);
/* Gives the same events to a second sink, in pdl_later_pass or before they are passed to the first.
 * Called before the first event. */
void pdl_later_follow(pdl_later *l, pdl_sink follower);
void pdl_later_free(pdl_later *l); /* drops what is kept; l may be NULL */

pdl_sink pdl_later_sink(pdl_later *l);
/* Passes on the events that are kept, in their order. */
void pdl_later_flush(pdl_later *l);
/* Passes to the second sink at most `most` of the events that it has not got yet. Their blocks and
 * paths stay valid as long as the list exists. */
void pdl_later_pass(pdl_later *l, size_t most);
/* Returns the number of events so far. */
size_t pdl_later_seen(const pdl_later *l);
/* Passes all events of the run so far to another sink, and keeps them. When some of them are not
 * kept any more, or they are so many that this takes seconds, passes nothing and returns false. */
PDL_MUST bool pdl_later_repeat(const pdl_later *l, pdl_sink to);

#endif
