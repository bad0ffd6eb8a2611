/* spans.c -- finds where a byte of a scalar's text is in the file; see spans.h. Most scalars, and
 * the lines of literal blocks, have the same bytes in the file. Their positions are computed
 * directly. Folded and escaped texts are read again for each position (pdl_node_text_loc). That
 * takes time proportional to their size, so the total of this work is bounded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/spans.h"

#include "lang/program.h"

#include "base/banned.h"

enum { MAX_WORK = 64 << 20 };

/* Maps the lines of a literal block. The first line is found in the general way; all other lines
 * have the indentation of the first. */
static void map_literal(lsp_spans *s, const pdl_node *n) {
    pdl_str text = n->text, file = n->src->text;
    if (!text.n || text.p[0] == '\n') return;
    uint32_t src = pdl_node_text_loc(n, 0, 1).start, line = src;
    while (line > 0 && file.p[line - 1] != '\n') line--;
    uint32_t indent = src - line;
    for (size_t i = 0; i < text.n;) {
        *pdl_vec_push(&s->lines) = (uint32_t)i;
        *pdl_vec_push(&s->lines) = src;
        const char *nl = memchr(text.p + i, '\n', text.n - i);
        const char *end = src < n->end ? memchr(file.p + src, '\n', n->end - src) : NULL;
        if (!nl || !end) return;
        i = (size_t)(nl - text.p) + 1;
        src = (uint32_t)(end - file.p) + 1;
        for (uint32_t k = 0; k < indent && src < file.n && file.p[src] == ' '; k++) src++;
    }
}

void pdl_lsp_spans_of(lsp_spans *s, const pdl_node *n) {
    uint32_t quotes = n->style == PDL_STYLE_SINGLE || n->style == PDL_STYLE_DOUBLE ? 1 : 0;
    s->node = n;
    s->lines.n = 0;
    s->direct = n->style != PDL_STYLE_LITERAL && n->style != PDL_STYLE_FOLDED &&
                n->end - n->start == n->text.n + 2 * quotes;
    s->base = n->start + quotes;
    if (n->style == PDL_STYLE_LITERAL) map_literal(s, n);
}

/* Returns the index of the last pair in `lines` whose member `which` is at most x. */
static size_t line_at(const lsp_spans *s, size_t which, size_t x) {
    size_t low = 0, high = s->lines.n / 2;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (s->lines.p[2 * mid + which] <= x)
            low = mid;
        else
            high = mid;
    }
    return 2 * low;
}

bool pdl_lsp_spans_find(lsp_spans *s, size_t from, size_t to, uint32_t *start, uint32_t *end) {
    if (s->direct) {
        *start = s->base + (uint32_t)from;
        *end = s->base + (uint32_t)to;
        return true;
    }
    if (s->lines.n) {
        size_t a = line_at(s, 0, from), b = line_at(s, 0, to > from ? to - 1 : to);
        *start = s->lines.p[a + 1] + (uint32_t)(from - s->lines.p[a]);
        *end = s->lines.p[b + 1] + (uint32_t)(to - s->lines.p[b]);
        return true;
    }
    s->work += s->node->text.n;
    if (s->work > MAX_WORK) return false;
    pdl_loc loc = pdl_node_text_loc(s->node, from, to);
    *start = loc.start;
    *end = loc.end;
    return true;
}

size_t pdl_lsp_spans_back(lsp_spans *s, uint32_t off) {
    size_t n = s->node->text.n;
    if (s->direct) return off < s->base ? 0 : off - s->base > n ? n : off - s->base;
    if (s->lines.n) {
        size_t a = line_at(s, 1, off);
        size_t next = a + 2 < s->lines.n ? s->lines.p[a + 2] - 1 : n;
        size_t at =
            off < s->lines.p[a + 1] ? s->lines.p[a] : s->lines.p[a] + (off - s->lines.p[a + 1]);
        return at > next ? next : at;
    }
    /* a binary search for the last byte whose position is at most off */
    size_t low = 0, high = n + 1;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (pdl_node_text_loc(s->node, mid, mid < n ? mid + 1 : mid).start <= off)
            low = mid;
        else
            high = mid;
    }
    return low;
}

void pdl_lsp_spans_fini(lsp_spans *s) { pdl_vec_fini(&s->lines); }

/* --- expressions of a text -------------------------------------------------------------------- */

/* Returns the end of the `}` that closes the `${` at `from`. When nothing closes it, returns the
 * beginning of the next `${`, or the end of this one when no other follows. */
static size_t part_end(pdl_str s, size_t from) {
    char quote = 0;
    unsigned depth = 0;
    for (size_t i = from + 2; i < s.n; i++) {
        char ch = s.p[i];
        if (quote) {
            if (ch == '\\')
                i++;
            else if (ch == quote)
                quote = 0;
        } else if (ch == '"' || ch == '\'') {
            quote = ch;
        } else if (ch == '$' && i + 1 < s.n && s.p[i + 1] == '{') {
            return i;
        } else if (ch == '{') {
            depth++;
        } else if (ch == '}' && depth-- == 0) {
            return i + 1;
        }
    }
    return from + 2; /* the quote is not closed, so the search continues directly after the `${` */
}

void pdl_lsp_each_expr(pdl_arena *scratch, pdl_str text,
                       void (*fn)(void *user, const pdl_expr *e, size_t base), void *user) {
    enum { MAX_PARTS = 200, MAX_TEXT = 1 << 16 };
    const pdl_expr *e = pdl_expr_read(scratch, text, &pdl_known_xnames);
    if (e->root) fn(user, e, 0);
    if (e->form != PDL_X_BROKEN || text.n > MAX_TEXT) return;
    size_t at = 0;
    for (unsigned n = 0; n < MAX_PARTS; n++) {
        at = pdl_str_find(text, PDL_STR("${"), at);
        if (at == PDL_NOT_FOUND) return;
        size_t end = part_end(text, at);
        e = pdl_expr_read(scratch, pdl_str_sub(text, at, end), &pdl_known_xnames);
        if (e->root) fn(user, e, at);
        at = end;
    }
}
