/* output.h -- a table that is written row by row and grows by whole rows. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_OUTPUT_H
#define PDL_BATCH_OUTPUT_H

#include "batch/rows.h"

typedef struct pdl_batch_output pdl_batch_output;

/* Checks that the table can be written at this place, with the libraries of this machine. Error:
 * usage. */
PDL_MUST bool pdl_batch_output_check(const pdl_table *t, pdl_err *err);
/* Checks that a table of this form can have the columns. Error: usage. */
PDL_MUST bool pdl_batch_output_check_columns(const pdl_table *t, const pdl_str *columns, size_t n,
                                             pdl_err *err);
/* Begins a new table, or continues one after its first `keep` bytes (SQLite: rows). columns: the
 * columns of all rows, in their order; formats without a header ignore them. Error: io. */
PDL_MUST bool pdl_batch_output_open(const pdl_table *t, const pdl_str *columns, size_t n,
                                    uint64_t keep, pdl_batch_output **out, pdl_err *err);
/* Sets the type of the next column of the input, for formats that have types. Called for each
 * column, in their order. */
void pdl_batch_output_type(pdl_batch_output *s, const char *type);
/* Sets the Parquet file from which the columns come; its name is borrowed. */
void pdl_batch_output_source(pdl_batch_output *s, const pdl_table *input);
/* Adds a row, which is given as a JSON object. Returns false when the row cannot be written. */
PDL_MUST bool pdl_batch_output_put(pdl_batch_output *s, pdl_str json, pdl_err *err);
/* Writes all added rows to the file. With sync, also waits until the disk has them. *size gets the
 * bytes of the file, or the rows of the table. */
PDL_MUST bool pdl_batch_output_flush(pdl_batch_output *s, bool sync, uint64_t *size, pdl_err *err);
/* Completes the table. Files of some formats appear only then. changed is set when this process has
 * finished rows. Error: io. */
PDL_MUST bool pdl_batch_output_finish(pdl_batch_output *s, bool changed, pdl_err *err);
/* drops rows that were not flushed; s may be NULL */
void pdl_batch_output_close(pdl_batch_output *s);

/* Stores the size of an existing table. Returns false when there is no such table. */
bool pdl_batch_output_size(const pdl_table *t, uint64_t *size);

/* The columns that an output has in every row, after the columns of the input. */
enum { BATCH_RESULT, BATCH_ERROR, BATCH_PLACE, BATCH_OWN_COLUMNS };
const char *pdl_batch_own_column(size_t i);

#endif
