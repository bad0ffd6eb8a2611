/* again.h -- private to viewer: the program of the user once more, with lines and answers that a
 * person changed in the page.
 *
 * Only the user's own files are run, of which the page says the hashes, and what the person typed.
 * The page sends the lines that change and not the program, so that no text of a trace can get into
 * it, and the hash, so that nothing runs but what was shown. A file that the program includes is
 * the user's own when it is on the disk as it is shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_AGAIN_H
#define PDL_VIEWER_AGAIN_H

#include "base/vec.h"
#include "value/val.h"
#include "viewer/viewer.h"

typedef struct pdl_again_asked {
    pdl_val request; /* what the page sent; texts are borrowed from it */
    pdl_str place;   /* of the box of the first run; borrowed */
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

/* The files that may be run again as a member "again" of an object; appended. */
void pdl_again_json(const pdl_view_run *run, const pdl_view_again *g, void *user, pdl_buf *out);

#endif
