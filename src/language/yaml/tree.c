/* tree.c -- makes the tree of a document with all its bytes; see tree.h.
 *
 * Nodes are made of the events of a tolerant reader. Tokens come from the log of its scanner.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/tree.h"

#include <string.h>

#include "base/bisect.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/text.h"
#include "yaml/events.h"
#include "yaml/load.h"
#include "yaml/resync.h"

#include "base/banned.h"

typedef struct tree_builder {
    pdl_arena *arena;
    const pdl_source *src;
    PDL_VEC(pdl_ytree_node) nodes;
    PDL_VEC(pdl_ytree_id) open;
    pdl_map anchors; /* name -> number of its node from 1 */
    size_t docs;
    pdl_ytree_id root;
} tree_builder;

/* Returns a text that lives as long as the tree: slices of the source stay, other texts are
 * borrowed from the reader and copied. */
static pdl_str kept(tree_builder *b, pdl_str s) {
    const char *text = b->src->text.p;
    if (!s.n) return (pdl_str){"", 0};
    return s.p >= text && s.p < text + b->src->text.n ? s : pdl_arena_str(b->arena, s);
}

static void link_child(tree_builder *b, pdl_ytree_id id) {
    pdl_ytree_node *n = &b->nodes.p[id];
    if (!b->open.n) {
        if (b->root == PDL_YTREE_NONE) b->root = id;
        return;
    }
    n->parent = b->open.p[b->open.n - 1];
    pdl_ytree_node *up = &b->nodes.p[n->parent];
    pdl_ytree_node *before = up->last == PDL_YTREE_NONE ? NULL : &b->nodes.p[up->last];
    n->is_key = up->kind == PDL_YTREE_MAP && !(before && before->is_key);
    if (before)
        before->next = id;
    else
        up->first = id;
    up->last = id;
}

static void add_node(tree_builder *b, const pdl_yevent *e, pdl_ytree_kind kind) {
    pdl_ytree_id id = (pdl_ytree_id)b->nodes.n;
    pdl_ytree_node *n = pdl_vec_push(&b->nodes);
    *n = (pdl_ytree_node){.kind = kind,
                          .style = e->style,
                          .missing = e->missing,
                          .resolved = e->plain,
                          .start = e->content,
                          .end = e->end > e->content ? e->end : e->content,
                          .outer = e->start,
                          .parent = PDL_YTREE_NONE,
                          .first = PDL_YTREE_NONE,
                          .last = PDL_YTREE_NONE,
                          .next = PDL_YTREE_NONE,
                          .target = PDL_YTREE_NONE,
                          .text = kept(b, kind == PDL_YTREE_ALIAS ? e->anchor : e->text),
                          .tag = kept(b, e->tag)};
    if (kind == PDL_YTREE_ALIAS) {
        n->target = (pdl_ytree_id)((uintptr_t)pdl_map_find(&b->anchors, e->anchor) - 1);
    } else if (e->anchor.n) {
        n->anchor = kept(b, e->anchor);
        (void)pdl_map_put(&b->anchors, n->anchor, (void *)((uintptr_t)id + 1));
    }
    link_child(b, id);
    if (kind == PDL_YTREE_SEQ || kind == PDL_YTREE_MAP) *pdl_vec_push(&b->open) = id;
}

/* Ends a node. A block collection ends with its last child. */
static void close_node(tree_builder *b, const pdl_yevent *e) {
    pdl_ytree_node *n = &b->nodes.p[b->open.p[--b->open.n]];
    uint32_t last = n->last == PDL_YTREE_NONE ? n->end : b->nodes.p[n->last].end;
    if (n->style == PDL_STYLE_FLOW && e->end > last) last = e->end;
    if (last > n->end) n->end = last;
}

