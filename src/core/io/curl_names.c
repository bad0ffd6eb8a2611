/* curl_names.c -- opens libcurl, and finds its functions; see curl_names.h.
 *
 * Declarations and names come from one list (PDL_CURL_FUNCTIONS), so no function can be declared
 * without being searched.
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

static bool uses_alloc; /* set before there are threads */

void pdl_http_use_alloc(void) { uses_alloc = true; }

static char *copy_text(const char *s) { return pdl_str_dup(pdl_str_of(s)); }

static CURLcode initialize(const pdl_curl *c) {
    if (!uses_alloc) return c->global_init(CURL_GLOBAL_DEFAULT);
    return c->global_init_mem(CURL_GLOBAL_DEFAULT, pdl_alloc, pdl_free, pdl_realloc, copy_text,
                              pdl_calloc);
}

bool pdl_curl_open(pdl_curl *out) {
    static const char *const names[] = {PDL_CURL_NAMES};
    if (!pdl_library_load(names, sizeof names / sizeof *names, symbols,
                          sizeof symbols / sizeof *symbols, out))
        return false;
    return initialize(out) == CURLE_OK;
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
