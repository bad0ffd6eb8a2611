/* cache_marks.h -- for prompt caches that need marks: puts marks into a request, at the ends of
 * beginnings that later requests share. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_CACHE_MARKS_H
#define PDL_MODEL_CACHE_MARKS_H

#include "model/wire/dialect.h"

/* Marks the ends of beginnings that later requests share. The request then has at most `most`
 * marks, including the marks of the program. Marks are added only in places where the model takes
 * marks. own: the program itself asks for marks in this call. Takes body and returns it. */
pdl_val pdl_marks_put(const pdl_mark_form *f, unsigned most, pdl_str model, bool own, pdl_val body);

/* Returns true when a request has marks. *is_long: one of them is kept longer than usual. */
bool pdl_marks_are_in(const pdl_mark_form *f, pdl_vref body, bool *is_long);
/* part is a message, or the member of a request that has the tools or the system prompt. Returns
 * true when the last block of part is marked. */
bool pdl_marks_end(const pdl_mark_form *f, pdl_vref part);

/* Removes all marks. Takes body and returns it. */
pdl_val pdl_marks_remove(const pdl_mark_form *f, pdl_val body);

#endif
