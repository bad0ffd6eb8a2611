/* folders.h -- where imports are looked for beside the folder of the program. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_FOLDERS_H
#define PDL_API_FOLDERS_H

#include "base/arena.h"
#include "base/str.h"

/* Those of var (PDL_PATH; NULL: none) and given, then the places of the installation. In the arena.
 */
pdl_str *pdl_api_folders(pdl_arena *arena, const char *var, const pdl_str *given, size_t n_given,
                         size_t *n_out);

#endif
