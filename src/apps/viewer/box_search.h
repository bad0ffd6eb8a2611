/* box_search.h -- private to viewer: boxes that fit a search.
 *
 * What a block prints is a part of what the blocks around it print, so a text that is looked for is
 * found in every box up to the root. Only the innermost boxes are the answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_BOX_SEARCH_H
#define PDL_VIEWER_BOX_SEARCH_H

#include "base/buf.h"
#include "viewer/doc.h"

enum { PDL_FIND_MAX = 1000 }; /* maximum of boxes in an answer */

/* Appends {"found": n, "boxes": [[id, parent, ..., root], ...]}: each box with the way to the root.
 * query: a dict; each member that is given must fit: "text" (any letter case of ASCII letters),
 * "kind", "role", "variable", "model" (a part of the name), "state", "micros" (at least), "tokens"
 * (at least). Error: usage when the query is not of this form. */
PDL_MUST bool pdl_doc_find(const pdl_doc *d, pdl_vref query, pdl_buf *out, pdl_err *err);

#endif
