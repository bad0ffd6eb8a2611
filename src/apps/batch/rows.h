/* rows.h -- rows of a table, one after the other: JSONL, CSV and what else has columns.
 *
 * A batch has more rows than memory, so a reader holds one row and a buffer, whatever the size of
 * the table. A row that cannot be read is a row with a problem, never the end of the batch: the
 * reader continues with the next one. What is wrong with the table as a whole (no header, no such
 * table) is an error before the first row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_ROWS_H
#define PDL_BATCH_ROWS_H

#include "base/buf.h"
#include "value/val.h"

/*   X(id, name, doc)   The forms of tables. */
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

/* A table as the user names it. Borrows the name. */
typedef struct pdl_table {
    pdl_str name; /* all of it, for messages */
    pdl_table_form form;
    pdl_str path;   /* the file; empty: the standard stream */
    pdl_str table;  /* SQLite: name of the table, or a query */
    bool standard;  /* - */
    bool stream;    /* that, a device or a pipe: it cannot be read twice, or continued */
    bool is_open;   /* /dev/stdout, /dev/fd/3: fd is open already, perhaps a file's */
    int fd;         /* of these */
    char separator; /* of the cells of CSV */
} pdl_table;

/* form: one of the names above; empty: the suffix of the name decides. Error: usage. */
PDL_MUST bool pdl_table_of(pdl_str name, pdl_str form, pdl_table *out, pdl_err *err);
/* Is it -, or another name of a standard stream? */
bool pdl_table_is_standard(const pdl_table *t);
/* The name of an input for messages. */
pdl_str pdl_table_shown(const pdl_table *t);
/* Sets the error of an option that reads the table twice, which is a stream. Returns false. */
bool pdl_table_refuse_twice(const pdl_table *t, const char *option, pdl_err *err);
const char *pdl_table_form_name(pdl_table_form f);
/* Have all rows of this form the same columns? */
bool pdl_table_has_header(pdl_table_form f);
/* Is the table of a SQLite file a query? */
bool pdl_table_is_query(const pdl_table *t);

typedef struct pdl_row {
    uint64_t number; /* of the data row, from 1 */
    uint64_t line;   /* in the file, from 1; 0: the form has no lines */
    pdl_val columns; /* dict, owned; of a broken row what could be read */
    char *problem;   /* owned; NULL: the row is whole */
} pdl_row;
void pdl_row_fini(pdl_row *r); /* may be called twice */

typedef struct pdl_rowset pdl_rowset;

/* types: cells of a form without types are read as numbers, booleans and null. Errors: io, usage
 * (a header that cannot be used). */
PDL_MUST bool pdl_rows_open(const pdl_table *t, bool types, pdl_rowset **out, pdl_err *err);
void pdl_rows_close(pdl_rowset *r); /* NULL is fine */

/* The columns, where all rows have the same ones; NULL: each row has its own. Borrowed. */
const pdl_str *pdl_rows_columns(const pdl_rowset *r, size_t *n);

/* The name of the type of column i; NULL where the form has none that an output could use. */
const char *pdl_rows_type(const pdl_rowset *r, size_t i);
/* Appends what the user should know: types of the table that values do not keep as they are read,
 * or in an output of this form. Returns false where there is nothing. */
bool pdl_rows_put_note(const pdl_rowset *r, pdl_table_form output, pdl_buf *out);

typedef enum { PDL_ROWS_ROW, PDL_ROWS_END, PDL_ROWS_LATER, PDL_ROWS_FAIL } pdl_rows_step;
/* The next row. wait: also where the other end of a pipe has not written it yet; otherwise that is
 * LATER. Error: io. */
PDL_MUST pdl_rows_step pdl_rows_next(pdl_rowset *r, bool wait, pdl_row *out, pdl_err *err);
/* Calls fn with each row of a table, with the first `limit` ones where that is not 0, until it
 * returns false. Returns false then, and when reading fails. */
PDL_MUST bool pdl_rows_each(const pdl_table *t, bool types, uint64_t limit,
                            bool (*fn)(void *user, const pdl_rowset *r, const pdl_row *row,
                                       pdl_err *err),
                            void *user, pdl_err *err);
/* Bytes read so far and bytes in all; *all is 0 where that is not known. */
void pdl_rows_progress(const pdl_rowset *r, uint64_t *done, uint64_t *all);
/* After the end: is the file as it was when it was opened? Error: io. */
PDL_MUST bool pdl_rows_unchanged(const pdl_rowset *r, pdl_err *err);

/* Where a row is: "rows.csv:4", "people.db:names, row 3". */
void pdl_rows_put_place(const pdl_rowset *r, const pdl_row *row, pdl_buf *out);

/* Where the links at path lead in the end, also when nothing is there yet. Owned. */
char *pdl_batch_output_target(pdl_str path);
/* The journal of an output: beside the file, so it is the same one for all links to it; beside the
 * link where it leads to a device. Owned. */
char *pdl_batch_output_journal(const pdl_table *output);

#endif
