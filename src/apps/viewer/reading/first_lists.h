/* first_lists.h -- private to viewer: the lists of items that the first screen of a page asks for.
 *
 * A page of one file holds all items of its run, and a browser needs half a second to read ten
 * thousand of them. So the few lists of the first screen come before the script, and the items come
 * after it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_FIRST_LISTS_H
#define PDL_VIEWER_FIRST_LISTS_H

#include "viewer/reading/reading.h"

/* Returns false for a short document, whose items are all read at once. */
bool pdl_has_first_lists(const pdl_reading *r);
/* Appends an object. "document/0" has the first items that are inside of no other, "ITEM/FROM" the
 * items inside of an item, "rows/ITEM/0" the first rows of a map; each in the form in which a
 * server answers. */
void pdl_first_lists_json(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out);

#endif
