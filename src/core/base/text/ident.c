/* ident.c -- finds names in code, and recognises names of secrets; see ident.h.
 *
 * Secrets are redacted in everything that is stored or shown. So a variable counts as a secret
 * already when one of a few words is in its name.
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

/* Each start calls this for every variable of the environment, so a word is compared only where its
 * first letter is found. */
bool pdl_ident_says_secret(pdl_str name) {
#define WORD(text)                                                                                 \
    { text, sizeof text - 1 }
    static const pdl_str words[] = {WORD("key"),          WORD("token"),  WORD("secret"),
                                    WORD("password"),     WORD("passwd"), WORD("credential"),
                                    WORD("authorization")};
#undef WORD
    for (size_t at = 0; at < name.n; at++) {
        char first = pdl_lower(name.p[at]);
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (first == words[i].p[0] && words[i].n <= name.n - at &&
                pdl_str_eq_nocase((pdl_str){name.p + at, words[i].n}, words[i]))
                return true;
    }
    return false;
}
