/* invalid_file.c -- checks the readable rest of a file that is not valid YAML; see invalid_file.h.
 *
 * The tolerant reader skips damaged parts and guesses missing ones. So reports about the damaged
 * lines are guesses and are not shown; neither are reports about a name that these lines may define
 * or use. A damaged line that can be left out without harm to other lines is left out, since an
 * open bracket or quote in it may hide the lines after it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/serve/invalid_file.h"

#include "base/buf.h"
#include "base/ident.h"
#include "base/vec.h"
#include "lang/load.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum {
    /* maximum number of bytes of a line that are examined before the damage, and after it */
    MAX_LINE = 2000,
    /* maximum number of parts without a meaning that are removed, and of mistakes that are
     * handled */
    MAX_ATTEMPTS = 30,
    MAX_WORK = 1500000 /* no attempt begins after this number of bytes was read */
};

typedef PDL_VEC(pdl_ytree_note) notes_vec;
typedef PDL_VEC(lsp_span) spans_vec;

/* The state of reading a file in several attempts. */
typedef struct rest {
    pdl_arena *arena;     /* has the strings of `found` */
    pdl_program *program; /* the program that was read last */
    pdl_source *src;
    const pdl_ytree *tree;
    notes_vec found;   /* mistakes that were taken out of the text; at the end, all mistakes */
    spans_vec damaged; /* their lines */
    size_t work;       /* bytes that were read */
} rest;

/* Returns the lines of [from, to). */
static lsp_span lines_of(pdl_str text, uint32_t from, uint32_t to) {
    for (int i = 0; i < MAX_LINE && from && text.p[from - 1] != '\n'; i++) from--;
    for (int i = 0; i < MAX_LINE && to < text.n && text.p[to] != '\n'; i++) to++;
    return (lsp_span){from, to};
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Replaces bytes by blanks, but keeps line ends. Returns false when there is nothing to replace. */
static bool blank(pdl_buf *text, size_t from, size_t to) {
    bool changed = false;
    for (; from < to && from < text->len; from++) {
        if (text->p[from] == ' ' || text->p[from] == '\n') continue;
        text->p[from] = ' ';
        changed = true;
    }
    return changed;
}

static size_t word_end(const pdl_buf *text, size_t at) {
    while (at < text->len && !strchr(" \n,[]{}", text->p[at])) at++;
    return at;
}

/* Removes from the text a part that has no meaning, such as an unknown tag or an alias without an
 * anchor. Removes the word there, or the whole line when that word is not enough. */
static bool take_out(pdl_buf *text, uint32_t at) {
    lsp_span line = lines_of(pdl_buf_str(text), at, at);
    return blank(text, at, word_end(text, at)) || blank(text, line.start, line.end);
}

/* Notes a mistake and its lines. */
static void add_found(rest *r, const pdl_ytree_note *n, lsp_span lines) {
    const pdl_ytree_note *last = r->found.n ? &r->found.p[r->found.n - 1] : NULL;
    *pdl_vec_push(&r->damaged) = lines;
    /* when only a part of the mistake could be taken out, it is found again */
    if (last && pdl_str_eq(last->msg, n->msg) && last->mark >= lines.start &&
        last->mark <= lines.end)
        return;
    pdl_ytree_note *out = pdl_vec_push(&r->found);
    *out = *n;
    out->msg = pdl_arena_str(r->arena, n->msg);
    out->hint = pdl_arena_str(r->arena, n->hint);
}

static void add_fault(rest *r, const pdl_err *err) {
    pdl_loc mark = err->mark.src ? err->mark : err->loc;
    pdl_ytree_note n = {.mark = mark.start,
                        .mark_end = mark.end,
                        .msg = pdl_str_of(err->msg),
                        .hint = pdl_str_of(err->hint ? err->hint : "")};
    add_found(r, &n, lines_of(r->src->text, mark.start, mark.end));
}

/* Reads the nodes of a text. Parts that have no meaning are left out and noted. Returns NULL when
 * the text cannot be read. */
static const pdl_node *read_nodes(pdl_arena *a, pdl_str name, pdl_buf *text, rest *r) {
    name = pdl_arena_str(a, name);
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        pdl_err err = {0};
        if (!pdl_yaml_source(a, name, pdl_buf_str(text), &r->src, &err)) {
            pdl_err_fini(&err);
            return NULL;
        }
        const pdl_node *root = pdl_ytree_load(a, r->src, &err);
        r->work += text->len;
        if (root) return root;
        add_fault(r, &err);
        bool again = r->work < MAX_WORK && take_out(text, err.loc.start);
        pdl_err_fini(&err);
        if (!again) return NULL;
    }
    return NULL;
}

