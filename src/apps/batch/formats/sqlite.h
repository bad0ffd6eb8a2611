/* sqlite.h -- the functions that the reader and the writer of tables of SQLite share. Private to
 * batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_SQLITE_H
#define PDL_BATCH_SQLITE_H

#include "batch/output_impl.h"
#include "batch/rows.h"
#include "sqlite/sql.h"

/* Appends the name in double quotes. */
void pdl_batch_sqlite_put_name(pdl_str name, pdl_buf *out);
/* Stores whether there is a table of this name. Error: io. */
PDL_MUST bool pdl_batch_sqlite_has_table(pdl_str path, pdl_str table, bool *there, pdl_err *err);

#endif
