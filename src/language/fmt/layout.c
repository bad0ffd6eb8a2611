/* layout.c -- see fmt.h: decides the position of each token.
 *
 * Lines stay as they are, so comments need no rules about what they belong to. This code only
 * decides the column of the first token of a line, and the blanks between two tokens. The column of
 * a block collection follows only from the collection around it, so it is computed once for each
 * node, in their order. In flow collections the line of the opening bracket decides.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fmt/layout.h"

#include <string.h>

#include "base/bisect.h"
#include "base/utf8.h"
#include "base/vec.h"

#include "base/banned.h"

enum { STEP = 2 }; /* the columns of a level */

/* An open bracket. */
typedef struct bracket {
    uint32_t indent; /* the column of the first token of the bracket's line */
    bool broken;     /* each item gets a line */
} bracket;

typedef struct layout {
    const pdl_ytree *t;
    const pdl_format_options *o;
    pdl_buf *out;
    uint32_t *columns; /* the columns of block collections, by node */
    uint32_t *was;     /* the columns of block collections in the source, by node */
    PDL_VEC(bracket) open;
    uint32_t indent;       /* the indentation of the current line */
    bool line_has_content; /* the line has more than its dashes */
    size_t counted;        /* the number of bytes of `out` whose column is known */
    uint32_t column;       /* the column after `counted` bytes */
    /* the number of the last written token that is not a comment; the first is 1 */
    size_t written;
    size_t next; /* the place where the search for the next token that is not a comment continues */
} layout;

static const char *text_of(const layout *l) { return l->t->src->text.p; }

static bool is_block(const pdl_ytree_node *n) {
    return n->kind >= PDL_YTREE_SEQ && n->style == PDL_STYLE_BLOCK;
}

/* --- lines of the source ---------------------------------------------------------------------- */

static bool in_range(const layout *l, uint32_t start, uint32_t end) {
    if (!l->o->first_line) return true;
    return pdl_source_line(l->t->src, start) >= l->o->first_line &&
           pdl_source_line(l->t->src, end > start ? end - 1 : start) <= l->o->last_line;
}

static uint32_t source_column(const layout *l, uint32_t off) {
    return pdl_source_column(l->t->src, off) - 1;
}

