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

bool pdl_ident_says_secret(pdl_str name) {
    static const char *const words[] = {"KEY",    "TOKEN",      "SECRET",       "PASSWORD",
                                        "PASSWD", "CREDENTIAL", "AUTHORIZATION"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        pdl_str word = pdl_str_of(words[i]);
        for (size_t at = 0; at + word.n <= name.n; at++)
            if (pdl_str_eq_nocase(pdl_str_sub(name, at, at + word.n), word)) return true;
    }
    return false;
}
