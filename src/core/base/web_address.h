/* web_address.h -- reads http and https addresses into one normal form, and resolves references.
 *
 * A policy judges the host of an address, and libcurl connects to the host that it reads in the
 * same text. The two must never read different hosts. So an address is brought into a form that has
 * one reading only. Unusual forms (user names, backslashes, numbers written as one word) are
 * refused instead of being interpreted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_WEB_ADDRESS_H
#define PDL_BASE_WEB_ADDRESS_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the normal form of an absolute address. It has "http" or "https", the host in small
 * letters, the port unless it is the usual one, a path that begins with a slash and has no "." and
 * "..", and the query. The fragment is left out. Error: bad_request, with the reason. */
PDL_MUST bool pdl_web_address_read(pdl_str text, pdl_buf *out, pdl_err *err);
/* Appends the normal form of a reference in a document whose address is `base`, which is in normal
 * form (RFC 3986, 5.2). The errors are those of pdl_web_address_read. */
PDL_MUST bool pdl_web_address_join(pdl_str base, pdl_str reference, pdl_buf *out, pdl_err *err);

/* Each of the next functions returns a part of an address in normal form. An example of its result
 * is above each: "http://example.org:8080". */
pdl_str pdl_web_address_origin(pdl_str address);
/* "example.org:8080" */
pdl_str pdl_web_address_authority(pdl_str address);
/* "example.org", or "[::1]" */
pdl_str pdl_web_address_host(pdl_str address);
/* "/path?query" */
pdl_str pdl_web_address_target(pdl_str address);

#endif