static void add_event(tree_builder *b, const pdl_yevent *e) {
    switch (e->kind) {
    case PDL_YEV_DOC:
        b->docs++;
        pdl_map_fini(&b->anchors);
        break;
    case PDL_YEV_SCALAR: add_node(b, e, PDL_YTREE_SCALAR); break;
    case PDL_YEV_ALIAS: add_node(b, e, PDL_YTREE_ALIAS); break;
    case PDL_YEV_SEQ: add_node(b, e, PDL_YTREE_SEQ); break;
    case PDL_YEV_MAP: add_node(b, e, PDL_YTREE_MAP); break;
    case PDL_YEV_CLOSE: close_node(b, e); break;
    case PDL_YEV_STOP: break;
    }
}

static void *copied(pdl_arena *a, const void *p, size_t n, size_t size) {
    void *out = pdl_arena_get_n(a, n, size);
    if (n) memcpy(out, p, n * size);
    return out;
}

/* Makes nodes of the events of the first document; other documents have tokens only. */
static void read_nodes(tree_builder *b, pdl_yreader *r, pdl_yrecovery *rec) {
    pdl_yevent e;
    pdl_err err = {0};
    bool more = true;
    while (more && pdl_yreader_next(r, &e, &err) && e.kind != PDL_YEV_STOP) {
        more = b->open.n < PDL_MAX_YAML_DEPTH;
        if (!more) pdl_yrecover_too_deep(rec, b->src, e.start);
        if (b->docs < 2 || e.kind == PDL_YEV_DOC) add_event(b, &e);
    }
    while (b->open.n) close_node(b, &e);
    pdl_err_fini(&err);
}

/* Returns the text with '?' in place of each byte of a character that YAML refuses, so that all
 * positions stay the same. Returns src when there is no such character. The first such character is
 * reported by the first note. */
static const pdl_source *readable(pdl_arena *a, const pdl_source *src, pdl_err *err) {
    if (pdl_yaml_check_chars(src->text, src, err)) return src;
    char *copy = pdl_arena_get(a, src->text.n + PDL_SOURCE_PAD);
    memcpy(copy, src->text.p, src->text.n);
    pdl_str rest = {copy, src->text.n};
    pdl_err next = {0};
    pdl_source *out = pdl_arena_new(a, pdl_source);
    *out = *src;
    out->text = rest;
    for (size_t at = err->loc.start;; at = next.loc.start) {
        for (size_t n = pdl_utf8_len((unsigned char)copy[at]); n--;) copy[at++] = '?';
        pdl_err_fini(&next);
        rest = pdl_str_sub(out->text, at, out->text.n);
        if (pdl_yaml_check_chars(rest, out, &next)) return out;
        next.loc.start += (uint32_t)at;
    }
}

const pdl_ytree *pdl_ytree_read(pdl_arena *a, const pdl_source *src) {
    tree_builder b = {.arena = a, .src = src, .root = PDL_YTREE_NONE};
    pdl_ytree *t = pdl_arena_new(a, pdl_ytree);
    pdl_yrecovery rec = {0};
    pdl_err refused = {0};
    b.src = readable(a, src, &refused);
    pdl_yreader *r = pdl_yreader_new_tolerant(b.src, &rec, &refused);
    read_nodes(&b, r, &rec);
    pdl_yreader_free(r);
    *t = (pdl_ytree){.src = src,
                     .tokens = copied(a, rec.log.tokens.p, rec.log.tokens.n, sizeof *t->tokens),
                     .nodes = copied(a, b.nodes.p, b.nodes.n, sizeof *t->nodes),
                     .n_tokens = rec.log.tokens.n,
                     .n_nodes = b.nodes.n,
                     .n_notes = rec.notes.n,
                     .root = b.root,
                     .several = b.docs > 1};
    t->notes = pdl_yrecovery_notes(&rec, a);
    pdl_yrecovery_fini(&rec);
    pdl_vec_fini(&b.nodes);
    pdl_vec_fini(&b.open);
    pdl_map_fini(&b.anchors);
    return t;
}

/* --- finding ---------------------------------------------------------------------------------- */

size_t pdl_ytree_token_at(const pdl_ytree *t, uint32_t off) {
    size_t lo = 0;
    PDL_BISECT(lo, t->n_tokens, t->tokens[mid].end <= off);
    return lo;
}

