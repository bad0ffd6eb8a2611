/* item_search.h -- private to viewer: finds items of a document.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_ITEM_SEARCH_H
#define PDL_VIEWER_ITEM_SEARCH_H

#include "viewer/reading/reading.h"

/* A description of the items that are searched. An empty member fits every item. */
typedef struct pdl_item_query {
    pdl_str text;  /* a part of the text that the item shows; the case of letters does not matter */
    pdl_str kind;  /* the name of a maker or a shape */
    pdl_str model; /* a part of the name of the item's model */
    bool failed;
    bool slow;   /* the item is one of the slowest tenth of the calls */
    bool costly; /* the item is one of the tenth of the calls that used most tokens */
} pdl_item_query;

/* Appends {"items": [[id, parent, ...]], "total"}: at most n items in the order of the document,
 * each with the items around it, innermost first. */
void pdl_item_find(const pdl_reading *r, const pdl_item_query *q, uint32_t n, pdl_buf *out);

#endif
