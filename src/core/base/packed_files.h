/* packed_files.h -- files that lie inside of the running command (`pdl pack`, and the modules of
 * the static command), and the list of the files that were read, from which a packed command is
 * made.
 *
 * A packed file has a path beside the command, as if it were there, although it need not be on the
 * disk. Code that reads files searches here first. In other commands the list is empty, and the
 * search costs one comparison.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_PACKED_FILES_H
#define PDL_BASE_PACKED_FILES_H

#include "base/str.h"

/* Adds a file, before other threads exist. Takes ownership of path; bytes live as long as the
 * process. */
void pdl_packed_add(char *path, pdl_str bytes);
/* Returns true when a packed file has this path, and sets *bytes to its content. bytes may be
 * NULL. */
bool pdl_packed_find(const char *path, pdl_str *bytes);

/* Calls fn for each file that is read from now on. NULL ends these calls. */
typedef void pdl_packed_seen_fn(void *user, const char *path, pdl_str bytes);
void pdl_packed_watch(pdl_packed_seen_fn *fn, void *user);
void pdl_packed_seen(const char *path, pdl_str bytes);

#endif
