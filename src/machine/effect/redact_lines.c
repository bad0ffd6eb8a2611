/* redact_lines.c -- see secret.h: redacts lines that contain JSON.
 *
 * A service that streams its answer letter by letter writes one letter of a secret per event. So
 * the texts under one key are joined over all lines that have the same beginning before the JSON.
 * Secrets are searched in the joined text, and their letters are removed from the lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "base/vec.h"
#include "effect/redact.h"

#include "base/banned.h"

enum {
    MAX_GROUPS = 256, /* number of keys whose texts are joined; no stream of events has more */
    LONGEST_PREFIX = 120,
    MAX_HELD = 1 << 14, /* bytes of lines that wait for the possible rest of a secret */
};

/* A text in quotes. `at` is its offset in the joined text of its group. */
typedef struct token {
    size_t from, to, at;
} token;

/* The texts under one key. Each byte of `joined` is a byte of one of these tokens. */
typedef struct group {
    pdl_str prefix, key;
    pdl_buf joined;
    PDL_VEC(token) tokens;
} group;

/* Bytes that are removed from the lines. With `shown`, a mark is written in place of the secret. */
typedef struct edit {
    size_t from, to;
    bool shown;
} edit;

typedef struct lines {
    const pdl_secrets *s;
    pdl_str text;
    PDL_VEC(group) groups;
    PDL_VEC(edit) edits;
    bool hold;   /* more lines may follow */
    size_t open; /* start of the first text that may continue in a later line */
} lines;

static group *group_of(lines *l, pdl_str prefix, pdl_str key) {
    for (size_t i = 0; i < l->groups.n; i++)
        if (pdl_str_eq(l->groups.p[i].key, key) && pdl_str_eq(l->groups.p[i].prefix, prefix))
            return &l->groups.p[i];
    if (l->groups.n == MAX_GROUPS) return NULL;
    group *g = pdl_vec_push(&l->groups);
    *g = (group){.prefix = prefix, .key = key, .joined = PDL_BUF};
    return g;
}

/* Returns the offset of the quote that ends the text which begins at i, or the end of the line. */
static size_t text_end(pdl_str line, size_t i) {
    while (i < line.n && line.p[i] != '"') i += line.p[i] == '\\' && i + 1 < line.n ? 2 : 1;
    return i;
}

static bool is_key(pdl_str line, size_t quote) {
    size_t i = quote + 1;
    while (i < line.n && line.p[i] == ' ') i++;
    return i < line.n && line.p[i] == ':';
}

static pdl_str prefix_of(pdl_str line) {
    size_t i = 0;
    while (i < line.n && i < LONGEST_PREFIX && line.p[i] != '{' && line.p[i] != '[' &&
           line.p[i] != '"')
        i++;
    return pdl_str_sub(line, 0, i);
}

/* Reads a text whose end the log has cut off. Removes its secrets, and the end of the text when a
 * secret may begin there. Later texts under the same key do not continue the cut text. */
static void read_cut(lines *l, size_t start, pdl_str text) {
    bool cut;
    for (size_t i = 0, n; i < text.n; i += n ? n : 1) {
        n = pdl_redact_match(l->s, text, i, REDACT_CUT, &cut);
        if (n) *pdl_vec_push(&l->edits) = (edit){start + i, start + i + n, true};
    }
}

static void read_line(lines *l, size_t start, pdl_str line) {
    pdl_str prefix = prefix_of(line), key = {"", 0};
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] != '"') continue;
        size_t end = text_end(line, i + 1);
        if (end >= line.n) {
            read_cut(l, start + i + 1, pdl_str_sub(line, i + 1, line.n));
        } else if (is_key(line, end)) {
            key = pdl_str_sub(line, i + 1, end);
        } else {
            group *g = group_of(l, prefix, key);
            if (g) *pdl_vec_push(&g->tokens) = (token){start + i + 1, start + end, g->joined.len};
            if (g) pdl_buf_put(&g->joined, pdl_str_sub(line, i + 1, end));
        }
        i = end;
    }
}

static void read_lines(lines *l) {
    for (size_t at = 0; at < l->text.n;) {
        size_t nl = pdl_str_find(l->text, PDL_STR("\n"), at),
               end = nl == PDL_NOT_FOUND ? l->text.n : nl;
        read_line(l, at, pdl_str_sub(l->text, at, end));
        at = end + 1;
    }
}

