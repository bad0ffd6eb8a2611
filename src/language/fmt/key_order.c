/* key_order.c -- see layout.h: puts the keys of a block into the order of the documentation.
 *
 * An entry is its lines, with the comments directly above it. A mapping is sorted only if it is a
 * block of PDL in block style, and if each of its entries begins a line. The order of other
 * mappings may mean something to their author.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fmt/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/vec.h"
#include "lang/fields.h"
#include "lang/walk.h"

#include "base/banned.h"

typedef struct sortable {
    pdl_ytree_id map;
    uint32_t start, end; /* offsets in bytes */
    pdl_block_kind kind;
} sortable;

typedef struct key_entry {
    uint32_t start, end; /* offsets in bytes, without the blanks before the first line */
    uint32_t rank, index;
} key_entry;

typedef struct key_sorter {
    const pdl_ytree *t;
    /* in the order of the text; an inner mapping follows the mapping around it */
    PDL_VEC(sortable) maps;
    pdl_buf *out;
} key_sorter;

/* --- ranks ------------------------------------------------------------------------------------ */

static const char *now_called(pdl_str key) {
    size_t n;
    const pdl_synonym_row *rows = pdl_key_synonyms(&n);
    for (size_t i = 0; i < n; i++)
        if (pdl_str_is(key, rows[i].old)) return rows[i].key;
    return NULL;
}

static bool is_key(pdl_str key, const char *now, const char *field) {
    return pdl_str_is(key, field) || (now && strcmp(now, field) == 0);
}

/* Returns the index of a key in the documentation: the first part of the common fields, the kind's
 * fields, then the rest of the common fields. All other keys come last. */
static uint32_t rank_of(pdl_block_kind kind, pdl_str key) {
    size_t n_common, n_own;
    const pdl_field *common = pdl_common_fields(&n_common), *own = pdl_fields_of(kind, &n_own);
    const char *now = now_called(key);
    for (size_t i = 0; i < n_own; i++)
        if (is_key(key, now, own[i].key)) return (uint32_t)(n_common + i);
    for (size_t i = 0; i < n_common; i++)
        if (is_key(key, now, common[i].key))
            return (uint32_t)(common[i].part == PDL_PART_FIRST ? i : n_common + n_own + i);
    return UINT32_MAX;
}

