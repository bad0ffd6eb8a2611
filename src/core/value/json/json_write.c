/* json_write.c -- writes a value as JSON text; see json_write.h.
 *
 * One recursive walk with a depth limit writes all values, in the forms of Python's json.dumps. A
 * text may have gigabytes, so it is escaped part by part, with a check for cancellation and memory
 * after each part.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/json_write.h"

#include <assert.h>
#include <math.h>

#include "base/json_plain.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "value/context.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/promise.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct {
    pdl_buf *out;
    size_t start; /* offset in out at which this value begins */
    pdl_err *err;
    int flags;
    const pdl_str *unit; /* indentation of a level; when it is NULL, everything is on one line */
    unsigned depth;
    /* when out is longer than this, cancellation and memory are checked */
    size_t check_at;
    size_t away;               /* number of bytes of this value that part->room removed from out */
    const pdl_json_part *part; /* may be NULL */
    size_t most;               /* maximum number of bytes that are written; 0 means no maximum */
} writer;

/* --- strings ---------------------------------------------------------------------------------- */

/* The letter after the backslash; 'u' means \u00XX, and 0 means that the character is written
 * unchanged. */
static const char escapes[0x60] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b',         't',           'n', 'u',
    'f', 'r', 'u', 'u', 'u', 'u', 'u', 'u', 'u',         'u',           'u', 'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', ['"'] = '"', ['\\'] = '\\',
};

/* Returns true when PDL_JSON_ASCII writes c unchanged. */
static bool is_plain(unsigned char c) { return c < sizeof escapes ? escapes[c] == 0 : c < 0x7f; }

/* Returns the place up to which PDL_JSON_ASCII leaves the text from p on unchanged. Letters outside
 * of ASCII are changed, but the search for quotes and control characters passes over them. So the
 * search is done in windows, each of which is as long as the text before it. The time then stays
 * linear, even when such a letter comes every few bytes. */
static const char *skip_ascii(const char *p, const char *end) {
    /* A text of at most SHORT bytes, such as most keys and names, is examined byte by byte. */
    enum { FIRST = 64, SHORT = 24 };
    for (size_t window = FIRST; end - p > SHORT; window *= 2) {
        const char *to = (size_t)(end - p) > window ? p + window : end;
        bool ascii = true;
        const char *stop = pdl_plain_end(p, to, &ascii);
        if (!ascii || memchr(p, 0x7f, (size_t)(stop - p))) break;
        if (stop < to || stop == end) return stop;
        p = stop;
    }
    while (p < end && is_plain((unsigned char)*p)) p++;
    return p;
}

static const char *skip_plain(const char *p, const char *end, int flags) {
    bool ascii;
    return flags & PDL_JSON_ASCII ? skip_ascii(p, end) : pdl_plain_end(p, end, &ascii);
}

/* Writes the escape \uXXXX of a UTF-16 code unit. */
static void put_u(uint32_t unit, pdl_buf *out) {
    static const char hex[] = "0123456789abcdef";
    char t[6] = {'\\',          'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
                 hex[unit & 15]};
    pdl_buf_put(out, (pdl_str){t, sizeof t});
}

static void put_code_point(uint32_t cp, pdl_buf *out) {
    if (cp < 0x10000) {
        put_u(cp, out);
    } else {
        put_u(0xd800 + ((cp - 0x10000) >> 10), out);
        put_u(0xdc00 + ((cp - 0x10000) & 0x3ff), out);
    }
}

/* Writes the beginning of s that needs no escapes, with quotes if this is all of s. Returns the
 * offset at which it ends. */
static const char *put_plain(pdl_str s, int flags, pdl_buf *out) {
    const char *end = s.p + s.n, *p = s.n ? skip_plain(s.p, end, flags) : end;
    size_t n = (size_t)(p - s.p);
    char *to = pdl_buf_room(out, n + 2);
    to[0] = '"';
    if (n) memcpy(to + 1, s.p, n);
    to[n + 1] = '"';
    pdl_buf_grown(out, n + 1 + (p == end));
    return p;
}

