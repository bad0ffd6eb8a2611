/* json_read.c -- see json_read.h. Open containers are on an explicit stack.
 *
 * Allocation is most of the work of reading JSON, so two measures save allocations. First, an
 * object is expected to have the keys of the last object that began with the same key. The object
 * is made at once; as long as the text agrees, keys are compared instead of read, and values are
 * read into their place. Second, the values of other open containers are kept on one stack. When a
 * container closes, it is made in its exact size.
 *
 * A function that reads takes the cursor as an argument. It returns the cursor after the text that
 * it read, or NULL on failure. A cursor in a register is much cheaper than one in a member of the
 * reader. Messages and positions are those of Python's json, whose scanner looks for the parts of
 * the grammar in this order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/json_read.h"

#include <assert.h>
#include <math.h>

#include "base/buf.h"
#include "base/json_plain.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "base/word.h"
#include "value/int.h"
#include "value/json/json_read_cache.h"
#include "value/obj.h"

#include "base/banned.h"

enum {
    INLINE_DEPTH = 16,
    INLINE_VALUES = 48,
    FAST_DIGITS = 19,    /* any number with this many digits fits 64 bits */
    MAX_INT_DIGITS = 18, /* any number with this many digits fits an int64 */
    MANY_PLACES = 10000, /* a number with this many digits after the point is read slowly */
    /* maximum length, in bytes, of texts that are shared, because short texts are often repeated */
    MAX_INTERNED_TEXT = 8,
    CHECK_EVERY = 1 << 16 /* number of bytes between two checks for cancellation */
};

/* A container that is still open. The outermost one is the document, as a list with one value. */
typedef struct {
    /* The index of its first value on the stack. For a dict that was not guessed, the stack has
     * key, value, key, value, and so on. */
    size_t from;
    /* Owned: a dict with the guessed keys, and values for the first n of them. */
    pdl_dictobj *guess;
    uint64_t begin; /* the first bytes of a dict's first key, for the next guess */
    bool is_dict;
} open_box;

typedef struct {
    const char *start, *end, *check_at;
    int flags;
    pdl_json_keys *keys;
    pdl_err *err;
    open_box *box; /* the innermost container; all containers from `open` on are open */
    open_box *open;
    size_t open_cap;
    pdl_val *values; /* owned, n of them */
    size_t n, cap;
    open_box few_open[INLINE_DEPTH];
    pdl_val few_values[INLINE_VALUES];
} reader;

/* Invariants: the open containers form a stack; the values of the innermost container are either in
 * the guessed object, or on top of the stack of values. */
static inline bool reader_ok(const reader *r) {
    const open_box *box = r->box;
    const pdl_dictobj *d = box->guess;
    if (box < r->open || (size_t)(box - r->open) >= r->open_cap || r->n > r->cap) return false;
    if (box->from > r->n || (box > r->open && box[-1].from > box->from)) return false;
    return !d || (box->is_dict && r->n == box->from && d->n <= d->shape->n);
}

/* --- errors ----------------------------------------------------------------------------------- */

PDL_COLD static const char *fail_at(reader *r, const char *at, const char *what) {
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
    pdl_err_set(r->err, PDL_E_syntax, (pdl_loc){0}, "%s: line %zu column %zu (char %zu)", what,
                line, col, cp);
    r->err->py_class = pdl_str_dup(PDL_STR("JSONDecodeError"));
    return NULL;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Reads four hex digits at p. Another character must follow them, because Python's scanner expects
 * the closing quote there. */
static const char *read_hex4(reader *r, const char *p, uint32_t *out) {
    if (r->end - p <= 4) return fail_at(r, p - 1, "Invalid \\uXXXX escape");
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int d = pdl_hex_digit(p[i]);
        if (d < 0) return fail_at(r, p - 1, "Invalid \\uXXXX escape");
        v = v * 16 + (uint32_t)d;
    }
    *out = v;
    return p + 4;
}

/* Reads the digits after "\u". A surrogate without its partner becomes U+FFFD, so that every text
 * is valid UTF-8. */
static const char *read_unicode(reader *r, const char *p, pdl_buf *b) {
    uint32_t c = 0, low = 0;
    if (!(p = read_hex4(r, p, &c))) return NULL;
    if (c >= 0xd800 && c < 0xdc00 && r->end - p > 6 && p[0] == '\\' && p[1] == 'u') {
        if (!read_hex4(r, p + 2, &low)) return NULL;
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            p += 6;
        }
    }
    pdl_buf_put_cp(b, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return p;
}

