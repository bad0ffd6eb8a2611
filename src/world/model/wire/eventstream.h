/* eventstream.h -- reads AWS event streams piece by piece (application/vnd.amazon.eventstream).
 * Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_EVENTSTREAM_H
#define PDL_MODEL_EVENTSTREAM_H

#include "base/buf.h"
#include "base/err.h"

/* The state of reading a stream. When all members are zero, no bytes were read. */
typedef struct pdl_eventstream {
    pdl_buf in;   /* bytes of an incomplete frame */
    pdl_buf text; /* the event that is passed to fn */
} pdl_eventstream;

/* Receives one event as JSON text: {TYPE: payload}. An exception has the form {"error": {"code":
 * TYPE, ...payload}}. Borrowed. */
typedef bool pdl_eventstream_fn(void *user, pdl_str name, pdl_str text, pdl_err *err);

/* Reads more bytes. Returns false when fn has returned false, or with PDL_E_protocol for a
 * malformed frame. */
PDL_MUST bool pdl_eventstream_feed(pdl_eventstream *s, pdl_str bytes, pdl_eventstream_fn *fn,
                                   void *user, pdl_err *err);
/* Ends the input. Error PDL_E_stream when a part of a frame is left. */
PDL_MUST bool pdl_eventstream_end(pdl_eventstream *s, pdl_err *err);
void pdl_eventstream_fini(pdl_eventstream *s);

#endif
