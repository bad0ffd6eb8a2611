/* plan.h -- which column is which variable, checked against the program before the first row.
 * Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_PLAN_H
#define PDL_BATCH_PLAN_H

#include "base/map.h"
#include "batch/batch.h"

/* Errors, usage: the program needs a variable that no column gives, sets one itself that a column
 * would give, reads standard input, writes files; a column has a name of the output's own. Notes
 * columns that are not used. */
PDL_MUST bool pdl_batch_plan_check(const pdl_batch_options *o, const pdl_str *columns, size_t n,
                                   pdl_err *err);
/* Errors, usage: what the program does with the values of a column fails for all values that these
 * rows have there; a program that asks models fails in every row. */
PDL_MUST bool pdl_batch_plan_types(const pdl_batch_options *o, const pdl_str *columns, size_t n,
                                   const pdl_row *rows, size_t n_rows, pdl_err *err);
/* Does it have a block that asks a model? */
bool pdl_batch_plan_asks(const pdl_program *p);
/* The variable that a column is. */
pdl_str pdl_batch_plan_variable(const pdl_batch_options *o, pdl_str column);
/* Has the output a column of this name itself? */
bool pdl_batch_plan_is_own(pdl_str column);

/* Hashes of the files that the program includes and imports, and that those do. */
void pdl_batch_plan_put_files(const pdl_batch_options *o, pdl_buf *out);

#endif
