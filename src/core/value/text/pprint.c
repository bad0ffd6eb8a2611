/* pprint.c -- Python's pprint.pformat (text.h): width 80, indent 1, keys sorted.
 *
 * A value is written on one line if that fits, otherwise over several lines, depending on its kind.
 * The attempt to write one line stops as soon as it is too long, so that each value costs at most
 * one line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "base/cancel.h"
#include "base/limits.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

/* Python's own pprint fails at about this depth. A level takes a few frames of the C stack here. */
enum { WIDTH = 80, MAX_DEPTH = 330 };

typedef struct {
    pdl_buf *out;
    pdl_err *err;
    size_t stop; /* length of out at which the one-line form is abandoned; SIZE_MAX means never */
    unsigned depth;
    size_t check_at; /* when out is longer than this, cancellation and memory are checked */
} printer;

static bool enter(printer *p) {
    if (p->depth >= MAX_DEPTH)
        return pdl_err_set(p->err, PDL_E_limit, (pdl_loc){0},
                           "value is nested deeper than %d levels", MAX_DEPTH);
    p->depth++;
    return true;
}

/* --- order of keys ---------------------------------------------------------------------------- */

typedef struct {
    pdl_vref key;
    size_t i;
} sort_key;

/* Compares two keys in Python's order. Keys that cannot be compared are ordered by the names of
 * their classes. Keys that are equal even then keep their order. */
static int compare(const void *a, const void *b) {
    const sort_key *x = a, *y = b;
    pdl_err err = {0};
    bool less = false, more = false;
    if (pdl_val_order(x->key, y->key, '<', &less, &err) &&
        pdl_val_order(y->key, x->key, '<', &more, &err)) {
        if (less != more) return less ? -1 : 1;
    } else {
        pdl_err_fini(&err);
        int c = strcmp(pdl_type_name(x->key), pdl_type_name(y->key));
        if (c) return c;
    }
    return x->i < y->i ? -1 : x->i > y->i;
}

static size_t n_shown(pdl_vref d) { return pdl_dict_len(d) - pdl_dict_first_shown(d); }

/* Returns the keys in order (owned), or NULL when the walk was cancelled. */
static sort_key *sorted(const printer *p, pdl_vref d) {
    size_t first = pdl_dict_first_shown(d), n = n_shown(d);
    sort_key *keys = PDL_NEW_N(sort_key, n);
    for (size_t i = 0; i < n; i++) keys[i] = (sort_key){pdl_dict_key_at(d, first + i), first + i};
    if (pdl_sort(keys, n, sizeof *keys, compare, p->err)) return keys;
    pdl_free(keys);
    return NULL;
}

/* --- one line --------------------------------------------------------------------------------- */

typedef enum { DONE, TOO_LONG, FAILED } result;

static result put_line(printer *p, pdl_vref v);

static result put_line_items(printer *p, pdl_vref v, char open, char close) {
    pdl_buf_putc(p->out, open);
    size_t n = pdl_list_len(v);
    for (size_t i = 0; i < n; i++) {
        if (i) PDL_PUT(p->out, ", ");
        result r = put_line(p, pdl_list_at(v, i));
        if (r != DONE) return r;
    }
    if (n == 1 && open == '(') pdl_buf_putc(p->out, ',');
    pdl_buf_putc(p->out, close);
    return DONE;
}

static result put_line_dict(printer *p, pdl_vref d) {
    size_t n = n_shown(d);
    if (p->stop != SIZE_MAX && n > WIDTH) return TOO_LONG;
    sort_key *keys = sorted(p, d);
    if (!keys) return FAILED;
    result r = DONE;
    pdl_buf_putc(p->out, '{');
    for (size_t i = 0; i < n && r == DONE; i++) {
        if (i) PDL_PUT(p->out, ", ");
        r = put_line(p, keys[i].key);
        PDL_PUT(p->out, ": ");
        if (r == DONE) r = put_line(p, pdl_dict_val_at(d, keys[i].i));
    }
    pdl_free(keys);
    pdl_buf_putc(p->out, '}');
    return r;
}

