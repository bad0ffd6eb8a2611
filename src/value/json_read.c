/* json_read.c -- see json_read.h. An explicit stack of open containers; strings are scanned eight bytes at a
 * time.
 *
 * What stands in open containers is kept on one stack of values until its container closes, which then is
 * made in its exact size: allocation is most of the work here. Messages and places are those of Python's
 * json, whose scanner looks for the parts of the grammar in this order.
 */
#include "value/json_read.h"

#include <math.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "value/int.h"

#include "base/banned.h"

enum {
    INLINE_DEPTH = 16,
    INLINE_VALUES = 48,
    FAST_DIGITS = 18,
    MAX_INTERNED_KEY = 64,
    MAX_INTERNED_TEXT = 8
};

typedef struct {
    size_t from; /* its first value; a dict's are key, value, key, value... */
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

#define ONES 0x0101010101010101u
#define HIGHS 0x8080808080808080u

static uint64_t load8(const char *p) { /* first byte lowest, whatever the machine */
    uint64_t w;
    memcpy(&w, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)(unsigned char)p[i] << (8 * i);
    w = v;
#endif
    return w;
}

static bool is_special(unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; }

/* First quote, backslash or control character at or after p; end when there is none. Bytes passed are OR-ed
 * into *seen (its high bits tell that the run is not ASCII). */
static const char *skip_plain(const char *p, const char *end, uint64_t *seen) {
    while (end - p >= 8) {
        uint64_t w = load8(p);
        uint64_t q = w ^ (ONES * '"'), b = w ^ (ONES * '\\');
        /* A byte below the looked-for value borrows: only the lowest hit is exact, and that is the one used.
         */
        uint64_t hit = (((q - ONES) & ~q) | ((b - ONES) & ~b) | ((w - ONES * 0x20) & ~w)) & HIGHS;
        if (hit) {
            uint64_t low = (hit & (~hit + 1)) >> 7;
            size_t k = (size_t)((low * 0x0001020304050607u) >> 56);
            if (k) *seen |= w & (~(uint64_t)0 >> (64 - 8 * k));
            return p + k;
        }
        *seen |= w;
        p += 8;
    }
    while (p < end && !is_special((unsigned char)*p)) *seen |= (uint64_t)(unsigned char)*p++;
    return p;
}

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
static bool read_escaped(reader *r, const char *quote, pdl_buf *b, uint64_t *seen) {
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
        r->p = skip_plain(control ? r->p + 1 : r->p, r->end, seen);
    }
}

static bool check_text(reader *r, const char *quote, pdl_str s, uint64_t seen) {
    if (s.n > PDL_MAX_TEXT)
        return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes", PDL_MAX_TEXT);
    if ((seen & HIGHS) && pdl_utf8_check(s) != PDL_NOT_FOUND)
        return fail_at(r, quote, "Invalid UTF-8 in string starting at");
    return true;
}

/* The object for a key (or short string) of this text, shared with earlier equal ones. */
static pdl_val intern(reader *r, pdl_str s) {
    if (s.n > MAX_INTERNED_KEY) return pdl_text(s);
    uint64_t h = s.n * 0x9e3779b97f4a7c15u;
    if (s.n)
        h ^= (uint64_t)(unsigned char)s.p[0] * 31 + (uint64_t)(unsigned char)s.p[s.n - 1] * 1021 +
             (uint64_t)(unsigned char)s.p[s.n / 2] * 131;
    pdl_val *slot = &r->keys->slot[(h * 0x9e3779b97f4a7c15u) >> 58];
    if (!pdl_is_str(*slot) || !pdl_str_eq(pdl_str_get(*slot), s)) {
        pdl_drop(*slot);
        *slot = pdl_text(s);
    }
    return pdl_keep(*slot);
}
static_assert(PDL_JSON_KEYS == 64, "intern takes six bits of the hash");

static bool read_string(reader *r, bool is_key, pdl_val *out) { /* r->p at the quote */
    const char *quote = r->p;
    uint64_t seen = 0;
    r->p = skip_plain(quote + 1, r->end, &seen);
    if (PDL_LIKELY(r->p < r->end && *r->p == '"')) {
        pdl_str s = {quote + 1, (size_t)(r->p - quote - 1)};
        if (!check_text(r, quote, s, seen)) return false;
        *out = is_key || s.n <= MAX_INTERNED_TEXT ? intern(r, s) : pdl_text(s);
        r->p++;
        return true;
    }
    pdl_buf b = PDL_BUF;
    bool ok = read_escaped(r, quote, &b, &seen) && check_text(r, quote, pdl_buf_str(&b), seen);
    if (ok) {
        *out = is_key ? intern(r, pdl_buf_str(&b)) : pdl_text(pdl_buf_str(&b));
        r->p++;
    }
    pdl_buf_fini(&b);
    return ok;
}

/* --- numbers and words ------------------------------------------------------------------------------- */

static bool is_digit(const reader *r, const char *p) { return p < r->end && *p >= '0' && *p <= '9'; }

/* Exact when both fit: a product or quotient of two exact doubles is rounded once. */
static bool small_double(uint64_t digits, int exp10, double *out) {
    static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits > (uint64_t)1 << 53 || exp10 < -22 || exp10 > 22) return false;
    *out = exp10 < 0 ? (double)digits / pow10[-exp10] : (double)digits * pow10[exp10];
    return true;
}

