/* shown_run.h -- private to viewer: the parts of a run that is shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_SHOWN_RUN_H
#define PDL_VIEWER_SHOWN_RUN_H

#include "viewer/boxes.h"
#include "viewer/program_text.h"
#include "viewer/reading/reading.h"
#include "viewer/viewer.h"

struct pdl_view_run {
    char *name; /* owned */
    pdl_doc *doc;
    pdl_view_source *source;
    pdl_reading *reading;
};

#endif
