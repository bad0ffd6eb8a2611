/* certificates.h -- finds the trusted certificates, in a file of the system or in the command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_CERTIFICATES_H
#define PDL_IO_CERTIFICATES_H

#include "base/str.h"
#include "io/curl_names.h"

/* The certificates that are trusted. When both members are empty, libcurl uses its default. */
typedef struct pdl_certificates {
    const char *file; /* borrowed; may be NULL */
    pdl_str inside;   /* the list that this command brings along */
} pdl_certificates;

/* Returns the first file that can be read, of the files in which Linux systems keep certificates.
 * Returns fallback, which may be NULL, when there is no such file. The path of a file is static. */
const char *pdl_certificates_find(const char *fallback);
/* Chooses the first of these that exists: given, the place that libcurl was built with, a file of
 * the system, fallback, the list of the command. given and fallback may be NULL. */
void pdl_certificates_choose(const pdl_curl *c, const char *given, const char *fallback,
                             pdl_certificates *out);
/* Sets the trusted certificates for one request. */
void pdl_certificates_use(const pdl_certificates *x, const pdl_curl *c, CURL *e, bool tls);

#endif
