/* headers.h -- the header lines of a request, and parts of its URL. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_HEADERS_H
#define PDL_MODEL_HEADERS_H

#include "base/err.h"
#include "base/url.h"
#include "base/vec.h"
#include "effect/secret.h"

/* The headers of a request. When all members are zero, there are no headers. Lines may hold keys,
 * so fini wipes them. */
typedef struct pdl_headers {
    char **p;
    size_t n, cap;
} pdl_headers;

PDL_PRINTF(2, 3) void pdl_headers_add(pdl_headers *h, const char *fmt, ...);
bool pdl_headers_has(const pdl_headers *h, const char *name);
/* Returns the value of the header, or an empty slice; borrowed. */
pdl_str pdl_headers_get(const pdl_headers *h, const char *name);
/* Adds the header unless the request has it already. */
void pdl_headers_default(pdl_headers *h, const char *name, const char *value);
/* Adds the header. A header of the same name is replaced. */
void pdl_headers_put(pdl_headers *h, const char *name, const char *value);
/* Adds "Authorization: Bearer TOKEN" unless the request has this header already. */
void pdl_headers_bearer(pdl_headers *h, pdl_str token);
/* Appends a line for display: "NAME: ***" unless headers of that name are public. */
void pdl_headers_show(pdl_str line, pdl_buf *out);
/* Registers the secrets in the header lines. */
void pdl_headers_note(const pdl_headers *h, pdl_secrets *secrets);
/* Refuses line ends, which would begin another header. Error: config, which names the header. */
PDL_MUST bool pdl_headers_check(const pdl_headers *h, pdl_err *err);
void pdl_headers_fini(pdl_headers *h);

/* --- URLs ------------------------------------------------------------------------------------- */

/* Returns the host with its port in "scheme://host[:port]/..."; borrowed. */
pdl_str pdl_url_host(pdl_str url);
/* Returns the part after the host, up to a question mark; "" when the URL has no such part.
 * Borrowed. */
pdl_str pdl_url_path(pdl_str url);
/* Returns true when the path after base (or after the host, if url does not begin with base) has a
 * part "." or "..". With such a part, the URL could lead to a path that is not below base. */
bool pdl_url_leaves(pdl_str url, pdl_str base);
/* Returns true when both URLs have the same scheme, host and port. Credentials are sent to no other
 * origin. */
bool pdl_url_same_origin(pdl_str a, pdl_str b);

#endif
