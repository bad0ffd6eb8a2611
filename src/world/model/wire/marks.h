/* marks.h -- puts marks into a request, at the ends of beginnings that later requests share, for
 * prompt caches that need marks. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_MARKS_H
#define PDL_MODEL_MARKS_H

#include "model/wire/dialect.h"

/* Marks the ends of beginnings in a request. Together with the marks of the program there are at
 * most `most`, and only in places where the model takes marks. own: the program itself asks for
 * marks in this call. Takes body and returns it. */
pdl_val pdl_marks_put(const pdl_mark_form *f, unsigned most, pdl_str model, bool own,
                      pdl_val body);

/* Removes all marks. Takes body and returns it. */
pdl_val pdl_marks_remove(const pdl_mark_form *f, pdl_val body);

#endif
