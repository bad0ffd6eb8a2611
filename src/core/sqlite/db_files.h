/* db_files.h -- the files of one database: the file itself, and those that SQLite keeps beside it
 * while it is open, or after its process was killed. Code that lists, guards or removes a database
 * needs all these files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SQLITE_DB_FILES_H
#define PDL_SQLITE_DB_FILES_H

#include "base/buf.h"
#include "base/err.h"

/* In WAL mode the newest writes are in a log, which has an index that processes share. In the other
 * mode a rollback journal keeps the old content of the pages that an open transaction changes. */
typedef enum { PDL_DB_LOG, PDL_DB_INDEX, PDL_DB_ROLLBACK, PDL_DB_ITSELF, PDL_DB_FILES } pdl_db_file;

/* Returns the suffix that makes the name of this file from the name of the database; empty for the
 * database itself. */
const char *pdl_db_ending(pdl_db_file which);
/* Appends the name of a file of the database. */
void pdl_db_put_name(pdl_str database, pdl_db_file which, pdl_buf *out);
/* Returns true when the database has this file. */
bool pdl_db_has(pdl_str database, pdl_db_file which);
/* Removes all files of the database, the database itself last, and counts them. Files that do not
 * exist are no error. Error: io, with the first file that could not be removed; the other files are
 * removed. */
PDL_MUST bool pdl_db_remove(pdl_str database, size_t *n, pdl_err *err);

#endif
