/* source.c -- sources, and the lines in them; see source.h.
 *
 * The index of the lines is built when it is first needed, because most runs print no place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/source.h"

#include "base/buf.h"

#include "base/banned.h"

pdl_source *pdl_source_new(pdl_arena *a, pdl_str name, pdl_str text) {
    pdl_source *s = pdl_arena_new(a, pdl_source);
    s->name = pdl_arena_str(a, name);
    char *p = pdl_arena_raw(a, text.n + PDL_SOURCE_PAD);
    if (text.n) memcpy(p, text.p, text.n);
    memset(p + text.n, 0, PDL_SOURCE_PAD);
    s->text = (pdl_str){p, text.n};
    s->arena = a;
    return s;
}

static void index_lines(pdl_source *s) {
    uint32_t n = 1;
    for (size_t i = 0; i < s->text.n; i++) n += s->text.p[i] == '\n';
    s->line_starts = pdl_arena_new_n(s->arena, uint32_t, n);
    s->n_lines = n;
    uint32_t k = 1;
    for (size_t i = 0; i < s->text.n; i++)
        if (s->text.p[i] == '\n') s->line_starts[k++] = (uint32_t)(i + 1);
}

static const uint32_t *lines_of(const pdl_source *s) {
    /* The index is a cache, so a source counts as unchanged when its index is built. */
    if (!s->line_starts) index_lines((pdl_source *)(uintptr_t)s);
    return s->line_starts;
}

uint32_t pdl_source_line(const pdl_source *s, uint32_t off) {
    const uint32_t *starts = lines_of(s);
    uint32_t lo = 0, hi = s->n_lines;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (starts[mid] <= off)
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1;
}

uint32_t pdl_source_column(const pdl_source *s, uint32_t off) {
    uint32_t start = lines_of(s)[pdl_source_line(s, off) - 1], column = 1;
    for (uint32_t i = start; i < off && i < s->text.n; i++)
        column += ((unsigned char)s->text.p[i] & 0xc0) != 0x80;
    return column;
}

pdl_str pdl_source_line_text(const pdl_source *s, uint32_t line1) {
    const uint32_t *starts = lines_of(s);
    if (line1 < 1 || line1 > s->n_lines) return (pdl_str){0};
    size_t from = starts[line1 - 1];
    size_t to = line1 < s->n_lines ? starts[line1] - 1 : s->text.n;
    return pdl_str_sub(s->text, from, to);
}

void pdl_loc_put(pdl_loc loc, pdl_buf *out) {
    if (loc.src && loc.src->name.n)
        pdl_buf_putf(out, "%.*s:%u - ", PDL_FMT(loc.src->name), pdl_loc_line(loc));
    else if (loc.src)
        pdl_buf_putf(out, "line %u - ", pdl_loc_line(loc));
}
