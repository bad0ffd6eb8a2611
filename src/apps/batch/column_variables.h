/* column_variables.h -- decides which column gives which variable, and checks before the first row
 * that the program can use these variables. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_COLUMN_VARIABLES_H
#define PDL_BATCH_COLUMN_VARIABLES_H

#include "base/map.h"
#include "batch/batch.h"

/* Checks the columns, and notes columns that are not used. Error: usage, when the program needs a
 * variable that no column gives, or sets a variable that a column gives. The error also comes when
 * the program reads standard input or writes files, or when a column has a name that the output
 * adds. */
PDL_MUST bool pdl_batch_plan_check(const pdl_batch_options *o, const pdl_str *columns, size_t n,
                                   pdl_err *err);
/* Checks the types. Error: usage, when an operation of the program fails for all values of a column
 * in these rows, or when a program that calls models fails in every row. */
PDL_MUST bool pdl_batch_plan_types(const pdl_batch_options *o, const pdl_str *columns, size_t n,
                                   const pdl_row *rows, size_t n_rows, pdl_err *err);
/* Returns true when the program has a block that calls a model. */
bool pdl_batch_plan_asks(const pdl_program *p);
/* Returns the variable that a column gives. */
pdl_str pdl_batch_plan_variable(const pdl_batch_options *o, pdl_str column);
/* Returns true when the output adds a column of this name. */
bool pdl_batch_plan_is_own(pdl_str column);

/* Appends hashes of the files that the program includes and imports, directly or indirectly. */
void pdl_batch_plan_put_files(const pdl_batch_options *o, pdl_buf *out);

#endif
