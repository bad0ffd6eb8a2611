/* json_read.c -- see json_read.h. An explicit stack of open containers.
 *
 * What stands in open containers is kept on one stack of values until its container closes, which then is
 * made in its exact size: allocation is most of the work here. An object is guessed to have the keys of the
 * last one that began with the same key; as long as the text agrees, keys are compared and not read, and only
 * values are stacked. Messages and places are those of Python's json, whose scanner looks for the parts of
 * the grammar in this order.
 */
#include "value/json_read.h"

#include <math.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/plain.h"
#include "base/utf8.h"
#include "value/int.h"
#include "value/json_keys.h"
#include "value/obj.h"

#include "base/banned.h"

enum {
    INLINE_DEPTH = 16,
    INLINE_VALUES = 48,
    FAST_DIGITS = 19,     /* any so many digits fit 64 bits */
    MAX_INT_DIGITS = 18,  /* any so many digits fit an int64 */
    MAX_INTERNED_TEXT = 8 /* short texts repeat */
};

/* A container that is not closed yet. */
typedef struct {
    size_t from;      /* its first value; an unguessed dict's are key, value, key, value... */
    pdl_shape *guess; /* of a dict, owned: its first `matched` keys are right, only values are stacked */
    uint64_t begin;   /* of a dict: its first key, for the next guess */
    uint32_t matched;
    bool is_dict;
} open_box;

typedef struct {
    const char *start, *p, *end;
    int flags;
    pdl_json_keys *keys;
    pdl_err *err;
    open_box *open;
    size_t depth, depth_cap;
    pdl_val *values; /* owned, n of them */
    size_t n, cap;
    open_box few_open[INLINE_DEPTH];
    pdl_val few_values[INLINE_VALUES];
} reader;

/* --- errors ---------------------------------------------------------------------------------------- */

static bool fail_at(reader *r, const char *at, const char *what) {
    size_t line = 1, col = 1, cp = 0;
    for (const char *p = r->start; p < at; p++) {
        if (((unsigned char)*p & 0xc0) == 0x80) continue;
        cp++;
        col++;
        if (*p == '\n') {
            line++;
            col = 1;
        }
    }
    pdl_err_set(r->err, PDL_E_syntax, (pdl_loc){0}, "%s: line %zu column %zu (char %zu)", what, line, col,
                cp);
    r->err->foreign = pdl_str_dup(PDL_STR("JSONDecodeError"));
    return false;
}

/* --- strings --------------------------------------------------------------------------------------- */

/* Four hex digits at p; something must stand behind them (Python's scanner wants the closing quote there). */
static bool read_hex4(reader *r, const char *p, uint32_t *out) {
    if (r->end - p <= 4) return fail_at(r, p - 1, "Invalid \\uXXXX escape");
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int d = pdl_hex_digit(p[i]);
        if (d < 0) return fail_at(r, p - 1, "Invalid \\uXXXX escape");
        v = v * 16 + (uint32_t)d;
    }
    *out = v;
    return true;
}

/* r->p stands behind "\u". A surrogate without its partner becomes U+FFFD: text is always valid UTF-8. */
static bool read_unicode(reader *r, pdl_buf *b) {
    uint32_t c, low;
    if (!read_hex4(r, r->p, &c)) return false;
    r->p += 4;
    if (c >= 0xd800 && c < 0xdc00 && r->end - r->p > 6 && r->p[0] == '\\' && r->p[1] == 'u') {
        if (!read_hex4(r, r->p + 2, &low)) return false;
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            r->p += 6;
        }
    }
    pdl_buf_put_cp(b, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return true;
}

static bool read_escape(reader *r, pdl_buf *b, const char *quote) { /* r->p at the backslash */
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (r->end - r->p < 2) return fail_at(r, quote, "Unterminated string starting at");
    char c = r->p[1];
    if (c == 'u') {
        r->p += 2;
        return read_unicode(r, b);
    }
    const char *at = c ? strchr(from, c) : NULL;
    if (!at) return fail_at(r, r->p, "Invalid \\escape");
    pdl_buf_putc(b, to[at - from]);
    r->p += 2;
    return true;
}

/* The rest of a string that holds escapes; plain runs from `from` on are not copied yet. */
static bool read_escaped(reader *r, const char *quote, pdl_buf *b, bool *ascii) {
    const char *from = quote + 1;
    for (;;) {
        pdl_buf_put(b, (pdl_str){from, (size_t)(r->p - from)});
        if (r->p == r->end) return fail_at(r, quote, "Unterminated string starting at");
        if (*r->p == '"') return true;
        bool control = *r->p != '\\';
        if (control && !(r->flags & PDL_JSON_CONTROL))
            return fail_at(r, r->p, "Invalid control character at");
        if (!control && !read_escape(r, b, quote)) return false;
        from = r->p;
        r->p = pdl_plain_end(control ? r->p + 1 : r->p, r->end, ascii);
    }
}

