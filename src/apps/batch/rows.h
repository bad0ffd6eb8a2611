/* rows.h -- reads the rows of a table one after the other: JSONL, CSV and other formats with
 * columns.
 *
 * A batch has more rows than memory, so a reader holds one row and a buffer for a table of any
 * size. A row that cannot be read becomes a row with a problem, and never ends the batch: the
 * reader continues with the next row. A problem of the table as a whole, such as a missing header,
 * is an error before the first row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_ROWS_H
#define PDL_BATCH_ROWS_H

#include "base/buf.h"
#include "value/val.h"

/* Messages end with these words when a value is not finite, so that JSON cannot hold it. */
#define PDL_ROWS_NOT_JSON "expected a value that JSON has, found NaN or an infinite number"

/* X(id, name, doc)   The formats of tables. */
#define PDL_TABLE_FORMS(X)                                                                         \
    X(jsonl, "jsonl", "one JSON object a line")                                                    \
    X(csv, "csv", "comma-separated, the first row names the columns")                              \
    X(sqlite, "sqlite", "a table of a SQLite file, or what a query gives")                         \
    X(parquet, "parquet", "a Parquet file, through DuckDB")

typedef enum {
#define X(id, name, doc) PDL_TABLE_##id,
    PDL_TABLE_FORMS(X)
#undef X
        PDL_TABLE_COUNT
} pdl_table_form;

/* A table, as the user named it. Borrows the name. */
typedef struct pdl_table {
    pdl_str name; /* the whole name, for messages */
    pdl_table_form form;
    pdl_str path;  /* the file; empty for the standard stream */
    pdl_str table; /* for SQLite: name of the table, or a query */
    bool standard; /* the name is "-" */
    /* the name is "-", a device or a pipe, which can be read only once */
    bool stream;
    /* the name means an open descriptor (/dev/stdout, /dev/fd/3), which may belong to a file */
    bool is_open;
    int fd;         /* the descriptor, when is_open is set */
    char separator; /* separator of CSV cells */
} pdl_table;

/* Reads the name of a table. form is a format; when it is empty, the suffix of the name decides.
 * Error: usage. */
PDL_MUST bool pdl_table_of(pdl_str name, pdl_str form, pdl_table *out, pdl_err *err);
/* Returns true for "-" and for other names of standard input and standard output. */
bool pdl_table_is_standard(const pdl_table *t);
/* Returns the name of an input for messages. */
pdl_str pdl_table_shown(const pdl_table *t);
/* Sets the error for an option that would read a stream twice. Always returns false. */
bool pdl_table_refuse_twice(const pdl_table *t, const char *option, pdl_err *err);
const char *pdl_table_form_name(pdl_table_form f);
/* Returns true when all rows of this format have the same columns. */
bool pdl_table_has_header(pdl_table_form f);
/* Returns true when the table of a SQLite file is a query. */
bool pdl_table_is_query(const pdl_table *t);

typedef struct pdl_row {
    uint64_t number; /* number of the data row, from 1 */
    uint64_t line;   /* line in the file, from 1; 0 when the format has no lines */
    pdl_val columns; /* dict, owned; a broken row has the columns that could be read */
    char *problem;   /* owned; NULL when the row could be read completely */
} pdl_row;
void pdl_row_fini(pdl_row *r); /* may be called twice */

typedef struct pdl_rowset pdl_rowset;

/* Opens a table. types is set when cells of a format without types are read as numbers, booleans
 * and null. Errors: io; usage, when the header cannot be used. */
PDL_MUST bool pdl_rows_open(const pdl_table *t, bool types, pdl_rowset **out, pdl_err *err);
void pdl_rows_close(pdl_rowset *r); /* r may be NULL */

/* Returns the columns when all rows have the same ones; NULL when each row has its own columns.
 * Borrowed. */
const pdl_str *pdl_rows_columns(const pdl_rowset *r, size_t *n);

/* Returns the type of column i; NULL when the input has no types that an output could use. */
const char *pdl_rows_type(const pdl_rowset *r, size_t i);
/* Appends a note for the user about types of the table that are lost when values are read, or in an
 * output of the format `output`. Returns false when there is nothing to note. */
bool pdl_rows_put_note(const pdl_rowset *r, pdl_table_form output, pdl_buf *out);

typedef enum { PDL_ROWS_ROW, PDL_ROWS_END, PDL_ROWS_LATER, PDL_ROWS_FAIL } pdl_rows_step;
/* Reads the next row. With wait, the call waits until the other end of a pipe has written a row.
 * Without wait, the result may be LATER. Error: io. */
PDL_MUST pdl_rows_step pdl_rows_next(pdl_rowset *r, bool wait, pdl_row *out, pdl_err *err);
/* Calls fn with each row of a table, until fn returns false. limit is the maximum number of rows; 0
 * means all. Returns false when fn returned false, or when the table cannot be read. */
PDL_MUST bool pdl_rows_each(const pdl_table *t, bool types, uint64_t limit,
                            bool (*fn)(void *user, const pdl_rowset *r, const pdl_row *row,
                                       pdl_err *err),
                            void *user, pdl_err *err);
/* Stores how many bytes were read, and the size of the table (SQLite, Parquet: the numbers of
 * rows). *all is 0 when the size is unknown. */
void pdl_rows_progress(const pdl_rowset *r, uint64_t *done, uint64_t *all);
/* Checks after the end that the file has not changed since it was opened. Error: io. */
PDL_MUST bool pdl_rows_unchanged(const pdl_rowset *r, pdl_err *err);

/* Appends the place of a row, such as "rows.csv:4" or "people.db:names, row 3". */
void pdl_rows_put_place(const pdl_rowset *r, const pdl_row *row, pdl_buf *out);

/* Returns the final target of the links at path, even when it does not exist yet. Owned. */
char *pdl_batch_output_target(pdl_str path);
/* Returns the journal of an output, owned. The journal is beside the file, so that all links to the
 * file share it. When the target of a link is a device, the journal is beside the link. */
char *pdl_batch_output_journal(const pdl_table *output);

#endif
