/* arrow.h -- adds fields to the Arrow schema that a Parquet file carries. Private to batch.
 *
 * Parquet has fewer types than Arrow, so Arrow's libraries (pandas, polars, Spark's pandas
 * functions) store another schema beside the data. This schema says which columns are dictionaries,
 * durations, or times in a named zone. DuckDB neither keeps nor makes this schema, and without it
 * these columns would be read back as texts, numbers and times in UTC. The schema is a message of
 * Arrow's IPC format, which is a FlatBuffer. The old message is copied unchanged; only the
 * references to its parts are replaced.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_ARROW_H
#define PDL_BATCH_ARROW_H

#include "base/buf.h"

/* A field that is added to the schema: its name, and its type as DuckDB names it. */
typedef struct arrow_field {
    pdl_str name, type;
} arrow_field;

/* Appends the message with `more` fields after the existing ones. names has the existing fields,
 * which the message must have in this order. Returns false when the message is damaged, has other
 * fields or has an unknown type; a part of the result is then in out. */
PDL_MUST bool pdl_batch_arrow_extend(pdl_str message, const pdl_str *names, size_t n_names,
                                     const arrow_field *more, size_t n_more, pdl_buf *out);

#endif
