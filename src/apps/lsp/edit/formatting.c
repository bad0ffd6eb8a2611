/* formatting.c -- formatting of whole documents and of ranges, and indentation while lines are
 * typed. The layout is that of `pdl fmt`. The difference between the old and the new text is sent
 * as few edits, because an editor keeps the cursor and folded lines where nothing changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "fmt/fmt.h"
#include "lsp/features.h"

#include "base/banned.h"

/* Returns the edit that makes the new text. Only the lines that differ are replaced, so that the
 * cursor and folds in other lines stay. */
static pdl_val put_edits(const lsp_doc *d, pdl_str made) {
    pdl_str old = pdl_lsp_text_str(&d->text);
    size_t head = 0, tail = 0;
    pdl_val list = pdl_list_new(1);
    if (pdl_str_eq(old, made)) return list;
    while (head < old.n && head < made.n && old.p[head] == made.p[head]) head++;
    while (head > 0 && old.p[head - 1] != '\n') head--;
    while (tail < old.n - head && tail < made.n - head &&
           old.p[old.n - 1 - tail] == made.p[made.n - 1 - tail])
        tail++;
    while (tail > 0 && old.n - tail > 0 && old.p[old.n - tail - 1] != '\n') tail--;
    lsp_range range = pdl_lsp_text_range(&d->text, head, old.n - tail);
    return pdl_list_push(list, pdl_lsp_put_edit(d, range, pdl_str_sub(made, head, made.n - tail)));
}

static pdl_val format(pdl_lsp *s, lsp_doc *d, uint32_t first, uint32_t last) {
    pdl_arena *a = pdl_arena_make();
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    pdl_format_options o = {.name = pdl_str_of(d->key), .first_line = first, .last_line = last};
    bool ok = pdl_format(a, pdl_lsp_text_str(&d->text), &o, &out, &err);
    pdl_val v = ok ? put_edits(d, pdl_buf_str(&out))
                   : pdl_lsp_fail(s, LSP_REQUEST_FAILED, "not formatted: line %u: %s",
                                  pdl_loc_line(err.loc), err.msg);
    pdl_err_fini(&err);
    pdl_buf_fini(&out);
    pdl_arena_free(a);
    return v;
}

pdl_val pdl_lsp_on_format(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    return d ? format(s, d, 0, 0) : pdl_absent();
}

pdl_val pdl_lsp_on_format_range(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    lsp_range r = pdl_lsp_get_range(pdl_member(params, "range"));
    if (r.to.ch == 0 && r.to.line > r.from.line) r.to.line--;
    return d ? format(s, d, r.from.line + 1, r.to.line + 1) : pdl_absent();
}

/* --- while typing ----------------------------------------------------------------------------- */

static size_t indent_of(pdl_str line) {
    size_t n = 0;
    while (n < line.n && line.p[n] == ' ') n++;
    return n;
}

/* Returns the indentation of the next line, which usually is the indentation of this line. In `-
 * key:` the column of the key counts. When the key has no value or begins a block scalar, the next
 * line is two columns further to the right, unless it is an item of a list. */
static size_t indent_after(pdl_str line) {
    size_t at = indent_of(line);
    pdl_str rest = pdl_str_trim(line);
    while (pdl_str_starts(rest, PDL_STR("- "))) {
        rest = pdl_str_trim(pdl_str_sub(rest, 1, rest.n));
        at = (size_t)(rest.p - line.p);
    }
    bool opens = pdl_str_ends(rest, PDL_STR(":")) || pdl_str_ends(rest, PDL_STR(": |")) ||
                 pdl_str_ends(rest, PDL_STR(": >")) || pdl_str_ends(rest, PDL_STR(": |-")) ||
                 pdl_str_ends(rest, PDL_STR(": >-"));
    if (!opens || pdl_str_starts(rest, PDL_STR("#"))) return at;
    static const char *const lists[] = {
        "text:", "lastOf:", "array:", "sequence:", "with:", "expectations:"};
    /* the items of these lists begin in the same column as the key of the list */
    return PDL_STR_IN(rest, lists) ? at : at + 2;
}

/* Indents a new line after the user has typed its line end. */
pdl_val pdl_lsp_on_format_typing(pdl_lsp *s, pdl_vref params) {
    size_t off;
    lsp_doc *d = pdl_lsp_doc_at(s, params, &off);
    pdl_val list = pdl_list_new(1);
    if (!d || !pdl_str_is(pdl_member_str(params, "ch"), "\n")) return list;
    uint32_t line = pdl_lsp_text_line(&d->text, off);
    pdl_str now = pdl_lsp_text_line_str(&d->text, line);
    if (!line || pdl_str_trim(now).n) return list;
    pdl_str before = pdl_lsp_text_line_str(&d->text, line - 1);
    size_t want = pdl_str_trim(before).n ? indent_after(before) : indent_of(now);
    if (want == now.n) return list;
    pdl_buf blanks = PDL_BUF;
    for (size_t i = 0; i < want; i++) pdl_buf_putc(&blanks, ' ');
    size_t start = pdl_lsp_text_line_start(&d->text, line);
    lsp_range range = pdl_lsp_text_range(&d->text, start, start + now.n);
    list = pdl_list_push(list, pdl_lsp_put_edit(d, range, pdl_buf_str(&blanks)));
    pdl_buf_fini(&blanks);
    return list;
}