static result put_line(printer *p, pdl_vref v) {
    if (p->out->len > p->stop) return TOO_LONG;
    bool is_list = pdl_is_list(v), is_tuple = pdl_is(v, PDL_V_TUPLE);
    if (is_list || is_tuple || pdl_is_dict(v)) {
        if (!enter(p)) return FAILED;
        result r = is_list    ? put_line_items(p, v, '[', ']')
                   : is_tuple ? put_line_items(p, v, '(', ')')
                              : put_line_dict(p, v);
        p->depth--;
        return r;
    }
    if (pdl_is_str(v) && p->stop != SIZE_MAX && pdl_str_get(v).n > 4 * WIDTH) return TOO_LONG;
    return pdl_val_repr(v, p->out, p->err) ? DONE : FAILED;
}

static size_t columns_from(const pdl_buf *b, size_t from) {
    return pdl_utf8_count(pdl_str_sub(pdl_buf_str(b), from, b->len));
}

/* Writes v on one line if it has at most `room` columns. When the result is TOO_LONG, the text is
 * as it was before. */
static result put_if_fits(printer *p, pdl_vref v, int room) {
    if (room < 1) return TOO_LONG;
    size_t start = p->out->len, stop = p->stop;
    unsigned depth = p->depth;
    p->stop = start + 4 * (size_t)room; /* a code point has at most four bytes */
    result r = put_line(p, v);
    p->stop = stop;
    p->depth = depth;
    if (r == DONE && columns_from(p->out, start) > (size_t)room) r = TOO_LONG;
    if (r != DONE) pdl_buf_cut(p->out, start);
    return r;
}

/* --- strings and bytes over several lines --- */

typedef struct {
    size_t from, to;
} span;
typedef struct {
    PDL_VEC(span) all;
} chunks;

