/* sql.h -- a SQLite file whose statements are prepared once: journals, caches, and the tables of
 * batches. Only sql.c knows SQLite, which is loaded when the first file is opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SQLITE_SQL_H
#define PDL_SQLITE_SQL_H

#include "base/buf.h"
#include "base/err.h"

/* Loads SQLite, and appends its version. When it cannot be loaded, appends the reason and returns
 * false. */
bool pdl_sql_library(pdl_buf *out);

typedef struct sql sql;
typedef struct sqlite3_stmt sql_row; /* a statement positioned at a row */

/* The purpose of a file: the statements that run on it, and the words of its errors, which read
 * "BEFORE PATH AFTER: REASON". Static. */
typedef struct sql_use {
    pdl_err_kind kind;
    const char *before, *after;
    const char *const *statements;
    size_t n;
} sql_use;

/* Makes an empty file that only its owner may read. When the file already exists, the call fails
 * with the error usage, whose text ends with fresh. With NULL as fresh, the file may exist. An
 * empty file, which a killed run leaves before its first write, counts as absent. Error: io. */
PDL_MUST bool pdl_sql_make(pdl_str path, const char *fresh, pdl_err *err);
/* Opens an existing file, which is not trusted. No code in it is executed, and long operations end
 * when the run is cancelled (base/cancel.h). Errors: io, when the file or the library cannot be
 * opened, and the error use->kind. */
PDL_MUST bool pdl_sql_open(pdl_str path, const sql_use *use, sql **out, pdl_err *err);
/* Sets whether the log of a file that was only read stays beside it, so that the file does not
 * change. */
void pdl_sql_leave_log(sql *q, bool leave);
/* Replaces the use of the file by one that has the same statements and words the later errors in
 * another way. */
void pdl_sql_use(sql *q, const sql_use *use);
void pdl_sql_close(sql *q); /* NULL is allowed */
pdl_str pdl_sql_path(const sql *q);
/* Returns true when the last failure of a statement was a lock of another process on the file. The
 * next call returns false, unless another statement has failed in this way since. Statements wait
 * for their locks ten seconds, or until this thread is cancelled. The change to WAL mode does not
 * wait. */
bool pdl_sql_was_busy(sql *q);
int64_t pdl_sql_now_ms(void); /* the time of a monotonic clock */

/* Runs statements without parameters. */
PDL_MUST bool pdl_sql_exec(sql *q, const char *text, pdl_err *err);
/* Reads the first column of the first row as a number; 0 when there is no row. */
PDL_MUST bool pdl_sql_number(sql *q, const char *text, long *out, pdl_err *err);
/* An object of the schema that a file may hold: the text of its CREATE statement, and the name of
 * the object. */
typedef struct sql_object {
    const char *name, *text;
} sql_object;
/* Sets *empty when the file has no tables yet, like a new file of pdl_sql_make. */
PDL_MUST bool pdl_sql_is_empty(sql *q, bool *empty, pdl_err *err);
/* Sets *ours when the file has exactly these objects. A foreign view or trigger would run in the
 * place of our tables. */
PDL_MUST bool pdl_sql_is_ours(sql *q, const sql_object *objects, size_t n, bool *ours,
                              pdl_err *err);
/* Sets *sound when the file's structure is intact. Only files of at most 16 MB are read and
 * checked; larger ones count as sound. */
PDL_MUST bool pdl_sql_check(sql *q, bool *sound, pdl_err *err);

/* The type of a parameter of a statement. Parameters are in order. A text whose p is NULL means
 * null. Texts must live until the statement ran. */
typedef enum { SQL_INT, SQL_NUM, SQL_TEXT } sql_type;
typedef struct sql_arg {
    sql_type type;
    int64_t i;
    double d;
    pdl_str s;
} sql_arg;
#define SQL_I(x) ((sql_arg){.type = SQL_INT, .i = (x)})
#define SQL_D(x) ((sql_arg){.type = SQL_NUM, .d = (x)})
#define SQL_S(x) ((sql_arg){.type = SQL_TEXT, .s = (x)})

/* The receiver of a statement's rows: fn gets each row, until it returns false. */
typedef struct pdl_sql_rows {
    bool (*fn)(void *user, sql *q, sql_row *row); /* may be NULL; rows are then ignored */
    void *user;
} sql_rows;
#define SQL_NO_ROWS ((sql_rows){NULL, NULL})

/* Runs statement `st` of the use. */
PDL_MUST bool pdl_sql_run(sql *q, size_t st, const sql_arg *args, size_t n, sql_rows rows,
                          pdl_err *err);

/* Runs statement `st`, which has no parameters, up to its first row, and stays there. Until
 * pdl_sql_stop the file's read lock is held. */
PDL_MUST bool pdl_sql_stay(sql *q, size_t st, pdl_err *err);
void pdl_sql_stop(sql *q, size_t st); /* does nothing when the statement does not run */

/* Returns a column of a row as text, which lives during the call. A text that is not UTF-8 is empty
 * here, and pdl_sql_run then fails. */
pdl_str pdl_sql_text(sql *q, sql_row *row, int i);
/* Returns the column's bytes, UTF-8 or not. */
pdl_str pdl_sql_bytes(sql *q, sql_row *row, int i);
int64_t pdl_sql_int(sql *q, sql_row *row, int i);
double pdl_sql_num(sql *q, sql_row *row, int i);

/* These describe the columns of a statement's rows, which are counted from 0. They return the
 * number of columns, the names (empty when a name is not UTF-8), and the kind of the value in a
 * row. */
typedef enum {
    SQL_VALUE_INT = 1,
    SQL_VALUE_NUM,
    SQL_VALUE_TEXT,
    SQL_VALUE_BYTES,
    SQL_VALUE_NULL
} sql_kind;
PDL_MUST bool pdl_sql_names(sql *q, size_t st, void (*fn)(void *user, pdl_str name), void *user,
                            pdl_err *err);
int pdl_sql_count(sql *q, sql_row *row);
sql_kind pdl_sql_kind(sql *q, sql_row *row, int i);

int64_t pdl_sql_last_id(sql *q); /* returns the id of the last inserted row */
int64_t pdl_sql_changes(sql *q); /* returns the number of rows that the last statement changed */

#endif
