/* live.h -- makes the boxes of a run in progress from its events, for pages that a server or
 * another program serves.
 *
 * The trace of a run is complete only when the run is over, but a page shows boxes while it runs.
 * So a second fold of the events keeps what a tree of boxes shows: the place of each box, its kind,
 * state and times, and the beginning of its text. When the run is over, the trace replaces all
 * this.
 *
 * Pages get changes, not events. A box that changed is noted once until the notes are read, however
 * many pieces of text arrived meanwhile. A page that is slow, or was opened late, gets the newest
 * state of each box and not all earlier states. So it does not fall further and further back, and
 * it cannot delay the run.
 *
 * Events may also be kept by the run until a page needs boxes. Then a run without pages makes no
 * boxes. A run with a page makes a few of them at each list of changes, and the rest when it waits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_LIVE_H
#define PDL_VIEWER_LIVE_H

#include "base/buf.h"
#include "viewer/viewer.h"

enum {
    /* maximum number of boxes; further boxes are only counted until the run is over */
    PDL_LIVE_MAX_BOXES = 200000,
    PDL_LIVE_NAME_BYTES = 200, /* maximum number of bytes of a model's name */
    /* maximum number of bytes of a box's text: the end of an answer that is arriving, otherwise the
     * beginning */
    PDL_LIVE_TEXT_BYTES = 16384,
};

/* Returns true when a box waits for the answer to this input. */
bool pdl_live_asks(const pdl_live *l, uint32_t effect);
/* Appends the text without secrets. */
void pdl_live_redact(const pdl_live *l, pdl_str text, pdl_buf *out);
/* Appends the program and the files that it has read so far, in the form that the page expects and
 * without secrets. */
void pdl_live_put_program(const pdl_live *l, pdl_str name, pdl_str program, pdl_buf *out);
/* Makes boxes of events that the run keeps: of at most 2000 events, or of 50000 when the run waits.
 * Called before each list of changes. pdl_live_gather_all makes the boxes of all kept events. */
void pdl_live_gather(pdl_live *l);
void pdl_live_gather_all(pdl_live *l);
/* Returns the number of events so far. */
size_t pdl_live_events(const pdl_live *l);
/* Returns the number of changes noted so far. A page that knows all of them waits for more. */
size_t pdl_live_changes(const pdl_live *l);
/* Appends the boxes that changed since *from, as a JSON list of at most `most` boxes, and sets
 * *from to the next change. Returns false when nothing has changed. */
bool pdl_live_json(pdl_live *l, size_t *from, size_t most, pdl_buf *out);

#endif
