/* rerun_request.h -- private to viewer: runs the user's program again, with lines and answers that
 * were changed in the page.
 *
 * Only the user's own files and the user's changes are run. The page sends changed lines and not
 * the program, so that no text of a trace can get into the program. The page also sends the hash of
 * each file, so that the run uses exactly the text that was shown. An included file counts as the
 * user's own when the file on the disk has the text that is shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_RERUN_REQUEST_H
#define PDL_VIEWER_RERUN_REQUEST_H

#include "base/vec.h"
#include "value/val.h"
#include "viewer/viewer.h"

typedef struct pdl_again_asked {
    pdl_val request; /* the request of the page; other members borrow its texts */
    /* place of the chosen box of the first run: the program runs again from there; borrowed */
    pdl_str place;
    pdl_buf text; /* the changed program */
    bool fresh;
    PDL_VEC(pdl_view_answer) answers;
    PDL_VEC(pdl_view_change) files; /* `after` is owned */
} pdl_again_asked;

/* Reads the page's request to run the first run again: {hash, box, fresh, edits: [[FIRST, LAST,
 * TEXT], ...]}. Lines are counted from 1, and edits are in order. The request may also have
 * answers: [[BOX, TEXT], ...] and included: [[FILE, hash, edits], ...]. *out is released by fini,
 * also after an error. Error: usage. */
PDL_MUST bool pdl_again_read(pdl_str body, const pdl_view_run *run, const pdl_view_again *g,
                             void *user, pdl_again_asked *out, pdl_err *err);
PDL_MUST bool pdl_again_start(const pdl_again_asked *a, const pdl_view_again *g, void *user,
                              pdl_err *err);
void pdl_again_fini(pdl_again_asked *a);

/* Appends, as a member "again" of an object, the files that the user may change and run again. */
void pdl_again_json(const pdl_view_run *run, const pdl_view_again *g, void *user, pdl_buf *out);

#endif
