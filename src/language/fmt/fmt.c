/* fmt.c -- see fmt.h: runs the steps in order. The result of each step is checked against the text
 * before the step.
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

/* Reports the first error of loading, with its message. Returns true when there is none. */
static bool refuse(const pdl_program *p, const stage *s, pdl_err *err) {
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (d->severity != PDL_DIAG_ERROR) continue;
        pdl_loc loc = {s->src, d->loc.start, d->loc.end};
        pdl_err_set(err, p->yaml_failed ? PDL_E_syntax : PDL_E_schema,
                    d->loc.src && s->src ? loc : (pdl_loc){0}, "%.*s", PDL_FMT(d->text));
        if (d->hint.n) pdl_err_hint(err, "%.*s", PDL_FMT(d->hint));
        return false;
    }
    return true;
}

static bool broken(const char *step, pdl_err *err) {
    return pdl_err_set(err, PDL_E_syntax, (pdl_loc){0},
                       "%s would change what the program means: it is left as it is", step);
}

typedef bool same_fn(const pdl_ytree *a, const pdl_ytree *b, const void *user);
static bool same_loose(const pdl_ytree *a, const pdl_ytree *b, const void *loose) {
    return pdl_fmt_same(a, b, loose);
}
static bool same_order(const pdl_ytree *a, const pdl_ytree *b, const void *none) {
    (void)none;
    return pdl_fmt_same_but_order(a, b);
}

/* Makes `text` the text of s. Fails when `same` finds that the meaning has changed. */
static bool advance(stage *s, const pdl_buf *text, const char *step, same_fn *same,
                    const void *user, pdl_err *err) {
    const pdl_ytree *before = s->tree;
    return enter(s, pdl_buf_str(text), err) && (same(before, s->tree, user) || broken(step, err));
}

static bool lay_out(stage *s, const pdl_format_options *o, pdl_buf *b, pdl_err *err) {
    pdl_buf_clear(b);
    pdl_fmt_layout(s->tree, o, b);
    return advance(s, b, "formatting", same_loose, NULL, err);
}

/* Sorts keys. The comments must be in their columns already. Sorting may put a block scalar above a
 * comment, and a comment in no key's column could then become text of that scalar. */
static bool sort_keys(stage *s, pdl_buf *b, pdl_err *err) {
    pdl_program *p = pdl_program_new();
    bool loaded;
    pdl_program_load(p, s->name, s->src->text, &loaded);
    pdl_buf_clear(b);
    pdl_fmt_sort(p, s->tree, b);
    bool ok = advance(s, b, "sorting", same_order, NULL, err);
    pdl_program_drop(p);
    return ok;
}

static bool run_steps(stage *s, const pdl_format_options *o, pdl_buf *out, pdl_err *err) {
    pdl_program *p = pdl_program_new();
    pdl_buf b = PDL_BUF;
    bool *loose = pdl_arena_new_n(s->arena, bool, s->tree->n_nodes + 1), loaded, ok;
    pdl_program_load(p, s->name, s->src->text, &loaded);
    ok = loaded || refuse(p, s, err);
    if (ok) pdl_fmt_spacing(p, s->tree, o, loose, &b);
    ok = ok && advance(s, &b, "spacing expressions", same_loose, loose, err);
    ok = ok && lay_out(s, o, &b, err);
    if (o->sort) ok = ok && sort_keys(s, &b, err) && lay_out(s, o, &b, err);
    if (ok) pdl_buf_put(out, pdl_buf_str(&b));
    pdl_program_drop(p);
    pdl_buf_fini(&b);
    return ok;
}

/* --- ends of lines ---------------------------------------------------------------------------- */

/* Returns the length of the first line of text with its end: LF, CR LF or CR. */
static size_t line_size(pdl_str text) {
    size_t i = 0;
    while (i < text.n && text.p[i] != '\n' && text.p[i] != '\r') i++;
    if (i == text.n) return i;
    return i + 1 + (text.p[i] == '\r' && i + 1 < text.n && text.p[i + 1] == '\n');
}

/* Returns the line end of the first line that ends with LF. A text without LF may have CR alone. */
static pdl_str line_end(pdl_str text) {
    size_t lf = pdl_str_find(text, PDL_STR("\n"), 0);
    if (lf != PDL_NOT_FOUND) return lf && text.p[lf - 1] == '\r' ? PDL_STR("\r\n") : PDL_STR("\n");
    return pdl_byte_in('\r', text) ? PDL_STR("\r") : PDL_STR("\n");
}

/* Writes the text with eol in place of each LF. */
static void put_lines(pdl_str text, pdl_str eol, pdl_buf *out) {
    while (text.n) {
        size_t lf = pdl_str_find(text, PDL_STR("\n"), 0);
        if (lf == PDL_NOT_FOUND) break;
        pdl_buf_put(out, pdl_str_sub(text, 0, lf));
        pdl_buf_put(out, eol);
        text = pdl_str_sub(text, lf + 1, text.n);
    }
    pdl_buf_put(out, text);
}

static size_t count_lines(pdl_str text) {
    size_t n = 0;
    for (; text.n; n++) text = pdl_str_sub(text, line_size(text), text.n);
    return n;
}

/* Returns the offset of line number n (from 0). Returns the end of the text if it has
 * no such line. */
static size_t line_start(pdl_str text, size_t n) {
    size_t at = 0;
    for (; n && at < text.n; n--) at += line_size(pdl_str_sub(text, at, text.n));
    return at;
}

/* Takes the lines of the formatted range from `made`, and copies the other lines from the source,
 * byte for byte. Blanks at their ends are kept, and so are line ends that differ from the first
 * line end. The formatter has not changed the number of these lines. */
static void put_with_lines_outside(pdl_str source, const pdl_format_options *o, pdl_str made,
                                   pdl_buf *out) {
    size_t n = count_lines(source), after = n > o->last_line ? n - o->last_line : 0;
    size_t from = line_start(source, o->first_line - 1), to = line_start(source, o->last_line);
    pdl_buf_put(out, pdl_str_sub(source, 0, from));
    pdl_buf_put(out, pdl_str_sub(made, line_start(made, o->first_line - 1),
                                 line_start(made, count_lines(made) - after)));
    pdl_buf_put(out, pdl_str_sub(source, to, source.n));
}

bool pdl_format(pdl_arena *a, pdl_str bytes, const pdl_format_options *o, pdl_buf *out,
                pdl_err *err) {
    const pdl_str mark = PDL_STR("\xef\xbb\xbf");
    stage s = {.arena = a, .name = o->name};
    pdl_buf b = PDL_BUF, made = PDL_BUF;
    bool marked = pdl_str_starts(bytes, mark);
    pdl_str text = pdl_str_sub(bytes, marked ? mark.n : 0, bytes.n);
    if (!enter(&s, bytes, err)) return false;
    bool ok = run_steps(&s, o, &b, err);
    if (ok) put_lines(pdl_buf_str(&b), line_end(text), &made);
    if (ok && o->first_line) {
        pdl_buf_clear(&b);
        put_with_lines_outside(text, o, pdl_buf_str(&made), &b);
        ok = advance(&s, &b, "formatting", same_loose, NULL, err);
    }
    if (ok && marked) pdl_buf_put(out, mark);
    if (ok) pdl_buf_put(out, pdl_buf_str(o->first_line ? &b : &made));
    pdl_buf_fini(&made);
    pdl_buf_fini(&b);
    return ok;
}
