/* json_partial.c -- see json_partial.h. A pass over the text remembers the last place up to which
 * everything is certain, and the containers that are open there. The text up to this place is
 * completed with their ends and read as JSON.
 *
 *   {"a": [1, 2, "x\n          certain up to `\n`, open: " ] }     ->  {"a": [1, 2, "x\n"]}
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/json_partial.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/vec.h"
#include "value/json_read.h"

#include "base/banned.h"

/* The parts of the grammar that may come next. */
typedef enum { VALUE, FIRST_ITEM, FIRST_KEY, KEY, COLON, AFTER_ITEM } expected;

/* A container that is open. */
typedef struct level {
    char end; /* '}' or ']' */
    /* dict of the keys of an object so far; a repeated key would contradict the first one */
    pdl_val keys;
} level;

typedef struct partial_walker {
    pdl_str s;
    size_t pos;
    PDL_VEC(level) open;
    expected next;
    size_t certain; /* number of bytes of s that are certain */
    bool in_text;   /* the certain part ends inside of a string */
} walker;

static void mark(walker *w, bool in_text) {
    w->certain = w->pos;
    w->in_text = in_text;
}

/* Reads a small piece of JSON. Returns absent when it is not JSON. */
static pdl_val read_piece(pdl_str text) {
    pdl_val v;
    pdl_err err = {0};
    if (pdl_json_read(text, PDL_JSON_PYTHON, &v, NULL, &err)) return v;
    pdl_err_fini(&err);
    return pdl_absent();
}

static bool is_valid_in_text(pdl_str s) {
    char quoted[16] = {'"'};
    memcpy(quoted + 1, s.p, s.n);
    quoted[s.n + 1] = '"';
    pdl_val v = read_piece((pdl_str){quoted, s.n + 2});
    bool ok = !pdl_is_absent(v);
    pdl_drop(v);
    return ok;
}

static size_t escape_length(pdl_str s) {
    if (s.n < 2) return 0;
    if (s.p[1] != 'u') return 2;
    if (s.n < 6) return 0;
    bool high = (s.p[2] | 32) == 'd' &&
                (s.p[3] == '8' || s.p[3] == '9' || (s.p[3] | 32) == 'a' || (s.p[3] | 32) == 'b');
    return !high ? 6 : s.n < 12 ? 0 : 12; /* both halves of a surrogate pair are needed */
}

/* Walks through a text, which begins with a quote. Returns false when it is incomplete or not a
 * text. */
static bool walk_text(walker *w, bool value) {
    w->pos++;
    if (value) mark(w, true);
    while (w->pos < w->s.n) {
        char c = w->s.p[w->pos];
        if (c == '"') {
            w->pos++;
            return true;
        }
        size_t n = c == '\\' ? escape_length(pdl_str_sub(w->s, w->pos, w->s.n)) : 1;
        bool plain = c != '\\' && (unsigned char)c >= 0x20;
        if (n == 0 || (!plain && !is_valid_in_text(pdl_str_sub(w->s, w->pos, w->pos + n))))
            return false;
        w->pos += n;
        bool in_character = w->pos < w->s.n && ((unsigned char)w->s.p[w->pos] & 0xc0) == 0x80;
        if (value && !in_character) mark(w, true);
    }
    return false;
}

/* Walks through a number or a word. It is certain only when something follows it. */
static bool walk_plain(walker *w) {
    size_t start = w->pos;
    while (w->pos < w->s.n && !strchr(",]} \t\r\n", w->s.p[w->pos])) w->pos++;
    if (w->pos == w->s.n) return false;
    pdl_val v = read_piece(pdl_str_sub(w->s, start, w->pos));
    bool ok = !pdl_is_absent(v);
    pdl_drop(v);
    return ok;
}

static bool walk_key(walker *w) {
    size_t start = w->pos;
    level *l = &w->open.p[w->open.n - 1];
    if (!walk_text(w, false)) return false;
    pdl_val key = read_piece(pdl_str_sub(w->s, start, w->pos));
    if (!pdl_is_str(key) || !pdl_is_absent(pdl_dict_find(l->keys, key))) {
        pdl_drop(key);
        return false;
    }
    l->keys = pdl_dict_put(l->keys, key, pdl_null());
    w->next = COLON;
    return true;
}

static bool open_container(walker *w, bool object) {
    if (w->open.n >= PDL_MAX_JSON_DEPTH) return false;
    *pdl_vec_push(&w->open) = (level){object ? '}' : ']', object ? pdl_dict_new(4) : pdl_absent()};
    w->next = object ? FIRST_KEY : FIRST_ITEM;
    w->pos++;
    mark(w, false);
    return true;
}

/* Closes the innermost container. Returns false when this was the outermost container. */
static bool close_container(walker *w) {
    pdl_drop(w->open.p[--w->open.n].keys);
    w->next = AFTER_ITEM;
    w->pos++;
    mark(w, false);
    return w->open.n > 0;
}

static bool walk_value(walker *w, char c) {
    if (c == '{' || c == '[') return open_container(w, c == '{');
    if (c == '"' ? !walk_text(w, true) : !walk_plain(w)) return false;
    mark(w, false);
    w->next = AFTER_ITEM;
    return true;
}

/* Walks through one token. Returns false when the text ends, or when the rest is ignored. */
static bool walk(walker *w) {
    char c = w->s.p[w->pos], end = w->open.n ? w->open.p[w->open.n - 1].end : 0;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        w->pos++;
        return true;
    }
    bool may_end = w->next == FIRST_ITEM || w->next == FIRST_KEY || w->next == AFTER_ITEM;
    if (may_end && c == end) return close_container(w);
    switch (w->next) {
    case VALUE:
    case FIRST_ITEM: return walk_value(w, c);
    case FIRST_KEY:
    case KEY: return c == '"' && walk_key(w);
    case COLON:
        w->next = VALUE;
        w->pos++;
        return c == ':';
    case AFTER_ITEM:
        w->next = end == '}' ? KEY : VALUE;
        w->pos++;
        return c == ',';
    }
    return false;
}

static pdl_str without_fence(pdl_str s) {
    s = pdl_str_trim(s);
    if (!pdl_str_starts(s, PDL_STR("```"))) return s;
    size_t line = pdl_str_find(s, PDL_STR("\n"), 0);
    return line == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_trim(pdl_str_sub(s, line + 1, s.n));
}

pdl_val pdl_json_partial(pdl_str text) {
    walker w = {.s = without_fence(text), .next = VALUE};
    pdl_buf closed = PDL_BUF;
    pdl_val out = pdl_absent();
    pdl_err err = {0};
    if (w.s.n && (w.s.p[0] == '{' || w.s.p[0] == '['))
        while (w.pos < w.s.n && walk(&w)) continue;
    if (w.certain) {
        pdl_buf_put(&closed, pdl_str_sub(w.s, 0, w.certain));
        if (w.in_text) pdl_buf_putc(&closed, '"');
        for (size_t i = w.open.n; i-- > 0;) pdl_buf_putc(&closed, w.open.p[i].end);
        if (!pdl_json_read(pdl_buf_str(&closed), PDL_JSON_PYTHON, &out, NULL, &err)) {
            pdl_err_fini(&err);
            out = pdl_absent();
        }
    }
    pdl_buf_fini(&closed);
    for (size_t i = 0; i < w.open.n; i++) pdl_drop(w.open.p[i].keys);
    pdl_vec_fini(&w.open);
    return out;
}
