/* node.c -- finds entries of mappings and places inside scalars, and writes the outline of a tree;
 * see node.h.
 *
 * The text of a scalar differs from its source by quotes, escapes and folded lines. When a message
 * needs the place of a part, the source of the scalar is walked again. So loading does not have to
 * keep these places.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/node.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "value/text.h"

#include "base/banned.h"

const pdl_node *pdl_node_find(const pdl_node *map, pdl_str key, const pdl_pair **pair) {
    assert(map);
    for (uint32_t i = 0; map->kind == PDL_NODE_MAP && i < map->n; i++) {
        const pdl_node *k = map->pairs[i].key;
        if (k->kind != PDL_NODE_SCALAR || k->type != PDL_NT_STR || !pdl_str_eq(k->text, key))
            continue;
        if (pair) *pair = &map->pairs[i];
        return map->pairs[i].value;
    }
    return NULL;
}

/* --- places in a scalar's text: the source is read once more, counting the text it makes --- */

/* A walk over a lexeme, which finds the source span of the bytes [from, to) of the scalar's text.
 * `text` is the number of bytes of that text so far.
 */
typedef struct node_walk {
    pdl_str s; /* source up to the end of the lexeme */
    size_t pos, text;
    size_t from, to;
    size_t start, end; /* the span in the source; start is PDL_NOT_FOUND until the span is found */
} walk;

/* Records that source bytes [pos, pos + width) make `made` bytes of text. */
static void step(walk *w, size_t width, size_t made) {
    assert(w->pos <= w->s.n && w->from <= w->to);
    size_t begin = w->text, stop = w->text + made;
    if (made && w->start == PDL_NOT_FOUND && stop > w->from)
        w->start = width == made ? w->pos + (w->from > begin ? w->from - begin : 0) : w->pos;
    if (made && begin < w->to)
        w->end = width == made && stop > w->to ? w->pos + (w->to - begin) : w->pos + width;
    w->pos += width;
    w->text += made;
}

static char cur(const walk *w) { return w->pos < w->s.n ? w->s.p[w->pos] : '\0'; }
static char ahead(const walk *w, size_t k) {
    return w->pos + k < w->s.n ? w->s.p[w->pos + k] : '\0';
}
static bool blank(char c) { return c == ' ' || c == '\t'; }

/* Walks over blanks of a flow scalar. Blanks inside a line are unchanged. Blanks around line ends
 * are folded: a single line end becomes a blank, and the first of several line ends is dropped. */
static void fold_blanks(walk *w) {
    size_t i = w->pos, lines = 0;
    while (i < w->s.n && (blank(w->s.p[i]) || w->s.p[i] == '\n')) {
        if (w->s.p[i] == '\n') lines++;
        i++;
    }
    if (!lines) {
        step(w, i - w->pos, i - w->pos);
        return;
    }
    step(w, i - w->pos, lines == 1 ? 1 : lines - 1);
}

/* Reads a hexadecimal number that has `digits` digits and begins k bytes ahead. */
static uint32_t hex_ahead(const walk *w, size_t k, size_t digits) {
    uint32_t cp = 0;
    for (size_t end = k + digits; k < end; k++) {
        char d = ahead(w, k);
        cp = cp * 16 + (uint32_t)(d <= '9' ? d - '0' : (d | 32) - 'a' + 10);
    }
    return cp;
}

static void walk_escape(walk *w) {
    char c = ahead(w, 1);
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (c == '\n') { /* the line continues in the next one: only empty lines produce text */
        size_t i = w->pos + 2, lines = 0;
        for (; i < w->s.n && (blank(w->s.p[i]) || w->s.p[i] == '\n'); i++)
            lines += w->s.p[i] == '\n';
        step(w, i - w->pos, lines);
        return;
    }
    if (digits) {
        char tmp[4];
        uint32_t cp = hex_ahead(w, 2, digits);
        if (digits == 4 && cp >> 10 == 0xd800 >> 10 && ahead(w, 6) == '\\' && ahead(w, 7) == 'u' &&
            hex_ahead(w, 8, 4) >> 10 == 0xdc00 >> 10) {
            step(w, 12, 4); /* both halves of a surrogate pair */
            return;
        }
        step(w, 2 + digits, cp > 0x10ffff ? 0 : pdl_utf8_put(cp, tmp));
        return;
    }
    /* \N and \_ are two bytes of UTF-8, \L and \P three, \e and others one. */
    step(w, 2, c == 'N' || c == '_' ? 2 : c == 'L' || c == 'P' ? 3 : 1);
}

static void walk_quoted(walk *w, char quote) {
    w->pos++;
    while (w->pos < w->s.n && w->text <= w->to) {
        char c = cur(w);
        if (c == quote) {
            if (quote == '"' || ahead(w, 1) != '\'') break;
            step(w, 2, 1);
        } else if (c == '\\' && quote == '"') {
            walk_escape(w);
        } else if (blank(c) || c == '\n') {
            fold_blanks(w);
        } else {
            size_t i = w->pos;
            while (i < w->s.n && w->s.p[i] != quote && !blank(w->s.p[i]) && w->s.p[i] != '\n' &&
                   !(quote == '"' && w->s.p[i] == '\\'))
                i++;
            step(w, i - w->pos, i - w->pos);
        }
    }
}

static void walk_plain(walk *w) {
    while (w->pos < w->s.n && w->text <= w->to) {
        size_t i = w->pos;
        if (blank(cur(w)) || cur(w) == '\n') {
            fold_blanks(w);
            continue;
        }
        while (i < w->s.n && !blank(w->s.p[i]) && w->s.p[i] != '\n') i++;
        step(w, i - w->pos, i - w->pos);
    }
}

