/* checksum.h -- checksums for the texts in a database, so that a flipped bit is detected.
 *
 * Disks and memory flip bits now and then. SQLite notices that when it needs the bytes to find a
 * row, but not in the text of a row. So journals, recordings and caches store an answer together
 * with its checksum, which is on a line of a form that JSON never has. A text without this line,
 * from an older file, is read unchanged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SQLITE_CHECKSUM_H
#define PDL_SQLITE_CHECKSUM_H

#include "base/buf.h"

/* Writes the text with its checksum to out, which the caller releases, and returns the written
 * text. A text whose p is NULL is returned unchanged. */
pdl_str pdl_checksum_add(pdl_str text, pdl_buf *out);
/* Removes the checksum from the text. Returns false when the text has another checksum. */
PDL_MUST bool pdl_checksum_remove(pdl_str *text);

#endif
