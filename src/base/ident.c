/* ident.c -- see ident.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ident.h"

#include "base/banned.h"

static bool is_part(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

bool pdl_ident_is_in(pdl_str code, pdl_str name) {
    for (size_t at = 0; name.n && (at = pdl_str_find(code, name, at)) != PDL_NOT_FOUND;
         at += name.n) {
        bool left = at == 0 || !is_part(code.p[at - 1]);
        bool right = at + name.n == code.n || !is_part(code.p[at + name.n]);
        if (left && right) return true;
    }
    return false;
}