static const char *read_escape(reader *r, const char *p, pdl_buf *b,
                               const char *quote) { /* p: backslash */
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (r->end - p < 2) return fail_at(r, quote, "Unterminated string starting at");
    char c = p[1];
    if (c == 'u') return read_unicode(r, p + 2, b);
    const char *at = c ? strchr(from, c) : NULL;
    if (!at) return fail_at(r, p, "Invalid \\escape");
    pdl_buf_putc(b, to[at - from]);
    return p + 2;
}

/* Reads the rest of a string that has escapes, up to its closing quote. The text before p has no
 * escapes. */
static const char *read_escaped(reader *r, const char *quote, const char *p, pdl_buf *b,
                                bool *ascii) {
    const char *from = quote + 1;
    for (;;) {
        pdl_buf_put(b, (pdl_str){from, (size_t)(p - from)});
        if (p == r->end) return fail_at(r, quote, "Unterminated string starting at");
        if (*p == '"') return p;
        bool control = *p != '\\';
        if (control && !(r->flags & PDL_JSON_CONTROL))
            return fail_at(r, p, "Invalid control character at");
        from = p;
        if (!control && !(from = read_escape(r, p, b, quote))) return NULL;
        p = pdl_plain_end(from + control, r->end, ascii);
    }
}

static bool check_text(reader *r, const char *quote, pdl_str s, bool ascii) {
    if (s.n > PDL_MAX_TEXT)
        return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                           PDL_MAX_TEXT);
    return ascii || pdl_utf8_check(s) == PDL_NOT_FOUND ||
           fail_at(r, quote, "Invalid UTF-8 in string starting at");
}

static const char *read_string_with_escapes(reader *r, const char *quote, const char *p, bool ascii,
                                            bool is_key, pdl_val *out) {
    pdl_buf b = PDL_BUF;
    p = read_escaped(r, quote, p, &b, &ascii);
    if (p && !check_text(r, quote, pdl_buf_str(&b), ascii)) p = NULL;
    if (p) *out = is_key ? pdl_json_intern(r->keys, pdl_buf_str(&b)) : pdl_text(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return p ? p + 1 : NULL;
}

static const char *read_string(reader *r, const char *quote, bool is_key, pdl_val *out) {
    bool ascii = true;
    const char *p = pdl_plain_end(quote + 1, r->end, &ascii);
    if (PDL_UNLIKELY(p == r->end || *p != '"'))
        return read_string_with_escapes(r, quote, p, ascii, is_key, out);
    pdl_str s = {quote + 1, (size_t)(p - quote - 1)};
    if (PDL_UNLIKELY(!ascii || s.n > PDL_MAX_TEXT) && !check_text(r, quote, s, ascii)) return NULL;
    *out = is_key || s.n <= MAX_INTERNED_TEXT ? pdl_json_intern(r->keys, s) : pdl_text(s);
    return p + 1;
}

/* --- numbers and words ------------------------------------------------------------------------ */

static inline bool is_digit(const char *p, const char *end) {
    return p < end && (unsigned)(*p - '0') <= 9;
}

/* Reads digits at p, which continue a number whose value is *v so far. The value may overflow when
 * there are too many digits. */
static inline const char *read_digits(const char *p, const char *end, uint64_t *v) {
    uint64_t digits = *v;
    for (; is_digit(p, end); p++) digits = digits * 10 + (uint64_t)(*p - '0');
    *v = digits;
    return p;
}

/* Reads the exponent at p, if there is one. Moves p past it. */
static int read_exponent(const char **p, const char *end) {
    const char *q = *p;
    if (q == end || (*q != 'e' && *q != 'E')) return 0;
    q++;
    bool minus = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) q++;
    if (!is_digit(q, end)) return 0;
    int e = 0;
    for (; is_digit(q, end); q++) e = e < 100000 ? e * 10 + (*q - '0') : e;
    *p = q;
    return minus ? -e : e;
}

/* Reads the fraction or the exponent of a number. The number begins at `from` and has n digits
 * before p, where the fraction or exponent begins. `digits` is the value of these n digits, unless
 * there are too many of them. */
