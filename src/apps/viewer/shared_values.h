/* shared_values.h -- private to viewer: JSON in which no long value is written twice.
 *
 * The boxes of a run repeat each other: a result is the argument of the next call, and a part of
 * the result of the box around it. In a page of one file such values are written once, in a list.
 * In the place of a value is an object {"@": n} with its number in that list. Keys of other objects
 * that begin with "@" are written with one "@" more. page/data.js is the reader.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_SHARED_VALUES_H
#define PDL_VIEWER_SHARED_VALUES_H

#include "base/buf.h"

typedef struct pdl_shared_values pdl_shared_values;

pdl_shared_values *pdl_shared_values_new(void);
void pdl_shared_values_free(pdl_shared_values *s); /* s may be NULL */
/* Appends a JSON text, whose long parts become values of the list. json: a valid JSON text. */
void pdl_shared_values_put(pdl_shared_values *s, pdl_str json, pdl_buf *out);
/* Appends the list. A value refers only to values before it. */
void pdl_shared_values_list(const pdl_shared_values *s, pdl_buf *out);

#endif