static bool check_text(reader *r, const char *quote, pdl_str s, bool ascii) {
    if (s.n > PDL_MAX_TEXT)
        return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes", PDL_MAX_TEXT);
    if (!ascii && pdl_utf8_check(s) != PDL_NOT_FOUND)
        return fail_at(r, quote, "Invalid UTF-8 in string starting at");
    return true;
}

static bool read_string(reader *r, bool is_key, pdl_val *out) { /* r->p at the quote */
    const char *quote = r->p;
    bool ascii = true;
    r->p = pdl_plain_end(quote + 1, r->end, &ascii);
    if (PDL_LIKELY(r->p < r->end && *r->p == '"')) {
        pdl_str s = {quote + 1, (size_t)(r->p - quote - 1)};
        if (!check_text(r, quote, s, ascii)) return false;
        *out = is_key || s.n <= MAX_INTERNED_TEXT ? pdl_json_intern(r->keys, s) : pdl_text(s);
        r->p++;
        return true;
    }
    pdl_buf b = PDL_BUF;
    bool ok = read_escaped(r, quote, &b, &ascii) && check_text(r, quote, pdl_buf_str(&b), ascii);
    if (ok) {
        *out = is_key ? pdl_json_intern(r->keys, pdl_buf_str(&b)) : pdl_text(pdl_buf_str(&b));
        r->p++;
    }
    pdl_buf_fini(&b);
    return ok;
}

/* --- numbers and words ------------------------------------------------------------------------------- */

static bool is_digit(const reader *r, const char *p) { return p < r->end && (unsigned)(*p - '0') <= 9; }

/* The exponent at p, if one stands there; p is moved behind it. */
static int read_exponent(const reader *r, const char **p) {
    const char *q = *p;
    if (q == r->end || (*q != 'e' && *q != 'E')) return 0;
    q++;
    bool minus = q < r->end && *q == '-';
    if (q < r->end && (*q == '-' || *q == '+')) q++;
    if (!is_digit(r, q)) return 0;
    int e = 0;
    for (; is_digit(r, q); q++) e = e < 100000 ? e * 10 + (*q - '0') : e;
    *p = q;
    return minus ? -e : e;
}

/* A fraction or exponent stands at p, behind n digits whose value is `digits` unless there were too many. */
static bool read_float(reader *r, const char *p, uint64_t digits, size_t n, pdl_val *out) {
    const char *from = r->p;
    int exp10 = 0;
    if (!digits) n = 0; /* a zero before the point is no digit that counts */
    if (*p == '.' && is_digit(r, p + 1)) {
        for (p++; is_digit(r, p); p++, exp10--) {
            digits = digits * 10 + (uint64_t)(*p - '0'); /* may wrap: then there are too many */
            n += digits != 0;
        }
    }
    exp10 += read_exponent(r, &p);
    double d;
    r->p = p;
    if (n <= FAST_DIGITS && pdl_num_decimal(digits, exp10, &d))
        *out = pdl_float(*from == '-' ? -d : d);
    else if (pdl_num_read_double((pdl_str){from, (size_t)(p - from)}, &d))
        *out = pdl_float(d);
    else
        return fail_at(r, from, "Expecting value");
    return true;
}

static bool read_number(reader *r, pdl_val *out) {
    const char *from = r->p, *p = from;
    bool negative = *p == '-';
    if (negative) p++;
    if (!is_digit(r, p)) return fail_at(r, from, "Expecting value");
    uint64_t v = 0;
    const char *first = p;
    if (*p == '0')
        p++;
    else
        for (; is_digit(r, p); p++)
            v = v * 10 + (uint64_t)(*p - '0'); /* may wrap: then there are too many digits */
    size_t n = (size_t)(p - first);
    if (p < r->end && (*p == '.' || *p == 'e' || *p == 'E')) {
        const char *q = p + (*p != '.' && p + 1 < r->end && (p[1] == '-' || p[1] == '+'));
        if (is_digit(r, q + 1)) return read_float(r, p, v, n, out);
    }
    r->p = p;
    if (n <= MAX_INT_DIGITS) {
        *out = pdl_int(negative ? -(int64_t)v : (int64_t)v);
        return true;
    }
    if (pdl_int_read_decimal((pdl_str){from, (size_t)(p - from)}, out)) return true;
    return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0}, "an integer of %zu digits is too large", n);
}

