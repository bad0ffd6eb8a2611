/* events.c -- see events.h: makes events of the tokens of a YAML text. A stack of open collections
 * takes the place of recursion.
 *
 * Each step requests tokens exactly when PyYAML's parser does: the scanner reads only as far as it
 * must. So when a text has two mistakes, this reader reports the same mistake as PyYAML.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/events.h"

#include <stdarg.h>
#include <string.h>

#include "value/text.h"
#include "yaml/reader.h"
#include "yaml/resync.h"

#include "base/banned.h"

bool pdl_yaml_fail(pdl_err *err, const pdl_source *src, uint32_t off, const char *py_class,
                   const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    uint32_t end = off < src->text.n ? off + 1 : off;
    while (end < src->text.n && ((unsigned char)src->text.p[end] & 0xc0) == 0x80) end++;
    pdl_err_vset(err, PDL_E_syntax, (pdl_loc){src, off, end}, fmt, ap);
    va_end(ap);
    err->py_class = pdl_str_dup(pdl_str_of(py_class));
    return false;
}

pdl_yreader *pdl_yreader_new(const pdl_source *src) {
    pdl_yreader *r = PDL_NEW(pdl_yreader);
    pdl_yscan_init(&r->scan, src);
    r->tag = PDL_BUF;
    return r;
}

void pdl_yreader_free(pdl_yreader *r) {
    if (!r) return;
    pdl_yscan_fini(&r->scan);
    pdl_vec_fini(&r->frames);
    pdl_map_fini(&r->handles);
    pdl_buf_fini(&r->tag);
    pdl_free(r);
}

/* --- tokens ----------------------------------------------------------------------------------- */

static inline const pdl_ytoken *peek(pdl_yreader *r) { return pdl_yscan_peek(&r->scan); }

/* Takes a token. A key that begins a mapping is two tokens, which are taken in two steps. */
static inline void take(pdl_yreader *r, const pdl_ytoken *t) {
    r->consumed = t->end;
    if (t->kind == PDL_YT_MAP_KEY)
        r->scan.queue.p[r->scan.head].kind = PDL_YT_KEY;
    else
        pdl_yscan_skip(&r->scan);
}

#define BIT(k) (UINT32_C(1) << PDL_YT_##k)
static inline bool is_one_of(const pdl_ytoken *t, uint32_t kinds) { return kinds >> t->kind & 1; }

