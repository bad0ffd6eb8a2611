/* box_search.h -- private to viewer: boxes that fit a search.
 *
 * The text that a block prints is a part of the text that the blocks around it print, so every box
 * up to the root contains it. So a search for a text reports only the innermost boxes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_BOX_SEARCH_H
#define PDL_VIEWER_BOX_SEARCH_H

#include "base/buf.h"
#include "viewer/boxes.h"

enum { PDL_FIND_MAX = 1000 }; /* maximum of boxes in an answer */

/* Appends {"found": n, "boxes": [[id, parent, ..., root], ...]}: each box with the boxes around it,
 * up to the root. The query is a dict, and a box must fit each of its members. "text" is searched
 * without regard to the case of ASCII letters, and "model" is a part of the name. "micros" and
 * "tokens" are minimums. "kind", "role", "variable", "place" and "state" must be equal. Error:
 * usage when the query has another form. */
PDL_MUST bool pdl_doc_find(const pdl_doc *d, pdl_vref query, pdl_buf *out, pdl_err *err);

#endif
