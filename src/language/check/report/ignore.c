/* ignore.c -- applies what switches rules off: levels of rules, and comments in the text.
 *
 *   text: ${ x }   # pdl: ignore name-undefined
 *   # pdl: ignore norway, date
 *   then: no
 *
 * A comment applies to its line or, when the line has nothing else, to the next line that has
 * anything but a comment. Without names it applies to every rule. The loader's errors are never
 * ignored. A source is searched for comments only when a problem was found in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/bisect.h"
#include "check/checker.h"

#include "base/banned.h"

#define WORDS "pdl: ignore"

typedef struct ignored {
    const pdl_source *src;
    uint32_t line;
    pdl_str names; /* the names as written; with only blanks, all rules are meant */
} ignored;

/* The comments of a source are all.p[from..to), in the order of their lines. */
typedef struct searched {
    const pdl_source *src;
    size_t from, to;
} searched;

typedef struct ignores {
    PDL_VEC(searched) sources;
    PDL_VEC(ignored) all;
    /* first line of a run of lines that are comments, and the line after the run */
    uint32_t first, target;
} ignores;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

/* Returns where `pdl: ignore` is in the comment that this # begins, or PDL_NOT_FOUND. */
static size_t words_after(pdl_str text, size_t hash) {
    size_t at = hash + 1;
    if (hash > 0 && !is_blank(text.p[hash - 1]) && text.p[hash - 1] != '\n') return PDL_NOT_FOUND;
    while (at < text.n && is_blank(text.p[at])) at++;
    pdl_str rest = {text.p + at, text.n - at};
    return pdl_str_starts(rest, PDL_STR(WORDS)) ? at : PDL_NOT_FOUND;
}

/* Returns the line that a comment with this # applies to. A run of lines that are comments is
 * walked through once. */
static uint32_t line_of(ignores *g, const pdl_source *src, size_t hash) {
    uint32_t line = pdl_source_line(src, (uint32_t)hash);
    pdl_str before = pdl_source_line_text(src, line);
    before.n = (size_t)(src->text.p + hash - before.p);
    if (pdl_str_trim(before).n) return line;
    if (line > g->first && line < g->target) return g->target;
    g->first = line;
    for (uint32_t next = line + 1;; next++) {
        pdl_str text = pdl_source_line_text(src, next);
        if (!text.p || text.p >= src->text.p + src->text.n) return g->target = line;
        text = pdl_str_trim(text);
        if (text.n && text.p[0] != '#') return g->target = next;
    }
}

static const searched *search(ignores *g, const pdl_source *src) {
    for (size_t i = 0; i < g->sources.n; i++)
        if (g->sources.p[i].src == src) return &g->sources.p[i];
    pdl_str text = src->text, sign = PDL_STR("#");
    searched s = {src, g->all.n, g->all.n};
    g->first = g->target = 0;
    for (size_t hash = pdl_str_find(text, sign, 0); hash != PDL_NOT_FOUND;
         hash = pdl_str_find(text, sign, hash + 1)) {
        size_t at = words_after(text, hash);
        if (at == PDL_NOT_FOUND) continue;
        size_t end = pdl_str_find(text, PDL_STR("\n"), at);
        pdl_str names =
            pdl_str_sub(text, at + sizeof WORDS - 1, end == PDL_NOT_FOUND ? text.n : end);
        /* the mark is only the beginning of a longer word */
        if (names.n && is_name(names.p[0])) continue;
        *pdl_vec_push(&g->all) = (ignored){src, line_of(g, src, hash), names};
    }
    s.to = g->all.n;
    *pdl_vec_push(&g->sources) = s;
    return &g->sources.p[g->sources.n - 1];
}

/* Calls fn for each name until fn returns false. Returns false in that case. */
static bool each_name(pdl_str names, bool (*fn)(void *user, pdl_str name), void *user) {
    for (size_t i = 0; i < names.n;) {
        size_t from = i;
        while (i < names.n && is_name(names.p[i])) i++;
        if (i > from && !fn(user, pdl_str_sub(names, from, i))) return false;
        if (i == from) {
            /* a remark follows the names */
            if (!is_blank(names.p[i]) && names.p[i] != ',') return true;
            i++;
        }
    }
    return true;
}

