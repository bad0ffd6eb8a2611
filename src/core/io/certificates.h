/* certificates.h -- the files in which systems store trusted certificates.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_CERTIFICATES_H
#define PDL_IO_CERTIFICATES_H

/* Returns the first readable file of those that Linux systems use, else fallback (may be NULL).
 * Static, or fallback. */
const char *pdl_certificates_find(const char *fallback);

#endif
