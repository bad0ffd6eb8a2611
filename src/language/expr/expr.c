/* expr.c -- see expr.h. Decides between plain text, one expression, and a template.
 *
 * A text with `${ }` has three readings: plain text; one expression, whose value keeps its type; a
 * template, whose value is text. The reference reads a text first as a template. When the template
 * is one single expression without text around its delimiters, the reference reads the inside again
 * as a separate expression, where signs and commas have another meaning. Reading everything twice
 * would double the cost of each expression, so here the inside is tried first: whenever it can be
 * read, the whole text is one expression (spec syntax 4.2). What must stay true: the form depends
 * on the text alone, so that the form is known at load and errors have their place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "expr/read.h"

#include "base/banned.h"

pdl_arith pdl_xop_arith(pdl_xop op) {
    static const pdl_arith table[] = {
        [PDL_XOP_ADD] = PDL_OP_ADD,           [PDL_XOP_SUB] = PDL_OP_SUB,
        [PDL_XOP_MUL] = PDL_OP_MUL,           [PDL_XOP_DIV] = PDL_OP_DIV,
        [PDL_XOP_FLOORDIV] = PDL_OP_FLOORDIV, [PDL_XOP_MOD] = PDL_OP_MOD,
        [PDL_XOP_POW] = PDL_OP_POW,
    };
    return table[op];
}

#define LONG_OPEN  "{%%%%%PDL%%%%%%%%%%"
#define LONG_CLOSE "%%%%%PDL%%%%%%%%%%}"
#define S(lit)                                                                                     \
    { "" lit, sizeof(lit) - 1 }

static const pdl_xoptions program_options = {
    .block_start = S(LONG_OPEN),
    .block_end = S(LONG_CLOSE),
    .variable_start = S("${"),
    .variable_end = S("}"),
    .comment_start = S("{#"),
    .comment_end = S("#}"),
};
static const pdl_xoptions jinja_options = {
    .block_start = S("{%"),
    .block_end = S("%}"),
    .variable_start = S("{{"),
    .variable_end = S("}}"),
    .comment_start = S("{#"),
    .comment_end = S("#}"),
};

/* A source whose line ends are all LF. cuts has the offsets after which a CR was left out. */
typedef struct {
    pdl_str text;
    uint32_t *cuts;
    size_t n_cuts;
} normal;

static normal normalise(pdl_arena *a, pdl_str s) {
    normal out = {.text = s};
    if (!s.n || !memchr(s.p, '\r', s.n)) return out;
    size_t n_crlf = 0, n = 0;
    for (size_t i = 0; i + 1 < s.n; i++) n_crlf += s.p[i] == '\r' && s.p[i + 1] == '\n';
    char *p = pdl_arena_get(a, s.n + 1); /* the source ends with a NUL */
    out.cuts = n_crlf ? pdl_arena_new_n(a, uint32_t, n_crlf) : NULL;
    for (size_t i = 0; i < s.n; i++) {
        p[n] = s.p[i];
        if (s.p[i] == '\r') {
            p[n] = '\n';
            if (i + 1 < s.n && s.p[i + 1] == '\n') {
                out.cuts[out.n_cuts++] = (uint32_t)n;
                i++;
            }
        }
        n++;
    }
    out.text = (pdl_str){p, n};
    return out;
}

static void reader_init(pdl_reader *r, pdl_arena *a, const normal *src, const pdl_xoptions *opt,
                        const pdl_xnames *known, bool inside) {
    r->arena = a;
    r->known = known;
    r->holder = (pdl_holder){a, NULL};
    r->fail = r->late = (pdl_xfail){0};
    r->t.kind = PDL_TK_ERROR;
    r->t.end = 0;
    r->has_ahead = r->in_target = r->has_call = false;
    r->last_end = r->depth = r->operators = r->suspects = r->n_blocks = r->base = 0;
    r->items = r->few;
    r->n_items = 0;
    r->cap_items = PDL_FEW_ITEMS;
    r->tags = NULL;
    r->ends = NULL;
    r->cuts = src->cuts;
    r->n_cuts = src->n_cuts;
    assert(pdl_lex_has_end(src->text));
    pdl_names_init(&r->names, a);
    pdl_lex_init(&r->lexer, &r->holder, &r->fail, src->text, opt, inside);
}

static void reader_fini(pdl_reader *r) {
    if (r->items != r->few) pdl_free(r->items);
    pdl_names_fini(&r->names);
}

