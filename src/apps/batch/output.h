/* output.h -- a table that is written row by row and grows by whole rows. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_OUTPUT_H
#define PDL_BATCH_OUTPUT_H

#include "batch/rows.h"

typedef struct pdl_batch_output pdl_batch_output;

/* Can it be written on this machine, at this place? Error: usage. */
PDL_MUST bool pdl_batch_output_check(const pdl_table *t, pdl_err *err);
/* Begins a new table, or continues one after its first `keep` bytes (SQLite: rows). columns: of all
 * rows, in their order; forms without a header do not look at them. Errors: io. */
PDL_MUST bool pdl_batch_output_open(const pdl_table *t, const pdl_str *columns, size_t n,
                                    uint64_t keep, pdl_batch_output **out, pdl_err *err);
/* The type of the next column of the input, for forms with types; in the order of columns. */
void pdl_batch_output_type(pdl_batch_output *s, const char *type);
/* The Parquet file whose columns these are; its name is borrowed. */
void pdl_batch_output_source(pdl_batch_output *s, const pdl_table *input);
/* Adds a row, given as JSON of an object. Error: io, type (the object has other columns). */
PDL_MUST bool pdl_batch_output_put(pdl_batch_output *s, pdl_str json, pdl_err *err);
/* What was put is in the file; sync: on the disk, too. *size: bytes of the file, or
 * rows of the table. */
PDL_MUST bool pdl_batch_output_flush(pdl_batch_output *s, bool sync, uint64_t *size, pdl_err *err);
/* The table is complete: forms that appear at the end do. changed: rows were finished in this
 * process. Error: io. */
PDL_MUST bool pdl_batch_output_finish(pdl_batch_output *s, bool changed, pdl_err *err);
void pdl_batch_output_close(pdl_batch_output *s); /* drops what was not flushed; NULL is fine */

/* The size of a table that is there; false: there is none. */
bool pdl_batch_output_size(const pdl_table *t, uint64_t *size);

/* The columns that every row of an output has after its own. */
enum { BATCH_RESULT, BATCH_ERROR, BATCH_PLACE, BATCH_OWN_COLUMNS };
const char *pdl_batch_own_column(size_t i);

#endif