static size_t repr_columns(pdl_str s) {
    pdl_buf b = PDL_BUF;
    pdl_str_repr(s, &b);
    size_t n = pdl_utf8_count(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return n;
}

/* Returns true when the walk must stop at the i-th of many parts, or has stopped inside a part. */
static bool is_cancelled_at(size_t i) {
    return pdl_is_walk_cancelled() || !pdl_walk_may_continue_at(i);
}

static bool is_line_end(uint32_t c) {
    return (c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

/* Returns the end of the line that begins at `from`, including its line end
 * (str.splitlines(True)). */
static size_t line_end(pdl_str s, size_t from) {
    const char *p = s.p + from, *end = s.p + s.n;
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++) {
        uint32_t c = pdl_utf8_next(&p);
        if (!is_line_end(c)) continue;
        if (c == '\r' && p < end && *p == '\n') p++;
        break;
    }
    return (size_t)(p - s.p);
}

/* Returns the end of the word at `from`, including the blanks after it. */
static size_t word_end(pdl_str s, size_t from) {
    const char *p = s.p + from, *end = s.p + s.n;
    bool blank = false;
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++) {
        const char *at = p;
        bool is_blank = pdl_cp_is_space(pdl_utf8_next(&p));
        if (blank && !is_blank) return (size_t)(at - s.p);
        blank = is_blank;
    }
    return (size_t)(p - s.p);
}

static bool fits(pdl_str s, span at, int room) {
    if (room < 0 || (at.to - at.from) > 4 * (size_t)room) return false;
    return repr_columns(pdl_str_sub(s, at.from, at.to)) <= (size_t)room;
}

/* Divides the line [at.from, at.to) of s at blanks. last_room is the number of columns for the text
 * that ends the whole string. */
static void cut_line(pdl_str s, span at, int room, int last_room, chunks *out) {
    pdl_str line = pdl_str_sub(s, 0, at.to);
    span now = {at.from, at.from};
    for (size_t i = 0; now.to < at.to && !is_cancelled_at(i); i++) {
        size_t next = word_end(line, now.to);
        if (!fits(s, (span){now.from, next}, next == s.n ? last_room : room)) {
            if (now.to > now.from) *pdl_vec_push(&out->all) = now;
            now.from = now.to;
        }
        now.to = next;
    }
    if (now.to > now.from) *pdl_vec_push(&out->all) = now;
}

static void put_indent(pdl_buf *out, int indent) {
    pdl_buf_putc(out, '\n');
    size_t n = (size_t)indent;
    memset(pdl_buf_room(out, n), ' ', n);
    pdl_buf_grown(out, n);
}

static bool put_str(printer *p, pdl_str s, int indent, int allowance, bool top) {
    chunks c = {0};
    if (top) {
        indent++;
        allowance++;
    }
    int room = WIDTH - indent, last_room = room - allowance;
    size_t to;
    for (size_t from = 0, i = 0; from < s.n && !is_cancelled_at(i); from = to, i++) {
        to = line_end(s, from);
        span line = {from, to};
        if (fits(s, line, to == s.n ? last_room : room))
            *pdl_vec_push(&c.all) = line;
        else
            cut_line(s, line, room, last_room, &c);
    }
    bool wrap = top && c.all.n != 1;
    if (wrap) pdl_buf_putc(p->out, '(');
    bool ok = pdl_check_walk(p->err);
    for (size_t i = 0; i < c.all.n && ok; i++) {
        if (i) put_indent(p->out, indent);
        pdl_str part = pdl_str_sub(s, c.all.p[i].from, c.all.p[i].to);
        ok = pdl_check_cancel_at(i, p->err) && pdl_str_repr_long(part, p->out, p->err);
    }
    if (wrap) pdl_buf_putc(p->out, ')');
    pdl_vec_fini(&c.all);
    return ok;
}

/* returns how many columns the repr takes */
static size_t put_bytes_repr(pdl_str s, pdl_buf *out) {
    size_t start = out->len;
    pdl_val v = pdl_bytes(s);
    pdl_err err = {0};
    /* bytes that are in memory can always be printed */
    if (!pdl_val_repr(v, out, &err)) pdl_err_fini(&err);
    pdl_drop(v);
    return out->len - start;
}

/* Writes bytes in pieces, each of which has whole groups of four. */
static bool put_bytes(printer *p, pdl_str s, int indent, int allowance, bool top) {
    bool wrap = top && s.n > 4, ok = true;
    if (wrap) {
        indent++;
        allowance++;
        pdl_buf_putc(p->out, '(');
    }
    int room = s.n > 4 ? WIDTH - indent : WIDTH;
    size_t from = 0, last = s.n / 4 * 4, start = p->out->len;
    for (size_t i = 0; i < s.n && s.n > 4 && ok; i += 4) {
        ok = pdl_check_cancel_at(i, p->err);
        size_t to = i + 4 < s.n ? i + 4 : s.n;
        if (i == last) room -= allowance;
        size_t n = put_bytes_repr(pdl_str_sub(s, from, to), p->out);
        pdl_buf_cut(p->out, p->out->len - n);
        if (i == from || (room >= 0 && n <= (size_t)room)) continue;
        if (p->out->len > start) put_indent(p->out, indent);
        put_bytes_repr(pdl_str_sub(s, from, i), p->out);
        from = i;
    }
    if (p->out->len > start) put_indent(p->out, indent);
    if (ok) put_bytes_repr(pdl_str_sub(s, from, s.n), p->out);
    if (wrap) pdl_buf_putc(p->out, ')');
    return ok;
}

/* --- containers over several lines --- */

static bool put(printer *p, pdl_vref v, int indent, int allowance);

static bool put_items(printer *p, pdl_vref v, int indent, int allowance, bool is_tuple) {
    size_t n = pdl_list_len(v);
    allowance += is_tuple && n == 1 ? 2 : 1;
    indent++;
    pdl_buf_putc(p->out, is_tuple ? '(' : '[');
    for (size_t i = 0; i < n; i++) {
        if (i) {
            pdl_buf_putc(p->out, ',');
            put_indent(p->out, indent);
        }
        if (!put(p, pdl_list_at(v, i), indent, i + 1 == n ? allowance : 1)) return false;
    }
    if (is_tuple && n == 1) pdl_buf_putc(p->out, ',');
    pdl_buf_putc(p->out, is_tuple ? ')' : ']');
    return true;
}

/* Writes the entries of a dict, or the members of a set. */
static bool put_entries(printer *p, pdl_vref d, int indent, int allowance, bool is_dict) {
    size_t n = n_shown(d);
    sort_key *keys = sorted(p, d);
    if (!keys) return false;
    bool ok = true;
    indent++;
    pdl_buf_putc(p->out, '{');
    for (size_t i = 0; i < n && ok; i++) {
        int tail = i + 1 == n ? allowance + 1 : 1;
        if (i) {
            pdl_buf_putc(p->out, ',');
            put_indent(p->out, indent);
        }
        if (!is_dict) {
            ok = put(p, keys[i].key, indent, tail);
            continue;
        }
        size_t start = p->out->len;
        ok = put_line(p, keys[i].key) == DONE;
        size_t wide = ok ? columns_from(p->out, start) : 0;
        PDL_PUT(p->out, ": ");
        int used = wide < PDL_MAX_TEXT / 4 ? (int)wide : (int)(PDL_MAX_TEXT / 4);
        if (ok) ok = put(p, pdl_dict_val_at(d, keys[i].i), indent + used + 2, tail);
    }
    pdl_free(keys);
    pdl_buf_putc(p->out, '}');
    return ok;
}

static bool put_tall(printer *p, pdl_vref v, int indent, int allowance) {
    if (pdl_is_dict(v)) return put_entries(p, v, indent, allowance, true);
    if (pdl_is_list(v)) return put_items(p, v, indent, allowance, false);
    if (pdl_is(v, PDL_V_TUPLE)) return put_items(p, v, indent, allowance, true);
    if (pdl_is(v, PDL_V_SET) && pdl_dict_len(pdl_set_dict(v)))
        return put_entries(p, pdl_set_dict(v), indent, allowance, false);
    bool top = p->depth == 1;
    if (pdl_is_str(v) && pdl_str_get(v).n && !(pdl_flags_of(v) & PDL_F_SAFE))
        return put_str(p, pdl_str_get(v), indent, allowance, top);
    if (pdl_is(v, PDL_V_BYTES)) return put_bytes(p, pdl_bytes_get(v), indent, allowance, top);
    return put_line(p, v) == DONE;
}

PDL_COLD static bool check_room(printer *p) {
    if (p->out->len > PDL_MAX_TEXT)
        return pdl_err_set(p->err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                           PDL_MAX_TEXT);
    p->check_at = p->out->len + PDL_BUF_CHECK_EVERY;
    return pdl_buf_check(p->out, p->err);
}

static bool put(printer *p, pdl_vref v, int indent, int allowance) {
    if (PDL_UNLIKELY(p->out->len > p->check_at) && !check_room(p)) return false;
    result r = put_if_fits(p, v, WIDTH - indent - allowance);
    if (r != TOO_LONG) return r == DONE;
    if (!enter(p)) return false;
    bool ok = put_tall(p, v, indent, allowance);
    p->depth--;
    return ok;
}

bool pdl_val_pprint(pdl_vref v, pdl_buf *out, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    printer p = {.out = &text, .err = err, .stop = SIZE_MAX, .check_at = PDL_BUF_CHECK_EVERY};
    bool ok = put(&p, v, 0, 0);
    if (ok) pdl_buf_put(out, pdl_buf_str(&text));
    pdl_buf_fini(&text);
    return ok;
}
