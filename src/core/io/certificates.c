/* certificates.c -- see certificates.h. The system's libcurl knows where its certificates are. A
 * libcurl that was installed with a wheel was built on another system, so its file has to be
 * searched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/certificates.h"

#include <stddef.h>
#include <unistd.h>

#include "base/banned.h"

static const char *const files[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Alpine, Arch */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, Red Hat, Amazon */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* newer releases of these */
    "/etc/ssl/ca-bundle.pem",                            /* SUSE */
    "/etc/ssl/cert.pem",                                 /* BSD, Void */
};

const char *pdl_certificates_find(const char *fallback) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (access(files[i], R_OK) == 0) return files[i];
    return fallback;
}
