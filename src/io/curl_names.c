/* curl_names.c -- see curl_names.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/curl_names.h"

#include <stddef.h>

#include "base/libraries.h"
#include "io/http.h"

#include "base/banned.h"

static const pdl_library_symbol symbols[] = {
#define X(name) {"curl_" #name, offsetof(pdl_curl, name)},
    PDL_CURL_FUNCTIONS(X)
#undef X
};

bool pdl_curl_open(pdl_curl *out) {
    static const char *const names[] = {PDL_CURL_NAMES};
    if (!pdl_library_load(names, sizeof names / sizeof *names, symbols,
                          sizeof symbols / sizeof *symbols, out))
        return false;
    return out->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

bool pdl_http_library(pdl_buf *out) {
    pdl_curl api = {0};
    if (!pdl_curl_open(&api)) {
        PDL_PUT(out, "it cannot be opened");
        return false;
    }
    const curl_version_info_data *v = api.version_info(CURLVERSION_NOW);
    pdl_buf_putf(out, "%s, %s", v->version, v->ssl_version ? v->ssl_version : "without TLS");
    return true;
}
