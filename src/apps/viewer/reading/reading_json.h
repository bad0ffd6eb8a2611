/* reading_json.h -- private to viewer: a document as the JSON that the page reads.
 *
 * The page requests items when it shows them, some at a time, so that a document of a hundred
 * thousand items opens at once. Lists are {"items", "total"}. page/document.js is the reader.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_READING_JSON_H
#define PDL_VIEWER_READING_JSON_H

#include "viewer/reading/reading.h"

/* maximum number of bytes of a text; a longer text is cut, and marked as cut */
enum { PDL_ITEM_TEXT_BYTES = 4096 };

/* Appends "title", "ended" and "facts" as members of an object, without braces; also "many" when
 * the document is about many runs. */
void pdl_reading_json_head(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out);
/* Appends at most n items that are inside of no other item, beginning with index `from` among
 * these. */
void pdl_reading_json_items(const pdl_reading *r, const pdl_view_source *s, uint32_t from,
                            uint32_t n, pdl_buf *out);
/* Appends the items directly inside of item i, in the same form. */
void pdl_reading_json_inside(const pdl_reading *r, const pdl_view_source *s, uint32_t i,
                             uint32_t from, uint32_t n, pdl_buf *out);
/* Appends the document of a run in progress: {"items", "from", "skipped", "late", "now", totals,
 * head}. "items" has the newest items, at most `most`, with the items inside of them. "from" is the
 * number of the first of them, and "skipped" says how many items before it are left out. "late" is
 * true when events have happened that the view of the run does not show. "now" is in microseconds
 * since the run began. */
void pdl_reading_json_newest(const pdl_reading *r, const pdl_view_source *s, uint32_t most,
                             bool late, pdl_buf *out);
/* Appends all items as a list. */
void pdl_reading_json_all(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out);
/* Appends a model call with its messages. number: from 1 to r->n_calls. is_short: the messages that
 * an earlier call had too are left out; "same_call" and "same" say which. */
void pdl_reading_json_call(const pdl_reading *r, const pdl_view_source *s, uint32_t number,
                           bool is_short, pdl_buf *out);

#endif