static bool accept(reader *r, pdl_str word) {
    if ((size_t)(r->end - r->p) < word.n || memcmp(r->p, word.p, word.n) != 0) return false;
    r->p += word.n;
    return true;
}

static bool read_word(reader *r, pdl_val *out) {
    bool python = r->flags & PDL_JSON_PYTHON;
    if (accept(r, PDL_STR("null"))) *out = pdl_null();
    else if (accept(r, PDL_STR("true"))) *out = pdl_bool(true);
    else if (accept(r, PDL_STR("false"))) *out = pdl_bool(false);
    else if (python && accept(r, PDL_STR("NaN"))) *out = pdl_float((double)NAN);
    else if (python && accept(r, PDL_STR("Infinity"))) *out = pdl_float(HUGE_VAL);
    else if (python && accept(r, PDL_STR("-Infinity"))) *out = pdl_float(-HUGE_VAL);
    else return *r->p == '-' ? read_number(r, out) : fail_at(r, r->p, "Expecting value");
    return true;
}

/* --- structure --------------------------------------------------------------------------------------- */

/* Anything above a space is none: one comparison for most. */
static inline bool is_blank(char c) {
    return (unsigned char)c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r');
}

static inline void skip_blanks(reader *r) {
    while (r->p < r->end && is_blank(*r->p)) r->p++;
}

/* Grow a stack that begins inside the reader. */
PDL_COLD static void *grow(void *p, bool is_inline, size_t *cap, size_t size) {
    void *q = pdl_realloc_n(is_inline ? NULL : p, *cap * 2, size);
    if (is_inline) memcpy(q, p, *cap * size);
    *cap *= 2;
    return q;
}

static inline void push_value(reader *r, pdl_val v) {
    if (PDL_UNLIKELY(r->n == r->cap))
        r->values = grow(r->values, r->values == r->few_values, &r->cap, sizeof *r->values);
    r->values[r->n++] = v;
}

static bool open_new(reader *r, bool is_dict) {
    if (r->depth == PDL_MAX_JSON_DEPTH)
        return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0}, "JSON is nested deeper than %d levels",
                           PDL_MAX_JSON_DEPTH);
    if (r->depth == r->depth_cap)
        r->open = grow(r->open, r->open == r->few_open, &r->depth_cap, sizeof *r->open);
    open_box *box = &r->open[r->depth++];
    *box = (open_box){.from = r->n, .is_dict = is_dict};
    if (is_dict && r->p < r->end && *r->p == '"') {
        box->begin = pdl_json_begin(r->p + 1, r->end);
        box->guess = pdl_json_shape_guess(r->keys, box->begin);
    }
    return true;
}

/* The guess was wrong: puts the keys that matched between the values. */
static void unguess(reader *r, open_box *box) {
    pdl_shape *s = box->guess;
    uint32_t n = box->matched;
    for (uint32_t i = 0; i < n; i++) push_value(r, pdl_absent());
    pdl_val *v = r->values + box->from;
    for (uint32_t i = n; i-- > 0;) {
        v[2 * i + 1] = v[i];
        v[2 * i] = pdl_keep(s->keys[i].key);
    }
    box->guess = NULL;
    pdl_shape_drop(s);
}

static pdl_val close_dict(reader *r, open_box *box) {
    if (box->guess && box->matched != box->guess->n) unguess(r, box);
    pdl_val *v = r->values + box->from;
    size_t n = r->n - box->from;
    if (box->guess) return pdl_dict_of_shape(box->guess, v);
    pdl_val dict = pdl_dict_new(n / 2);
    for (size_t i = 0; i < n; i += 2) dict = pdl_dict_put(dict, v[i], v[i + 1]);
    pdl_json_shape_learn(r->keys, box->begin, dict);
    return dict;
}

/* The innermost container made of its values. */
static pdl_val close_box(reader *r) {
    open_box *box = &r->open[--r->depth];
    pdl_val v = box->is_dict ? close_dict(r, box) : pdl_list_of_items(r->values + box->from, r->n - box->from);
    r->n = box->from;
    return v;
}

/* The text is the next key of the guess. */
static bool match_key(reader *r, open_box *box) {
    if (box->matched == box->guess->n) return false;
    pdl_str key = pdl_str_get(box->guess->keys[box->matched].key);
    if ((size_t)(r->end - r->p) < key.n + 2 || r->p[0] != '"' || r->p[key.n + 1] != '"') return false;
    if (memcmp(r->p + 1, key.p, key.n) != 0) return false;
    r->p += key.n + 2;
    box->matched++;
    return true;
}

