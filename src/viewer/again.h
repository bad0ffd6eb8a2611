/* again.h -- private to the room: the program of the user once more, with lines that a person
 * changed in the page.
 *
 * Only the user's own file is run, of which the page says the hash, and what the person typed. The
 * page sends the lines that change and not the program, so that no text of a trace can get into it,
 * and the hash, so that nothing runs but what was shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_AGAIN_H
#define PDL_VIEWER_AGAIN_H

#include "viewer/viewer.h"

typedef struct pdl_again_asked {
    uint32_t box; /* of the first run */
    pdl_buf text; /* the changed program */
    bool fresh;
} pdl_again_asked;

/* Reads what the page sends for this file: {hash, box, fresh, edits: [[FIRST, LAST, TEXT], ...]},
 * lines from 1 on, in order. *out: released by fini, also after an error. Error: usage. */
PDL_MUST bool pdl_again_read(pdl_str body, pdl_str file, pdl_again_asked *out, pdl_err *err);
void pdl_again_fini(pdl_again_asked *a);

#endif
