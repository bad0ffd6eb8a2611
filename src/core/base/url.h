/* url.h -- percent-encoding of text that is a part of a URL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_URL_H
#define PDL_BASE_URL_H

#include "base/buf.h"

/* Appends s percent-encoded. Letters, digits, "-._~" and the bytes of keep are unchanged. */
void pdl_url_quote(pdl_str s, const char *keep, pdl_buf *out);
/* Appends s with its percent-encoded bytes decoded. A '%' without two hexadecimal digits stays. */
void pdl_url_unquote(pdl_str s, pdl_buf *out);
/* Appends the URL of a file: "file://" and the absolute path. */
void pdl_url_put_file(pdl_str path, pdl_buf *out);

#endif
