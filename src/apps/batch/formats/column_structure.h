/* column_structure.h -- finds the type that the values of a column have in common. Private to
 * batch.
 *
 * A Parquet file needs the types of its columns before its first row. DuckDB can find them, too.
 * But it then keeps all of the text, so that a table of some hundred thousand rows does not fit
 * into memory, and it reads integers of more than 64 bits as floats. This code reads each row once,
 * and its memory only grows with the number of different keys of objects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_COLUMN_STRUCTURE_H
#define PDL_BATCH_COLUMN_STRUCTURE_H

#include "base/buf.h"
#include "base/err.h"

typedef struct batch_structure structure;

/* Finds the types of the columns of a file of JSONL; names are borrowed. Error: io (a row cannot be
 * read). */
PDL_MUST bool pdl_batch_structure_find(const char *rows, const pdl_str *columns, size_t n,
                                       structure **out, pdl_err *err);
void pdl_batch_structure_free(structure *s); /* s may be NULL */
/* Appends the type of a column as DuckDB names it: VARCHAR when it has no values, JSON when its
 * values have no type in common. */
void pdl_batch_structure_put(const structure *s, size_t column, pdl_buf *out);

#endif
