/* item_origins.h -- private to viewer: where a piece came from, in words and as numbers of items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_ITEM_ORIGINS_H
#define PDL_VIEWER_ITEM_ORIGINS_H

#include "viewer/reading/reading.h"

/* Appends the members "parts": [{"text", "kind", "call", "from"}], the piece cut where its makers
 * change, and "from": the items that it came from. Appends nothing without any. */
void pdl_put_origins(const pdl_reading *r, uint32_t i, pdl_buf *out);
/* Appends {"from": [id], "into": [id], "calls": [number], "text", "values": [{"name", "text"}]} of
 * an item. text: "answer of call 6, in turn 2 of out". into: the pieces that it went into. */
void pdl_item_origin(const pdl_reading *r, uint32_t i, pdl_buf *out);

#endif
