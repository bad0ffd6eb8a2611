/* page_data.h -- private to viewer: what the page asks of a run, see pdl_view_ask.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PAGE_DATA_H
#define PDL_VIEWER_PAGE_DATA_H

#include "base/buf.h"

/* Reads the numbers of a path, with slashes between them. Returns how many there are; 0 when the
 * path has another form. */
size_t pdl_page_numbers(pdl_str path, uint32_t *out, size_t most);

#endif
