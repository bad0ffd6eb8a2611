/* charset.h -- decides whether the body of an answer is text, and decodes it.
 *
 * Servers lie about encodings and leave them out. The rules are those of the WHATWG where a page
 * would otherwise be garbled: a byte order mark wins, "latin-1" means windows-1252, and a page may
 * name its encoding itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WEB_CHARSET_H
#define PDL_WEB_CHARSET_H

#include "base/buf.h"

/* Returns true when a body of this type (in small letters, without parameters; empty when it is
 * unknown) is text. */
bool pdl_web_is_text(pdl_str type, pdl_str body);
/* Appends the body as UTF-8. Bytes that are wrong in its encoding become U+FFFD. named: the
 * parameter charset of Content-Type, or empty. Returns the name of the encoding, a static text.
 * Returns NULL when the encoding is not known; nothing is appended then. */
const char *pdl_web_decode(pdl_str type, pdl_str named, pdl_str body, pdl_buf *out);

#endif