static bool read_unguessed_key(reader *r) {
    pdl_val key;
    if (r->p == r->end || *r->p != '"')
        return fail_at(r, r->p, "Expecting property name enclosed in double quotes");
    if (!read_string(r, true, &key)) return false;
    push_value(r, key);
    return true;
}

/* A key and its colon; the cursor then stands at the value. */
static bool read_key(reader *r) {
    open_box *box = &r->open[r->depth - 1];
    if (!box->guess || !match_key(r, box)) {
        if (box->guess) unguess(r, box);
        if (!read_unguessed_key(r)) return false;
    }
    if (r->p == r->end || *r->p != ':') skip_blanks(r);
    if (r->p == r->end || *r->p != ':') return fail_at(r, r->p, "Expecting ':' delimiter");
    r->p++;
    skip_blanks(r);
    return true;
}

/* A value begins at the cursor. *done: *out is complete; else a container was opened and its first value is
 * next. */
static bool begin_value(reader *r, pdl_val *out, bool *done) {
    *done = true;
    if (r->p == r->end) return fail_at(r, r->p, "Expecting value");
    char c = *r->p;
    if (c == '"') return read_string(r, false, out);
    if (c >= '0' && c <= '9') return read_number(r, out);
    if (c != '{' && c != '[') return read_word(r, out);
    r->p++;
    skip_blanks(r);
    bool is_dict = c == '{';
    if (r->p < r->end && *r->p == (is_dict ? '}' : ']')) {
        r->p++;
        *out = is_dict ? pdl_dict_new(0) : pdl_list_new(0);
        return true;
    }
    *done = false;
    return open_new(r, is_dict) && (!is_dict || read_key(r));
}

/* Put the finished *v into the innermost container. *done: that container was closed and is *v now. */
static bool end_value(reader *r, pdl_val *v, bool *done) {
    bool is_dict = r->open[r->depth - 1].is_dict;
    push_value(r, *v);
    skip_blanks(r);
    *done = r->p < r->end && *r->p == (is_dict ? '}' : ']');
    if (*done) {
        r->p++;
        *v = close_box(r);
        return true;
    }
    if (r->p == r->end || *r->p != ',') return fail_at(r, r->p, "Expecting ',' delimiter");
    r->p++;
    skip_blanks(r);
    return !is_dict || read_key(r);
}

static bool read_value(reader *r, pdl_val *out) {
    pdl_val v = pdl_absent();
    for (;;) {
        bool done = false;
        if (!begin_value(r, &v, &done)) return false;
        while (done && r->depth)
            if (!end_value(r, &v, &done)) return false;
        if (done) break;
    }
    *out = v;
    return true;
}

static bool read_document(reader *r, pdl_val *out) {
    if (r->end - r->p >= 3 && memcmp(r->p, "\xef\xbb\xbf", 3) == 0)
        return fail_at(r, r->p, "Unexpected UTF-8 BOM (decode using utf-8-sig)");
    skip_blanks(r);
    pdl_val v;
    if (!read_value(r, &v)) return false;
    if (!(r->flags & PDL_JSON_PREFIX)) {
        skip_blanks(r);
        if (r->p < r->end) {
            pdl_drop(v);
            return fail_at(r, r->p, "Extra data");
        }
    }
    *out = v;
    return true;
}

bool pdl_json_read_with(pdl_str text, int flags, pdl_json_keys *keys, pdl_val *out, size_t *end,
                        pdl_err *err) {
    const char *p = text.p ? text.p : "";
    reader r; /* its inline stacks need no clearing */
    r.start = r.p = p;
    r.end = p + text.n;
    r.flags = flags;
    r.keys = keys;
    r.err = err;
    r.open = r.few_open;
    r.values = r.few_values;
    r.depth = r.n = 0;
    r.depth_cap = INLINE_DEPTH;
    r.cap = INLINE_VALUES;
    bool ok = read_document(&r, out);
    if (ok && end) *end = (size_t)(r.p - r.start);
    for (size_t i = 0; i < r.n; i++) pdl_drop(r.values[i]);
    for (size_t i = 0; i < r.depth; i++) pdl_shape_drop(r.open[i].guess);
    if (r.open != r.few_open) pdl_free(r.open);
    if (r.values != r.few_values) pdl_free(r.values);
    return ok;
}

bool pdl_json_read(pdl_str text, int flags, pdl_val *out, size_t *end, pdl_err *err) {
    pdl_json_keys keys; /* what is not in use needs no clearing */
    keys.used = keys.shaped = 0;
    bool ok = pdl_json_read_with(text, flags, &keys, out, end, err);
    pdl_json_keys_fini(&keys);
    return ok;
}