/* Writes the text from p to end. The character at p needs an escape. */
static void put_escaped(const char *p, const char *end, int flags, pdl_buf *out) {
    while (p < end) {
        unsigned char c = (unsigned char)*p;
        if (c >= 0x7f || escapes[c] == 'u') {
            put_code_point(pdl_utf8_next(&p), out);
        } else {
            char t[2] = {'\\', escapes[c]};
            pdl_buf_put(out, (pdl_str){t, 2});
            p++;
        }
        const char *from = p;
        p = skip_plain(p, end, flags);
        pdl_buf_put(out, (pdl_str){from, (size_t)(p - from)});
    }
}

void pdl_json_quote(pdl_str s, int flags, pdl_buf *out) {
    const char *p = put_plain(s, flags, out), *end = s.p + s.n;
    if (p == end) return;
    put_escaped(p, end, flags, out);
    pdl_buf_putc(out, '"');
}

/* Escapes a long text part by part, which is possible because no character depends on those around
 * it. */
bool pdl_json_quote_long(pdl_str s, int flags, pdl_buf *out, pdl_err *err) {
    enum { PART = 1 << 20 }; /* number of bytes between two checks; they take a few milliseconds */
    if (PDL_LIKELY(s.n <= PART)) {
        pdl_json_quote(s, flags, out);
        return true;
    }
    pdl_buf_putc(out, '"');
    while (s.n) {
        pdl_str part = pdl_utf8_cut(s, PART);
        const char *end = part.p + part.n, *p = skip_plain(part.p, end, flags);
        pdl_buf_put(out, (pdl_str){part.p, (size_t)(p - part.p)});
        put_escaped(p, end, flags, out);
        if (!pdl_buf_check(out, err)) return false;
        s = pdl_str_sub(s, part.n, s.n);
    }
    pdl_buf_putc(out, '"');
    return true;
}

/* --- scalars ---------------------------------------------------------------------------------- */

static bool fail_type(writer *w, const char *before, const char *name, const char *after) {
    pdl_err_set(w->err, PDL_E_type, (pdl_loc){0}, "%s%s%s", before, name, after);
    w->err->py_class = pdl_str_dup(PDL_STR("TypeError"));
    return false;
}

static bool put_float(writer *w, double d) {
    char t[PDL_NUM_MAX];
    if (isfinite(d)) {
        pdl_buf_put(w->out, (pdl_str){t, pdl_num_double(d, t)});
        return true;
    }
    if (w->flags & PDL_JSON_NAN_NULL) {
        PDL_PUT(w->out, "null");
        return true;
    }
    if (!(w->flags & PDL_JSON_NAN)) {
        pdl_err_set(w->err, PDL_E_type, (pdl_loc){0},
                    "Out of range float values are not JSON compliant");
        w->err->py_class = pdl_str_dup(PDL_STR("ValueError"));
        return false;
    }
    pdl_buf_put(w->out, isnan(d) ? PDL_STR("NaN")
                        : d > 0  ? PDL_STR("Infinity")
                                 : PDL_STR("-Infinity"));
    return true;
}

static void put_int(int64_t i, pdl_buf *out) {
    char t[PDL_NUM_MAX];
    pdl_buf_put(out, (pdl_str){t, pdl_num_int(i, t)});
}

/* Writes null, booleans and numbers. *is says whether v is such a value. */
static bool put_scalar(writer *w, pdl_vref v, bool *is) {
    *is = true;
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_NULL)
        PDL_PUT(w->out, "null");
    else if (t == PDL_V_BOOL)
        pdl_buf_put(w->out, pdl_bool_of(v) ? PDL_STR("true") : PDL_STR("false"));
    else if (t == PDL_V_INT)
        put_int(pdl_int_of(v), w->out);
    else if (t == PDL_V_BIGINT)
        pdl_int_write(v, 10, w->out);
    else if (t == PDL_V_FLOAT)
        return put_float(w, pdl_float_of(v));
    else
        *is = false;
    return true;
}

