/* dialect_azure.c -- OpenAI's chat completions at Azure, with different paths and another header
 * (spec providers 13.4).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/endpoint.h"
#include "model/call/embedding_calls.h"

#include "base/banned.h"

/* Returns true for the versions of Azure's newer interface, whose paths are those of OpenAI. */
static bool is_v1(pdl_str version) {
    return pdl_str_is(version, "v1") || pdl_str_is(version, "latest") ||
           pdl_str_is(version, "preview");
}

static pdl_str version_of(const pdl_ask *a) {
    pdl_str v = pdl_setting("api_version AZURE_API_VERSION", a->given, a->env);
    return v.n ? v : PDL_STR("2024-10-21");
}

/* Writes the body with OpenAI's dialect, and drops the path that the dialect returns. */
static bool write_body(pdl_ask *a, pdl_val *body, pdl_err *err) {
    pdl_buf path = PDL_BUF;
    bool ok = pdl_dialect_openai.write(a, &path, body, err);
    pdl_buf_fini(&path);
    return ok;
}

void pdl_azure_path(const pdl_ask *a, const char *what, pdl_buf *path) {
    pdl_str version = version_of(a);
    if (is_v1(version)) {
        pdl_buf_putf(path, "%s/%s",
                     pdl_str_ends(pdl_buf_str(path), PDL_STR("/openai/v1")) ? "" : "/openai/v1",
                     what);
        return;
    }
    PDL_PUT(path, "/openai/deployments/");
    pdl_url_quote(a->name, "", path);
    pdl_buf_putf(path, "/%s?api-version=", what);
    pdl_url_quote(version, "", path);
}

static bool write(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_azure_path(a, "chat/completions", path);
    return write_body(a, body, err);
}

static bool sign(const pdl_sign *s, pdl_err *err) {
    const pdl_ask *a = s->ask;
    if (pdl_headers_has(s->headers, "api-key") || pdl_headers_has(s->headers, "Authorization"))
        return true;
    pdl_str token = pdl_setting("azure_ad_token AZURE_AD_TOKEN", a->given, a->env);
    if (s->key.n == 0 && token.n == 0) return pdl_key_missing(a->provider, err);
    if (s->key.n && !is_v1(version_of(a)))
        pdl_headers_add(s->headers, "api-key: %.*s", PDL_FMT(s->key));
    else
        pdl_headers_bearer(s->headers, s->key.n ? s->key : token);
    return true;
}

/* --- azure_ai --------------------------------------------------------------------------------- */

static bool is_services_host(pdl_str url) {
    pdl_str host = pdl_url_host(url);
    return pdl_str_ends(pdl_str_sub(host, 0, pdl_str_find(host, PDL_STR(":"), 0)),
                        PDL_STR(".services.ai.azure.com"));
}

static bool write_ai(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_str version = pdl_setting("api_version", a->given, a->env);
    if (is_services_host(pdl_buf_str(path))) {
        PDL_PUT(path, "/models");
        if (version.n == 0) version = PDL_STR("2024-05-01-preview");
    }
    pdl_endpoint_add(path, "/chat/completions");
    if (version.n) {
        PDL_PUT(path, "?api-version=");
        pdl_url_quote(version, "", path);
    }
    return write_body(a, body, err);
}

static bool sign_ai(const pdl_sign *s, pdl_err *err) {
    (void)err;
    if (pdl_headers_has(s->headers, "api-key")) return true;
    if (is_services_host(s->url))
        pdl_headers_add(s->headers, "api-key: %.*s", PDL_FMT(s->key));
    else
        pdl_headers_bearer(s->headers, s->key);
    return true;
}

static bool read(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    return pdl_dialect_openai.read(a, json, raw, err);
}

static bool event(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    return pdl_dialect_openai.event(a, text, d, err);
}

const pdl_dialect pdl_dialect_azure = {.name = "azure",
                                       .media = PDL_MEDIA_ANY,
                                       .write = write,
                                       .read = read,
                                       .event = event,
                                       .sign = sign,
                                       .embedder = &pdl_embedder_azure};
const pdl_dialect pdl_dialect_azure_ai = {.name = "azure_ai",
                                          .media = PDL_MEDIA_ANY,
                                          .write = write_ai,
                                          .read = read,
                                          .event = event,
                                          .sign = sign_ai,
                                          .embedder = &pdl_embedder_openai};
