/* read_token.c -- see read.h. The parts that readers of all forms share: the current token and the
 * next one, errors about it, nodes, and the stack on which lists grow.
 *
 * A reader has one token and at most one more. So the lexer makes a token when the reader needs it,
 * and no list of tokens is made. Items of open lists share one stack: an inner list is complete and
 * popped before the outer one gets its next item, so each item is copied once, when the length of
 * its list is known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "expr/read.h"

#include <assert.h>

#include "base/bisect.h"
#include "base/buf.h"

#include "base/banned.h"

void pdl_xfail_vset(pdl_xfail *f, pdl_arena *a, const char *cls, pdl_xspan at, const char *fmt,
                    va_list ap) {
    if (f->msg.p) return;
    pdl_buf b = PDL_BUF;
    pdl_buf_vputf(&b, fmt, ap);
    *f = (pdl_xfail){
        .msg = pdl_arena_str(a, pdl_buf_str(&b)), .cls = cls, .start = at.start, .end = at.end};
    pdl_buf_fini(&b);
}

bool pdl_xfail_set(pdl_xfail *f, pdl_arena *a, const char *cls, pdl_xspan at, const char *fmt,
                   ...) {
    va_list ap;
    va_start(ap, fmt);
    pdl_xfail_vset(f, a, cls, at, fmt, ap);
    va_end(ap);
    return false;
}

pdl_xnode *pdl_read_fail(pdl_reader *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    pdl_xfail_vset(&r->fail, r->arena, "TemplateSyntaxError", (pdl_xspan){r->t.start, r->t.end},
                   fmt, ap);
    va_end(ap);
    return NULL;
}

uint32_t pdl_read_cuts(const pdl_reader *r, uint32_t at) {
    size_t lo = 0;
    PDL_BISECT(lo, r->n_cuts, r->cuts[mid] < at);
    return (uint32_t)lo;
}

const pdl_token *pdl_read_look(pdl_reader *r) {
    if (!r->has_ahead) {
        pdl_lex_next(&r->lexer, &r->ahead);
        r->has_ahead = true;
    }
    return &r->ahead;
}

static bool unexpected(pdl_reader *r, pdl_str want) {
    if (r->t.kind == PDL_TK_EOF) {
        pdl_read_fail(r, "unexpected end of template, expected '%.*s'.", PDL_FMT(want));
    } else {
        pdl_str got = pdl_token_text(&r->t);
        pdl_read_fail(r, "expected token '%.*s', got '%.*s'", PDL_FMT(want), PDL_FMT(got));
    }
    return false;
}

bool pdl_read_is_word(const pdl_reader *r, const char *word) {
    return r->t.kind == PDL_TK_NAME && pdl_str_is(r->t.text, word);
}

bool pdl_read_expect(pdl_reader *r, pdl_tk kind) {
    if (r->t.kind != kind) return unexpected(r, pdl_tk_text(kind));
    pdl_read_advance(r);
    return r->t.kind != PDL_TK_ERROR;
}

bool pdl_read_expect_word(pdl_reader *r, const char *word) {
    if (!pdl_read_is_word(r, word)) return unexpected(r, pdl_str_of(word));
    pdl_read_advance(r);
    return r->t.kind != PDL_TK_ERROR;
}

bool pdl_read_skip(pdl_reader *r, pdl_tk kind) {
    if (r->t.kind != kind) return false;
    pdl_read_advance(r);
    return true;
}

bool pdl_read_skip_word(pdl_reader *r, const char *word) {
    if (!pdl_read_is_word(r, word)) return false;
    pdl_read_advance(r);
    return true;
}

bool pdl_read_deeper(pdl_reader *r) {
    if (r->depth >= PDL_MAX_EXPR_DEPTH) {
        pdl_read_fail(r, "expression is nested too deeply (more than %d levels)",
                      (int)PDL_MAX_EXPR_DEPTH);
        return false;
    }
    r->depth++;
    return true;
}

pdl_xitem *pdl_read_push(pdl_reader *r, const pdl_xnode *node) {
    assert(r->n_items <= r->cap_items);
    if (r->n_items == r->cap_items) {
        bool inside = r->items == r->few;
        r->cap_items *= 2;
        r->items = pdl_realloc_n(inside ? NULL : r->items, r->cap_items, sizeof *r->items);
        if (inside) memcpy(r->items, r->few, sizeof r->few);
    }
    pdl_xitem *it = &r->items[r->n_items++];
    *it = (pdl_xitem){.node = node};
    return it;
}

const pdl_xnode **pdl_read_copy(pdl_reader *r, size_t mark) {
    assert(mark <= r->n_items && r->n_items <= r->cap_items);
    size_t n = r->n_items - mark;
    const pdl_xnode **p = n ? pdl_arena_raw(r->arena, n * sizeof *p) : NULL;
    for (size_t i = 0; i < n; i++) p[i] = r->items[mark + i].node;
    return p;
}

pdl_xlist pdl_read_take(pdl_reader *r, size_t mark) {
    assert(mark <= r->n_items);
    pdl_xlist l = {pdl_read_copy(r, mark), (uint32_t)(r->n_items - mark)};
    r->n_items = mark;
    return l;
}
