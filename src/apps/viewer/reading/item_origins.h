/* item_origins.h -- private to viewer: finds where a piece of text came from, in words and as
 * numbers of items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_ITEM_ORIGINS_H
#define PDL_VIEWER_ITEM_ORIGINS_H

#include "viewer/reading/reading.h"

/* Appends two members. "parts": [{"text", "kind", "call", "from"}] has the piece, divided where its
 * maker changes. "from" has the items from which the piece came. A member without content is left
 * out. */
void pdl_put_origins(const pdl_reading *r, uint32_t i, pdl_buf *out);
/* Appends an object about an item: {"from": [id], "into": [id], "calls": [number], "text",
 * "values": [{"name", "text"}]}. text: a description such as "answer of call 6, in turn 2 of out".
 * into: the pieces that used the item. */
void pdl_item_origin(const pdl_reading *r, uint32_t i, pdl_buf *out);

#endif
