/* sort.h -- sorting that can be cancelled.
 *
 * qsort of ten million keys takes seconds in which no signal is noticed. Here runs of a few
 * thousand items are sorted by qsort and merged with a check for each run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_SORT_H
#define PDL_BASE_SORT_H

#include "base/cancel.h"

/* Sorts n items of size bytes. cmp is a total order without equal items, so callers that want a
 * stable order compare positions last. Returns false when the work of this thread is cancelled; the
 * array then has all its items in an arbitrary order. */
PDL_MUST bool pdl_sort(void *items, size_t n, size_t size, int (*cmp)(const void *, const void *),
                       pdl_err *err);

#endif
