/* resync.c -- see resync.h: finds the place where reading continues after an error (tree.h).
 *
 * While a person types, the file is broken most of the time: a key has no ':' yet, or a quote or a
 * bracket has no end. Each of these mistakes would make the rest of the file unreadable. But the
 * lines of a program show where entries begin. When a line looks like `key: ...` or `- ...`, and a
 * collection is open in its column, the line belongs to that collection, whatever came before.
 *
 * The text is read strictly first. If that fails, a tolerant scanner reads the text again. From the
 * place of the first error on, a flow collection or a scalar ends before a line that looks like an
 * entry of a collection around it. A word without ':' before such a line is a key. A part that
 * still cannot be read is skipped up to the next line that fits. Places only move forward, except
 * for a bounded number of bytes (REREAD), so the work stays linear.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/resync.h"

#include <string.h>

#include "base/bisect.h"
#include "base/limits.h"

#include "base/banned.h"

enum {
    MAX_NOTES = 500, /* the text after the last of these notes is skipped */
    REREAD = 1 << 20 /* bytes that may be read again, in addition to the length of the text */
};

/* --- lines ------------------------------------------------------------------------------------ */

/* Returns the place after the quoted text at p. Returns the end of the line when the quotes are not
 * closed on it, and p itself when no quote is at p. */
static const char *after_quotes(const char *p) {
    char quote = *p;
    if (quote != '"' && quote != '\'') return p;
    for (p++; *p != quote; p++) {
        if (pdl_yends(p)) return p;
        if (*p == '\\' && quote == '"' && !pdl_yends(p + 1)) p++;
    }
    return p + 1;
}

/* Returns true when the line looks like `key:` or `key: value`. */
static bool is_key_line(const char *p) {
    if (*p && strchr("#[]{},|>%@`", *p)) return false;
    if (*p == '-' && pdl_yblank_or_end(p + 1)) return false;
    for (p = after_quotes(p); !pdl_yends(p); p++) {
        if (*p == ':' && pdl_yblank_or_end(p + 1)) return true;
        if (*p == '#' && p[-1] == ' ') return false;
    }
    return false;
}

static bool is_entry_line(const char *p) {
    if ((*p == '-' || *p == '?') && pdl_yblank_or_end(p + 1)) return true;
    return is_key_line(p);
}

static const char *end_of_line(const char *p) {
    while (!pdl_yends(p)) p++;
    return p;
}

/* Returns the first byte of the next line; NULL after the last one. */
static const char *next_line(const char *p) {
    p = end_of_line(p);
    return *p ? p + pdl_ybreak(p) : NULL;
}

static const char *content_of(const char *line) {
    while (*line == ' ') line++;
    return line;
}

static bool has_content(const char *line) {
    const char *p = content_of(line);
    return *p != '#' && !pdl_yends(p);
}

static const char *line_of(const pdl_yscan *s, uint32_t off) {
    const char *p = s->text + off;
    while (p > s->text && p[-1] != '\n') p--;
    return p;
}

/* --- a tolerant scanner ----------------------------------------------------------------------- */

bool pdl_ytolerant_ends(pdl_yscan *s, const char *start) {
    if (!s->tolerant || pdl_yoff(s, start) < s->tolerant_from) return false;
    if (!s->flow && *start != '"' && *start != '\'') return is_key_line(s->pos);
    int32_t most = s->indent < 0 ? 0 : s->indent;
    return s->pos - s->line <= most && is_entry_line(s->pos);
}

/* Returns true when a ':' must be added after a word that ends at `end` and may be a key. When
 * nothing else is on its line, the next line with content decides. */
bool pdl_ytolerant_key(const pdl_yscan *s, const pdl_ykey *k, uint32_t end) {
    const char *p = content_of(s->text + end);
    if (!s->tolerant || k->start < s->tolerant_from || has_content(p)) return false;
    if (k->required) return true;
    for (p = next_line(p); p && !has_content(p);) p = next_line(p);
    if (!p || pdl_yis_separator(p)) return false;
    return content_of(p) - p >= (ptrdiff_t)k->column && is_key_line(content_of(p));
}