/* Reads the text. When that is not possible, returns false and leaves r->program as it is. */
static bool read_text(rest *r, pdl_str name, pdl_buf *text) {
    pdl_program *p = pdl_program_new();
    bool ok;
    const pdl_node *root = read_nodes(p->arena, name, text, r);
    if (!root) {
        pdl_program_drop(p);
        return false;
    }
    r->tree = pdl_ytree_read(p->arena, r->src);
    pdl_program_load_node(p, root, &ok);
    r->program = p;
    return true;
}

/* --- leaving lines out ------------------------------------------------------------------------ */

static size_t content_of(pdl_str text, size_t at) {
    while (at < text.n && (text.p[at] == '\n' || text.p[at] == ' ')) at++;
    return at;
}

/* Returns a line with the lines that belong to it, since they are indented more. */
static lsp_span item_of(pdl_str text, lsp_span line) {
    size_t indent = content_of(text, line.start) - line.start;
    for (size_t at = line.end; (at = content_of(text, at)) < text.n;) {
        lsp_span next = lines_of(text, (uint32_t)at, (uint32_t)at);
        if (next.start > line.start && at - next.start <= indent) break;
        line.end = next.end;
        at = next.end;
    }
    return line;
}

static bool has_error_at(const pdl_program *p, const pdl_diag *d) {
    for (size_t i = 0; i < p->diags.n; i++)
        if (p->diags.p[i].at_load && p->diags.p[i].loc.start == d->loc.start) return true;
    return false;
}

static size_t notes_before(const pdl_ytree *t, uint32_t at) {
    size_t n = 0;
    while (n < t->n_notes && t->notes[n].mark < at) n++;
    return n;
}

/* Returns true when the text without the line has errors that it did not have with the line: other
 * lines need this one, or the mistake is above it. */
static bool is_missed(const rest *r, const rest *before, lsp_span line) {
    const pdl_program *p = r->program;
    for (size_t i = 0; i < p->diags.n; i++)
        if (p->diags.p[i].at_load && !has_error_at(before->program, &p->diags.p[i])) return true;
    return notes_before(r->tree, line.start) > notes_before(before->tree, line.start);
}

/* Restores the text and the state from before a line was left out. */
static void undo(rest *r, const rest *before, pdl_buf *text, lsp_span line) {
    if (r->program != before->program) pdl_program_drop(r->program);
    r->program = before->program;
    r->src = before->src;
    r->tree = before->tree;
    r->found.n = before->found.n;
    r->damaged.n = before->damaged.n;
    memcpy(text->p + line.start, r->src->text.p + line.start, line.end - line.start);
}

/* Returns the position of the outermost bracket that the reader had to close at a mistake; the
 * position of the mistake when there is none. */
static uint32_t opened_at(const pdl_ytree *t, const pdl_ytree_note *note) {
    uint32_t from = note->mark, at = from;
    if (note->skipped_end && note->skipped < at) at = note->skipped;
    while (at && strchr(" \n", t->src->text.p[at - 1])) at--;
    for (pdl_ytree_id id = pdl_ytree_at(t, at); id != PDL_YTREE_NONE; id = t->nodes[id].parent) {
        const pdl_ytree_node *n = &t->nodes[id];
        if (n->kind >= PDL_YTREE_SEQ && n->style != PDL_STYLE_FLOW) break;
        if (n->kind >= PDL_YTREE_SEQ) from = n->start;
    }
    return from;
}

/* Leaves out the line of a mistake, if no other lines belong to it, and reads the text again. With
 * `all`, leaves out the whole item that contains the mistake. When the rest has new errors,
 * restores everything. */
static void leave_out(rest *r, pdl_str name, pdl_buf *text, pdl_ytree_note note, bool all) {
    const rest before = *r;
    pdl_str had = r->src->text;
    uint32_t at = all ? opened_at(r->tree, &note) : note.mark;
    lsp_span line = lines_of(had, at, at), item = item_of(had, line);
    if ((!all && item.end > line.end) || !blank(text, item.start, item.end)) return;
    add_found(r, &note, item);
    if (!read_text(r, name, text) || is_missed(r, &before, item))
        undo(r, &before, text, item);
    else
        pdl_program_drop(before.program);
}

static void leave_lines_out(rest *r, pdl_str name, pdl_buf *text, bool all) {
    uint32_t from = 0;
    for (int i = 0; i < MAX_ATTEMPTS && r->work < MAX_WORK; i++) {
        size_t next = notes_before(r->tree, from);
        if (next == r->tree->n_notes) break;
        from = r->tree->notes[next].mark + 1;
        leave_out(r, name, text, r->tree->notes[next], all);
    }
}

