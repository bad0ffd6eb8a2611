/* install_folders.h -- the folders in which imports are searched, besides the folder of the
 * program. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_INSTALL_FOLDERS_H
#define PDL_API_INSTALL_FOLDERS_H

#include "base/arena.h"
#include "base/str.h"

/* The folders in their order. The user chose the first n_chosen of the n folders; in them a library
 * may be at any path. The other folders are places where PDL may be installed; an installation has
 * its library in a folder lib. */
typedef struct pdl_folders {
    pdl_str *path;
    size_t n, n_chosen;
} pdl_folders;

/* Returns the folders in var (the value of PDL_PATH; may be NULL), then the given folders, then the
 * places of the installation. All are in the arena. */
pdl_folders pdl_api_folders(pdl_arena *arena, const char *var, const pdl_str *given,
                            size_t n_given);

#endif