/* Returns the token that contains byte i of the group's text. */
static size_t token_at(const group *g, size_t i) {
    size_t low = 0, high = g->tokens.n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (g->tokens.p[mid].at <= i)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Removes the bytes [from, to) of a group's text from the lines. */
static void take_out(lines *l, const group *g, size_t from, size_t to) {
    bool shown = true;
    for (size_t k = token_at(g, from); k < g->tokens.n && g->tokens.p[k].at < to; k++) {
        const token *t = &g->tokens.p[k];
        size_t n = t->to - t->from, a = from > t->at ? from - t->at : 0,
               b = to - t->at < n ? to - t->at : n;
        if (a >= b) continue;
        *pdl_vec_push(&l->edits) = (edit){t->from + a, t->from + b, shown};
        shown = false;
    }
}

static void find_in(lines *l, const group *g) {
    pdl_str t = pdl_buf_str(&g->joined);
    size_t n;
    for (size_t i = 0; i < t.n; i += n) {
        bool cut;
        size_t found = pdl_redact_match(l->s, t, i, l->hold ? SHOW_CUT : REDACT_CUT, &cut);
        n = found ? found : 1;
        if (cut && l->hold) {
            size_t from = g->tokens.p[token_at(g, i)].from;
            if (from < l->open) l->open = from;
            return;
        }
        if (found) take_out(l, g, i, i + found);
    }
}

static int by_place(const void *a, const void *b) {
    const edit *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Writes the lines before `to`, without the bytes that were removed. */
static void put(const lines *l, size_t to, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    size_t at = 0;
    for (size_t i = 0; i < l->edits.n && l->edits.p[i].from < to; i++) {
        const edit *e = &l->edits.p[i];
        pdl_buf_put(&b, pdl_str_sub(l->text, at, e->from));
        if (e->shown) PDL_PUT(&b, PDL_SECRET_SHOWN);
        at = e->to;
    }
    pdl_buf_put(&b, pdl_str_sub(l->text, at, to));
    pdl_redact_cut(l->s, pdl_buf_str(&b), out);
    pdl_buf_fini(&b);
}

static size_t line_start(pdl_str text, size_t at) {
    while (at > 0 && text.p[at - 1] != '\n') at--;
    return at;
}

/* Returns how many bytes of text are done. The rest may continue in later lines and is held
 * back. */
static size_t redact(const pdl_secrets *s, pdl_str text, bool hold, pdl_buf *out) {
    lines l = {.s = s, .text = text, .hold = hold, .open = text.n};
    read_lines(&l);
    for (size_t i = 0; i < l.groups.n; i++) find_in(&l, &l.groups.p[i]);
    if (l.edits.n) qsort(l.edits.p, l.edits.n, sizeof *l.edits.p, by_place);
    size_t first = l.open < text.n ? line_start(text, l.open) : text.n,
           to = text.n - first < MAX_HELD ? first : text.n;
    put(&l, to, out);
    for (size_t i = 0; i < l.groups.n; i++) {
        pdl_buf_fini(&l.groups.p[i].joined);
        pdl_vec_fini(&l.groups.p[i].tokens);
    }
    pdl_vec_fini(&l.groups);
    pdl_vec_fini(&l.edits);
    return to;
}

void pdl_redact_lines(const pdl_secrets *s, pdl_str text, pdl_buf *out) {
    if (pdl_secrets_any(s))
        (void)redact(s, text, false, out);
    else
        pdl_buf_put(out, text);
}

void pdl_redactor_feed_lines(pdl_redactor *h, pdl_str text, pdl_buf *out) {
    if (!h->held.len && !pdl_secrets_any(h->secrets)) {
        pdl_buf_put(out, text);
        return;
    }
    pdl_buf_put(&h->held, text);
    pdl_buf_shift(&h->held, redact(h->secrets, pdl_buf_str(&h->held), true, out));
}

void pdl_redactor_end_lines(pdl_redactor *h, pdl_buf *out) {
    if (h->held.len) (void)redact(h->secrets, pdl_buf_str(&h->held), false, out);
    pdl_buf_fini(&h->held);
    h->held = PDL_BUF;
}
