/* output_impl.h -- the interface that the writer of each format provides. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_OUTPUT_IMPL_H
#define PDL_BATCH_OUTPUT_IMPL_H

#include "base/vec.h"
#include "batch/output.h"

/* The functions of a writer. Each gets the writer of its format, whose first member is
 * the output. */
typedef struct output_ops {
    bool (*put)(pdl_batch_output *s, pdl_str json, pdl_err *err);
    bool (*flush)(pdl_batch_output *s, bool sync, pdl_err *err);
    void (*close)(pdl_batch_output *s);
} output_ops;

struct pdl_batch_output {
    const output_ops *ops;
    pdl_table table;
    char *path;              /* owned; for messages */
    PDL_VEC(char *) columns; /* owned */
    /* The names that the columns of a Parquet file have until it is made, because DuckDB does not
     * distinguish names that differ only in case. Empty when there are no such names. Owned. */
    PDL_VEC(char *) inside;
    PDL_VEC(char *) types; /* types of the first columns, as DuckDB names them; owned */
    /* the Parquet file from which the columns come; empty when the input has another format */
    pdl_str source;
    /* identity of the file that is written; inode is 0 when the output is not a named file */
    uint64_t device, inode;
    /* the part of the output that is certain: bytes of a file, or rows of a table */
    uint64_t size;
};

/* Returns true when the column of this number is the result. */
static inline bool pdl_batch_output_is_result(const pdl_batch_output *s, size_t i) {
    return i + BATCH_OWN_COLUMNS - BATCH_RESULT == s->columns.n;
}

/* These functions append a line of a CSV file to out. pdl_batch_csv_header appends the names of the
 * columns, and pdl_batch_csv_row appends a row, which is given as a JSON object. */
void pdl_batch_csv_header(const pdl_batch_output *s, pdl_buf *out);
PDL_MUST bool pdl_batch_csv_row(const pdl_batch_output *s, pdl_str json, pdl_buf *out,
                                pdl_err *err);

PDL_MUST bool pdl_batch_output_file_begin(pdl_batch_output *s, uint64_t keep, pdl_err *err);
pdl_batch_output *pdl_batch_output_file_new(void);
pdl_batch_output *pdl_batch_output_sqlite_new(void);
PDL_MUST bool pdl_batch_output_sqlite_begin(pdl_batch_output *s, uint64_t keep, pdl_err *err);
/* Returns the name that a column has in OUT.rows and in DuckDB. */
static inline const char *pdl_batch_output_inside(const pdl_batch_output *s, size_t i) {
    return s->inside.n ? s->inside.p[i] : s->columns.p[i];
}

/* Returns the path of OUT.rows, in which the rows of a Parquet file are gathered; owned. */
char *pdl_batch_parquet_rows(const pdl_table *t);
/* Makes the Parquet file from the gathered rows, unless it exists and no row was added. */
PDL_MUST bool pdl_batch_parquet_finish(const pdl_batch_output *s, bool changed, pdl_err *err);
/* Stores the largest row number of an existing table, which is the number of rows that batches
 * wrote into it. Returns false when there is no such table. */
bool pdl_batch_output_sqlite_size(const pdl_table *t, uint64_t *size);

#endif
