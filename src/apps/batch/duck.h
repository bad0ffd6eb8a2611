/* duck.h -- DuckDB, opened when the first Parquet file is: the little of it that is used. Private
 * to batch; only duck.c knows the library.
 *
 * Why DuckDB: one library without dependencies reads and writes Parquet (and what it reads in
 * addition) with a C interface that is stable over versions, spills to the disk, and turns rows
 * into JSON itself. Arrow's C++ libraries are five, with an interface in C++ alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_DUCK_H
#define PDL_BATCH_DUCK_H

#include "base/buf.h"
#include "base/err.h"

typedef struct batch_duck duck;

/* A database in memory. Error: usage (there is no such library), io. */
/* Is the library there? Error: usage. */
PDL_MUST bool pdl_batch_duck_check(pdl_err *err);
PDL_MUST bool pdl_batch_duck_open(duck **out, pdl_err *err);
void pdl_batch_duck_close(duck *d); /* NULL is fine */

/* Statements without rows. Error: io, with its text. */
PDL_MUST bool pdl_batch_duck_run(duck *d, const char *sql, pdl_err *err);
/* Calls fn with the name of each column that a query has. */
PDL_MUST bool pdl_batch_duck_columns(duck *d, const char *sql, void (*fn)(void *user, pdl_str name),
                                     void *user, pdl_err *err);

/* Begins a query whose first column is text; one at a time. */
PDL_MUST bool pdl_batch_duck_begin(duck *d, const char *sql, pdl_err *err);
/* The next row; *there false: there is none. *text lives until the next call. */
PDL_MUST bool pdl_batch_duck_next(duck *d, pdl_str *text, bool *there, pdl_err *err);

/* A text as SQL writes it. */
void pdl_batch_duck_put_text(pdl_str s, pdl_buf *out);
/* The name of a file that is read, as SQL writes it: DuckDB takes it for a pattern. */
void pdl_batch_duck_put_path(pdl_str path, pdl_buf *out);
void pdl_batch_duck_put_name(pdl_str s, pdl_buf *out);

#endif
