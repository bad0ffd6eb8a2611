/* glob.h -- patterns of model names. Inside of model only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_GLOB_H
#define PDL_MODEL_GLOB_H

#include "base/str.h"

/* Does the shell pattern fit the whole of s, as Python's fnmatchcase? `*` also matches '/'. */
bool pdl_glob_fits(pdl_str glob, pdl_str s);

#endif
