/* page_data.h -- private to viewer: answers the page's questions about a run; see pdl_view_ask.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PAGE_DATA_H
#define PDL_VIEWER_PAGE_DATA_H

#include "base/buf.h"

/* Reads numbers that are separated by slashes. Returns how many numbers the path has; 0 when the
 * path has another form. */
size_t pdl_page_numbers(pdl_str path, uint32_t *out, size_t most);

#endif