static bool differs(void *user, pdl_str name) { return !pdl_str_is(name, user); }

static bool never(void *user, pdl_str name) {
    (void)user, (void)name;
    return false;
}

static bool is_ignored_at(ignores *g, pdl_loc loc, const char *code) {
    if (!loc.src) return false;
    const searched *s = search(g, loc.src);
    size_t from = s->from;
    uint32_t line = s->from < s->to ? pdl_loc_line(loc) : 0;
    PDL_BISECT(from, s->to, g->all.p[mid].line < line);
    for (; from < s->to && g->all.p[from].line == line; from++) {
        pdl_str names = g->all.p[from].names;
        if (each_name(names, never, NULL)) return true;
        if (!each_name(names, differs, (void *)(uintptr_t)code)) return true;
    }
    return false;
}

typedef struct unknown {
    pdl_program *p;
    const ignored *at;
} unknown;

static bool report_unknown(void *user, pdl_str name) {
    const unknown *u = user;
    const pdl_rule *named = pdl_rule_find(name);
    if (named && !named->at_load) return true;
    uint32_t from = (uint32_t)(name.p - u->at->src->text.p);
    pdl_loc loc = {u->at->src, from, from + (uint32_t)name.n};
    size_t n;
    const pdl_rule *r = &pdl_rules(&n)[PDL_RULE_ignore_unknown];
    if (named) {
        pdl_program_diag(u->p, PDL_DIAG_OF(r->severity, r->name, loc, loc),
                         "the rule '%.*s' cannot be ignored: no program with its error runs",
                         PDL_FMT(name));
        return true;
    }
    pdl_diag *d = pdl_program_diag(u->p, PDL_DIAG_OF(r->severity, r->name, loc, loc),
                                   "there is no rule '%.*s'", PDL_FMT(name));
    pdl_str near = pdl_rule_near(name);
    pdl_buf hint = PDL_BUF;
    if (near.n) pdl_buf_putf(&hint, "did you mean '%.*s'?", PDL_FMT(near));
    d->hint = pdl_arena_str(u->p->arena, pdl_buf_str(&hint));
    pdl_buf_fini(&hint);
    return true;
}

static bool is_wanted(ignores *g, pdl_diag *d, const uint8_t *levels) {
    const pdl_rule *r = pdl_rule_find(pdl_str_of(d->code));
    size_t n;
    if (!r || d->at_load) return true;
    pdl_rule_level level = levels ? (pdl_rule_level)levels[r - pdl_rules(&n)] : PDL_LEVEL_DEFAULT;
    if (level == PDL_LEVEL_OFF) return false;
    if (level == PDL_LEVEL_WARNING) d->severity = PDL_DIAG_WARNING;
    if (level == PDL_LEVEL_ERROR) d->severity = PDL_DIAG_ERROR;
    return !is_ignored_at(g, d->loc, d->code) && !is_ignored_at(g, d->mark, d->code);
}

/* Applies the levels and the comments in g to the diagnostics of p. Releases the content of g. */
static void settle(pdl_program *p, ignores *g, const uint8_t *levels) {
    size_t kept = 0;
    for (size_t i = 0; i < p->diags.n; i++)
        if (is_wanted(g, &p->diags.p[i], levels)) p->diags.p[kept++] = p->diags.p[i];
    p->diags.n = kept;
    pdl_vec_fini(&g->sources);
    pdl_vec_fini(&g->all);
}

void pdl_checker_settle(pdl_program *p, const pdl_check_options *opt) {
    ignores g = {0};
    if (p->source && !opt->no_lint) search(&g, p->source);
    for (size_t i = 0; i < g.all.n; i++)
        each_name(g.all.p[i].names, report_unknown, &(unknown){p, &g.all.p[i]});
    settle(p, &g, opt->levels);
}

void pdl_program_settle(pdl_program *p, const uint8_t *levels) { settle(p, &(ignores){0}, levels); }
