/* seal.c -- writes and compares the checksums of answers; see seal.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sqlite/seal.h"

#include <stdio.h>

#include "base/banned.h"

enum { SEAL = 18 }; /* length of "\n#" and sixteen digits */

/* Computes an FNV-1a checksum, in which each byte changes all bits after it. It does not protect
 * against a person who changes an answer. */
static void put_seal(pdl_str text, char out[SEAL + 1]) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.n; i++) h = (h ^ (unsigned char)text.p[i]) * 0x100000001b3u;
    snprintf(out, SEAL + 1, "\n#%016llx", (unsigned long long)h);
}

pdl_str pdl_seal(pdl_str text, pdl_buf *out) {
    char seal[SEAL + 1];
    *out = PDL_BUF;
    if (!text.p) return text;
    put_seal(text, seal);
    pdl_buf_put(out, text);
    pdl_buf_put(out, (pdl_str){seal, SEAL});
    return pdl_buf_str(out);
}

bool pdl_unseal(pdl_str *text) {
    char seal[SEAL + 1];
    /* the text has no checksum */
    if (!text->p || text->n < SEAL || text->p[text->n - SEAL] != '\n') return true;
    pdl_str whole = pdl_str_sub(*text, 0, text->n - SEAL),
            kept = pdl_str_sub(*text, text->n - SEAL, text->n);
    put_seal(whole, seal);
    *text = whole;
    return pdl_str_eq(kept, (pdl_str){seal, SEAL});
}
