/* time_lanes.h -- private to viewer: the time at which each box ran.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_TIME_LANES_H
#define PDL_VIEWER_TIME_LANES_H

#include "base/buf.h"
#include "viewer/boxes.h"

enum { PDL_LANES_MAX = 2000 }; /* maximum number of boxes that are drawn */

/* Appends [{"id", "kind", "start", "end", "waited", "lane"}, ...] for the longest model calls and
 * other boxes without inner boxes, in the order of their starts. "waited" is absent when a call did
 * not wait. Times are in microseconds from the start of the run; boxes that overlap have different
 * lanes, as long as 200 lanes suffice. */
void pdl_doc_lanes(const pdl_doc *d, pdl_buf *out);

#endif