/* --- notes ------------------------------------------------------------------------------------ */

/* Adds a note about err. While the error of the strict reader has no note, the note is about that
 * error instead. Takes err. */
static pdl_yproblem *add_note(pdl_yrecovery *rec, pdl_err *err) {
    pdl_yproblem *note = pdl_vec_push(&rec->notes);
    *note = (pdl_yproblem){.err = *err};
    *err = (pdl_err){0};
    if (rec->first.kind) {
        pdl_err_fini(&note->err);
        note->err = rec->first;
        rec->first = (pdl_err){0};
    }
    note->skipped = note->skipped_end = note->err.loc.start;
    return note;
}

void pdl_yrecover_missing(pdl_yreader *r, uint32_t off) {
    pdl_err err = {0};
    if (!r->recovery || r->recovery->notes.n >= MAX_NOTES) return;
    pdl_yaml_fail(&err, r->scan.src, off, "ScannerError", "could not find expected ':'");
    add_note(r->recovery, &err);
}

void pdl_yrecover_too_deep(pdl_yrecovery *rec, const pdl_source *src, uint32_t off) {
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_limit, (pdl_loc){src, off, off}, "YAML is nested deeper than %d levels",
                (int)PDL_MAX_YAML_DEPTH);
    add_note(rec, &err)->skipped_end = (uint32_t)src->text.n;
}

static pdl_str arena_text(pdl_arena *a, const char *z) {
    return z ? pdl_arena_str(a, pdl_str_of(z)) : (pdl_str){"", 0};
}

const pdl_ytree_note *pdl_yrecovery_notes(pdl_yrecovery *rec, pdl_arena *a) {
    if (rec->first.kind) {
        pdl_err none = {0};
        add_note(rec, &none);
    }
    pdl_ytree_note *out = pdl_arena_get_n(a, rec->notes.n, sizeof *out);
    for (size_t i = 0; i < rec->notes.n; i++) {
        const pdl_yproblem *p = &rec->notes.p[i];
        const pdl_loc *mark = p->err.mark.src ? &p->err.mark : &p->err.loc;
        out[i] = (pdl_ytree_note){.start = p->err.loc.start,
                                  .end = p->err.loc.end,
                                  .mark = mark->start,
                                  .mark_end = mark->end,
                                  .skipped = p->skipped,
                                  .skipped_end = p->skipped_end,
                                  .msg = arena_text(a, p->err.msg),
                                  .py_class = arena_text(a, p->err.py_class),
                                  .hint = arena_text(a, p->err.hint)};
    }
    return out;
}

void pdl_yrecovery_fini(pdl_yrecovery *rec) {
    for (size_t i = 0; i < rec->notes.n; i++) pdl_err_fini(&rec->notes.p[i].err);
    pdl_err_fini(&rec->first);
    pdl_vec_fini(&rec->notes);
    pdl_vec_fini(&rec->log.tokens);
}

/* --- readers ---------------------------------------------------------------------------------- */

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

pdl_yreader *pdl_yreader_new_tolerant(const pdl_source *src, pdl_yrecovery *rec, pdl_err *known) {
    pdl_yevent e = {0};
    pdl_yreader *r = pdl_yreader_new(src);
    uint32_t from = UINT32_MAX;
    if (known->kind) add_note(rec, known);
    while (pdl_yreader_next(r, &e, &rec->first) && e.kind != PDL_YEV_STOP) {}
    if (rec->first.kind) {
        from = least(rec->first.loc.start, least(r->scan.context, r->scan.last));
        if (pdl_yreader_in_flow(r)) from = least(from, r->scan.flow_start);
    }
    pdl_yreader_free(r);
    r = pdl_yreader_new(src);
    r->recovery = rec;
    r->scan.log = &rec->log;
    r->scan.tolerant = from != UINT32_MAX;
    r->scan.tolerant_from = from;
    return r;
}