/* Notes the mistakes that are still in the text. */
static void add_others(rest *r) {
    pdl_str text = r->src->text;
    for (size_t i = 0; i < r->tree->n_notes; i++) {
        const pdl_ytree_note *n = &r->tree->notes[i];
        if (n->skipped < n->skipped_end)
            *pdl_vec_push(&r->damaged) = lines_of(text, n->skipped, n->skipped_end);
        add_found(r, n, lines_of(text, opened_at(r->tree, n), n->mark_end));
    }
}

static void *copied(pdl_arena *a, const void *p, size_t n, size_t size) {
    void *out = pdl_arena_get_n(a, n, size);
    if (n) memcpy(out, p, n * size);
    return out;
}

static lsp_broken result_of(const rest *r, pdl_str text) {
    pdl_arena *a = r->program->arena;
    pdl_ytree_note *notes = copied(a, r->found.p, r->found.n, sizeof *notes);
    for (size_t i = 0; i < r->found.n; i++) {
        notes[i].msg = pdl_arena_str(a, notes[i].msg);
        notes[i].hint = pdl_arena_str(a, notes[i].hint);
    }
    return (lsp_broken){.program = r->program,
                        .src = r->src,
                        .text = pdl_arena_str(a, text),
                        .notes = notes,
                        .n_notes = r->found.n,
                        .damaged = copied(a, r->damaged.p, r->damaged.n, sizeof *r->damaged.p),
                        .n_damaged = r->damaged.n};
}

lsp_broken pdl_lsp_broken_read(const pdl_program *failed) {
    lsp_broken b = {0};
    if (!failed->yaml_failed || !failed->source) return b;
    pdl_buf text = PDL_BUF;
    rest r = {.arena = pdl_arena_make()};
    pdl_buf_put(&text, failed->source->text);
    if (read_text(&r, failed->source->name, &text)) {
        leave_lines_out(&r, failed->source->name, &text, false);
        if (!r.program->main) leave_lines_out(&r, failed->source->name, &text, true);
        add_others(&r);
        b = result_of(&r, failed->source->text);
    }
    pdl_buf_fini(&text);
    pdl_vec_fini(&r.found);
    pdl_vec_fini(&r.damaged);
    pdl_arena_free(r.arena);
    return b;
}

/* --- reports ---------------------------------------------------------------------------------- */

/* Returns the name that a message about an undefined name quotes. */
static pdl_str quoted(pdl_str text) {
    size_t from = pdl_str_find(text, PDL_STR("'"), 0);
    size_t to = from == PDL_NOT_FOUND ? from : pdl_str_find(text, PDL_STR("'"), from + 1);
    return to == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(text, from + 1, to);
}

static bool touches(const lsp_broken *b, pdl_loc at, lsp_span lines) {
    return at.src == b->src && at.start <= lines.end && at.end >= lines.start;
}

/* Returns true when a diagnostic concerns these lines, or a name that occurs in them. */
static bool follows(const lsp_broken *b, const pdl_diag *d, lsp_span lines) {
    pdl_str text = pdl_str_sub(b->text, lines.start, lines.end);
    if (text.n > 3 * MAX_LINE) text.n = 3 * MAX_LINE;
    return touches(b, d->loc, lines) || touches(b, d->mark, lines) ||
           pdl_ident_is_in(text, quoted(d->text));
}

static bool is_guess(const lsp_broken *b, const pdl_diag *d) {
    for (size_t i = 0; i < b->n_damaged; i++)
        if (follows(b, d, b->damaged[i])) return true;
    return false;
}

void pdl_lsp_broken_settle(const lsp_broken *b) {
    pdl_program *p = b->program;
    size_t kept = 0;
    for (size_t i = 0; i < p->diags.n; i++)
        if (!is_guess(b, &p->diags.p[i])) p->diags.p[kept++] = p->diags.p[i];
    p->diags.n = kept;
    for (size_t i = 0; i < b->n_notes; i++) {
        const pdl_ytree_note *n = &b->notes[i];
        pdl_loc at = {b->src, n->mark, n->mark_end};
        pdl_diag *d = pdl_program_diag(p, PDL_DIAG_OF(PDL_DIAG_ERROR, "yaml", at, at), "%.*s",
                                       PDL_FMT(n->msg));
        d->at_load = true;
        d->hint = n->hint;
    }
    pdl_program_sort_diags(p);
}
