/* base64.h -- converts bytes to base64 text and back (RFC 4648).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_BASE64_H
#define PDL_BASE_BASE64_H

#include "base/buf.h"

/* Appends bytes as base64 with padding. With `url`, uses the alphabet for URLs and no padding. */
void pdl_base64_put(pdl_str bytes, bool url, pdl_buf *out);
/* Appends the bytes that text encodes. Accepts both alphabets, with or without padding, and skips
 * blanks and line ends. Returns false when text is not base64; out then holds the bytes decoded
 * before the fault. */
PDL_MUST bool pdl_base64_read(pdl_str text, pdl_buf *out);

#endif