/* --- continuing ------------------------------------------------------------------------------- */

/* Returns how many collections stay open when the next line has the content p in this column.
 * Returns -1 when the line fits none of the first n collections. At most two of these are in one
 * column, so two steps are enough. */
static ptrdiff_t fitting(const pdl_yreader *r, size_t n, const char *p, int32_t column) {
    bool dash = *p == '-' && pdl_yblank_or_end(p + 1);
    bool key = !dash && (*p == '?' || is_key_line(p) || pdl_yis(*p, PDL_YC_WORD));
    size_t lo = 0;
    PDL_BISECT(lo, n, r->frames.p[mid].indent <= column);
    for (; lo && r->frames.p[lo - 1].indent == column; lo--) {
        pdl_yframe_kind kind = r->frames.p[lo - 1].kind;
        if (dash && (kind == PDL_YF_BLOCK_SEQ || kind == PDL_YF_INDENTLESS)) return (ptrdiff_t)lo;
        if (key && kind == PDL_YF_BLOCK_MAP) return (ptrdiff_t)lo;
    }
    return -1;
}

/* Returns the number of collections that are left when flow collections on top are closed. */
static size_t without_flow(const pdl_yreader *r) {
    size_t n = r->frames.n;
    while (n && r->frames.p[n - 1].kind >= PDL_YF_FLOW_SEQ) n--;
    return n;
}

/* Returns true when the document has no node yet. owed says that a node has begun and has no event
 * yet, as in pdl_yreader. */
static bool is_before_root(const pdl_yreader *r, bool owed) {
    if (r->frames.n) return false;
    return r->doc == PDL_YD_FIRST || r->doc == PDL_YD_BARE || r->doc == PDL_YD_CONTENT ||
           (r->doc == PDL_YD_END && owed);
}

/* Returns the first line, from `line` on, at which reading can continue; NULL when there is none.
 * *keep gets the number of collections that stay open. */
static const char *find_line(const pdl_yreader *r, const char *line, size_t *keep) {
    size_t n = without_flow(r);
    bool root = is_before_root(r, r->recovery->owed);
    for (*keep = 0; line; line = next_line(line)) {
        const char *p = content_of(line);
        if (!has_content(line)) continue;
        if (pdl_yis_separator(line)) return line;
        if (root && is_entry_line(p)) return line;
        ptrdiff_t fits = fitting(r, n, p, (int32_t)(p - line));
        if (fits > 0) {
            *keep = (size_t)fits;
            return line;
        }
    }
    return NULL;
}

/* Returns where the search for a line begins. The search begins at the line of the error if the
 * error is at the first character of this line, and at the next line otherwise. It never begins at
 * a line where reading continued before, and never before the tokens that were used. */
static const char *first_line(pdl_yreader *r, uint32_t off) {
    pdl_yscan *s = &r->scan;
    pdl_yrecovery *rec = r->recovery;
    const char *line = line_of(s, off);
    if (content_of(line) != s->text + off || pdl_yoff(s, line) < rec->last_line)
        line = next_line(s->text + off);
    if (line && pdl_yoff(s, line) < r->consumed) {
        line = line_of(s, r->consumed);
        if (pdl_yoff(s, line) < r->consumed) line = next_line(line);
    }
    if (line && line < s->pos) rec->work += (size_t)(s->pos - line);
    if (rec->work > REREAD + s->src->text.n && line && line < s->pos) line = next_line(s->pos);
    return line;
}