static bool put_str_of(writer *w, pdl_vref v) { /* writes str(v) in quotes */
    pdl_buf b = PDL_BUF;
    bool ok = pdl_val_str(v, &b, w->err);
    if (ok) ok = pdl_json_quote_long(pdl_buf_str(&b), w->flags, w->out, w->err);
    pdl_buf_fini(&b);
    return ok;
}

/* --- containers ------------------------------------------------------------------------------- */

static bool put_value(writer *w, pdl_vref v);

PDL_APART static void put_line_end(writer *w) {
    pdl_buf_putc(w->out, '\n');
    for (unsigned i = 0; i < w->depth; i++) pdl_buf_put(w->out, *w->unit);
}

static void put_break(writer *w) {
    if (w->unit) put_line_end(w);
}

static void put_comma(writer *w) {
    pdl_buf_putc(w->out, ',');
    if (!w->unit && (w->flags & PDL_JSON_SPACED)) pdl_buf_putc(w->out, ' ');
    put_break(w);
}

static bool enter(writer *w, char bracket) {
    if (w->depth >= PDL_MAX_JSON_DEPTH)
        return pdl_err_set(w->err, PDL_E_limit, (pdl_loc){0},
                           "value is nested deeper than %d levels", PDL_MAX_JSON_DEPTH);
    w->depth++;
    pdl_buf_putc(w->out, bracket);
    put_break(w);
    return true;
}

static void leave(writer *w, char bracket) {
    w->depth--;
    put_break(w);
    pdl_buf_putc(w->out, bracket);
}

/* With PDL_JSON_CUT, writes "..." in place of a value that is too deep, and returns true. Without
 * the flag, or for any other value, returns false. */
static bool is_cut(writer *w) {
    bool cut = w->depth >= PDL_MAX_JSON_DEPTH && (w->flags & PDL_JSON_CUT);
    if (cut) PDL_PUT(w->out, "\"...\"");
    return cut;
}

static bool put_list(writer *w, pdl_vref v) {
    size_t n = pdl_list_len(v);
    if (n == 0) {
        PDL_PUT(w->out, "[]");
        return true;
    }
    if (!enter(w, '[')) return false;
    for (size_t i = 0; i < n; i++) {
        if (i) put_comma(w);
        if (!put_value(w, pdl_list_at(v, i))) return false;
    }
    leave(w, ']');
    return true;
}

static bool put_key(writer *w, pdl_vref key) {
    bool is_scalar = false;
    if (pdl_is_str(key)) {
        if (!pdl_json_quote_long(pdl_str_get(key), w->flags, w->out, w->err)) return false;
    } else {
        pdl_buf_putc(w->out, '"');
        if (!put_scalar(w, key, &is_scalar)) return false;
        if (is_scalar)
            pdl_buf_putc(w->out, '"');
        else if (!(w->flags & PDL_JSON_LOOSE))
            return fail_type(w, "keys must be str, int, float, bool or None, not ",
                             pdl_type_name(key), "");
        else {
            pdl_buf_cut(w->out, w->out->len - 1);
            if (!put_str_of(w, key)) return false;
        }
    }
    pdl_buf_putc(w->out, ':');
    if (w->unit || (w->flags & PDL_JSON_SPACED)) pdl_buf_putc(w->out, ' ');
    return true;
}

typedef struct {
    char *text; /* owned */
    size_t n, i;
} sort_key;

static int compare_keys(const void *a, const void *b) {
    const sort_key *x = a, *y = b;
    int c = pdl_str_cmp((pdl_str){x->text, x->n}, (pdl_str){y->text, y->n});
    return c ? c : x->i < y->i ? -1 : x->i > y->i;
}

/* Returns the positions of the entries of d, in the order of the texts of their keys (owned).
 * Returns NULL when a key has no text, or when the work is cancelled. */