/* Returns the tree, or NULL after r->fail was set. */
static const pdl_xnode *read_whole(pdl_reader *r, bool inside) {
    pdl_read_advance(r);
    const pdl_xnode *root = inside ? pdl_read_expression(r) : pdl_read_template(r);
    if (root && inside && r->t.kind != PDL_TK_EOF) pdl_read_fail(r, "chunk after expression");
    if (r->fail.msg.p) return NULL;
    if (root && r->suspects) pdl_check(r, root);
    if (!r->fail.msg.p && r->late.msg.p) r->fail = r->late;
    return r->fail.msg.p ? NULL : root;
}

/* Moves a mark from the end of the text to the beginning of the tag that is not closed. At the end
 * there is nothing to mark. */
static void mark_tag(const pdl_reader *r, pdl_xfail *f) {
    const pdl_lexer *x = &r->lexer;
    pdl_str tag = x->state == PDL_LX_VAR     ? x->opt->variable_start
                  : x->state == PDL_LX_BLOCK ? x->opt->block_start
                                             : (pdl_str){0};
    if (f->start < x->src.n || !tag.n || tag.n > x->src.n) return;
    for (size_t at = x->src.n - tag.n + 1; at-- > 0;) {
        if (!pdl_str_eq(pdl_str_sub(x->src, at, at + tag.n), tag)) continue;
        f->start = (uint32_t)at;
        f->end = (uint32_t)(at + tag.n);
        return;
    }
}

static const pdl_xfault *fault_of(const pdl_reader *r, uint32_t len) {
    pdl_xfail f = r->fail;
    pdl_xfault *fault = pdl_arena_new(r->arena, pdl_xfault);
    pdl_str hint = f.hint.n || f.as_written ? f.hint : pdl_read_advice(r);
    if (!f.as_written) mark_tag(r, &f);
    *fault = (pdl_xfault){f.msg, f.cls, hint, f.start, f.end, f.no_filter, f.no_test};
    if (!f.as_written) {
        fault->start = pdl_read_offset(r, f.start);
        fault->end = pdl_read_offset(r, f.end);
    }
    if (fault->end > len) fault->end = len;
    if (fault->start > fault->end) fault->start = fault->end;
    return fault;
}

static pdl_expr *finish(pdl_reader *r, pdl_expr *e, pdl_xform form, const pdl_xnode *root) {
    if (!root) form = PDL_X_BROKEN;
    e->form = form;
    e->root = root;
    if (root) {
        e->free_names = pdl_names_free(&r->names, &e->n_free);
        e->has_unknown = r->suspects > 0;
        e->has_call = r->has_call;
    } else {
        e->fault = fault_of(r, (uint32_t)e->source.n);
    }
    return e;
}

/* Reads the inside of `${ }` as a separate expression. */
static bool read_inside(pdl_expr *e, pdl_arena *a, const pdl_xnames *known) {
    pdl_reader r;
    normal src = normalise(a, pdl_str_sub(e->source, 2, e->source.n - 1));
    reader_init(&r, a, &src, &program_options, known, true);
    r.base = 2;
    finish(&r, e, PDL_X_NATIVE, read_whole(&r, true));
    reader_fini(&r);
    return e->form != PDL_X_BROKEN;
}

static void read_outside(pdl_expr *e, pdl_arena *a, const pdl_xoptions *opt,
                         const pdl_xnames *known) {
    pdl_reader r;
    normal src = normalise(a, e->source);
    if (!opt->keep_trailing_newline && src.text.n && src.text.p[src.text.n - 1] == '\n')
        src.text.n--;
    reader_init(&r, a, &src, opt, known, false);
    finish(&r, e, PDL_X_TEMPLATE, read_whole(&r, false));
    reader_fini(&r);
}

/* Returns the part of a template that consists of one text or one printed expression. Returns NULL
 * for any other template. */
static const pdl_xnode *only_piece(const pdl_expr *e) {
    if (e->form != PDL_X_TEMPLATE || e->root->u.list.n != 1) return NULL;
    const pdl_xnode *n = e->root->u.list.p[0];
    return n->kind == PDL_X_TEXT || (n->kind == PDL_X_OUTPUT && n->u.list.n == 1) ? n : NULL;
}

bool pdl_expr_is_plain(pdl_str text) {
    if (!text.n) return true;
    const char *end = text.p + text.n;
    for (const char *p = text.p; (p = memchr(p, '{', (size_t)(end - p))); p++) {
        if (p > text.p && p[-1] == '$') return false;
        if (p + 1 < end && p[1] == '#') return false;
        if ((size_t)(end - p) >= sizeof LONG_OPEN - 1 &&
            memcmp(p, LONG_OPEN, sizeof LONG_OPEN - 1) == 0)
            return false;
    }
    /* The reference treats a text that is only a line end as empty, and prints it as LF. */
    return !(text.p[0] == '\r' && (text.n == 1 || (text.n == 2 && text.p[1] == '\n')));
}

