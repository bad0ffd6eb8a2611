/* library_names.h -- the modules of the library that a wrong name in `import` may mean. Private to
 * api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SETUP_LIBRARY_NAMES_H
#define PDL_API_SETUP_LIBRARY_NAMES_H

#include "base/buf.h"

/* Appends a hint that names the module of the library, or the few modules, that `path` may mean:
 * its last part has a wrong letter, or its folder is wrong or missing. Returns false when no module
 * is near enough. folders: where imports are searched. */
bool pdl_library_advise(const pdl_str *folders, size_t n, pdl_str path, pdl_buf *out);

#endif
