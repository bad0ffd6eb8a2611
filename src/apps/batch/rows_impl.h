/* rows_impl.h -- the interface that the reader of each format provides. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_ROWS_IMPL_H
#define PDL_BATCH_ROWS_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "batch/bytes.h"
#include "batch/rows.h"

/* The functions of a reader. Each gets the reader of its format, whose first member is the
 * pdl_rowset. */
typedef struct rows_ops {
    /* Fills number, line, columns and problem of an empty row. */
    pdl_rows_step (*next)(pdl_rowset *r, bool wait, pdl_row *out, pdl_err *err);
    void (*close)(pdl_rowset *r);
    void (*progress)(const pdl_rowset *r, uint64_t *done, uint64_t *all);
    bool (*unchanged)(const pdl_rowset *r, pdl_err *err);
} rows_ops;

struct pdl_rowset {
    const rows_ops *ops;
    char *name;            /* owned; for messages */
    PDL_VEC(char *) names; /* names of the columns; owned */
    PDL_VEC(pdl_str) columns;
    pdl_map seen; /* set of the names of the columns */
    bool fixed;   /* all rows have these columns */
    /* For Parquet, the type of each column as DuckDB names it, so that a Parquet output gets the
     * same types; owned. Empty for other formats. */
    PDL_VEC(char *) types;
    /* Notes for the user about types: how values are read, and which other types a Parquet output
     * has. Owned; NULL when there is nothing to note. */
    char *read_note, *kept_note;
};

/* Adds a column. Error: usage, when it has no name or another column has the same name. */
PDL_MUST bool pdl_batch_rows_add_column(pdl_rowset *r, pdl_str name, pdl_err *err);
/* Returns the value of a cell. With types, an empty cell is null, and a cell that looks like a
 * number or a boolean is one. All other cells are texts. */
pdl_val pdl_batch_cell(pdl_str text, bool types);

/* The maximum length of a row in bytes. A few rows are in memory at a time. */
enum { BATCH_MAX_ROW = 64 << 20 };
/* Finds the end of a record in the available bytes. Returns the length of the record with its line
 * break; 0 when it is incomplete. */
typedef size_t bytes_end_fn(void *user, pdl_str rest, bool last);
/* Reads the next record, which lives until the next call. When a record is longer than
 * BATCH_MAX_ROW, its beginning is left out, and b->too_long is set; the caller resets it. */
PDL_MUST pdl_rows_step pdl_batch_record(bytes *b, bytes_end_fn *end, void *user, bool wait,
                                        pdl_str *out, pdl_err *err);
/* Sets the problem of a row. */
PDL_PRINTF(2, 3) void pdl_batch_row_broken(pdl_row *row, const char *fmt, ...);

PDL_MUST bool pdl_batch_jsonl_open(const pdl_table *t, pdl_rowset **out, pdl_err *err);
PDL_MUST bool pdl_batch_csv_open(const pdl_table *t, bool types, pdl_rowset **out, pdl_err *err);
PDL_MUST bool pdl_batch_parquet_open(const pdl_table *t, pdl_rowset **out, pdl_err *err);
PDL_MUST bool pdl_batch_sqlite_open(const pdl_table *t, pdl_rowset **out, pdl_err *err);

#endif
