/* csv_read.c -- reads the cells of a CSV text; see csv_read.h. Text is copied only when a cell
 * contains a quote.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/csv_read.h"

#include <assert.h>
#include <string.h>

#include "base/banned.h"

/* Invariants: the cursor is in the text or at its end, and no separator can be read as a quote or
 * as the end of a line. */
static inline bool csv_ok(const pdl_csv *c) {
    return c->pos <= c->text.n && c->separator != '"' && c->separator != '\n' &&
           c->separator != '\r';
}

static size_t plain_end(const pdl_csv *c) {
    if (c->strict) {
        size_t at = pdl_str_find(c->text, (pdl_str){&c->separator, 1}, c->pos);
        return at == PDL_NOT_FOUND ? c->text.n : at;
    }
    size_t i = c->pos;
    for (; i < c->text.n; i++) {
        char byte = c->text.p[i];
        if (byte == c->separator || byte == '\n' || byte == '\r') break;
    }
    return i;
}

/* Reads a quoted cell. The cursor is after its opening quote. */
static void read_quoted(pdl_csv *c) {
    for (;;) {
        const char *from = c->text.p + c->pos;
        const char *quote = c->pos < c->text.n ? memchr(from, '"', c->text.n - c->pos) : NULL;
        size_t end = quote ? (size_t)(quote - c->text.p) : c->text.n;
        pdl_buf_put(&c->cell, pdl_str_sub(c->text, c->pos, end));
        c->pos = quote ? end + 1 : end;
        if (c->pos >= c->text.n || c->text.p[c->pos] != '"' || !quote) return;
        pdl_buf_putc(&c->cell, '"');
        c->pos++;
    }
}

bool pdl_csv_cell(pdl_csv *c, pdl_str *out) {
    assert(csv_ok(c));
    bool quoted = c->pos < c->text.n && c->text.p[c->pos] == '"';
    if (quoted) {
        pdl_buf_clear(&c->cell);
        c->pos++;
        read_quoted(c);
    }
    size_t end = plain_end(c);
    pdl_str plain = pdl_str_sub(c->text, c->pos, end);
    c->pos = end;
    assert(csv_ok(c));
    if (!quoted) {
        *out = plain;
        return true;
    }
    if (!c->strict) pdl_buf_put(&c->cell, plain);
    *out = pdl_buf_str(&c->cell);
    return !c->strict || !plain.n;
}
