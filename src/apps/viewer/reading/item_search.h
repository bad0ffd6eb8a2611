/* item_search.h -- private to viewer: finds items of a document.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_ITEM_SEARCH_H
#define PDL_VIEWER_ITEM_SEARCH_H

#include "viewer/reading/reading.h"

/* A description of items. Empty members fit every item. */
typedef struct pdl_item_query {
    pdl_str text; /* a part of what the item shows, in any case */
    pdl_str kind; /* a maker or a shape */
    pdl_str model; /* a part of the name of its model */
    bool failed;
    bool slow;   /* among the slowest tenth of the calls */
    bool costly; /* among the tenth of the calls with most tokens */
} pdl_item_query;

/* Appends {"items": [[id, parent, ...]], "total"}: at most n items in the order of the document,
 * each with the items around it, innermost first. */
void pdl_item_find(const pdl_reading *r, const pdl_item_query *q, uint32_t n, pdl_buf *out);

#endif
