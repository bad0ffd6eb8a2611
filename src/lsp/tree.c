/* tree.c -- see tree.h.
 *
 * A text that the strict reader refuses is read again without the line that it stumbles over:
 * blanks take its place, so that all other places stay what they are. What was typed last is most
 * likely to be unfinished and goes first; then the line of the error, or the one before it,
 * whichever lets the reader come further. The number of attempts is bounded by the size of the
 * text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/tree.h"

#include "base/buf.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum {
    MOST_ATTEMPTS = 40,
    MOST_WORK = 16 << 20, /* bytes read in all attempts after the first */
};

typedef struct repair {
    pdl_arena *a;
    pdl_str name;
    pdl_buf text;
    size_t work;
} repair;

/* Reads the text as it is now. *at: where the reader stopped; the end when it did not. */
static bool attempt(repair *r, lsp_tree *out, size_t *at) {
    pdl_err err = {0};
    pdl_source *src = NULL;
    *at = r->text.len;
    r->work += r->text.len;
    bool ok = pdl_yaml_source(r->a, r->name, pdl_buf_str(&r->text), &src, &err) &&
              pdl_yaml_load(r->a, src, &out->root, &err);
    out->source = src;
    if (!ok && err.loc.src) *at = err.mark.src ? err.mark.start : err.loc.start;
    if (!ok) out->root = NULL;
    pdl_err_fini(&err);
    return ok;
}

/* The line of an offset as [from, to). */
static void line_of(pdl_str s, size_t off, size_t *from, size_t *to) {
    if (off > s.n) off = s.n;
    *from = off;
    while (*from > 0 && s.p[*from - 1] != '\n') --*from;
    *to = off;
    while (*to < s.n && s.p[*to] != '\n') ++*to;
}

static bool is_blank(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\n') return false;
    return true;
}

/* Replaces the line of an offset by blanks. Returns false when there is nothing to replace. */
static bool blank_line(repair *r, size_t off) {
    size_t from, to;
    line_of(pdl_buf_str(&r->text), off, &from, &to);
    if (is_blank(pdl_str_sub(pdl_buf_str(&r->text), from, to))) return false;
    memset(r->text.p + from, ' ', to - from);
    return true;
}

/* Start of the last line before off that is not blank; off when there is none. */
static size_t line_before(pdl_str s, size_t off) {
    size_t from, to, at = off;
    line_of(s, at, &from, &to);
    while (from > 0) {
        line_of(s, from - 1, &from, &to);
        if (!is_blank(pdl_str_sub(s, from, to))) return from;
    }
    return off;
}

/* Blanks the line at the error, or that before it. Returns whether the text could be read. */
static bool drop_worse_line(repair *r, lsp_tree *out, size_t *at) {
    pdl_buf here = PDL_BUF;
    size_t before = line_before(pdl_buf_str(&r->text), *at), at_here, at_before;
    pdl_buf_put(&here, pdl_buf_str(&r->text));
    bool changed = blank_line(r, *at);
    bool ok = attempt(r, out, &at_here);
    if (ok || before == *at) {
        pdl_buf_fini(&here);
        *at = at_here;
        return ok || (!changed && (*at = PDL_NOT_FOUND, false));
    }
    pdl_buf with_before = here;
    here = r->text;
    r->text = with_before;
    blank_line(r, before);
    lsp_tree second;
    ok = attempt(r, &second, &at_before);
    if (ok || at_before > at_here || !changed) {
        *out = second;
        *at = at_before;
        pdl_buf_fini(&here);
        return ok;
    }
    pdl_buf_fini(&r->text);
    r->text = here;
    *at = at_here;
    return false;
}

lsp_tree pdl_lsp_tree_read(pdl_arena *a, pdl_str name, pdl_str text, size_t edited) {
    lsp_tree out = {0};
    repair r = {.a = a, .name = name, .text = PDL_BUF};
    size_t at;
    pdl_buf_put(&r.text, text);
    out.whole = attempt(&r, &out, &at);
    r.work = 0;
    bool ok = out.whole;
    if (!ok && edited != PDL_NOT_FOUND) {
        pdl_buf whole = PDL_BUF;
        pdl_buf_put(&whole, pdl_buf_str(&r.text));
        size_t first = at;
        ok = blank_line(&r, edited) && attempt(&r, &out, &at);
        if (!ok && at <= first) { /* that line was innocent */
            pdl_buf_fini(&r.text);
            r.text = whole;
            at = first;
        } else {
            pdl_buf_fini(&whole);
        }
    }
    for (int i = 0; !ok && i < MOST_ATTEMPTS && r.work < MOST_WORK && at != PDL_NOT_FOUND; i++)
        ok = drop_worse_line(&r, &out, &at);
    pdl_buf_fini(&r.text);
    return out;
}
