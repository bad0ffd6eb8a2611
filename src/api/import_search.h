/* import_search.h -- finds the files that a program names, without running the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_IMPORT_SEARCH_H
#define PDL_API_IMPORT_SEARCH_H

#include "base/buf.h"
#include "base/err.h"
#include "lang/module_name.h"

typedef struct pdl_finder {
    pdl_str file;        /* the main program */
    const pdl_str *path; /* further folders for imports */
    size_t n_path;
    /* pipes and devices are left out, because only one reader can take their content */
    bool only_files;
    bool left_out; /* set when a file was left out */
} pdl_finder;

/* A pdl_open_source_fn whose user is a pdl_finder. It searches the same folders in the same order
 * as a run: the folder of the main program, the folder of the file with the block, and the path
 * (for imports). */
PDL_MUST bool pdl_find_open(void *user, const pdl_module_name *module, pdl_buf *name,
                            pdl_buf *bytes, pdl_err *err);
/* Returns the folder of the installed library, whether it exists or not. */
pdl_str pdl_find_installed(void);
/* Adds the hint for a missing file: the file that `path` may mean, or else the folders that were
 * searched. */
void pdl_find_advise(const pdl_finder *f, pdl_str from, pdl_str path, bool import, pdl_err *err);

#endif
