/* marks.h -- marks in a request where a beginning ends that later requests share. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_MARKS_H
#define PDL_MODEL_MARKS_H

#include "model/wire/dialect.h"

/* Marks the ends of beginnings in a request, so that it has at most `most` marks together with
 * those of the program, and none where the model takes none. own: the program itself asks for them
 * in this call. Takes body and returns it. */
pdl_val pdl_marks_put(const pdl_mark_form *f, unsigned most, pdl_str model, bool own,
                      pdl_val body);

/* Removes all marks. Takes body and returns it. */
pdl_val pdl_marks_remove(const pdl_mark_form *f, pdl_val body);

#endif
