/* xml.c -- escapes text for HTML, SVG and XML; see xml.h.
 *
 * One function serves the text of elements and the values of attributes, since escaping more than
 * necessary does no harm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/xml.h"

#include <string.h>

#include "base/banned.h"

static const char *escape_of(unsigned char c) {
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\n': return "&#10;";
    case '\t': return "&#9;";
    default: return c < ' ' ? "?" : NULL;
    }
}

/* Returns true for U+FFFE and U+FFFF, which XML may not contain, not even as a reference. */
static bool is_noncharacter(pdl_str s, size_t i) {
    return i + 2 < s.n && memcmp(s.p + i, "\xef\xbf", 2) == 0 && (s.p[i + 2] & 0xfe) == 0xbe;
}

void pdl_xml_put(pdl_buf *out, pdl_str s) {
    for (size_t i = 0, from = 0; i <= s.n; i++) {
        bool none = is_noncharacter(s, i);
        const char *escape = none ? "?" : i < s.n ? escape_of((unsigned char)s.p[i]) : "";
        if (!escape) continue;
        pdl_buf_put(out, pdl_str_sub(s, from, i));
        pdl_buf_put(out, pdl_str_of(escape));
        if (none) i += 2;
        from = i + 1;
    }
}

void pdl_xml_put_json(pdl_buf *out, pdl_str json) {
    for (size_t i = 0, from = 0; i <= json.n; i++) {
        if (i < json.n && json.p[i] != '<') continue;
        pdl_buf_put(out, pdl_str_sub(json, from, i));
        if (i < json.n) PDL_PUT(out, "\\u003c");
        from = i + 1;
    }
}
