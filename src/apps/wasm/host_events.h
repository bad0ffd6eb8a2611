/* host_events.h -- reports the events of a run to the host of the module: text, calls, replies,
 * errors. Private to wasm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WASM_HOST_EVENTS_H
#define PDL_WASM_HOST_EVENTS_H

#include "base/buf.h"
#include "trace/sink.h"

typedef struct pdl_wasm_events {
    pdl_buf json; /* events that the host has not seen yet: JSON objects, with commas */
    /* text that is not in json yet; it is collected, so that a loop that prints makes only a few
     * events */
    pdl_buf text;
    double cost; /* the sum in dollars of the model calls so far whose price is known */
} pdl_wasm_events;

void pdl_wasm_events_init(pdl_wasm_events *e);
void pdl_wasm_events_fini(pdl_wasm_events *e);
/* Makes an event of the collected text, so that json has everything. */
void pdl_wasm_events_flush(pdl_wasm_events *e);
/* Adds a note to the events, which is one line for people. */
void pdl_wasm_events_note(pdl_wasm_events *e, pdl_str text);
pdl_sink pdl_wasm_events_sink(pdl_wasm_events *e);

#endif
