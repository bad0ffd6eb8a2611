/* reading_json.h -- private to viewer: a document as the JSON that the page reads.
 *
 * The page asks for items when it shows them, a range at a time, so that a document of a hundred
 * thousand items opens at once. Lists are {"items", "total"}. page/document.js is the reader.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_READING_JSON_H
#define PDL_VIEWER_READING_JSON_H

#include "viewer/reading/reading.h"

enum { PDL_ITEM_TEXT_BYTES = 4096 /* a longer text is cut, and marked */ };

/* Appends members of an object, without braces: "title", "ended", "facts". */
void pdl_reading_json_head(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out);
/* Appends at most n items that are inside of no other, from the `from`th on. */
void pdl_reading_json_items(const pdl_reading *r, const pdl_view_source *s, uint32_t from,
                            uint32_t n, pdl_buf *out);
/* Appends items directly inside of item i, in the same form. */
void pdl_reading_json_inside(const pdl_reading *r, const pdl_view_source *s, uint32_t i,
                             uint32_t from, uint32_t n, pdl_buf *out);
/* Appends the document of a run in progress: {"items", "from", "skipped", "late", "now", totals,
 * head}. items are at most `most`, with those inside of them: the newest ones, the first of which
 * has the number `from`; `skipped` are left out before them. late: more has happened since. now:
 * microseconds since the run began. */
void pdl_reading_json_newest(const pdl_reading *r, const pdl_view_source *s, uint32_t most,
                             bool late, pdl_buf *out);
/* Appends all items as a list. */
void pdl_reading_json_all(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out);
/* Appends a model call with its messages. number: from 1 to r->n_calls. */
void pdl_reading_json_call(const pdl_reading *r, const pdl_view_source *s, uint32_t number,
                           pdl_buf *out);

#endif