static bool fail_at(pdl_yreader *r, uint32_t off, const char *fmt, ...) PDL_PRINTF(3, 4);
static bool fail_at(pdl_yreader *r, uint32_t off, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    pdl_yaml_fail(r->scan.err, r->scan.src, off, "ParserError", "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* Fails at a token that is not expected. `expected` is the message, which ends before the name of
 * the found token. */
PDL_COLD static bool fail_token(pdl_yreader *r, const pdl_ytoken *t, const char *expected) {
    return fail_at(r, t->start, "%s '%s'", expected, pdl_ytoken_name(t->kind));
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool empty_scalar(pdl_yevent *e, uint32_t at) {
    *e = (pdl_yevent){.kind = PDL_YEV_SCALAR,
                      .style = PDL_STYLE_PLAIN,
                      .plain = true,
                      .text = {"", 0},
                      .start = at,
                      .end = at,
                      .content = at};
    return true;
}

static bool close_event(pdl_yreader *r, pdl_yevent *e, uint32_t start, uint32_t end) {
    r->frames.n--;
    *e = (pdl_yevent){.kind = PDL_YEV_CLOSE, .start = start, .end = end, .content = start};
    return true;
}

/* Opens a collection. A collection without a column has the column of the one around it. */
static void open_frame(pdl_yreader *r, pdl_yframe_kind kind, const pdl_ytoken *t) {
    bool flow = kind == PDL_YF_FLOW_SEQ || kind == PDL_YF_FLOW_MAP;
    bool column = kind == PDL_YF_BLOCK_SEQ || kind == PDL_YF_BLOCK_MAP;
    int32_t around = r->frames.n ? r->frames.p[r->frames.n - 1].indent : -1;
    *pdl_vec_push(&r->frames) =
        (pdl_yframe){kind, flow ? PDL_YS_FIRST : PDL_YS_ITEM, column ? (int32_t)t->extra : around};
}

/* Returns the %TAG line of a handle in this document, or NULL. The map holds numbers from 1, since
 * the lines may move in memory. */
static const pdl_ytagdir *handle_of(pdl_yreader *r, pdl_str handle) {
    size_t i = (size_t)(uintptr_t)pdl_map_find(&r->handles, handle);
    return i ? &r->scan.tagdirs.p[i - 1] : NULL;
}

/* Puts the full name of a tag into r->tag. */
static bool resolve_tag(pdl_yreader *r, const pdl_ytoken *t) {
    pdl_yscan *s = &r->scan;
    pdl_str handle = {s->text + t->start, t->extra}, suffix = pdl_yscan_text(s, t);
    const pdl_ytagdir *d = handle.n ? handle_of(r, handle) : NULL;
    pdl_buf_clear(&r->tag);
    if (d)
        pdl_buf_put(&r->tag,
                    pdl_str_sub(pdl_buf_str(&s->names), d->prefix, d->prefix + d->prefix_n));
    else if (handle.n == 1)
        PDL_PUT(&r->tag, "!");
    else if (handle.n == 2)
        PDL_PUT(&r->tag, "tag:yaml.org,2002:");
    else if (handle.n) {
        pdl_buf b = PDL_BUF;
        pdl_str_repr(handle, &b);
        fail_at(r, t->start, "found undefined tag handle %s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
        return false;
    }
    pdl_buf_put(&r->tag, suffix);
    return true;
}

/* Reads anchor and tag, in any order. As in PyYAML, an undefined handle is reported only after the
 * search for the second property. This search may move the queue of tokens, so the token of the tag
 * is copied. */
PDL_COLD static bool read_properties(pdl_yreader *r, const pdl_ytoken **next, pdl_yevent *e,
                                     bool *any) {
    const pdl_ytoken *t = *next;
    bool has_tag = false, has_anchor = false;
    pdl_buf suffix = PDL_BUF;
    pdl_ytoken tag = {0};
    bool ok = true;
    e->start = t->start;
    while (ok &&
           t->kind == (has_tag      ? PDL_YT_ANCHOR
                       : has_anchor ? PDL_YT_TAG
                                    : t->kind) &&
           is_one_of(t, BIT(ANCHOR) | BIT(TAG))) {
        e->end = t->end;
        if (t->kind == PDL_YT_ANCHOR) {
            has_anchor = true;
            e->anchor = pdl_yscan_text(&r->scan, t);
        } else {
            has_tag = true;
            tag = *t;
            pdl_buf_put(&suffix, pdl_yscan_text(&r->scan, t));
            tag.built = false;
            tag.p = pdl_buf_z(&suffix);
        }
        take(r, t);
        if (has_tag && has_anchor) break;
        ok = (t = peek(r)) != NULL;
    }
    if (ok && has_tag) ok = resolve_tag(r, &tag);
    if (ok && has_tag) e->tag = pdl_buf_str(&r->tag);
    if (ok && has_tag && has_anchor) ok = (t = peek(r)) != NULL;
    pdl_buf_fini(&suffix);
    *any = has_tag || has_anchor;
    *next = t;
    return ok;
}

static bool scalar_event(pdl_yreader *r, const pdl_ytoken *t, pdl_yevent *e, bool bare) {
    e->kind = PDL_YEV_SCALAR;
    e->style = t->style;
    e->plain = (t->style == PDL_STYLE_PLAIN && !e->tag.n) || bare;
    if (bare) e->tag = (pdl_str){0};
    e->text = pdl_yscan_text(&r->scan, t);
    e->end = t->end;
    take(r, t);
    return true;
}

/* Makes the event of the collection that token t opens, if one may begin here. */
static bool collection_event(pdl_yreader *r, const pdl_ytoken *t, bool block, pdl_yevent *e) {
    bool flow = t->kind == PDL_YT_FLOW_SEQ || t->kind == PDL_YT_FLOW_MAP;
    bool seq = t->kind == PDL_YT_FLOW_SEQ || t->kind == PDL_YT_SEQ_START;
    if (!flow && !(block && is_one_of(t, BIT(SEQ_START) | BIT(MAP_START) | BIT(MAP_KEY))))
        return false;
    e->kind = seq ? PDL_YEV_SEQ : PDL_YEV_MAP;
    e->style = flow ? PDL_STYLE_FLOW : PDL_STYLE_BLOCK;
    e->end = flow ? t->end : t->start;
    open_frame(r,
               flow  ? seq ? PDL_YF_FLOW_SEQ : PDL_YF_FLOW_MAP
               : seq ? PDL_YF_BLOCK_SEQ
                     : PDL_YF_BLOCK_MAP,
               t);
    take(r, t);
    return true;
}

static bool alias_event(pdl_yreader *r, const pdl_ytoken *t, pdl_yevent *e) {
    *e = (pdl_yevent){.kind = PDL_YEV_ALIAS,
                      .anchor = pdl_yscan_text(&r->scan, t),
                      .start = t->start,
                      .end = t->end,
                      .content = t->start};
    take(r, t);
    return true;
}

/* Reads one node of the grammar. With `block`, a block collection may begin here. With `dashes`, a
 * sequence in the column of the mapping around it may begin here, too. */
static bool node(pdl_yreader *r, bool block, bool dashes, pdl_yevent *e) {
    r->owed = true;
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    bool any = false;
    if (t->kind == PDL_YT_ALIAS) return alias_event(r, t, e);
    *e = (pdl_yevent){.start = t->start, .end = t->start};
    if (is_one_of(t, BIT(ANCHOR) | BIT(TAG)) && !read_properties(r, &t, e, &any)) return false;
    bool bare = pdl_str_is(e->tag, "!");
    e->content = t->start;
    e->plain = !e->tag.n || bare;
    if (t->kind == PDL_YT_SCALAR) return scalar_event(r, t, e, bare);
    if (bare) e->tag = (pdl_str){0};
    if (dashes && t->kind == PDL_YT_BLOCK_ENTRY) {
        e->kind = PDL_YEV_SEQ;
        e->style = PDL_STYLE_BLOCK;
        e->end = t->end;
        open_frame(r, PDL_YF_INDENTLESS, t);
        return true;
    }
    if (collection_event(r, t, block, e)) return true;
    if (!any) return fail_token(r, t, "expected the node content, but found");
    e->kind = PDL_YEV_SCALAR;
    e->style = PDL_STYLE_PLAIN;
    e->text = (pdl_str){"", 0};
    e->content = e->end;
    return true;
}

/* --- collections: each function is one step of one kind --------------------------------------- */

static pdl_yframe *top(pdl_yreader *r) { return &r->frames.p[r->frames.n - 1]; }

/* Reads the node after an indicator, or an empty scalar if one of `enders` follows. Nearly all
 * nodes are scalars without anchor and tag; these are read here, and all others by node(). */
static inline bool node_unless(pdl_yreader *r, uint32_t enders, bool block, bool dashes,
                               uint32_t at, pdl_yevent *e) {
    r->owed = true;
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    if (PDL_LIKELY(t->kind == PDL_YT_SCALAR)) {
        *e = (pdl_yevent){.kind = PDL_YEV_SCALAR,
                          .style = t->style,
                          .plain = t->style == PDL_STYLE_PLAIN,
                          .text = pdl_yscan_text(&r->scan, t),
                          .start = t->start,
                          .end = t->end,
                          .content = t->start};
        take(r, t);
        return true;
    }
    return is_one_of(t, enders) ? empty_scalar(e, at) : node(r, block, dashes, e);
}

static bool block_seq(pdl_yreader *r, pdl_yevent *e) {
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    uint32_t start = t->start, end = t->end;
    if (t->kind == PDL_YT_BLOCK_ENTRY) {
        take(r, t);
        return node_unless(r, BIT(BLOCK_ENTRY) | BIT(BLOCK_END), true, false, end, e);
    }
    if (t->kind != PDL_YT_BLOCK_END) return fail_token(r, t, "expected <block end>, but found");
    take(r, t);
    return close_event(r, e, start, end);
}

static bool indentless_seq(pdl_yreader *r, pdl_yevent *e) {
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    if (t->kind != PDL_YT_BLOCK_ENTRY) return close_event(r, e, t->start, t->start);
    uint32_t end = t->end;
    take(r, t);
    return node_unless(r, BIT(BLOCK_ENTRY) | BIT(KEY) | BIT(VALUE) | BIT(BLOCK_END), true, false,
                       end, e);
}

static bool block_map(pdl_yreader *r, pdl_yevent *e) {
    static const uint32_t enders = BIT(KEY) | BIT(VALUE) | BIT(BLOCK_END);
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    uint32_t start = t->start, end = t->end;
    if (top(r)->state == PDL_YS_VALUE) {
        top(r)->state = PDL_YS_ITEM;
        if (t->kind != PDL_YT_VALUE) return empty_scalar(e, start);
        if (start == end) pdl_yrecover_missing(r, start);
        take(r, t);
        return node_unless(r, enders, true, true, end, e);
    }
    if (t->kind == PDL_YT_KEY) {
        top(r)->state = PDL_YS_VALUE;
        take(r, t);
        return node_unless(r, enders, true, true, end, e);
    }
    if (t->kind != PDL_YT_BLOCK_END) return fail_token(r, t, "expected <block end>, but found");
    take(r, t);
    return close_event(r, e, start, end);
}

/* Steps over the ',' between items; *t is the token after it. */
static bool next_item(pdl_yreader *r, const pdl_ytoken **t, const char *expected) {
    if (top(r)->state == PDL_YS_FIRST) {
        top(r)->state = PDL_YS_ITEM;
        return true;
    }
    if ((*t)->kind != PDL_YT_FLOW_ENTRY) return fail_token(r, *t, expected);
    take(r, *t);
    *t = peek(r);
    return *t != NULL;
}

static bool flow_seq(pdl_yreader *r, pdl_yevent *e) {
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    if (t->kind != PDL_YT_FLOW_SEQ_END) {
        if (!next_item(r, &t, "expected ',' or ']', but got")) return false;
        if (is_one_of(t, BIT(KEY))) {
            *e = (pdl_yevent){.kind = PDL_YEV_MAP,
                              .style = PDL_STYLE_FLOW,
                              .plain = true,
                              .start = t->start,
                              .end = t->end,
                              .content = t->start};
            open_frame(r, PDL_YF_PAIR, t);
            return true;
        }
        if (t->kind != PDL_YT_FLOW_SEQ_END) return node(r, false, false, e);
    }
    uint32_t start = t->start, end = t->end;
    take(r, t);
    return close_event(r, e, start, end);
}

/* Reads the value after a key in a flow collection. The value is empty when there is no ':'. */
static bool flow_value(pdl_yreader *r, const pdl_ytoken *t, uint32_t enders, pdl_yevent *e) {
    uint32_t end = t->end;
    if (t->kind != PDL_YT_VALUE) return empty_scalar(e, t->start);
    take(r, t);
    return node_unless(r, enders, false, false, end, e);
}

static bool flow_map(pdl_yreader *r, pdl_yevent *e) {
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    pdl_ystate state = top(r)->state;
    if (state == PDL_YS_VALUE || state == PDL_YS_NO_VALUE) {
        top(r)->state = PDL_YS_ITEM;
        if (state == PDL_YS_NO_VALUE) return empty_scalar(e, t->start);
        return flow_value(r, t, BIT(FLOW_ENTRY) | BIT(FLOW_MAP_END), e);
    }
    if (t->kind != PDL_YT_FLOW_MAP_END) {
        if (!next_item(r, &t, "expected ',' or '}', but got")) return false;
        uint32_t end = t->end;
        if (t->kind == PDL_YT_KEY) {
            top(r)->state = PDL_YS_VALUE;
            take(r, t);
            return node_unless(r, BIT(VALUE) | BIT(FLOW_ENTRY) | BIT(FLOW_MAP_END), false, false,
                               end, e);
        }
        if (t->kind != PDL_YT_FLOW_MAP_END) {
            top(r)->state = PDL_YS_NO_VALUE;
            return node(r, false, false, e);
        }
    }
    uint32_t start = t->start, end = t->end;
    take(r, t);
    return close_event(r, e, start, end);
}

/* Reads `a: b` in a flow sequence. */
static bool pair(pdl_yreader *r, pdl_yevent *e) {
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    uint32_t end = t->end;
    switch (top(r)->state) {
    case PDL_YS_VALUE:
        top(r)->state = PDL_YS_END;
        return flow_value(r, t, BIT(FLOW_ENTRY) | BIT(FLOW_SEQ_END), e);
    case PDL_YS_END: return close_event(r, e, t->start, t->start);
    case PDL_YS_FIRST:
    case PDL_YS_NO_VALUE:
    case PDL_YS_ITEM: break;
    }
    top(r)->state = PDL_YS_VALUE;
    take(r, t);
    return node_unless(r, BIT(VALUE) | BIT(FLOW_ENTRY) | BIT(FLOW_SEQ_END), false, false, end, e);
}

/* --- documents -------------------------------------------------------------------------------- */

/* Reads the directives before a document. */
PDL_COLD static bool directives(pdl_yreader *r, const pdl_ytoken **t) {
    bool version = false;
    pdl_map_fini(&r->handles);
    while ((*t)->kind == PDL_YT_DIRECTIVE) {
        const pdl_ytoken d = **t;
        take(r, *t);
        if (d.extra == PDL_YDIR_VERSION || d.extra == PDL_YDIR_OLD) {
            if (version) return fail_at(r, d.start, "found duplicate YAML directive");
            if (d.extra == PDL_YDIR_OLD)
                return fail_at(r, d.start,
                               "found incompatible YAML document (version 1.* is required)");
            version = true;
        } else if (d.extra == PDL_YDIR_TAG) {
            const pdl_ytagdir *dir = &r->scan.tagdirs.p[d.n];
            pdl_str handle = {r->scan.text + dir->handle, dir->handle_n};
            if (pdl_map_find(&r->handles, handle))
                return fail_at(r, d.start, "duplicate tag handle '%.*s'", PDL_FMT(handle));
            (void)pdl_map_put(&r->handles, handle, (void *)(uintptr_t)(d.n + 1));
        }
        if (!(*t = peek(r))) return false;
    }
    return true;
}

static bool doc_event(pdl_yevent *e, uint32_t start, uint32_t end, bool written) {
    *e = (pdl_yevent){.kind = PDL_YEV_DOC,
                      .explicit_doc = written,
                      .plain = true,
                      .start = start,
                      .end = end,
                      .content = start};
    return true;
}

static bool document_start(pdl_yreader *r, const pdl_ytoken *t, pdl_yevent *e) {
    while (t->kind == PDL_YT_DOC_END) {
        take(r, t);
        if (!(t = peek(r))) return false;
    }
    uint32_t start = t->start;
    if (t->kind == PDL_YT_STREAM_END) {
        r->doc = PDL_YD_OVER;
        *e = (pdl_yevent){.kind = PDL_YEV_STOP, .start = start, .end = start};
        return true;
    }
    if (!directives(r, &t)) return false;
    if (t->kind != PDL_YT_DOC_START)
        return fail_token(r, t, "expected '<document start>', but found");
    uint32_t end = t->end;
    take(r, t);
    r->doc = PDL_YD_CONTENT;
    return doc_event(e, start, end, true);
}

/* Takes a step outside of all collections. The end of a document has no event. */
static bool document(pdl_yreader *r, pdl_yevent *e) {
    const pdl_ytoken *t = peek(r);
    if (!t) return false;
    switch (r->doc) {
    case PDL_YD_FIRST:
        if (is_one_of(t, BIT(DIRECTIVE) | BIT(DOC_START) | BIT(STREAM_END)))
            return document_start(r, t, e);
        r->doc = PDL_YD_BARE;
        return doc_event(e, t->start, t->start, false);
    case PDL_YD_BARE: r->doc = PDL_YD_END; return node(r, true, false, e);
    case PDL_YD_CONTENT:
        r->doc = PDL_YD_END;
        return node_unless(r, BIT(DIRECTIVE) | BIT(DOC_START) | BIT(DOC_END) | BIT(STREAM_END),
                           true, false, t->start, e);
    case PDL_YD_END:
        if (t->kind == PDL_YT_DOC_END) {
            take(r, t);
            if (!(t = peek(r))) return false;
        }
        r->doc = PDL_YD_START;
        return document_start(r, t, e);
    case PDL_YD_START:
    case PDL_YD_OVER: break;
    }
    return document_start(r, t, e);
}

static bool step(pdl_yreader *r, pdl_yevent *e) {
    if (!r->frames.n) return document(r, e);
    switch (top(r)->kind) {
    case PDL_YF_BLOCK_MAP: return block_map(r, e);
    case PDL_YF_BLOCK_SEQ: return block_seq(r, e);
    case PDL_YF_INDENTLESS: return indentless_seq(r, e);
    case PDL_YF_FLOW_SEQ: return flow_seq(r, e);
    case PDL_YF_FLOW_MAP: return flow_map(r, e);
    case PDL_YF_PAIR: return pair(r, e);
    }
    return false;
}

bool pdl_yreader_in_flow(const pdl_yreader *r) {
    if (r->scan.flow || !r->frames.n) return r->scan.flow > 0;
    pdl_yframe_kind kind = r->frames.p[r->frames.n - 1].kind;
    return kind == PDL_YF_FLOW_SEQ || kind == PDL_YF_FLOW_MAP || kind == PDL_YF_PAIR;
}

bool pdl_yreader_next(pdl_yreader *r, pdl_yevent *e, pdl_err *err) {
    r->scan.err = err;
    r->owed = false;
    for (;;) {
        if (r->recovery && pdl_yrecover_event(r, e)) return true;
        if (PDL_LIKELY(step(r, e))) return true;
        bool in_flow = pdl_yreader_in_flow(r);
        pdl_yaml_advise(err, r->scan.context, in_flow ? r->scan.flow_start : SIZE_MAX);
        if (!r->recovery || !pdl_yrecover(r, err)) return false;
    }
}
