/* duck.h -- the small part of DuckDB that Parquet files need. The library is loaded when the first
 * such file is opened. Private to batch; only duck.c knows the library.
 *
 * DuckDB is one library without dependencies. It reads and writes Parquet and other formats, has a
 * C interface that is stable over versions, spills to the disk, and turns rows into JSON itself.
 * Arrow would need five C++ libraries, whose only interface is C++.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_DUCK_H
#define PDL_BATCH_DUCK_H

#include "base/buf.h"
#include "base/err.h"

typedef struct batch_duck duck;

/* pdl_batch_duck_check checks that the library exists. Error: usage. pdl_batch_duck_open makes a
 * database in memory; its errors are usage and io. */
PDL_MUST bool pdl_batch_duck_check(pdl_err *err);
PDL_MUST bool pdl_batch_duck_open(duck **out, pdl_err *err);
void pdl_batch_duck_close(duck *d); /* d may be NULL */

/* Runs statements that return no rows. Error: io, with DuckDB's message. */
PDL_MUST bool pdl_batch_duck_run(duck *d, const char *sql, pdl_err *err);
/* Calls fn with the name of each column of a query. */
PDL_MUST bool pdl_batch_duck_columns(duck *d, const char *sql, void (*fn)(void *user, pdl_str name),
                                     void *user, pdl_err *err);

/* Begins a query whose first column is text. Only one query can be read at a time. */
PDL_MUST bool pdl_batch_duck_begin(duck *d, const char *sql, pdl_err *err);
/* Reads the next row. *there is false when there are no more rows. *text lives until
 * the next call. */
PDL_MUST bool pdl_batch_duck_next(duck *d, pdl_str *text, bool *there, pdl_err *err);

/* Appends a text as a literal of SQL. */
void pdl_batch_duck_put_text(pdl_str s, pdl_buf *out);
/* Appends the name of an input file as a literal of SQL, escaped because DuckDB reads it as a
 * pattern. */
void pdl_batch_duck_put_path(pdl_str path, pdl_buf *out);
void pdl_batch_duck_put_name(pdl_str s, pdl_buf *out);

#endif
