/* certificates.c -- see certificates.h. The system's libcurl knows where its certificates are. A
 * libcurl that a wheel has installed was built on another system, so the file with the certificates
 * must be found here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/certificates.h"

#include <stddef.h>
#include <unistd.h>

#include "base/libraries.h"

#include "base/banned.h"

static const char *const files[] = {
    "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Alpine, Arch */
    "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, Red Hat, Amazon */
    /* newer releases of Fedora, Red Hat and Amazon */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", /* SUSE */
    "/etc/ssl/cert.pem",                                                           /* BSD, Void */
};

const char *pdl_certificates_find(const char *fallback) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (access(files[i], R_OK) == 0) return files[i];
    return fallback;
}

/* The choice is made at run time, because a libcurl that was built for one system may run on
 * another. */
void pdl_certificates_choose(const pdl_curl *c, const char *given, const char *fallback,
                             pdl_certificates *out) {
    const curl_version_info_data *v = c->version_info(CURLVERSION_NOW);
    bool has_place = v->age < CURLVERSION_SEVENTH || v->cainfo || v->capath;
    *out = (pdl_certificates){.file = given};
    if (given || has_place) return;
    out->file = pdl_certificates_find(fallback);
    if (!out->file) out->inside = pdl_library_certificates();
}

void pdl_certificates_use(const pdl_certificates *x, const pdl_curl *c, CURL *e, bool tls) {
    if (x->file) c->easy_setopt(e, CURLOPT_CAINFO, x->file);
    if (!tls || !x->inside.n) return;
    struct curl_blob list = {(void *)(uintptr_t)x->inside.p, x->inside.n, CURL_BLOB_NOCOPY};
    c->easy_setopt(e, CURLOPT_CAINFO_BLOB, &list);
}
