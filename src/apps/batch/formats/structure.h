/* structure.h -- which type the values of a column have in common. Private to batch.
 *
 * A Parquet file needs the types of its columns before its first row. DuckDB finds them too, but
 * keeps all of the text while it does, so that a table of some hundred thousand rows did not fit
 * its memory, and takes whole numbers of more than 64 bits for floats. Here each row is read once,
 * and what is kept grows with the different keys of objects alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_STRUCTURE_H
#define PDL_BATCH_STRUCTURE_H

#include "base/buf.h"
#include "base/err.h"

typedef struct batch_structure structure;

/* Of the columns of a file of JSONL; names are borrowed. Error: io (a row cannot be read). */
PDL_MUST bool pdl_batch_structure_find(const char *rows, const pdl_str *columns, size_t n,
                                       structure **out, pdl_err *err);
void pdl_batch_structure_free(structure *s); /* NULL is fine */
/* The type of a column as DuckDB writes it: VARCHAR where it has no values, JSON where they have no
 * type in common. */
void pdl_batch_structure_put(const structure *s, size_t column, pdl_buf *out);

#endif
