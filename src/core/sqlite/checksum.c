/* checksum.c -- writes and compares the checksums of answers; see checksum.h. A checksum is the
 * last line of a stored text, so the text without it is a part of the stored bytes, and no copy is
 * made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sqlite/checksum.h"

#include <stdio.h>

#include "base/banned.h"

enum { LINE = 18 }; /* length of "\n#" and sixteen digits */

/* Computes an FNV-1a checksum, in which each byte changes all bits after it. It does not protect
 * against a person who changes an answer. */
static void put_line(pdl_str text, char out[LINE + 1]) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.n; i++) h = (h ^ (unsigned char)text.p[i]) * 0x100000001b3u;
    snprintf(out, LINE + 1, "\n#%016llx", (unsigned long long)h);
}

pdl_str pdl_checksum_add(pdl_str text, pdl_buf *out) {
    char line[LINE + 1];
    *out = PDL_BUF;
    if (!text.p) return text;
    put_line(text, line);
    pdl_buf_put(out, text);
    pdl_buf_put(out, (pdl_str){line, LINE});
    return pdl_buf_str(out);
}

bool pdl_checksum_remove(pdl_str *text) {
    char line[LINE + 1];
    /* the text has no checksum */
    if (!text->p || text->n < LINE || text->p[text->n - LINE] != '\n') return true;
    pdl_str whole = pdl_str_sub(*text, 0, text->n - LINE),
            kept = pdl_str_sub(*text, text->n - LINE, text->n);
    put_line(whole, line);
    *text = whole;
    return pdl_str_eq(kept, (pdl_str){line, LINE});
}
