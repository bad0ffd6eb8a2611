/* csv.c -- rows of comma-separated fields, with the tolerance of Python's csv.reader in its default
 * dialect.
 *
 * A quote opens a quoted part only as the first character of a field; in a quoted part a doubled
 * quote is one quote; text after the closing quote belongs to the field. A run of CRs may precede
 * the end of a line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/scan.h"
#include "parse/readers.h"

#include "base/banned.h"

static bool ends_field(int c) { return c == ',' || c == '\n' || c == '\r' || c < 0; }

static size_t plain_end(const pdl_scan *s) {
    size_t i = s->pos;
    while (i < s->src.n && !ends_field((unsigned char)s->src.p[i])) i++;
    return i;
}

/* The cursor is after the opening quote; a missing closing quote is assumed at the end of the text.
 */
static void read_quoted(pdl_scan *s, pdl_buf *b) {
    for (;;) {
        size_t from = s->pos;
        const char *q = from < s->src.n ? memchr(s->src.p + from, '"', s->src.n - from) : NULL;
        size_t to = q ? (size_t)(q - s->src.p) : s->src.n;
        pdl_buf_put(b, pdl_str_sub(s->src, from, to));
        s->pos = q ? to + 1 : to;
        if (!scan_accept(s, '"')) return;
        pdl_buf_putc(b, '"');
    }
}

static pdl_val read_field(pdl_scan *s, pdl_buf *b) {
    bool quoted = scan_accept(s, '"');
    if (quoted) {
        pdl_buf_clear(b);
        read_quoted(s, b);
    }
    size_t end = plain_end(s);
    pdl_str plain = pdl_str_sub(s->src, s->pos, end);
    s->pos = end;
    if (!quoted) return pdl_text(plain);
    pdl_buf_put(b, plain);
    return pdl_text(pdl_buf_str(b));
}

/* The end of the line: CRs, then LF or the end of the text. */
static bool end_row(pdl_scan *s, pdl_err *err) {
    bool cr = false;
    while (scan_accept(s, '\r')) cr = true;
    if (scan_done(s) || scan_accept(s, '\n') || !cr) return true;
    return pdl_err_host(
        err, "Error",
        "new-line character seen in unquoted field - do you need to open the file in "
        "universal-newline mode?");
}

static bool read_row(pdl_scan *s, pdl_buf *b, pdl_val *row, pdl_err *err) {
    int c = scan_peek(s);
    if (c != '\n' && c != '\r') {
        do *row = pdl_list_push(*row, read_field(s, b));
        while (scan_accept(s, ','));
    }
    return end_row(s, err);
}

bool pdl_parse_csv(pdl_str text, pdl_val *out, pdl_err *err) {
    pdl_scan s = {text, 0};
    pdl_buf b = PDL_BUF;
    pdl_val rows = pdl_list_new(0);
    bool ok = true;
    while (ok && !scan_done(&s)) {
        pdl_val row = pdl_list_new(0);
        ok = pdl_check_cancel_at(pdl_list_len(rows), err) && read_row(&s, &b, &row, err);
        rows = pdl_list_push(rows, row);
    }
    pdl_buf_fini(&b);
    if (ok)
        *out = rows;
    else
        pdl_drop(rows);
    return ok;
}