/* Returns the width of the indentation of a block scalar. It is computed from the first line of the
 * text that has content: the line in the source is the indentation, followed by this text. A number
 * in the header is not used, since it is relative to the parent. */
static size_t block_indent(const walk *w, pdl_str text) {
    size_t i = w->pos;
    size_t t = 0;
    while (t < text.n && text.p[t] == '\n') t++;
    size_t len = pdl_str_find(text, PDL_STR("\n"), t);
    len = (len == PDL_NOT_FOUND ? text.n : len) - t;
    while (i < w->s.n) {
        size_t e = pdl_str_find(w->s, PDL_STR("\n"), i);
        if (e == PDL_NOT_FOUND) e = w->s.n;
        size_t b = i;
        while (b < e && w->s.p[b] == ' ') b++;
        if (b < e) { /* leading blanks beyond the indentation are text */
            size_t lead = 0;
            while (lead < len && text.p[t + lead] == ' ') lead++;
            return b - i >= lead ? b - i - lead : b - i;
        }
        i = e + 1;
    }
    return 0;
}

/* Walks over a literal or folded scalar. In a folded scalar, the produced text shows whether a line
 * end became a blank. */
static void walk_block(walk *w, pdl_str text) {
    size_t e = pdl_str_find(w->s, PDL_STR("\n"), w->pos);
    if (e == PDL_NOT_FOUND) return;
    w->pos = e + 1;
    size_t indent = block_indent(w, text);
    while (w->pos < w->s.n && w->text <= w->to) {
        size_t b = w->pos, n;
        while (b < w->s.n && b - w->pos < indent && w->s.p[b] == ' ') b++;
        e = pdl_str_find(w->s, PDL_STR("\n"), b);
        if (e == PDL_NOT_FOUND) e = w->s.n;
        w->pos = b;
        n = e - b;
        step(w, n, n);
        if (e >= w->s.n) break;
        /* The text has a line end or a blank for this line end. The text has nothing for the first
         * of several line ends of a folded scalar. */
        char made = w->text < text.n ? text.p[w->text] : '\0';
        step(w, 1, made == '\n' || (made == ' ' && n) ? 1 : 0);
    }
}

/* Returns the position after tag and anchor. A blank need not follow an anchor: `&a:b` is the
 * anchor `a` of the text `:b`. */
static size_t skip_properties(pdl_str s, size_t i) {
    while (i < s.n && (s.p[i] == '!' || s.p[i] == '&')) {
        const char *ends = s.p[i] == '&' ? "?:,]}%@`" : "";
        while (i < s.n && !blank(s.p[i]) && s.p[i] != '\n' && !(s.p[i] && strchr(ends, s.p[i])))
            i++;
        for (;;) {
            while (i < s.n && (blank(s.p[i]) || s.p[i] == '\n')) i++;
            if (i >= s.n || s.p[i] != '#') break;
            while (i < s.n && s.p[i] != '\n') i++;
        }
    }
    return i;
}

pdl_loc pdl_node_text_loc(const pdl_node *n, size_t from, size_t to) {
    pdl_loc whole = pdl_node_loc(n);
    if (!n || n->kind != PDL_NODE_SCALAR || from > to || to > n->text.n) return whole;
    walk w = {
        .s = pdl_str_sub(n->src->text, 0, n->end), .from = from, .to = to, .start = PDL_NOT_FOUND};
    w.pos = skip_properties(w.s, n->start);
    /* the span is empty: it is the position at which text would be */
    if (from == to) w.to = to + 1;
    if (n->style == PDL_STYLE_SINGLE || n->style == PDL_STYLE_DOUBLE)
        walk_quoted(&w, n->style == PDL_STYLE_SINGLE ? '\'' : '"');
    else if (n->style == PDL_STYLE_LITERAL || n->style == PDL_STYLE_FOLDED)
        walk_block(&w, n->text);
    else
        walk_plain(&w);
    if (w.start == PDL_NOT_FOUND) {
        if (from != to || from != n->text.n) return whole;
        w.start = w.end = w.pos < n->end ? w.pos : n->end;
    }
    if (from == to) w.end = w.start;
    if (w.end < w.start) w.end = w.start;
    return (pdl_loc){n->src, (uint32_t)w.start, (uint32_t)w.end};
}

/* --- outline --- */

static const char *const type_names[] = {"str",    "null", "bool", "int", "float", "timestamp",
                                         "binary", "seq",  "map",  "set", "omap",  "pairs"};
static const char *const style_names[] = {"plain",  "single", "double", "literal",
                                          "folded", "flow",   "block"};

/* Writes a node. The depth is bounded by PDL_MAX_YAML_DEPTH. */
static void dump(const pdl_node *n, unsigned depth, const char *role, pdl_buf *out) {
    uint32_t line = pdl_source_line(n->src, n->start), column = pdl_source_column(n->src, n->start);
    for (unsigned i = 0; i < depth; i++) PDL_PUT(out, "  ");
    pdl_buf_putf(out, "%s%s %s %u:%u [%u, %u)", role, type_names[n->type], style_names[n->style],
                 line, column, n->start, n->end);
    if (n->kind == PDL_NODE_SCALAR) {
        pdl_buf_putc(out, ' ');
        pdl_str_repr(n->text, out);
    }
    pdl_buf_putc(out, '\n');
    for (uint32_t i = 0; i < n->n; i++) {
        if (n->kind == PDL_NODE_SEQ) {
            dump(n->items[i], depth + 1, "- ", out);
        } else if (n->kind == PDL_NODE_MAP) {
            dump(n->pairs[i].key, depth + 1, "? ", out);
            dump(n->pairs[i].value, depth + 1, ": ", out);
        }
    }
}

void pdl_node_dump(const pdl_node *n, pdl_buf *out) { dump(n, 0, "", out); }