/* Returns the last node that begins at or before off. Nodes are in the order of their beginning. */
static pdl_ytree_id last_before(const pdl_ytree *t, uint32_t off) {
    size_t lo = 0;
    PDL_BISECT(lo, t->n_nodes, t->nodes[mid].outer <= off);
    return lo ? (pdl_ytree_id)(lo - 1) : PDL_YTREE_NONE;
}

pdl_ytree_id pdl_ytree_at(const pdl_ytree *t, uint32_t off) {
    pdl_ytree_id id = last_before(t, off);
    while (id != PDL_YTREE_NONE && t->nodes[id].end < off) id = t->nodes[id].parent;
    return id;
}

uint32_t pdl_ytree_line_start(const pdl_ytree *t, uint32_t off) {
    while (off && t->src->text.p[off - 1] != '\n') off--;
    return off;
}

pdl_ytree_id pdl_ytree_parent_for(const pdl_ytree *t, uint32_t off, uint32_t column) {
    pdl_ytree_id id = off ? last_before(t, off - 1) : PDL_YTREE_NONE;
    for (; id != PDL_YTREE_NONE; id = t->nodes[id].parent) {
        const pdl_ytree_node *n = &t->nodes[id];
        bool block = n->kind >= PDL_YTREE_SEQ && n->style == PDL_STYLE_BLOCK;
        if (block && pdl_source_column(t->src, n->start) - 1 <= column) return id;
        if (n->kind >= PDL_YTREE_SEQ && n->style == PDL_STYLE_FLOW && n->end > off) return id;
    }
    return PDL_YTREE_NONE;
}

pdl_ytree_id pdl_ytree_find(const pdl_ytree *t, pdl_ytree_id map, pdl_str key) {
    pdl_ytree_id found = PDL_YTREE_NONE;
    if (map == PDL_YTREE_NONE || t->nodes[map].kind != PDL_YTREE_MAP) return found;
    for (pdl_ytree_id i = t->nodes[map].first; i != PDL_YTREE_NONE; i = t->nodes[i].next) {
        const pdl_ytree_node *n = &t->nodes[i];
        if (n->is_key && n->kind == PDL_YTREE_SCALAR && pdl_str_eq(n->text, key)) found = n->next;
    }
    return found;
}

/* --- outline ---------------------------------------------------------------------------------- */

static void dump_node(const pdl_ytree *t, const pdl_ytree_node *n, pdl_buf *out) {
    static const char *const kinds[] = {"scalar", "alias", "seq", "map"};
    pdl_buf_putf(out, "%s %u..%u..%u", kinds[n->kind], n->outer, n->start, n->end);
    if (n->parent != PDL_YTREE_NONE) pdl_buf_putf(out, " in %u", n->parent);
    if (n->is_key) PDL_PUT(out, " key");
    if (n->missing) PDL_PUT(out, " missing");
    if (n->anchor.n) pdl_buf_putf(out, " &%.*s", PDL_FMT(n->anchor));
    if (n->tag.n) pdl_buf_putf(out, " <%.*s>", PDL_FMT(n->tag));
    if (n->kind <= PDL_YTREE_ALIAS) {
        pdl_buf_putc(out, ' ');
        pdl_str_repr(n->text, out);
    }
    pdl_buf_putc(out, '\n');
    (void)t;
}

void pdl_ytree_dump(const pdl_ytree *t, pdl_buf *out) {
    static const char *const names[] = {
#define X(id, name) name,
        PDL_YTREE_TOKENS(X)
#undef X
    };
    for (size_t i = 0; i < t->n_tokens; i++)
        pdl_buf_putf(out, "token %s %u..%u\n", names[t->tokens[i].kind], t->tokens[i].start,
                     t->tokens[i].end);
    for (size_t i = 0; i < t->n_nodes; i++) {
        pdl_buf_putf(out, "node %zu ", i);
        dump_node(t, &t->nodes[i], out);
    }
    for (size_t i = 0; i < t->n_notes; i++)
        pdl_buf_putf(out, "note %u..%u skipped %u..%u: %.*s\n", t->notes[i].start, t->notes[i].end,
                     t->notes[i].skipped, t->notes[i].skipped_end, PDL_FMT(t->notes[i].msg));
}