PDL_APART static sort_key *sorted_keys(writer *w, pdl_vref d, size_t n) {
    sort_key *keys = PDL_NEW_N(sort_key, n);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        pdl_vref k = pdl_dict_key_at(d, i);
        pdl_buf b = PDL_BUF;
        writer kw = {.out = &b, .err = w->err, .flags = w->flags};
        bool is_scalar = false;
        ok = pdl_check_cancel_at(i, w->err) && (pdl_is_str(k) || put_scalar(&kw, k, &is_scalar));
        if (ok && !is_scalar) ok = pdl_val_str(k, &b, w->err);
        keys[i] = (sort_key){.n = b.len, .i = i};
        keys[i].text = pdl_buf_take(&b);
    }
    ok = ok && pdl_sort(keys, n, sizeof *keys, compare_keys, w->err);
    for (size_t i = 0; i < n; i++) {
        pdl_free(keys[i].text);
        keys[i].text = NULL;
    }
    if (ok) return keys;
    pdl_free(keys);
    return NULL;
}

static bool put_entries(writer *w, pdl_vref d, size_t n, const sort_key *order) {
    size_t first = pdl_dict_first_shown(d);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        size_t at = order ? order[i].i : i;
        if (at < first) continue;
        if (any) put_comma(w);
        any = true;
        if (!put_key(w, pdl_dict_key_at(d, at)) || !put_value(w, pdl_dict_val_at(d, at)))
            return false;
    }
    return true;
}

static bool put_dict(writer *w, pdl_vref d) {
    size_t n = pdl_dict_len(d);
    if (n == pdl_dict_first_shown(d)) {
        PDL_PUT(w->out, "{}");
        return true;
    }
    if (!enter(w, '{')) return false;
    sort_key *order = NULL;
    if (w->flags & PDL_JSON_SORT) {
        order = sorted_keys(w, d, n);
        if (!order) return false;
    }
    bool ok = put_entries(w, d, n, order);
    pdl_free(order);
    if (ok) leave(w, '}');
    return ok;
}

/* Writes a range without making a list of its numbers, which may be a hundred million. */
static bool put_range(writer *w, pdl_vref v) {
    size_t n = pdl_range_len(v);
    if (n == 0) {
        PDL_PUT(w->out, "[]");
        return true;
    }
    if (!enter(w, '[')) return false;
    for (size_t i = 0; i < n; i++) {
        if (i) put_comma(w);
        if (!put_value(w, pdl_int(pdl_range_at(v, i)))) return false;
    }
    leave(w, ']');
    return true;
}

/* Writes a set, range, view or context as a list. */
PDL_APART static bool put_listed(writer *w, pdl_vref v) {
    pdl_val list;
    if (pdl_is(v, PDL_V_RANGE)) return put_range(w, v);
    if (pdl_is(v, PDL_V_CONTEXT))
        list = pdl_context_to_list(v);
    else if (!pdl_val_to_list(v, &list, w->err))
        return false;
    bool ok = put_list(w, list);
    pdl_drop(list);
    return ok;
}

static bool put_other(writer *w, pdl_vref v) {
    pdl_tag t = pdl_tag_of(v);
    if (w->part && w->part->other(w->part->user, v, w->depth, w->out)) return true;
    if (t == PDL_V_HANDLE && !pdl_is_absent(pdl_handle_of(v)->json)) {
        if (w->depth >= PDL_MAX_JSON_DEPTH)
            return pdl_err_set(w->err, PDL_E_limit, (pdl_loc){0},
                               "value is nested deeper than %d levels", PDL_MAX_JSON_DEPTH);
        w->depth++; /* the form may again be a handle, so the recursion must be bounded */
        bool ok = put_value(w, pdl_handle_of(v)->json);
        w->depth--;
        return ok;
    }
    if (t == PDL_V_CONTEXT && (w->flags & PDL_JSON_CONTEXT)) return is_cut(w) || put_listed(w, v);
    if (!(w->flags & PDL_JSON_LOOSE))
        return fail_type(w, "Object of type ", pdl_type_name(v), " is not JSON serializable");
    if (t == PDL_V_SET || t == PDL_V_RANGE || t == PDL_V_VIEW) return put_listed(w, v);
    return put_str_of(w, v);
}

PDL_COLD static bool check_room(writer *w) {
    size_t before = w->out->len;
    if (w->most)
        return pdl_err_set(w->err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                           w->most);
    if (w->part && w->part->room && !w->part->room(w->part->user, w->out, w->err)) return false;
    w->away += before - w->out->len;
    if (w->away + (w->out->len - w->start) > PDL_MAX_TEXT)
        return pdl_err_set(w->err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                           PDL_MAX_TEXT);
    w->check_at = w->out->len + PDL_BUF_CHECK_EVERY;
    return pdl_buf_check(w->out, w->err);
}

