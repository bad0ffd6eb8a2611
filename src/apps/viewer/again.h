/* again.h -- private to viewer: runs the user's program again, with lines and answers that were
 * changed in the page.
 *
 * Only the user's own files and the user's changes are run. The page sends changed lines and not
 * the program, so that no text of a trace can get into it. It also sends the hash of each file, so
 * that the run has the text that was shown. An included file is the user's own when the file on the
 * disk is the one that is shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_AGAIN_H
#define PDL_VIEWER_AGAIN_H

#include "base/vec.h"
#include "value/val.h"
#include "viewer/viewer.h"

typedef struct pdl_again_asked {
    pdl_val request; /* the request of the page; other members borrow its texts */
    pdl_str place;   /* place of the chosen box of the first run; borrowed */
    pdl_buf text;    /* the changed program */
    bool fresh;
    PDL_VEC(pdl_view_answer) answers;
    PDL_VEC(pdl_view_change) files; /* `after` is owned */
} pdl_again_asked;

/* Reads what the page sends for the first run: {hash, box, fresh, edits: [[FIRST, LAST, TEXT],
 * ...]}, lines from 1 on, in order; it may hold answers: [[BOX, TEXT], ...] and included: [[FILE,
 * hash, edits], ...]. *out: released by fini, also after an error. Error: usage. */
PDL_MUST bool pdl_again_read(pdl_str body, const pdl_view_run *run, const pdl_view_again *g,
                             void *user, pdl_again_asked *out, pdl_err *err);
PDL_MUST bool pdl_again_start(const pdl_again_asked *a, const pdl_view_again *g, void *user,
                              pdl_err *err);
void pdl_again_fini(pdl_again_asked *a);

/* Appends the files that may be run again, as a member "again" of an object. */
void pdl_again_json(const pdl_view_run *run, const pdl_view_again *g, void *user, pdl_buf *out);

#endif