/* Returns true when only blanks precede off on its line. */
static bool begins_line(const layout *l, uint32_t off) {
    const char *p = text_of(l);
    while (off && p[off - 1] == ' ') off--;
    return !off || p[off - 1] == '\n';
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Returns the innermost block collection around a node, or PDL_YTREE_NONE. */
static pdl_ytree_id block_around(const layout *l, pdl_ytree_id id) {
    do id = l->t->nodes[id].parent;
    while (id != PDL_YTREE_NONE && !is_block(&l->t->nodes[id]));
    return id;
}

/* Returns true when a node begins after a `?` or `:` on its line. */
static bool follows_indicator(const layout *l, const pdl_ytree_node *n) {
    size_t i = pdl_ytree_token_at(l->t, n->start);
    return i && i < l->t->n_tokens && !begins_line(l, n->start) &&
           (l->t->tokens[i - 1].kind == PDL_YTREE_KEY_TOKEN ||
            l->t->tokens[i - 1].kind == PDL_YTREE_VALUE_TOKEN);
}

static uint32_t column_of(const layout *l, pdl_ytree_id id) {
    const pdl_ytree_node *n = &l->t->nodes[id];
    pdl_ytree_id up = block_around(l, id);
    if (!in_range(l, n->outer, n->end)) return l->was[id];
    if (up == PDL_YTREE_NONE) return 0;
    const pdl_ytree_node *around = &l->t->nodes[up];
    bool dashes = n->kind == PDL_YTREE_SEQ && around->kind == PDL_YTREE_MAP && !n->is_key &&
                  !follows_indicator(l, n);
    return l->columns[up] + (dashes ? 0 : STEP);
}

static void find_columns(layout *l, pdl_arena *a) {
    size_t n = l->t->n_nodes;
    l->columns = pdl_arena_new_n(a, uint32_t, n + 1);
    l->was = pdl_arena_new_n(a, uint32_t, n + 1);
    for (pdl_ytree_id id = 0; id < n; id++) {
        if (!is_block(&l->t->nodes[id])) continue;
        l->was[id] = source_column(l, l->t->nodes[id].start);
        l->columns[id] = column_of(l, id);
    }
}

/* Returns the first node that begins at off, or PDL_YTREE_NONE. Sets *before to the last node that
 * begins at off or before it. */
static pdl_ytree_id node_from(const layout *l, uint32_t off, pdl_ytree_id *before) {
    size_t lo = 0;
    PDL_BISECT(lo, l->t->n_nodes, l->t->nodes[mid].outer < off);
    *before = lo ? (pdl_ytree_id)(lo - 1) : PDL_YTREE_NONE;
    return lo < l->t->n_nodes && l->t->nodes[lo].outer == off ? (pdl_ytree_id)lo : PDL_YTREE_NONE;
}

/* Returns the block collection of this kind that had this column in the source: the node id, or a
 * collection around the node. Returns PDL_YTREE_NONE when there is none. */
static pdl_ytree_id around_in_column(const layout *l, pdl_ytree_id id, uint32_t column,
                                     pdl_ytree_kind kind) {
    for (; id != PDL_YTREE_NONE; id = l->t->nodes[id].parent)
        if (is_block(&l->t->nodes[id]) && l->t->nodes[id].kind == kind && l->was[id] == column)
            return id;
    return PDL_YTREE_NONE;
}

static uint32_t below(const layout *l, pdl_ytree_id id) {
    pdl_ytree_id up = block_around(l, id);
    return up == PDL_YTREE_NONE ? 0 : l->columns[up] + STEP;
}

/* Returns the column of a node's first token that begins a line in a block collection. */
static uint32_t node_column(const layout *l, pdl_ytree_id id, uint32_t off) {
    const pdl_ytree_node *n = &l->t->nodes[id];
    if (is_block(n) && n->start == off) return l->columns[id];
    if (n->is_key && n->parent != PDL_YTREE_NONE && is_block(&l->t->nodes[n->parent]) &&
        !follows_indicator(l, n) && l->was[n->parent] == source_column(l, off))
        return l->columns[n->parent];
    return below(l, id);
}

static uint32_t indicator_column(const layout *l, const pdl_ytree_token *k, pdl_ytree_id before,
                                 pdl_ytree_id here) {
    pdl_ytree_kind kind = k->kind == PDL_YTREE_ENTRY_TOKEN ? PDL_YTREE_SEQ : PDL_YTREE_MAP;
    uint32_t column = source_column(l, k->start);
    pdl_ytree_id id = around_in_column(l, here != PDL_YTREE_NONE ? here : before, column, kind);
    return id == PDL_YTREE_NONE ? column : l->columns[id];
}

static bool opens(const pdl_ytree_token *k) {
    return k->kind == PDL_YTREE_SEQ_OPEN_TOKEN || k->kind == PDL_YTREE_MAP_OPEN_TOKEN;
}
static bool closes(const pdl_ytree_token *k) {
    return k->kind == PDL_YTREE_SEQ_CLOSE_TOKEN || k->kind == PDL_YTREE_MAP_CLOSE_TOKEN;
}

static uint32_t token_column(layout *l, size_t i);

/* Returns the column of a comment. In the source, the comment is aligned with the text after it or
 * with the entries that end before it. The formatted comment is aligned with the same text or
 * entries. After a block scalar the comment must not become a part of its text. */
static uint32_t comment_column(layout *l, size_t i) {
    const pdl_ytree_token *tokens = l->t->tokens;
    uint32_t was = source_column(l, tokens[i].start), most = UINT32_MAX, column;
    pdl_ytree_id before, id;
    if (l->next <= i) l->next = i + 1;
    while (l->next < l->t->n_tokens && tokens[l->next].kind == PDL_YTREE_COMMENT_TOKEN) l->next++;
    bool last = l->next == l->t->n_tokens;
    (void)node_from(l, tokens[i].start, &before);
    if (l->written && text_of(l)[tokens[l->written - 1].end - 1] == '\n' &&
        before != PDL_YTREE_NONE)
        most = below(l, before) >= STEP ? below(l, before) - STEP : 0;
    column = last ? 0 : token_column(l, l->next);
    bool fits = !last && source_column(l, tokens[l->next].start) == was;
    for (id = before; !fits && id != PDL_YTREE_NONE; id = l->t->nodes[id].parent)
        if (is_block(&l->t->nodes[id]) && l->was[id] == was) {
            fits = true;
            column = l->columns[id];
        }
    return column < most ? column : most;
}

/* Returns the column of a token that begins a line. */
static uint32_t token_column(layout *l, size_t i) {
    const pdl_ytree_token *k = &l->t->tokens[i];
    pdl_ytree_id before, here = node_from(l, k->start, &before);
    if (l->open.n) {
        uint32_t indent = l->open.p[l->open.n - 1].indent;
        return closes(k) ? indent : indent + STEP;
    }
    switch (k->kind) {
    case PDL_YTREE_COMMENT_TOKEN: return comment_column(l, i);
    case PDL_YTREE_KEY_TOKEN:
    case PDL_YTREE_VALUE_TOKEN:
    case PDL_YTREE_ENTRY_TOKEN: return indicator_column(l, k, before, here);
    case PDL_YTREE_DIRECTIVE_TOKEN:
    case PDL_YTREE_DOC_START_TOKEN:
    case PDL_YTREE_DOC_END_TOKEN: return 0;
    case PDL_YTREE_SKIPPED_TOKEN:
    case PDL_YTREE_SCALAR_TOKEN:
    case PDL_YTREE_ALIAS_TOKEN:
    case PDL_YTREE_ANCHOR_TOKEN:
    case PDL_YTREE_TAG_TOKEN:
    case PDL_YTREE_COMMA_TOKEN:
    case PDL_YTREE_SEQ_OPEN_TOKEN:
    case PDL_YTREE_SEQ_CLOSE_TOKEN:
    case PDL_YTREE_MAP_OPEN_TOKEN:
    case PDL_YTREE_MAP_CLOSE_TOKEN: break;
    }
    if (here != PDL_YTREE_NONE) return node_column(l, here, k->start);
    /* the content of a node whose tag or anchor is on a line above */
    return before == PDL_YTREE_NONE ? 0 : below(l, before);
}

/* --- blanks between tokens -------------------------------------------------------------------- */

static bool is_property(const pdl_ytree_token *k) {
    return k->kind == PDL_YTREE_TAG_TOKEN || k->kind == PDL_YTREE_ANCHOR_TOKEN;
}

/* Returns the blanks between two tokens of a line. The second token is no comment. */
static uint32_t blanks_between(const pdl_ytree_token *a, const pdl_ytree_token *b) {
    if (is_property(a)) return 1;
    if (b->kind == PDL_YTREE_COMMA_TOKEN) return a->kind == PDL_YTREE_VALUE_TOKEN;
    if (b->kind == PDL_YTREE_VALUE_TOKEN) return a->kind == PDL_YTREE_ALIAS_TOKEN;
    if (opens(a)) return 0;
    if (closes(b)) return a->kind == PDL_YTREE_VALUE_TOKEN;
    return 1;
}

static uint32_t width(const layout *l, const pdl_ytree_token *k) {
    pdl_str s = {text_of(l) + k->start, k->end - k->start};
    return (uint32_t)pdl_utf8_count(s);
}

/* Returns true when the flow collection that opens at token i, written on one line from this
 * column, fits on the line. */
static bool fits(const layout *l, size_t i, uint32_t column) {
    const pdl_ytree_token *k = l->t->tokens;
    size_t depth = 0;
    for (; i < l->t->n_tokens && column <= PDL_FORMAT_WIDTH; i++) {
        column += width(l, &k[i]);
        if (opens(&k[i])) depth++;
        if (closes(&k[i]) && !--depth) {
            bool more = i + 1 < l->t->n_tokens && k[i + 1].kind == PDL_YTREE_COMMA_TOKEN;
            return column + more <= PDL_FORMAT_WIDTH;
        }
        if (i + 1 < l->t->n_tokens) column += blanks_between(&k[i], &k[i + 1]);
    }
    return false;
}

/* Returns true when the flow collection that opens at token i is on one line, is in the formatted
 * lines, and is not a part of a key. A key must be on one line. */
static bool may_break(const layout *l, size_t i) {
    const pdl_ytree_token *k = &l->t->tokens[i];
    pdl_ytree_id before, id = node_from(l, k->start, &before);
    if (id == PDL_YTREE_NONE) id = before; /* a tag or an anchor precedes the collection */
    if (id == PDL_YTREE_NONE || l->t->nodes[id].start > k->start) return false;
    uint32_t end = l->t->nodes[id].end;
    if (memchr(text_of(l) + k->start, '\n', end - k->start)) return false;
    if (!in_range(l, k->start, end)) return false;
    for (; id != PDL_YTREE_NONE; id = l->t->nodes[id].parent)
        if (l->t->nodes[id].is_key) return false;
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put(layout *l, pdl_str s) { pdl_buf_put(l->out, s); }

static void put_blanks(layout *l, uint32_t n) {
    while (n--) pdl_buf_putc(l->out, ' ');
}

/* Returns the column at the end of the written text. Each byte is counted once. */
static uint32_t column_now(layout *l) {
    for (; l->counted < l->out->len; l->counted++) {
        char c = l->out->p[l->counted];
        l->column = c == '\n' ? 0 : l->column + ((c & 0xc0) != 0x80);
    }
    return l->column;
}

static void new_line(layout *l, uint32_t column) {
    pdl_buf_putc(l->out, '\n');
    put_blanks(l, column);
    l->indent = column;
    l->line_has_content = false;
}

static pdl_str line_at(const char *p, const char *end) {
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    return (pdl_str){p, (size_t)((lf ? lf : end) - p)};
}

static size_t leading_blanks(pdl_str s) {
    size_t n = 0;
    while (n < s.n && s.p[n] == ' ') n++;
    return n;
}

static size_t length_without_blanks(pdl_str s) {
    size_t n = s.n;
    while (n && (s.p[n - 1] == ' ' || s.p[n - 1] == '\t')) n--;
    return n;
}

/* Returns s without the blanks at its end. A blank that a backslash escapes is kept. */
static pdl_str without_tail(pdl_str s) {
    size_t n = length_without_blanks(s), slashes = 0;
    while (slashes < n && s.p[n - 1 - slashes] == '\\') slashes++;
    return pdl_str_sub(s, 0, n < s.n && slashes % 2 ? n + 1 : n);
}

/* Writes a plain or quoted scalar of several lines. The blanks around its line ends
 * mean nothing. */
static void put_folded(layout *l, const pdl_ytree_token *k, uint32_t column) {
    const char *p = text_of(l) + k->start, *end = text_of(l) + k->end;
    for (bool first = true; p < end; first = false) {
        pdl_str line = line_at(p, end);
        p = line.p + line.n;
        bool last = p >= end;
        p++;
        while (!first && line.n && (*line.p == ' ' || *line.p == '\t')) line.p++, line.n--;
        if (!last) line = without_tail(line);
        if (!first) pdl_buf_putc(l->out, '\n');
        bool mark = !column &&
                    (pdl_str_starts(line, PDL_STR("---")) || pdl_str_starts(line, PDL_STR("...")));
        if (!first && line.n) put_blanks(l, mark ? STEP : column);
        put(l, line);
    }
}

/* Finds the column of a block scalar's text in the source, by the rule of PyYAML. digit comes from
 * the header, or is 0. parent is the column of the collection around the scalar, or -1. */
static uint32_t text_column(const char *p, const char *end, int digit, int parent) {
    size_t most = 0;
    if (digit) return (uint32_t)((parent < 0 ? 0 : parent) + digit);
    while (p < end) {
        pdl_str line = line_at(p, end);
        size_t n = leading_blanks(line);
        if (n > most) most = n;
        if (n < line.n) break;
        p = line.p + line.n + 1;
    }
    return (uint32_t)most;
}

/* Writes a block scalar. The column of its lines is the column of the collection around it plus
 * STEP. A digit in the header is replaced by this number of columns. A missing last line end is not
 * added to the text. */
static void put_block_scalar(layout *l, const pdl_ytree_token *k, pdl_ytree_id node) {
    const char *p = text_of(l) + k->start, *end = text_of(l) + k->end;
    pdl_ytree_id up = block_around(l, node);
    pdl_str header = without_tail(line_at(p, end));
    const char *body = line_at(p, end).p + line_at(p, end).n;
    int digit = 0;
    size_t i = 1;
    bool keep = false;
    for (; i < header.n && i < 3 && header.p[i] != ' '; i++) {
        keep = keep || header.p[i] == '+';
        if (header.p[i] >= '1' && header.p[i] <= '9') digit = header.p[i] - '0';
    }
    for (size_t c = 0; c < header.n; c++) {
        bool is_digit = digit && c > 0 && c < i && header.p[c] >= '1' && header.p[c] <= '9';
        pdl_buf_putc(l->out, is_digit ? '0' + STEP : header.p[c]);
    }
    if (body >= end) return;
    uint32_t from = text_column(++body, end, digit, up == PDL_YTREE_NONE ? -1 : (int)l->was[up]);
    uint32_t to = up == PDL_YTREE_NONE ? STEP : l->columns[up] + STEP;
    size_t empty = 0;
    while (body < end) {
        pdl_str line = line_at(body, end);
        body = line.p + line.n + 1;
        if (leading_blanks(line) >= from && line.n > from) {
            for (; empty; empty--) pdl_buf_putc(l->out, '\n');
            new_line(l, to);
            put(l, pdl_str_sub(line, from, line.n));
        } else {
            empty++;
        }
    }
    for (; keep && empty; empty--) pdl_buf_putc(l->out, '\n');
}

static bool is_block_scalar(const layout *l, pdl_str s) {
    return !l->open.n && (*s.p == '|' || *s.p == '>');
}

static uint32_t scalar_indent(const layout *l, pdl_ytree_id id) {
    if (l->open.n) return l->open.p[l->open.n - 1].indent + STEP;
    return id == PDL_YTREE_NONE ? 0 : below(l, id);
}

static void put_scalar(layout *l, const pdl_ytree_token *k) {
    pdl_str s = {text_of(l) + k->start, k->end - k->start};
    pdl_ytree_id before, id = node_from(l, k->start, &before);
    bool inside = in_range(l, k->start, k->end);
    if (id == PDL_YTREE_NONE) id = before;
    if (inside && is_block_scalar(l, s))
        put_block_scalar(l, k, id);
    else if (!inside || !pdl_byte_in('\n', s))
        put(l, s);
    else
        put_folded(l, k, scalar_indent(l, id));
}

static void put_token(layout *l, size_t i) {
    const pdl_ytree_token *k = &l->t->tokens[i];
    uint32_t column = column_now(l);
    if (k->kind != PDL_YTREE_ENTRY_TOKEN && k->kind != PDL_YTREE_KEY_TOKEN &&
        !l->line_has_content) {
        l->line_has_content = true;
        l->indent = column;
    }
    if (closes(k) && l->open.n) l->open.n--;
    if (opens(k)) {
        bool broken = l->indent < PDL_FORMAT_WIDTH && !fits(l, i, column) && may_break(l, i);
        *pdl_vec_push(&l->open) = (bracket){l->indent, broken};
    }
    pdl_str text = {text_of(l) + k->start, k->end - k->start};
    if (k->kind == PDL_YTREE_SCALAR_TOKEN)
        put_scalar(l, k);
    else if (in_range(l, k->start, k->end))
        put(l, pdl_str_sub(text, 0, length_without_blanks(text))); /* a comment may end in blanks */
    else
        put(l, text);
}

/* Returns true when the formatter adds a line end between these tokens. */
static bool breaks_here(const layout *l, const pdl_ytree_token *a, const pdl_ytree_token *b) {
    if (!l->open.n || !l->open.p[l->open.n - 1].broken || b->kind == PDL_YTREE_COMMENT_TOKEN)
        return false;
    if (opens(a) && closes(b)) return false;
    return opens(a) || a->kind == PDL_YTREE_COMMA_TOKEN || closes(b);
}

/* Returns the blanks between two tokens of a line. A collection that begins after a dash is put
 * into the column that was computed for it, or into its column of the source when only a part of it
 * is formatted. */
static uint32_t blanks_before(layout *l, const pdl_ytree_token *a, const pdl_ytree_token *b) {
    pdl_ytree_id before, id = node_from(l, b->start, &before);
    bool block =
        id != PDL_YTREE_NONE && is_block(&l->t->nodes[id]) && l->t->nodes[id].start == b->start;
    if (block && l->columns[id] > column_now(l)) return l->columns[id] - column_now(l);
    return blanks_between(a, b);
}

/* Counts the line ends between two tokens. NEL, LS and PS are found by their last byte. */
static size_t count_lines(pdl_str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n' || s.p[i] == '\x85' || s.p[i] == '\xa8' || s.p[i] == '\xa9';
    return n;
}

/* Counts the line ends at the end of a token. Only a block scalar has line ends there. */
static size_t lines_at_end(const layout *l, const pdl_ytree_token *k) {
    size_t n = 0;
    while (k->start + n < k->end && text_of(l)[k->end - 1 - n] == '\n') n++;
    return n;
}

/* Copies the text between token i and the token before it. Nothing is formatted here. */
static void put_gap_as_is(layout *l, size_t i, pdl_str gap) {
    const pdl_ytree_token *a = i ? &l->t->tokens[i - 1] : NULL;
    if (a && in_range(l, a->start, a->end)) {
        size_t written = 0; /* number of empty lines that a block scalar keeps with `+` */
        while (written < l->out->len && l->out->p[l->out->len - 1 - written] == '\n') written++;
        for (size_t n = lines_at_end(l, a); n > written; n--) pdl_buf_putc(l->out, '\n');
    }
    put(l, gap);
    if (!i || count_lines(gap) || lines_at_end(l, a)) {
        l->indent = source_column(l, l->t->tokens[i].start);
        l->line_has_content = false;
    }
}

static void put_gap(layout *l, size_t i) {
    const pdl_ytree_token *k = &l->t->tokens[i], *a = i ? k - 1 : NULL;
    pdl_str gap = {text_of(l) + (a ? a->end : 0), k->start - (a ? a->end : 0)};
    if (!in_range(l, k->start, k->start + 1)) {
        put_gap_as_is(l, i, gap);
        return;
    }
    size_t lines = count_lines(gap) + (a ? lines_at_end(l, a) : 0);
    bool before =
        i && l->o->first_line && pdl_source_line(l->t->src, k->start) - lines < l->o->first_line;
    bool written = a && !in_range(l, a->start, a->end) && lines_at_end(l, a);
    if (!i) {
        for (uint32_t n = 1; n < l->o->first_line; n++) pdl_buf_putc(l->out, '\n');
        put_blanks(l, token_column(l, i));
    } else if (lines) {
        size_t empty = before ? lines - 1 : lines > 1;
        bool ended = l->out->len && l->out->p[l->out->len - 1] == '\n';
        if (written) {
            empty = count_lines(gap);
            l->out->len--; /* the line end of the block scalar is already written */
        } else {
            empty -= empty && ended;
        }
        for (; empty; empty--) pdl_buf_putc(l->out, '\n');
        new_line(l, token_column(l, i));
    } else if (breaks_here(l, a, k)) {
        new_line(l, token_column(l, i));
    } else if (k->kind == PDL_YTREE_COMMENT_TOKEN) {
        put_blanks(l, gap.n ? (uint32_t)gap.n : 1);
    } else {
        put_blanks(l, blanks_before(l, a, k));
    }
}

/* Writes the last line end. When the text ends in a block scalar without a line end, nothing is
 * written, because the line end would become a part of the scalar. */
static void put_end(layout *l) {
    const pdl_ytree_token *k = &l->t->tokens[l->t->n_tokens - 1];
    pdl_str text = l->t->src->text, s = pdl_str_sub(text, k->start, k->end);
    bool is_open = is_block_scalar(l, s) && pdl_byte_in('\n', s) && s.p[s.n - 1] != '\n';
    if (!in_range(l, k->start, k->end)) {
        put(l, pdl_str_sub(text, k->end, text.n));
        return;
    }
    if (!is_open) pdl_buf_putc(l->out, '\n');
    uint32_t end = pdl_source_line(l->t->src, (uint32_t)text.n) - (text.p[text.n - 1] == '\n');
    for (uint32_t n = l->o->last_line; l->o->first_line && n < end; n++)
        pdl_buf_putc(l->out, '\n'); /* the empty lines after the formatted lines */
}

void pdl_fmt_layout(const pdl_ytree *t, const pdl_format_options *o, pdl_buf *out) {
    layout l = {.t = t, .o = o, .out = out, .counted = out->len};
    pdl_arena *a = pdl_arena_make();
    find_columns(&l, a);
    for (size_t i = 0; i < t->n_tokens; i++) {
        put_gap(&l, i);
        put_token(&l, i);
        if (t->tokens[i].kind != PDL_YTREE_COMMENT_TOKEN) l.written = i + 1;
    }
    if (t->n_tokens) put_end(&l);
    pdl_vec_fini(&l.open);
    pdl_arena_free(a);
}
