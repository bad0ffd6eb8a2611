/* json_partial.c -- see json_partial.h. A pass over the text remembers the last place up to which everything is certain and
 * what is open there; the text up to it, closed, is read as JSON.
 *
 *   {"a": [1, 2, "x\n          certain up to `\n`, open: " ] }     ->  {"a": [1, 2, "x\n"]}
 */
#include "value/json_partial.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "value/json_read.h"

#include "base/banned.h"

typedef struct walker {
    pdl_str s;
    size_t pos;
    pdl_buf open;     /* '}' and ']' of the containers around pos, innermost last */
    size_t certain;   /* bytes of s */
    bool in_text;     /* the certain part ends inside a text */
    bool wants_value; /* a value may begin at pos, not a key */
} walker;

static void mark(walker *w, bool in_text) {
    w->certain = w->pos;
    w->in_text = in_text;
}

static size_t escape_length(pdl_str s) {
    if (s.n < 2) return 0;
    if (s.p[1] != 'u') return 2;
    if (s.n < 6) return 0;
    bool high = (s.p[2] | 32) == 'd' && (s.p[3] == '8' || s.p[3] == '9' || (s.p[3] | 32) == 'a' || (s.p[3] | 32) == 'b');
    return !high ? 6 : s.n < 12 ? 0 : 12; /* two halves of a character belong together */
}

/* A text from its quote on; false: it is not over. */
static bool walk_text(walker *w, bool value) {
    w->pos++;
    if (value) mark(w, true);
    while (w->pos < w->s.n) {
        char c = w->s.p[w->pos];
        if (c == '"') {
            w->pos++;
            if (value) mark(w, false);
            return true;
        }
        size_t n = c == '\\' ? escape_length(pdl_str_sub(w->s, w->pos, w->s.n)) : 1;
        if (n == 0) return false;
        w->pos += n;
        bool inside = w->pos < w->s.n && ((unsigned char)w->s.p[w->pos] & 0xc0) == 0x80; /* of a character */
        if (value && !inside) mark(w, true);
    }
    return false;
}

/* A number or a word; certain when something follows it. */
static bool walk_plain(walker *w) {
    while (w->pos < w->s.n && !strchr(",]} \t\r\n", w->s.p[w->pos])) w->pos++;
    if (w->pos == w->s.n) return false;
    mark(w, false);
    return true;
}

/* One token; false: the text ends here, or nothing behind it counts. */
static bool walk(walker *w) {
    char c = w->s.p[w->pos];
    if (strchr(" \t\r\n,:", c)) {
        if (c == ':') w->wants_value = true;
        if (c == ',') w->wants_value = w->open.p[w->open.len - 1] == ']';
        w->pos++;
    } else if (c == '{' || c == '[') {
        if (w->open.len >= PDL_MAX_JSON_DEPTH) return false;
        pdl_buf_putc(&w->open, c == '{' ? '}' : ']');
        w->wants_value = c == '[';
        w->pos++;
        mark(w, false);
    } else if (c == '}' || c == ']') {
        if (w->open.p[w->open.len - 1] != c) return false;
        w->open.len--;
        w->pos++;
        mark(w, false);
    } else if (c == '"') {
        bool value = w->wants_value;
        w->wants_value = false;
        return walk_text(w, value);
    } else {
        return walk_plain(w);
    }
    return w->open.len > 0;
}

static pdl_str without_fence(pdl_str s) {
    s = pdl_str_trim(s);
    if (!pdl_str_starts(s, PDL_STR("```"))) return s;
    size_t line = pdl_str_find(s, PDL_STR("\n"), 0);
    return line == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_trim(pdl_str_sub(s, line + 1, s.n));
}

pdl_val pdl_json_partial(pdl_str text) {
    walker w = {.s = without_fence(text), .open = PDL_BUF};
    pdl_buf closed = PDL_BUF;
    pdl_val out = pdl_absent();
    pdl_err err = {0};
    if (w.s.n && (w.s.p[0] == '{' || w.s.p[0] == '['))
        while (w.pos < w.s.n && walk(&w)) continue;
    if (w.certain) {
        pdl_buf_put(&closed, pdl_str_sub(w.s, 0, w.certain));
        if (w.in_text) pdl_buf_putc(&closed, '"');
        for (size_t i = w.open.len; i-- > 0;) pdl_buf_putc(&closed, w.open.p[i]);
        if (!pdl_json_read(pdl_buf_str(&closed), PDL_JSON_PYTHON, &out, NULL, &err)) {
            pdl_err_fini(&err);
            out = pdl_absent();
        }
    }
    pdl_buf_fini(&closed);
    pdl_buf_fini(&w.open);
    return out;
}