static int by_rank(const void *a, const void *b) {
    const key_entry *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* --- entries ---------------------------------------------------------------------------------- */

static const char *text_of(const key_sorter *s) { return s->t->src->text.p; }

static bool begins_line(const key_sorter *s, uint32_t off) {
    while (off && text_of(s)[off - 1] == ' ') off--;
    return !off || text_of(s)[off - 1] == '\n';
}

/* Returns the start of an entry: its key, or the first of the comments directly above the key in
 * the same column. */
static uint32_t entry_start(const key_sorter *s, const pdl_ytree_node *key) {
    const pdl_ytree_token *k = s->t->tokens;
    size_t i = pdl_ytree_token_at(s->t, key->outer);
    if (i && k[i - 1].kind == PDL_YTREE_KEY_TOKEN) i--;
    uint32_t start = k[i].start, column = pdl_source_column(s->t->src, start);
    for (; i && k[i - 1].kind == PDL_YTREE_COMMENT_TOKEN && begins_line(s, k[i - 1].start); i--) {
        if (pdl_source_column(s->t->src, k[i - 1].start) != column) break;
        start = k[i - 1].start;
    }
    return start;
}

/* Returns the end of the line on which a mapping ends, including a comment on this line. */
static uint32_t map_end(const key_sorter *s, const pdl_ytree_node *map) {
    pdl_str text = s->t->src->text;
    uint32_t end = map->end;
    /* a block scalar: empty lines after its text stay where they are */
    if (end && text.p[end - 1] == '\n') {
        const pdl_ytree_token *k = &s->t->tokens[pdl_ytree_token_at(s->t, end - 1)];
        pdl_str header = pdl_str_sub(text, k->start, k->start + 3);
        bool keeps = pdl_byte_in('+', header);
        while (!keeps && end > k->start + 1 && text.p[end - 2] == '\n') end--;
        return end;
    }
    size_t lf = pdl_str_find(text, PDL_STR("\n"), end);
    return lf == PDL_NOT_FOUND ? (uint32_t)text.n : (uint32_t)lf + 1;
}

/* Returns the start of the line of off. */
static uint32_t line_start(const key_sorter *s, uint32_t off) {
    while (off && text_of(s)[off - 1] != '\n') off--;
    return off;
}

/* Reads the entries of a mapping and returns their number. Returns 0 when an entry does not begin a
 * line. */
static size_t read_entries(const key_sorter *s, const sortable *m, key_entry *out) {
    size_t n = 0;
    for (pdl_ytree_id id = s->t->nodes[m->map].first; id != PDL_YTREE_NONE;
         id = s->t->nodes[id].next) {
        const pdl_ytree_node *key = &s->t->nodes[id];
        if (!key->is_key) continue;
        uint32_t start = n ? entry_start(s, key) : m->start;
        if (n && !begins_line(s, start)) return 0;
        if (n) out[n - 1].end = line_start(s, start);
        out[n] = (key_entry){start, m->end, rank_of(m->kind, key->text), (uint32_t)n};
        n++;
    }
    return n;
}

/* --- writing ---------------------------------------------------------------------------------- */

static size_t first_from(const key_sorter *s, uint32_t off) {
    size_t lo = 0;
    PDL_BISECT(lo, s->maps.n, s->maps.p[mid].start < off);
    return lo;
}

static void write_range(key_sorter *s, uint32_t from, uint32_t to, size_t next);

static void write_map(key_sorter *s, size_t i) {
    const sortable *m = &s->maps.p[i];
    size_t most = 0;
    for (pdl_ytree_id id = s->t->nodes[m->map].first; id != PDL_YTREE_NONE;
         id = s->t->nodes[id].next)
        most++;
    key_entry *entries = PDL_NEW_N(key_entry, most + 1);
    size_t n = read_entries(s, m, entries);
    uint32_t column = pdl_source_column(s->t->src, s->t->nodes[m->map].start) - 1;
    if (n > 1) qsort(entries, n, sizeof *entries, by_rank);
    for (size_t k = 0; k < n; k++) {
        for (uint32_t c = 0; k && c < column; c++) pdl_buf_putc(s->out, ' ');
        size_t inner = first_from(s, entries[k].start);
        write_range(s, entries[k].start, entries[k].end, inner < i + 1 ? i + 1 : inner);
        if (k + 1 < n && s->out->p[s->out->len - 1] != '\n') pdl_buf_putc(s->out, '\n');
    }
    if (!n) write_range(s, m->start, m->end, i + 1);
    pdl_free(entries);
}

/* Writes text [from, to) with the mappings inside it sorted. `next` is the index of the first
 * mapping that may be inside. Recursion is as deep as the text is nested, which the reader limits.
 */
static void write_range(key_sorter *s, uint32_t from, uint32_t to, size_t next) {
    pdl_str text = s->t->src->text;
    for (; next < s->maps.n && s->maps.p[next].start < to; next++) {
        const sortable m = s->maps.p[next];
        if (m.start < from || m.end > to) continue;
        pdl_buf_put(s->out, pdl_str_sub(text, from, m.start));
        write_map(s, next);
        from = m.end;
    }
    pdl_buf_put(s->out, pdl_str_sub(text, from, to));
}

/* --- which mappings ------------------------------------------------------------------------- */

/* Returns the block mapping that begins at off. */
static pdl_ytree_id map_at(const pdl_ytree *t, uint32_t off) {
    pdl_ytree_id id = pdl_ytree_at(t, off);
    for (; id != PDL_YTREE_NONE; id = t->nodes[id].parent) {
        const pdl_ytree_node *n = &t->nodes[id];
        if (n->kind == PDL_YTREE_MAP && n->style == PDL_STYLE_BLOCK && n->outer == off) return id;
        if (n->outer < off) break;
    }
    return PDL_YTREE_NONE;
}

static void find_maps(void *user, const pdl_block *b) {
    key_sorter *s = user;
    bool map = b->node && b->node->kind == PDL_NODE_MAP && b->node->src &&
               b->node->src->text.n == s->t->src->text.n;
    pdl_ytree_id id = map ? map_at(s->t, b->node->start) : PDL_YTREE_NONE;
    if (id != PDL_YTREE_NONE) {
        const pdl_ytree_node *n = &s->t->nodes[id];
        *pdl_vec_push(&s->maps) = (sortable){id, n->start, map_end(s, n), b->kind};
    }
    pdl_block_each_child(b, find_maps, user);
}

static int by_start(const void *a, const void *b) {
    const sortable *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void pdl_fmt_sort(const pdl_program *p, const pdl_ytree *t, pdl_buf *out) {
    key_sorter s = {.t = t, .out = out};
    if (p->main) find_maps(&s, p->main);
    if (s.maps.n) qsort(s.maps.p, s.maps.n, sizeof *s.maps.p, by_start);
    size_t kept = 0; /* a block is in the list twice when the program has an alias of it */
    for (size_t i = 0; i < s.maps.n; i++)
        if (!kept || s.maps.p[kept - 1].start != s.maps.p[i].start) s.maps.p[kept++] = s.maps.p[i];
    s.maps.n = kept;
    write_range(&s, 0, (uint32_t)t->src->text.n, 0);
    pdl_vec_fini(&s.maps);
}
