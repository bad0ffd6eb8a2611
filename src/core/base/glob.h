/* glob.h -- shell patterns of names (of models, tools, servers, commands) and of paths.
 *
 * `*` matches any text; of a name also one with slashes in it. What else is special is the caller's
 * choice, since names may hold the other characters: a tool may be called a[0].
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_GLOB_H
#define PDL_BASE_GLOB_H

#include "base/str.h"

enum {
    PDL_GLOB_ONE = 1,  /* ? is any one character */
    PDL_GLOB_SETS = 2, /* [abc], [a-z], [!abc]: one character of the set, as Python's fnmatchcase */
    /* * and ? end at a slash, ** does not; the folders of a ** between slashes may be none. */
    PDL_GLOB_PATHS = 4
};

/* Does the pattern fit the whole of s? At worst the product of both lengths, however many stars
 * there are. */
bool pdl_glob_fits(pdl_str pattern, pdl_str s, unsigned special);

#endif
