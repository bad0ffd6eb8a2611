/* base64.h -- bytes as text of 64 letters, and back (RFC 4648).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PDL_BASE_BASE64_H
#define PDL_BASE_BASE64_H

#include "base/buf.h"

/* Append bytes as base64 with padding; url: the alphabet for addresses, without padding. */
void pdl_base64_put(pdl_str bytes, bool url, pdl_buf *out);
/* Append what text stands for: both alphabets, padding or not; blanks and line ends are skipped.
 * False: it is not base64; what was read until then is in out. */
PDL_MUST bool pdl_base64_read(pdl_str text, pdl_buf *out);

#endif