/* A fraction or exponent follows the digits [from, r->p). */
static bool read_float(reader *r, const char *from, bool negative, pdl_val *out) {
    uint64_t digits = 0;
    int exp10 = 0, e = 0;
    const char *p = from + (negative ? 1 : 0);
    size_t n = 0; /* digits seen; beyond FAST_DIGITS the slow way is taken */
    for (; is_digit(r, p); p++, n++) digits = n < FAST_DIGITS ? digits * 10 + (uint64_t)(*p - '0') : 0;
    if (p < r->end && *p == '.' && is_digit(r, p + 1))
        for (p++; is_digit(r, p); p++, n++, exp10 -= n <= FAST_DIGITS)
            digits = n < FAST_DIGITS ? digits * 10 + (uint64_t)(*p - '0') : 0;
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        bool minus = p + 1 < r->end && p[1] == '-';
        const char *q = p + 1 + (p + 1 < r->end && (p[1] == '-' || p[1] == '+'));
        if (is_digit(r, q)) {
            for (; is_digit(r, q); q++) e = e < 100000 ? e * 10 + (*q - '0') : e;
            p = q;
            exp10 += minus ? -e : e;
        }
    }
    r->p = p;
    double d;
    if (n <= FAST_DIGITS && small_double(digits, exp10, &d)) {
        *out = pdl_float(negative ? -d : d);
        return true;
    }
    if (!pdl_num_read_double((pdl_str){from, (size_t)(p - from)}, &d))
        return fail_at(r, from, "Expecting value");
    *out = pdl_float(d);
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
    if (p < r->end &&
        ((*p == '.' && is_digit(r, p + 1)) ||
         ((*p == 'e' || *p == 'E') &&
          (is_digit(r, p + 1) || (p + 1 < r->end && (p[1] == '-' || p[1] == '+') && is_digit(r, p + 2))))))
        return read_float(r, from, negative, out);
    r->p = p;
    if (p - first <= FAST_DIGITS) {
        *out = pdl_int(negative ? -(int64_t)v : (int64_t)v);
        return true;
    }
    if (pdl_int_read_decimal((pdl_str){from, (size_t)(p - from)}, out)) return true;
    return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0}, "an integer of %zu digits is too large",
                       (size_t)(p - first));
}

static bool read_word(reader *r, pdl_val *out) {
    static const struct {
        const char *text;
        int need; /* flag that allows the word */
    } words[] = {{"null", 0},
                 {"true", 0},
                 {"false", 0},
                 {"NaN", PDL_JSON_PYTHON},
                 {"Infinity", PDL_JSON_PYTHON},
                 {"-Infinity", PDL_JSON_PYTHON}};
    const pdl_val values[] = {pdl_null(),          pdl_bool(true),
                              pdl_bool(false),     pdl_float((double)NAN),
                              pdl_float(HUGE_VAL), pdl_float(-HUGE_VAL)};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i].text);
        if ((words[i].need & r->flags) != words[i].need) continue;
        if ((size_t)(r->end - r->p) < n || memcmp(r->p, words[i].text, n) != 0) continue;
        *out = values[i];
        r->p += n;
        return true;
    }
    return *r->p == '-' ? read_number(r, out) : fail_at(r, r->p, "Expecting value");
}

/* --- structure --------------------------------------------------------------------------------------- */

static void skip_blanks(reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r')) r->p++;
}

/* Grow a stack that begins inside the reader. */
static void *grow(void *p, bool is_inline, size_t *cap, size_t size) {
    void *q = pdl_realloc_n(is_inline ? NULL : p, *cap * 2, size);
    if (is_inline) memcpy(q, p, *cap * size);
    *cap *= 2;
    return q;
}

static void push_value(reader *r, pdl_val v) {
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
    r->open[r->depth++] = (open_box){r->n, is_dict};
    return true;
}

/* The innermost container made of its values. */
static pdl_val close_box(reader *r) {
    open_box top = r->open[--r->depth];
    size_t n = r->n - top.from;
    pdl_val *v = r->values + top.from, box;
    r->n = top.from;
    if (top.is_dict) {
        box = pdl_dict_new(n / 2);
        for (size_t i = 0; i < n; i += 2) box = pdl_dict_put(box, v[i], v[i + 1]);
    } else {
        box = pdl_list_new(n);
        for (size_t i = 0; i < n; i++) box = pdl_list_push(box, v[i]);
    }
    return box;
}

/* A key and its colon; the cursor then stands at the value. */
static bool read_key(reader *r) {
    pdl_val key;
    if (r->p == r->end || *r->p != '"')
        return fail_at(r, r->p, "Expecting property name enclosed in double quotes");
    if (!read_string(r, true, &key)) return false;
    push_value(r, key);
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
    if (r.open != r.few_open) pdl_free(r.open);
    if (r.values != r.few_values) pdl_free(r.values);
    return ok;
}

bool pdl_json_read(pdl_str text, int flags, pdl_val *out, size_t *end, pdl_err *err) {
    pdl_json_keys keys = {0};
    bool ok = pdl_json_read_with(text, flags, &keys, out, end, err);
    pdl_json_keys_fini(&keys);
    return ok;
}

void pdl_json_keys_fini(pdl_json_keys *keys) {
    for (size_t i = 0; i < PDL_JSON_KEYS; i++) {
        pdl_drop(keys->slot[i]);
        keys->slot[i] = pdl_absent();
    }
}
