/* library_names.h -- the modules of the library that a wrong name in `import` may mean. Private to
 * api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SETUP_LIBRARY_NAMES_H
#define PDL_API_SETUP_LIBRARY_NAMES_H

#include "base/buf.h"

/* Appends a hint that names the module of the library, or the few modules, that `path` may mean.
 * Such a path has a wrong letter in its last part, or a wrong folder, or no folder. Returns false
 * when no module is near enough. `folders` are searched for imports. */
bool pdl_library_advise(const pdl_str *folders, size_t n, pdl_str path, pdl_buf *out);

#endif