static const char *read_float(reader *r, const char *from, const char *p, uint64_t digits, size_t n,
                              pdl_val *out) {
    ptrdiff_t exp10 = 0;
    if (!digits) n = 0; /* a zero before the point is not significant */
    if (*p == '.' && is_digit(p + 1, r->end)) {
        const char *point = p++;
        if (!n) /* there is no significant digit before the point */
            while (p < r->end && *p == '0') p++;
        const char *first = p;
        p = read_digits(p, r->end, &digits);
        n += (size_t)(p - first);
        exp10 = point + 1 - p;
    }
    exp10 += read_exponent(&p, r->end);
    double d;
    if (n <= FAST_DIGITS && exp10 > -MANY_PLACES && pdl_num_decimal(digits, (int)exp10, &d))
        *out = pdl_float(*from == '-' ? -d : d);
    else if (pdl_num_read_double((pdl_str){from, (size_t)(p - from)}, &d))
        *out = pdl_float(d);
    else
        return fail_at(r, from, "Expecting value");
    return p;
}

/* Returns true when the number is a float, according to the text at p, which follows the digits of
 * an integer. */
static bool is_float(const char *p, const char *end) {
    if (p == end || (*p != '.' && *p != 'e' && *p != 'E')) return false;
    bool sign = *p != '.' && p + 1 < end && (p[1] == '-' || p[1] == '+');
    return is_digit(p + 1 + sign, end);
}

static const char *read_number(reader *r, const char *p, pdl_val *out) {
    const char *from = p;
    bool negative = *p == '-';
    if (negative) p++;
    if (!is_digit(p, r->end)) return fail_at(r, from, "Expecting value");
    uint64_t v = 0;
    const char *first = p;
    p = *p == '0' ? p + 1 : read_digits(p, r->end, &v);
    size_t n = (size_t)(p - first);
    if (is_float(p, r->end)) return read_float(r, from, p, v, n, out);
    if (PDL_LIKELY(n <= MAX_INT_DIGITS)) {
        *out = pdl_int(negative ? -(int64_t)v : (int64_t)v);
        return p;
    }
    if (pdl_int_read_decimal((pdl_str){from, (size_t)(p - from)}, out)) return p;
    pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0}, "an integer of %zu digits is too large", n);
    return NULL;
}

static bool accept(const reader *r, const char **p, pdl_str word) {
    if ((size_t)(r->end - *p) < word.n || memcmp(*p, word.p, word.n) != 0) return false;
    *p += word.n;
    return true;
}

static const char *read_word(reader *r, const char *p, pdl_val *out) {
    bool python = r->flags & PDL_JSON_PYTHON;
    if (accept(r, &p, PDL_STR("null")))
        *out = pdl_null();
    else if (accept(r, &p, PDL_STR("true")))
        *out = pdl_bool(true);
    else if (accept(r, &p, PDL_STR("false")))
        *out = pdl_bool(false);
    else if (python && accept(r, &p, PDL_STR("NaN")))
        *out = pdl_float((double)NAN);
    else if (python && accept(r, &p, PDL_STR("Infinity")))
        *out = pdl_float(HUGE_VAL);
    else if (python && accept(r, &p, PDL_STR("-Infinity")))
        *out = pdl_float(-HUGE_VAL);
    else
        return *p == '-' ? read_number(r, p, out) : fail_at(r, p, "Expecting value");
    return p;
}

/* --- open containers -------------------------------------------------------------------------- */

/* Grows a stack, which begins as an array inside the reader. */
PDL_COLD static void *grow(void *p, bool is_inline, size_t *cap, size_t size) {
    void *q = pdl_realloc_n(is_inline ? NULL : p, *cap * 2, size);
    if (is_inline) memcpy(q, p, *cap * size);
    *cap *= 2;
    return q;
}

/* Adds a value to the stack. The value is absent until it is read. */
static inline pdl_val *push_value(reader *r) {
    if (PDL_UNLIKELY(r->n == r->cap))
        r->values = grow(r->values, r->values == r->few_values, &r->cap, sizeof *r->values);
    pdl_val *v = &r->values[r->n++];
    v->tag = PDL_V_ABSENT;
    return v;
}

/* Adds a value to the innermost container. The value is absent until it is read. */
static inline pdl_val *add_value(reader *r) {
    pdl_dictobj *d = r->box->guess;
    if (!d) return push_value(r);
    pdl_val *v = &d->vals[d->n++];
    v->tag = PDL_V_ABSENT;
    return v;
}

/* Undoes a wrong guess: moves the values of the object to the stack, each after its key. */
static void unguess(reader *r, open_box *box) {
    pdl_dictobj *d = box->guess;
    box->guess = NULL;
    for (uint32_t i = 0; i < d->n; i++) {
        *push_value(r) = pdl_keep(d->shape->keys[i].key);
        *push_value(r) = d->vals[i];
    }
    pdl_dict_abandon(d);
}