static bool put_value(writer *w, pdl_vref v) {
    while (pdl_is(v, PDL_V_PROMISE) && pdl_promise_of(v)->state == PDL_PROMISE_FILLED)
        v = pdl_promise_of(v)->value;
    if (PDL_UNLIKELY(w->out->len > w->check_at) && !check_room(w)) return false;
    bool is_scalar = false;
    switch (pdl_tag_of(v)) {
    case PDL_V_STR: return pdl_json_quote_long(pdl_str_get(v), w->flags, w->out, w->err);
    case PDL_V_LIST:
    case PDL_V_TUPLE: return is_cut(w) || put_list(w, v);
    case PDL_V_DICT: return is_cut(w) || put_dict(w, v);
    case PDL_V_NULL:
    case PDL_V_BOOL:
    case PDL_V_INT:
    case PDL_V_FLOAT:
    case PDL_V_BIGINT: return put_scalar(w, v, &is_scalar);
    case PDL_V_ABSENT:
    case PDL_V_SET:
    case PDL_V_BYTES:
    case PDL_V_DATE:
    case PDL_V_DATETIME:
    case PDL_V_RANGE:
    case PDL_V_VIEW:
    case PDL_V_CONTEXT:
    case PDL_V_UNDEFINED:
    case PDL_V_FUNC:
    case PDL_V_PROMISE:
    case PDL_V_HANDLE:
    case PDL_V_NATIVE:
    case PDL_V_CELL:
    case PDL_V_AGGREGATOR:
    case PDL_V_RECORD:
    case PDL_V_COUNT: break;
    }
    return put_other(w, v);
}

bool pdl_json_write_part(pdl_vref v, const pdl_json_part *part, pdl_buf *out, pdl_err *err) {
    writer w = {.out = out,
                .start = out->len,
                .check_at = out->len + PDL_BUF_CHECK_EVERY,
                .err = err,
                .flags = part->flags,
                .depth = part->depth,
                .part = part};
    size_t limit = pdl_buf_unlimit(out);
    return pdl_buf_relimit(out, limit, w.start, put_value(&w, v), err);
}

bool pdl_json_write_lines(pdl_vref v, int flags, const pdl_str *unit, pdl_buf *out, pdl_err *err) {
    assert(err->kind == PDL_E_NONE);
    writer w = {.out = out,
                .start = out->len,
                .check_at = out->len + PDL_BUF_CHECK_EVERY,
                .err = err,
                .flags = flags,
                .unit = unit};
    size_t limit = pdl_buf_unlimit(out);
    return pdl_buf_relimit(out, limit, w.start, put_value(&w, v), err);
}

bool pdl_json_write(pdl_vref v, int flags, int indent, pdl_buf *out, pdl_err *err) {
    assert(err->kind == PDL_E_NONE);
    char blanks[PDL_JSON_MAX_INDENT];
    memset(blanks, ' ', sizeof blanks);
    pdl_str unit = {blanks, (size_t)indent};
    return pdl_json_write_lines(v, flags, indent ? &unit : NULL, out, err);
}

bool pdl_json_write_begin(pdl_vref v, int flags, int indent, size_t n, pdl_buf *out, pdl_err *err) {
    assert(err->kind == PDL_E_NONE);
    assert(n > 0);
    char blanks[PDL_JSON_MAX_INDENT];
    memset(blanks, ' ', sizeof blanks);
    pdl_str unit = {blanks, (size_t)indent};
    writer w = {.out = out,
                .start = out->len,
                .check_at = out->len + n,
                .err = err,
                .flags = flags,
                .unit = indent ? &unit : NULL,
                .most = n};
    bool whole = put_value(&w, v);
    if (out->len - w.start <= n) return whole;
    pdl_buf_cut(out, w.start + n); /* the last text may exceed the limit */
    return false;
}
