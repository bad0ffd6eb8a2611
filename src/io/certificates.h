/* certificates.h -- where systems keep the certificates that they trust.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PDL_IO_CERTIFICATES_H
#define PDL_IO_CERTIFICATES_H

/* The first file that can be read of those that Linux systems use, else fallback (may be NULL).
 * Result: static, or fallback. */
const char *pdl_certificates_find(const char *fallback);

#endif
