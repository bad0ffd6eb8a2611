/* db_files.c -- names, finds and removes the files of a database; see db_files.h.
 *
 * The endings of SQLite's file names are in one table, which all functions here read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sqlite/db_files.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

static const char *const endings[PDL_DB_FILES] = {
    [PDL_DB_LOG] = "-wal",
    [PDL_DB_INDEX] = "-shm",
    [PDL_DB_ROLLBACK] = "-journal",
    [PDL_DB_ITSELF] = "",
};

const char *pdl_db_ending(pdl_db_file which) {
    assert(which < PDL_DB_FILES);
    return endings[which];
}

void pdl_db_put_name(pdl_str database, pdl_db_file which, pdl_buf *out) {
    pdl_buf_put(out, database);
    pdl_buf_put(out, pdl_str_of(pdl_db_ending(which)));
}

bool pdl_db_has(pdl_str database, pdl_db_file which) {
    pdl_buf name = PDL_BUF;
    pdl_db_put_name(database, which, &name);
    bool is_there = access(pdl_buf_z(&name), F_OK) == 0;
    pdl_buf_fini(&name);
    return is_there;
}

bool pdl_db_remove(pdl_str database, size_t *n, pdl_err *err) {
    bool ok = true;
    *n = 0;
    for (pdl_db_file i = 0; i < PDL_DB_FILES; i++) {
        pdl_buf name = PDL_BUF;
        pdl_db_put_name(database, i, &name);
        if (unlink(pdl_buf_z(&name)) == 0)
            ++*n;
        else if (errno != ENOENT && ok)
            ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot remove %s: %s", pdl_buf_z(&name),
                             strerror(errno));
        pdl_buf_fini(&name);
    }
    return ok;
}
