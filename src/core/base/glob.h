/* glob.h -- shell patterns of names (of models, tools, servers, commands) and of paths. `*` matches
 * any text, and in a name this text may have slashes. The caller chooses which other characters are
 * special, since names may contain them: a tool may be called a[0].
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_GLOB_H
#define PDL_BASE_GLOB_H

#include "base/str.h"

enum {
    PDL_GLOB_ONE = 1, /* ? matches any one character */
    /* [abc], [a-z], [!abc] match one character of the set, as in Python's fnmatchcase */
    PDL_GLOB_SETS = 2,
    /* * and ? do not match a slash, but ** does. A ** between slashes may also match no folder at
     * all. */
    PDL_GLOB_PATHS = 4
};

/* Returns true when the pattern matches the whole of s. At worst the time is proportional to the
 * product of both lengths, however many stars there are. */
bool pdl_glob_fits(pdl_str pattern, pdl_str s, unsigned special);

#endif
