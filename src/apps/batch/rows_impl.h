/* rows_impl.h -- what a reader of a form provides. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_ROWS_IMPL_H
#define PDL_BATCH_ROWS_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "batch/bytes.h"
#include "batch/rows.h"

/* Everything is called with the reader of the form, whose first member is the pdl_rowset. */
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
    PDL_VEC(char *) names; /* owned */
    PDL_VEC(pdl_str) columns;
    pdl_map seen; /* their names */
    bool fixed;   /* all rows have these columns */
    /* Parquet: what DuckDB calls the type of each column, so that an output in Parquet has the same
     * ones; owned. Else empty. */
    PDL_VEC(char *) types;
    /* What the user should know of the types: how values are read; what a Parquet output has in
     * their place. Owned; NULL: nothing. */
    char *read_note, *kept_note;
};

/* Adds a column. Errors: usage, when it has no name or there is one of this name already. */
PDL_MUST bool pdl_batch_rows_add_column(pdl_rowset *r, pdl_str name, pdl_err *err);
/* A cell as a number, a boolean or null, where its text is one. */
pdl_val pdl_batch_cell(pdl_str text, bool types);

/* The longest row, in bytes: some of them are in memory at a time. */
enum { BATCH_MAX_ROW = 64 << 20 };
/* Hands out the record without its line break that `end` finds in what is there; *out lives until
 * the next call. end: bytes of the record with its line break; 0: it is not complete. A record that
 * is longer than BATCH_MAX_ROW is left out and *long_one is set. */
typedef size_t bytes_end_fn(void *user, pdl_str rest, bool last);
PDL_MUST pdl_rows_step pdl_batch_record(bytes *b, bytes_end_fn *end, void *user, bool wait,
                                        pdl_str *out, bool *long_one, pdl_err *err);
/* Sets a problem of a row. */
PDL_PRINTF(2, 3) void pdl_batch_row_broken(pdl_row *row, const char *fmt, ...);

PDL_MUST bool pdl_batch_jsonl_open(const pdl_table *t, pdl_rowset **out, pdl_err *err);
PDL_MUST bool pdl_batch_csv_open(const pdl_table *t, bool types, pdl_rowset **out, pdl_err *err);
PDL_MUST bool pdl_batch_parquet_open(const pdl_table *t, pdl_rowset **out, pdl_err *err);
PDL_MUST bool pdl_batch_sqlite_open(const pdl_table *t, pdl_rowset **out, pdl_err *err);

#endif
