/* live.h -- the boxes of a run while it runs, made from its events: for pages of viewer, whoever
 * answers them.
 *
 * The trace of a run is whole when the run is over, and a page wants boxes now. So events are
 * folded a second time into what a tree shows: where a box is, its kind, state, times, and the
 * beginning of its text. When the run is over, the trace takes the place of all this.
 *
 * Pages get changes, not events: a box that changed is noted once until the notes are taken,
 * however many pieces of text came meanwhile. A page that is slow or comes late gets the newest
 * state of each box and not everything that led to it, so it can neither lag nor delay
 * the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_LIVE_H
#define PDL_VIEWER_LIVE_H

#include "base/buf.h"
#include "viewer/viewer.h"

enum {
    PDL_LIVE_MAX_BOXES = 200000, /* further boxes are only counted until the run is over */
    PDL_LIVE_NAME_BYTES = 200,   /* bytes of the name of a model */
    /* bytes of a box's text: the end of an answer that is arriving, else the beginning */
    PDL_LIVE_TEXT_BYTES = 16384,
};

/* Returns true when a box waits for the answer to this input. */
bool pdl_live_asks(const pdl_live *l, uint32_t effect);
/* Appends the text without secrets. */
void pdl_live_redact(const pdl_live *l, pdl_str text, pdl_buf *out);
/* Appends the program and the files that it read so far, as the page gets them, without secrets. */
void pdl_live_put_program(const pdl_live *l, pdl_str name, pdl_str program, pdl_buf *out);
/* Returns the number of events so far. */
size_t pdl_live_events(const pdl_live *l);
/* Returns the number of changes noted so far: a page that knows all of them waits. */
size_t pdl_live_changes(const pdl_live *l);
/* Appends the boxes that changed since *from as a JSON list of at most `most`, and moves *from
 * after them. Returns false when nothing has changed. */
bool pdl_live_json(pdl_live *l, size_t *from, size_t most, pdl_buf *out);

#endif
