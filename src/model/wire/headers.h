/* headers.h -- header lines of a request, and percent-encoding of what goes into its URL. Inside of
 * model only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_HEADERS_H
#define PDL_MODEL_HEADERS_H

#include "base/err.h"
#include "base/vec.h"
#include "effect/secret.h"

/* All-zero is empty. Lines may hold keys: fini wipes them. */
typedef struct pdl_headers {
    char **p;
    size_t n, cap;
} pdl_headers;

PDL_PRINTF(2, 3) void pdl_headers_add(pdl_headers *h, const char *fmt, ...);
bool pdl_headers_has(const pdl_headers *h, const char *name);
/* The value of a line, or an empty slice; borrowed. */
pdl_str pdl_headers_get(const pdl_headers *h, const char *name);
/* Add unless there is one. */
void pdl_headers_default(pdl_headers *h, const char *name, const char *value);
/* "Authorization: Bearer TOKEN", unless there is one. */
void pdl_headers_bearer(pdl_headers *h, pdl_str token);
/* A line as it may be shown: "NAME: ***" unless headers of that name are shown. */
void pdl_headers_show(pdl_str line, pdl_buf *out);
/* Tells the register what the lines hold. */
void pdl_headers_note(const pdl_headers *h, pdl_secrets *secrets);
/* A line end or a NUL would begin another header, or cut it. Error config, which names the
 * header. */
PDL_MUST bool pdl_headers_check(const pdl_headers *h, pdl_err *err);
void pdl_headers_fini(pdl_headers *h);

/* --- URLs ------------------------------------------------------------------------------------- */

/* Append s percent-encoded: everything but letters, digits and "-._~" (and the bytes of keep). */
void pdl_url_quote(pdl_str s, const char *keep, pdl_buf *out);
/* The host with its port in "scheme://host[:port]/..."; borrowed. */
pdl_str pdl_url_host(pdl_str url);
/* What stands behind the host, up to a question mark; borrowed. "" when there is nothing. */
pdl_str pdl_url_path(pdl_str url);
/* Does what stands behind base (or behind the host, if url does not begin with base) have "." or
 * ".." as a part of its path? Then a name in it leads elsewhere. */
bool pdl_url_leaves(pdl_str url, pdl_str base);
/* Same scheme, host and port? Credentials go nowhere else. */
bool pdl_url_same_origin(pdl_str a, pdl_str b);

#endif
