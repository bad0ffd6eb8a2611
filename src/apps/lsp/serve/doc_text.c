/* doc_text.c -- positions in the text of a file; see doc_text.h.
 *
 * A program may be one line of a megabyte with many names. Counting from the start of the line for
 * each name would be quadratic, so the number of units is stored for every 1024th byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/serve/doc_text.h"

#include <assert.h>

#include "base/utf8.h"

#include "base/banned.h"

/* Counts the UTF-16 units of valid UTF-8: one for the first byte of each character, and a second
 * one for a character of four bytes. */
static uint32_t count_units(const char *p, size_t n) {
    uint32_t units = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        units += (uint32_t)((c & 0xc0) != 0x80) + (uint32_t)(c >= 0xf0);
    }
    return units;
}

static void find_units(lsp_text *t) {
    t->units.n = 0;
    uint32_t units = 0;
    for (size_t i = 0; i + PDL_LSP_STRIDE <= t->b.len; i += PDL_LSP_STRIDE) {
        *pdl_vec_push(&t->units) = units;
        units += count_units(t->b.p + i, PDL_LSP_STRIDE);
    }
    *pdl_vec_push(&t->units) = units;
}

static uint32_t units_before(const lsp_text *t, size_t off) {
    size_t mark = off / PDL_LSP_STRIDE, at = mark * PDL_LSP_STRIDE;
    return t->units.p[mark] + count_units(t->b.p + at, off - at);
}

static void find_lines(lsp_text *t) {
    find_units(t);
    t->lines.n = 0;
    *pdl_vec_push(&t->lines) = 0;
    pdl_str s = pdl_buf_str(&t->b);
    for (size_t i = 0; i < s.n;) {
        const char *nl = memchr(s.p + i, '\n', s.n - i);
        if (!nl) break;
        i = (size_t)(nl - s.p) + 1;
        *pdl_vec_push(&t->lines) = (uint32_t)i;
    }
    assert(pdl_lsp_text_ok(t));
}

bool pdl_lsp_text_ok(const lsp_text *t) {
    if (!t->lines.n) return !t->b.len && !t->units.n;
    return t->lines.p[0] == 0 && t->lines.p[t->lines.n - 1] <= t->b.len &&
           t->units.n == t->b.len / PDL_LSP_STRIDE + 1;
}

/* Appends bytes with line ends changed to LF. */
static void put_lf(pdl_buf *out, pdl_str bytes) {
    size_t from = 0;
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] != '\r') continue;
        pdl_buf_put(out, pdl_str_sub(bytes, from, i));
        if (i + 1 >= bytes.n || bytes.p[i + 1] != '\n') pdl_buf_putc(out, '\n');
        from = i + 1;
    }
    pdl_buf_put(out, pdl_str_sub(bytes, from, bytes.n));
}

void pdl_lsp_text_set(lsp_text *t, pdl_str bytes) {
    pdl_buf fresh = PDL_BUF;
    put_lf(&fresh, pdl_utf8_unmarked(bytes));
    pdl_buf_fini(&t->b);
    t->b = fresh;
    find_lines(t);
}

void pdl_lsp_text_replace(lsp_text *t, lsp_range range, pdl_str with) {
    size_t from = pdl_lsp_text_offset(t, range.from), to = pdl_lsp_text_offset(t, range.to);
    pdl_buf fresh = PDL_BUF;
    if (to < from) to = from;
    pdl_buf_put(&fresh, pdl_str_sub(pdl_buf_str(&t->b), 0, from));
    put_lf(&fresh, with);
    pdl_buf_put(&fresh, pdl_str_sub(pdl_buf_str(&t->b), to, t->b.len));
    pdl_buf_fini(&t->b);
    t->b = fresh;
    find_lines(t);
}

void pdl_lsp_text_fini(lsp_text *t) {
    pdl_buf_fini(&t->b);
    pdl_vec_fini(&t->lines);
    pdl_vec_fini(&t->units);
}

uint32_t pdl_lsp_text_line(const lsp_text *t, size_t off) {
    size_t low = 0, high = t->lines.n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (t->lines.p[mid] <= off)
            low = mid;
        else
            high = mid;
    }
    return (uint32_t)low;
}

pdl_str pdl_lsp_text_line_str(const lsp_text *t, uint32_t line) {
    if (line >= t->lines.n) return (pdl_str){0};
    size_t from = t->lines.p[line];
    size_t to = line + 1 < t->lines.n ? t->lines.p[line + 1] - 1 : t->b.len;
    return pdl_str_sub(pdl_buf_str(&t->b), from, to);
}

/* Returns how many units of the client a character of n bytes has: bytes, or UTF-16 units.
 * Characters beyond the basic plane have two UTF-16 units. */
static uint32_t units(const lsp_text *t, size_t n) {
    return t->utf8 ? (uint32_t)n : n == 4 ? 2 : 1;
}

size_t pdl_lsp_text_offset(const lsp_text *t, lsp_pos pos) {
    assert(pdl_lsp_text_ok(t));
    if (pos.line >= t->lines.n) return t->b.len;
    pdl_str line = pdl_lsp_text_line_str(t, pos.line);
    size_t i = 0;
    for (uint32_t ch = 0; i < line.n && ch < pos.ch;) {
        size_t n = pdl_utf8_len((unsigned char)line.p[i]);
        ch += units(t, n);
        if (ch > pos.ch) break;
        i += n;
    }
    return t->lines.p[pos.line] + i;
}

lsp_pos pdl_lsp_text_pos(const lsp_text *t, size_t off) {
    assert(pdl_lsp_text_ok(t));
    if (off > t->b.len) off = t->b.len;
    uint32_t line = pdl_lsp_text_line(t, off);
    size_t from = t->lines.n ? t->lines.p[line] : 0;
    if (t->utf8) return (lsp_pos){line, (uint32_t)(off - from)};
    if (off - from <= PDL_LSP_STRIDE)
        return (lsp_pos){line, off > from ? count_units(t->b.p + from, off - from) : 0};
    return (lsp_pos){line, units_before(t, off) - units_before(t, from)};
}
