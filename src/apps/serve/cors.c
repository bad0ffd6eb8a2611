/* cors.c -- allows pages of other origins to read answers (--allow-origin). A browser first sends a
 * preflight (OPTIONS without a token) and hides answers that do not name the origin of the page.
 * All headers that a preflight asks for are allowed, because the token protects the server and not
 * the headers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/request_log.h"

#include "base/banned.h"

/* Returns true when the list allows the origin. The origins in the list are separated by commas; *
 * is any origin. */
bool pdl_serve_cors_allows(const pdl_serve *s, pdl_str origin) {
    pdl_str list = s->opt.origins;
    while (origin.n && list.n) {
        pdl_str one = pdl_str_take(&list, PDL_STR(","));
        if (pdl_str_is(one, "*") || pdl_str_eq_nocase(one, origin)) return true;
    }
    return false;
}

static void add(pdl_exchange *x, const char *name, pdl_str value) {
    char *z = pdl_str_dup(value);
    pdl_exchange_add_header(x, name, z);
    pdl_free(z);
}

bool pdl_serve_cors_head(pdl_serve *s, pdl_exchange *x) {
    pdl_str origin = pdl_exchange_header(x, "Origin"),
            headers = pdl_exchange_header(x, "Access-Control-Request-Headers");
    if (!s->opt.origins.n) return false;
    pdl_exchange_add_header(x, "Vary", "Origin");
    if (!pdl_serve_cors_allows(s, origin)) return false;
    add(x, "Access-Control-Allow-Origin", origin);
    pdl_exchange_add_header(x, "Access-Control-Expose-Headers", "x-request-id, retry-after");
    if (!pdl_str_is(pdl_exchange_method(x), "OPTIONS") ||
        !pdl_exchange_header(x, "Access-Control-Request-Method").n)
        return false;
    pdl_exchange_add_header(x, "Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS");
    if (headers.n) add(x, "Access-Control-Allow-Headers", headers);
    pdl_exchange_add_header(x, "Access-Control-Max-Age", "600");
    /* a web page of the internet asks to send a request to a server in a private network */
    if (pdl_exchange_header(x, "Access-Control-Request-Private-Network").n)
        pdl_exchange_add_header(x, "Access-Control-Allow-Private-Network", "true");
    pdl_exchange_answer(x, 204, NULL, 0, (pdl_str){0});
    return true;
}
