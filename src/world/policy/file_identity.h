/* file_identity.h -- the folders and links that lead to a file. A process may exchange a file when
 * it moves a folder or makes a link, without a change to any file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FILE_IDENTITY_H
#define PDL_FILE_IDENTITY_H

#include "policy/policy.h"

typedef struct file_ways {
    int64_t began_ns; /* time at which the run began, by the clock that stamps files */
    pdl_val folders;  /* path -> device and inode, as text; absent until a process starts */
} file_ways;

void pdl_ways_init(file_ways *w);
void pdl_ways_fini(file_ways *w);
/* Notes which folders exist: the working folder, the folder of the program, the folders around
 * both, and up to a limit the folders inside. Only the first call has an effect, and it must come
 * before the run starts a process. */
void pdl_ways_note(file_ways *w, pdl_str folder);
/* Returns true when the file is missing, has changed since the run began, or when another folder or
 * a new link now leads to it. */
bool pdl_ways_changed(const file_ways *w, pdl_str path);
bool pdl_ways_missing(pdl_str path); /* returns true when no file has this name */

#endif