static pdl_expr *new_expr(pdl_arena *a, pdl_str text) {
    pdl_expr *e = pdl_arena_new(a, pdl_expr);
    e->source = pdl_arena_str(a, text);
    return e;
}

static void make_plain(pdl_expr *e) {
    pdl_str source = e->source;
    *e = (pdl_expr){.form = PDL_X_PLAIN, .source = source};
}

/* Returns true when s[from..) has a `}`, and no opening brace and no quote before it. */
static bool closes_early(pdl_str s, size_t from) {
    const char *close = memchr(s.p + from, '}', s.n - from);
    for (const char *p = s.p + from; close && p < close; p++)
        if (*p == '{' || *p == '"' || *p == '\'') return false;
    return close != NULL;
}

/* Returns true when a text begins with "${" and ends with "}". Such a text is an expression, a
 * template or broken, but never plain. */
static bool is_enclosed(pdl_str text) {
    return text.n >= 3 && text.p[0] == '$' && text.p[1] == '{' && text.p[text.n - 1] == '}';
}

/* Reads the source of e, which is not plain. */
static void read_source(pdl_expr *e, pdl_arena *a, const pdl_xnames *names) {
    pdl_str text = e->source;
    bool enclosed = is_enclosed(text);
    if (enclosed && !closes_early(pdl_str_sub(text, 0, text.n - 1), 2) && read_inside(e, a, names))
        return;
    pdl_xoptions opt = program_options;
    read_outside(e, a, &opt, names);
    const pdl_xnode *only = only_piece(e);
    if (!only && e->form == PDL_X_BROKEN) return;
    if (only && enclosed) {
        read_inside(e, a, names);
        return;
    }
    if (only && only->kind == PDL_X_TEXT) {
        make_plain(e);
        return;
    }
    char last = text.p[text.n - 1];
    if (last == '\n' || last == '\r') {
        opt.keep_trailing_newline = true;
        read_outside(e, a, &opt, names);
    }
}

const pdl_expr *pdl_expr_read(pdl_arena *a, pdl_str text, const pdl_xnames *names) {
    pdl_expr *e = new_expr(a, text);
    if (!pdl_expr_is_plain(text)) read_source(e, a, names);
    return e;
}

const pdl_expr *pdl_expr_later(pdl_arena *a, pdl_str text, const pdl_xnames *names) {
    if (!is_enclosed(text)) return pdl_expr_read(a, text, names);
    pdl_expr *e = pdl_arena_new(a, pdl_expr);
    e->source = text;
    e->is_unread = true;
    e->arena = a;
    e->known = names;
    return e;
}

void pdl_expr_read_now(const pdl_expr *unread) {
    /* no lock is needed, because only one thread uses an engine and its programs */
    pdl_expr *e = (pdl_expr *)(uintptr_t)unread;
    pdl_arena *a = e->arena;
    const pdl_xnames *names = e->known;
    *e = (pdl_expr){.source = e->source};
    read_source(e, a, names);
}

static void fill(pdl_str *s, pdl_str dflt) {
    if (!s->n) *s = dflt;
}

const pdl_expr *pdl_expr_read_template(pdl_arena *a, pdl_str text, const pdl_xoptions *options,
                                       const pdl_xnames *names) {
    pdl_expr *e = new_expr(a, text);
    pdl_xoptions opt = options ? *options : (pdl_xoptions){0};
    fill(&opt.block_start, jinja_options.block_start);
    fill(&opt.block_end, jinja_options.block_end);
    fill(&opt.variable_start, jinja_options.variable_start);
    fill(&opt.variable_end, jinja_options.variable_end);
    fill(&opt.comment_start, jinja_options.comment_start);
    fill(&opt.comment_end, jinja_options.comment_end);
    if (pdl_str_is(opt.newline, "\n")) opt.newline = (pdl_str){0};
    read_outside(e, a, &opt, names);
    return e;
}

enum { MAX_QUOTED_LINES = 8, MAX_QUOTED_BYTES = 2000, MAX_LINE_BYTES = 200 };

void pdl_expr_quote(pdl_str source, size_t at, pdl_buf *out) {
    size_t lines = 1, from = at < source.n ? at : source.n;
    for (size_t i = 0; i + 1 < source.n; i++) lines += source.p[i] == '\n';
    if (lines <= MAX_QUOTED_LINES && source.n <= MAX_QUOTED_BYTES) {
        pdl_buf_put(out, source);
        return;
    }
    while (from && source.p[from - 1] != '\n') from--;
    size_t end = pdl_str_find(source, PDL_STR("\n"), from);
    pdl_str line = pdl_str_trim(pdl_str_sub(source, from, end));
    pdl_buf_putf(out, "... %.*s ...", PDL_FMT(pdl_utf8_cut(line, MAX_LINE_BYTES)));
}
