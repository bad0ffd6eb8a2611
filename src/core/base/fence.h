/* fence.h -- Markdown fences, in which models put the data that they were asked for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_FENCE_H
#define PDL_BASE_FENCE_H

#include "base/str.h"

/* Finds the next fence from *at on. *body is the text between its lines, or up to the end of a text
 * in which the fence is open. *at moves past the fence. */
bool pdl_fence_next(pdl_str text, size_t *at, pdl_str *body);

/* Returns the text between the lines of a fence when nothing else is in the text. Returns any other
 * text unchanged. */
pdl_str pdl_fence_inside(pdl_str text);

#endif
