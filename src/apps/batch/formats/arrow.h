/* arrow.h -- adds fields to the Arrow schema that a Parquet file carries. Private to batch.
 *
 * Parquet has fewer types than Arrow, so Arrow's libraries (pandas, polars, Spark's pandas
 * functions) store another schema beside the data: that a column is a dictionary, a duration, a
 * time of a named zone. DuckDB neither keeps nor makes it, and without it these columns would come
 * back as texts, numbers and times in UTC. The schema is a message of Arrow's IPC format, which is
 * a FlatBuffer. Its old part is copied unchanged, and only the references to it are made again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_ARROW_H
#define PDL_BATCH_ARROW_H

#include "base/buf.h"

/* A field that is added to the schema: its name, and its type in DuckDB's words. */
typedef struct arrow_field {
    pdl_str name, type;
} arrow_field;

/* Appends the message with `more` fields after the existing ones. names: the existing fields, which
 * it must have in this order. Returns false, with a part of the message in out, for one that is
 * damaged, has other fields, or has an unknown type. */
PDL_MUST bool pdl_batch_arrow_extend(pdl_str message, const pdl_str *names, size_t n_names,
                                     const arrow_field *more, size_t n_more, pdl_buf *out);

#endif
