/* read_files.h -- private to viewer: the files that a run read, see viewer.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_READ_FILES_H
#define PDL_VIEWER_READ_FILES_H

#include "base/source.h"
#include "viewer/viewer.h"

#define PDL_VIEW_NO_FILE UINT32_MAX

/* Returns the number of a source, from 0; NO_FILE for a text without a file, or when there are too
 * many. */
uint32_t pdl_view_files_note(pdl_view_files *f, const pdl_source *src);
/* Appends all files but the first, without the secrets of the run, as a member "included" of an
 * object. Appends nothing when there is only one file. */
void pdl_view_files_json(const pdl_view_files *f, const pdl_live *l, pdl_buf *out);

#endif
