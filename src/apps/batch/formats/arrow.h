/* arrow.h -- the schema of Arrow that a Parquet file carries, with more fields. Private to batch.
 *
 * Parquet has fewer types than Arrow, whose libraries (pandas, polars, Spark's pandas functions)
 * therefore put their own schema beside the data: that a column is a dictionary, a duration, a time
 * of a zone with a name. DuckDB neither keeps nor makes it, and without it these columns would come
 * back as texts, numbers and times in UTC. The schema is a message of Arrow's IPC format, which is
 * a FlatBuffer. Its old part is copied as it is, and only what refers to it is made again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_ARROW_H
#define PDL_BATCH_ARROW_H

#include "base/buf.h"

/* A field that the schema gets: its name, and its type as DuckDB writes it. */
typedef struct arrow_field {
    pdl_str name, type;
} arrow_field;

/* Appends the message with `more` fields after its own. names: of its own fields, which it must
 * have in this order. Returns false, with a part of it in out, for what is damaged, has other
 * fields, or a type that is not known here. */
PDL_MUST bool pdl_batch_arrow_extend(pdl_str message, const pdl_str *names, size_t n_names,
                                     const arrow_field *more, size_t n_more, pdl_buf *out);

#endif