/* Begins a dict, guesses its keys, and notes its first bytes. p is at the quote of its first key.
 */
static void open_dict(reader *r, open_box *box, const char *p) {
    box->begin = pdl_json_begin(p + 1, r->end);
    pdl_shape *shape = pdl_json_shape_guess(r->keys, box->begin);
    if (shape) box->guess = pdl_dict_begin(shape);
}

static bool open_new(reader *r, bool is_dict) {
    size_t depth = (size_t)(r->box - r->open);
    if (depth == PDL_MAX_JSON_DEPTH)
        return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0},
                           "JSON is nested deeper than %d levels", PDL_MAX_JSON_DEPTH);
    if (PDL_UNLIKELY(depth + 1 == r->open_cap)) {
        r->open = grow(r->open, r->open == r->few_open, &r->open_cap, sizeof *r->open);
        r->box = r->open + depth;
    }
    *++r->box = (open_box){.from = r->n, .is_dict = is_dict};
    assert(reader_ok(r));
    return true;
}

static pdl_obj *close_dict(reader *r, open_box *box) {
    pdl_dictobj *d = box->guess;
    if (PDL_LIKELY(d && d->n == d->shape->n)) return &d->head;
    if (d) unguess(r, box);
    const pdl_val *v = r->values + box->from;
    size_t n = r->n - box->from;
    pdl_val dict = pdl_dict_new(n / 2);
    for (size_t i = 0; i < n; i += 2) dict = pdl_dict_put(dict, v[i], v[i + 1]);
    pdl_json_shape_learn(r->keys, box->begin, dict);
    return pdl_obj_of(dict);
}

static pdl_obj *close_list(const reader *r, const open_box *box) {
    return pdl_obj_of(pdl_list_of_items(r->values + box->from, r->n - box->from));
}

/* Makes the innermost container from its values, and adds it as a value to the
 * container around it. */
static void close_box(reader *r) {
    assert(reader_ok(r) && r->box > r->open); /* the document itself is never closed */
    open_box *box = r->box;
    bool is_dict = box->is_dict;
    pdl_obj *o = is_dict ? close_dict(r, box) : close_list(r, box);
    r->n = box->from;
    r->box--;
    *add_value(r) =
        /* values from JSON text have no flags */
        pdl_from_obj(is_dict ? PDL_V_DICT : PDL_V_LIST, o, 0);
    assert(reader_ok(r));
}

/* --- structure -------------------------------------------------------------------------------- */

/* No character above the space is a blank, so most characters need only one comparison. */
static inline bool is_blank(char c) {
    return (unsigned char)c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r');
}

static inline const char *skip_blanks(const reader *r, const char *p) {
    while (p < r->end && is_blank(*p)) p++;
    return p;
}

/* Compares the text with the next key of the guess. Returns the cursor after the key, or NULL when
 * the text has another key. */
static inline const char *match_key(const reader *r, const char *p, const pdl_dictobj *guess) {
    if (guess->n == guess->shape->n) return NULL;
    pdl_str key = pdl_str_get(guess->shape->keys[guess->n].key);
    if ((size_t)(r->end - p) < key.n + 2 || p[0] != '"' || p[key.n + 1] != '"') return NULL;
    return pdl_bytes_eq(p + 1, key.p, key.n) ? p + key.n + 2 : NULL;
}

static const char *read_unguessed_key(reader *r, const char *p) {
    if (r->box->guess) unguess(r, r->box);
    if (p == r->end || *p != '"')
        return fail_at(r, p, "Expecting property name enclosed in double quotes");
    return read_string(r, p, true, push_value(r));
}

/* Reads a key and its colon. The cursor is then at the value. */
static inline const char *read_key(reader *r, const char *p) {
    const pdl_dictobj *guess = r->box->guess;
    const char *q = guess ? match_key(r, p, guess) : NULL;
    if (PDL_UNLIKELY(!q) && !(q = read_unguessed_key(r, p))) return NULL;
    q = skip_blanks(r, q);
    return q == r->end || *q != ':' ? fail_at(r, q, "Expecting ':' delimiter")
                                    : skip_blanks(r, q + 1);
}

/* Begins a container at the cursor. Sets *done when the container is empty and thus a complete
 * value; otherwise its first value follows. */
static inline const char *begin_box(reader *r, const char *p, bool *done) {
    bool is_dict = *p == '{';
    p = skip_blanks(r, p + 1);
    *done = p < r->end && *p == (is_dict ? '}' : ']');
    if (*done) {
        *add_value(r) = is_dict ? pdl_dict_new(0) : pdl_list_new(0);
        return p + 1;
    }
    if (!open_new(r, is_dict)) return NULL;
    if (is_dict && p < r->end && *p == '"') open_dict(r, r->box, p);
    return p;
}

