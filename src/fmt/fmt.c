/* fmt.c -- see fmt.h: the steps in order, each checked against the text before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fmt/fmt.h"

#include "fmt/layout.h"
#include "lang/load.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* A text that is being formatted, with its tree. */
typedef struct stage {
    pdl_arena *arena;
    pdl_str name;
    pdl_source *src;
    const pdl_ytree *tree;
} stage;

static bool enter(stage *s, pdl_str text, pdl_err *err) {
    if (!pdl_yaml_source(s->arena, s->name, text, &s->src, err)) return false;
    s->tree = pdl_ytree_read(s->arena, s->src);
    return true;
}

/* The first error of loading, with what it said. */
static bool refuse(const pdl_program *p, pdl_arena *a, const stage *s, pdl_err *err) {
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (d->severity != PDL_DIAG_ERROR) continue;
        pdl_loc loc = {s->src, d->loc.start, d->loc.end};
        pdl_err_set(err, p->yaml_failed ? PDL_E_syntax : PDL_E_schema,
                    d->loc.src && s->src ? loc : (pdl_loc){0}, "%.*s", PDL_FMT(d->text));
        if (d->hint.n) pdl_err_hint(err, "%.*s", PDL_FMT(d->hint));
        return false;
    }
    (void)a;
    return true;
}

static bool broken(const char *step, pdl_err *err) {
    return pdl_err_set(err, PDL_E_syntax, (pdl_loc){0},
                       "%s would change what the program means: it is left as it is", step);
}

/* The next text of s, if it means the same. */
typedef bool same_fn(const pdl_ytree *a, const pdl_ytree *b, const void *user);
static bool same_loose(const pdl_ytree *a, const pdl_ytree *b, const void *loose) {
    return pdl_fmt_same(a, b, loose);
}
static bool same_order(const pdl_ytree *a, const pdl_ytree *b, const void *none) {
    (void)none;
    return pdl_fmt_same_but_order(a, b);
}
static bool advance(stage *s, const pdl_buf *text, const char *step, same_fn *same,
                    const void *user, pdl_err *err) {
    const pdl_ytree *before = s->tree;
    return enter(s, pdl_buf_str(text), err) && (same(before, s->tree, user) || broken(step, err));
}

static bool run_steps(stage *s, const pdl_format_options *o, pdl_buf *out, pdl_err *err) {
    pdl_program *p = pdl_program_new();
    pdl_buf b = PDL_BUF;
    bool *loose = pdl_arena_new_n(s->arena, bool, s->tree->n_nodes + 1), loaded, ok;
    pdl_program_load(p, s->name, s->src->text, &loaded);
    ok = loaded || refuse(p, s->arena, s, err);
    if (ok) pdl_fmt_spacing(p, s->tree, o, loose, &b);
    ok = ok && advance(s, &b, "spacing expressions", same_loose, loose, err);
    if (ok && o->sort) {
        pdl_program_drop(p);
        p = pdl_program_new();
        pdl_program_load(p, s->name, s->src->text, &loaded);
        pdl_buf_clear(&b);
        pdl_fmt_sort(p, s->tree, &b);
        ok = advance(s, &b, "sorting", same_order, NULL, err);
    }
    if (ok) {
        pdl_buf_clear(&b);
        pdl_fmt_layout(s->tree, o, &b);
        ok = advance(s, &b, "formatting", same_loose, NULL, err);
    }
    if (ok) pdl_buf_put(out, pdl_buf_str(&b));
    pdl_program_drop(p);
    pdl_buf_fini(&b);
    return ok;
}

/* LF becomes what ends the first line. */
static void put_lines(pdl_str text, bool crlf, pdl_buf *out) {
    while (crlf && text.n) {
        size_t lf = pdl_str_find(text, PDL_STR("\n"), 0);
        if (lf == PDL_NOT_FOUND) break;
        pdl_buf_put(out, pdl_str_sub(text, 0, lf));
        PDL_PUT(out, "\r\n");
        text = pdl_str_sub(text, lf + 1, text.n);
    }
    pdl_buf_put(out, text);
}

bool pdl_format(pdl_arena *a, pdl_str bytes, const pdl_format_options *o, pdl_buf *out,
                pdl_err *err) {
    stage s = {.arena = a, .name = o->name};
    pdl_buf b = PDL_BUF;
    size_t lf = pdl_str_find(bytes, PDL_STR("\n"), 0);
    bool crlf = lf != PDL_NOT_FOUND && lf && bytes.p[lf - 1] == '\r';
    if (!enter(&s, bytes, err)) return false;
    bool ok = run_steps(&s, o, &b, err);
    if (ok && pdl_str_starts(bytes, PDL_STR("\xef\xbb\xbf"))) PDL_PUT(out, "\xef\xbb\xbf");
    if (ok) put_lines(pdl_buf_str(&b), crlf, out);
    pdl_buf_fini(&b);
    return ok;
}