/* Continues at the content of a line, inside of the first n collections. */
static void restart(pdl_yreader *r, const char *line, size_t n) {
    pdl_yscan *s = &r->scan;
    s->line = s->column_at = s->high = line;
    s->pos = content_of(line);
    s->column_cp = 0;
    s->taken += s->queue.n;
    s->queue.n = s->head = s->indents.n = 0;
    s->flow = 0;
    s->keys.p[0].live = false;
    s->oldest_key = 1;
    s->allow_key = true;
    s->done = false;
    s->indent = -1;
    for (size_t i = 0; i < n; i++) {
        if (r->frames.p[i].kind == PDL_YF_INDENTLESS) continue;
        *pdl_vec_push(&s->indents) = s->indent;
        s->indent = r->frames.p[i].indent;
    }
}

/* Makes one token of the bytes up to `to` that were not used. */
static void log_skipped(pdl_yreader *r, pdl_yproblem *note, uint32_t to) {
    pdl_yrecovery *rec = r->recovery;
    const char *text = r->scan.text;
    uint32_t from = r->consumed;
    for (uint32_t n = 1; n && from < to; from += n)
        n = pdl_yis(text[from], PDL_YC_BLANK) ? 1 : pdl_ybreak(text + from);
    while (to > from && (pdl_yis(text[to - 1], PDL_YC_BLANK) || text[to - 1] == '\n')) to--;
    while (rec->log.tokens.n && rec->log.tokens.p[rec->log.tokens.n - 1].end > from)
        rec->log.tokens.n--;
    note->skipped = from;
    note->skipped_end = to;
    if (from < to) pdl_ylog_add(&rec->log, PDL_YTREE_SKIPPED_TOKEN, from, to);
}

bool pdl_yrecover(pdl_yreader *r, pdl_err *err) {
    pdl_yrecovery *rec = r->recovery;
    pdl_yscan *s = &r->scan;
    uint32_t off = err->loc.start;
    size_t keep = 0;
    rec->owed = r->owed;
    const char *line = rec->notes.n < MAX_NOTES ? first_line(r, off) : NULL;
    line = find_line(r, line, &keep);
    pdl_yproblem *note = add_note(rec, err);
    if (is_before_root(r, rec->owed)) {
        if (r->doc == PDL_YD_END) r->doc = PDL_YD_BARE;
        if (!line && r->doc == PDL_YD_BARE) r->doc = PDL_YD_CONTENT;
        rec->owed = false;
    }
    if (!line) line = s->end;
    log_skipped(r, note, pdl_yoff(s, line));
    /* reading to the end of the text has failed before */
    if (rec->last_line > s->src->text.n) return false;
    rec->last_line = pdl_yoff(s, line) + 1;
    restart(r, line, keep);
    rec->closing = true;
    rec->close_to = keep;
    rec->at = r->consumed;
    return true;
}

static bool missing_scalar(pdl_yreader *r, pdl_yevent *e) {
    uint32_t at = r->recovery->at;
    *e = (pdl_yevent){.kind = PDL_YEV_SCALAR,
                      .style = PDL_STYLE_PLAIN,
                      .plain = true,
                      .missing = true,
                      .text = {"", 0},
                      .start = at,
                      .end = at,
                      .content = at};
    return true;
}

bool pdl_yrecover_event(pdl_yreader *r, pdl_yevent *e) {
    pdl_yrecovery *rec = r->recovery;
    pdl_yframe *top = r->frames.n ? &r->frames.p[r->frames.n - 1] : NULL;
    if (!rec->closing) return false;
    if (rec->owed) {
        rec->owed = false;
        return missing_scalar(r, e);
    }
    if (top && (top->state == PDL_YS_VALUE || top->state == PDL_YS_NO_VALUE)) {
        top->state = top->kind == PDL_YF_PAIR ? PDL_YS_END : PDL_YS_ITEM;
        return missing_scalar(r, e);
    }
    if (r->frames.n <= rec->close_to) return rec->closing = false;
    r->frames.n--;
    *e = (pdl_yevent){.kind = PDL_YEV_CLOSE, .start = rec->at, .end = rec->at, .content = rec->at};
    return true;
}