/* Begins a value at the cursor. Sets *done when the value is complete; otherwise a container was
 * opened, and its first value follows. */
static inline const char *begin_value(reader *r, const char *p, bool *done) {
    if (p == r->end) return fail_at(r, p, "Expecting value");
    char c = *p;
    if (c == '{' || c == '[') return begin_box(r, p, done);
    *done = true;
    pdl_val *out = add_value(r);
    if (c == '"') return read_string(r, p, false, out);
    return c >= '0' && c <= '9' ? read_number(r, p, out) : read_word(r, p, out);
}

static void set_check(reader *r, const char *p) {
    r->check_at = r->end - p > CHECK_EVERY ? p + CHECK_EVERY : r->end;
}

PDL_COLD static bool check_end(reader *r, const char *p) {
    set_check(r, p);
    return pdl_check_cancel(r->err);
}

/* Ends a value of the innermost container. Sets *done when that container is closed, which makes it
 * a value itself. */
static inline const char *end_value(reader *r, const char *p, bool *done) {
    p = skip_blanks(r, p);
    if (PDL_UNLIKELY(p == r->end)) return fail_at(r, p, "Expecting ',' delimiter");
    *done = *p == (r->box->is_dict ? '}' : ']');
    if (*done) {
        close_box(r);
        return PDL_LIKELY(p <= r->check_at) || check_end(r, p) ? p + 1 : NULL;
    }
    return *p == ',' ? skip_blanks(r, p + 1) : fail_at(r, p, "Expecting ',' delimiter");
}

/* Reads the one value of the document. */
static const char *read_value(reader *r, const char *p) {
    for (;;) {
        bool done = false;
        if (r->box->is_dict && !(p = read_key(r, p))) return NULL;
        if (!(p = begin_value(r, p, &done))) return NULL;
        while (done) {
            if (r->box == r->open) return p;
            if (!(p = end_value(r, p, &done))) return NULL;
        }
    }
}

static const char *read_document(reader *r, const char *p) {
    if (r->end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        return fail_at(r, p, "Unexpected UTF-8 BOM (decode using utf-8-sig)");
    p = read_value(r, skip_blanks(r, p));
    if (!p || r->flags & PDL_JSON_PREFIX) return p;
    p = skip_blanks(r, p);
    return p == r->end ? p : fail_at(r, p, "Extra data");
}

/* Drops the values that are left on the stack after a failure. */
PDL_COLD static void drop_values(reader *r) {
    for (open_box *box = r->open; box <= r->box; box++)
        if (box->guess) unguess(r, box);
    for (size_t i = 0; i < r->n; i++) pdl_drop(r->values[i]);
}

bool pdl_json_read_with(pdl_str text, int flags, pdl_json_keys *keys, pdl_val *out, size_t *end,
                        pdl_err *err) {
    reader r; /* the inline stacks need not be cleared */
    r.start = text.p ? text.p : "";
    r.end = r.start + text.n;
    set_check(&r, r.start);
    r.flags = flags;
    r.keys = keys;
    r.err = err;
    r.box = r.open = r.few_open;
    r.few_open[0] = (open_box){0};
    r.open_cap = INLINE_DEPTH;
    r.values = r.few_values;
    r.n = 0;
    r.cap = INLINE_VALUES;
    const char *p = read_document(&r, r.start);
    assert(reader_ok(&r) && (!p || (r.box == r.open && r.n == 1 && p <= r.end)));
    if (p)
        *out = r.values[0];
    else
        drop_values(&r);
    if (p && end) *end = (size_t)(p - r.start);
    if (r.open != r.few_open) pdl_free(r.open);
    if (r.values != r.few_values) pdl_free(r.values);
    return p != NULL;
}

bool pdl_json_read(pdl_str text, int flags, pdl_val *out, size_t *end, pdl_err *err) {
    pdl_json_keys keys; /* unused entries need not be cleared */
    keys.used = keys.shaped = 0;
    bool ok = pdl_json_read_with(text, flags, &keys, out, end, err);
    pdl_json_keys_fini(&keys);
    return ok;
}

bool pdl_json_read_document(pdl_str text, int flags, pdl_val *out, pdl_err *err) {
    return pdl_json_read(pdl_utf8_unmarked(text), flags, out, NULL, err);
}
