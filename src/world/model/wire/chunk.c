/* chunk.c -- reads the commonest event of a stream in place; see chunk.h. A run with many streams
 * gets thousands of these events a second, and making values of them takes 4 times as long.
 *
 * The reader is exact about what it accepts and refuses everything else: an unknown key with a
 * value, a second choice, a tool call, a finish reason, an unknown escape.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/chunk.h"

#include "base/scan.h"
#include "base/utf8.h"

#include "base/banned.h"

static inline void skip_blanks(pdl_scan *s) {
    for (; s->pos < s->src.n; s->pos++) {
        char c = s->src.p[s->pos];
        if (PDL_LIKELY(c != ' ') && (c > ' ' || (c != '\t' && c != '\n' && c != '\r'))) return;
    }
}

static inline bool accept(pdl_scan *s, int c) {
    skip_blanks(s);
    return scan_accept(s, c);
}

/* Reads a string without its quotes. Its escapes stay as they are. Returns false at a control
 * character. */
static bool read_raw(pdl_scan *s, pdl_str *out, bool *escaped) {
    if (!accept(s, '"')) return false;
    size_t start = s->pos;
    *escaped = false;
    for (; s->pos < s->src.n; s->pos++) {
        unsigned char c = (unsigned char)s->src.p[s->pos];
        if (c == '"') {
            *out = pdl_str_sub(s->src, start, s->pos);
            s->pos++;
            return true;
        }
        if (c < 0x20) return false;
        if (c == '\\') {
            *escaped = true;
            s->pos++;
        }
    }
    return false;
}

/* Skips a text without escapes: memchr is faster than examining each byte. Returns false at an
 * escape. */
static bool skip_text(pdl_scan *s) {
    if (!accept(s, '"')) return false;
    const char *from = s->src.p + s->pos;
    const char *end = memchr(from, '"', s->src.n - s->pos);
    if (!end || memchr(from, '\\', (size_t)(end - from))) return false;
    s->pos = (size_t)(end - s->src.p) + 1;
    return true;
}

static bool skip_number(pdl_scan *s) {
    size_t start = s->pos;
    while (scan_peek(s) >= '0' && scan_peek(s) <= '9') s->pos++;
    return s->pos > start;
}

static bool read_null(pdl_scan *s) {
    skip_blanks(s);
    return scan_accept_str(s, PDL_STR("null"));
}

/* Skips a text, a whole number or null. */
static bool skip_scalar(pdl_scan *s) {
    skip_blanks(s);
    int c = scan_peek(s);
    return c == '"' ? skip_text(s) : c == 'n' ? read_null(s) : skip_number(s);
}

static bool read_key(pdl_scan *s, pdl_str *key) {
    bool escaped;
    return read_raw(s, key, &escaped) && !escaped && accept(s, ':');
}

/* The content of the event. */
typedef struct model_chunk {
    pdl_str content; /* escapes in it are not decoded yet */
    bool escaped, has_content, has_choice;
} chunk;

/* Reads {key: value, ...}, with member() for each value. */
static bool read_object(pdl_scan *s, chunk *c, bool (*member)(pdl_scan *s, pdl_str key, chunk *c)) {
    pdl_str key;
    if (!accept(s, '{')) return false;
    if (accept(s, '}')) return true;
    do {
        if (!read_key(s, &key) || !member(s, key, c)) return false;
    } while (accept(s, ','));
    return accept(s, '}');
}

static bool delta_member(pdl_scan *s, pdl_str key, chunk *c) {
    skip_blanks(s);
    if (pdl_str_eq(key, PDL_STR("content")) && scan_peek(s) == '"' && !c->has_content) {
        c->has_content = true;
        return read_raw(s, &c->content, &c->escaped);
    }
    if (pdl_str_eq(key, PDL_STR("role"))) return skip_text(s);
    return read_null(s);
}

static bool choice_member(pdl_scan *s, pdl_str key, chunk *c) {
    if (pdl_str_eq(key, PDL_STR("index"))) return accept(s, '0');
    if (pdl_str_eq(key, PDL_STR("delta"))) return read_object(s, c, delta_member);
    return read_null(s); /* the member is finish_reason or logprobs */
}

static bool read_choices(pdl_scan *s, chunk *c) {
    if (c->has_choice || !accept(s, '[') || !read_object(s, c, choice_member)) return false;
    c->has_choice = true;
    return accept(s, ']');
}

static bool top_member(pdl_scan *s, pdl_str key, chunk *c) {
#define C(text)                                                                                    \
    { text, sizeof(text) - 1 }
    static const pdl_str constant[] = {
        C("id"),           C("object"),     C("created"), C("model"), C("system_fingerprint"),
        C("service_tier"), C("obfuscation")};
#undef C
    if (pdl_str_eq(key, PDL_STR("choices"))) return read_choices(s, c);
    for (size_t i = 0; i < sizeof constant / sizeof constant[0]; i++)
        if (pdl_str_eq(key, constant[i])) return skip_scalar(s);
    return read_null(s);
}

/* --- escapes ---------------------------------------------------------------------------------- */

static int hex4(pdl_str s) {
    int v = 0;
    if (s.n < 4) return -1;
    for (size_t i = 0; i < 4; i++) {
        char c = s.p[i];
        int digit = c >= '0' && c <= '9'                 ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;
        if (digit < 0) return -1;
        v = v * 16 + digit;
    }
    return v;
}

/* Decodes \uXXXX, or two of them for a pair of surrogates. Returns the number of bytes read after
 * the backslash; 0 when the escape is not valid. */
static size_t unescape_unicode(pdl_str s, pdl_buf *out) {
    int hi = hex4(pdl_str_sub(s, 1, s.n)), lo;
    if (hi < 0) return 0;
    if (hi < 0xd800 || hi > 0xdfff) {
        pdl_buf_put_cp(out, (uint32_t)hi);
        return 5;
    }
    if (hi > 0xdbff || s.n < 11 || s.p[5] != '\\' || s.p[6] != 'u') return 0;
    lo = hex4(pdl_str_sub(s, 7, s.n));
    if (lo < 0xdc00 || lo > 0xdfff) return 0;
    pdl_buf_put_cp(out, 0x10000 + ((uint32_t)(hi - 0xd800) << 10) + (uint32_t)(lo - 0xdc00));
    return 11;
}

static bool unescape(pdl_str s, pdl_buf *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    for (size_t pos = 0; pos < s.n;) {
        const char *p = memchr(s.p + pos, '\\', s.n - pos);
        size_t at = p ? (size_t)(p - s.p) : s.n;
        pdl_buf_put(out, pdl_str_sub(s, pos, at));
        if (at == s.n) return true;
        pdl_str rest = pdl_str_sub(s, at + 1, s.n);
        if (rest.n == 0) return false;
        const char *known = rest.p[0] ? strchr(from, rest.p[0]) : NULL;
        size_t n = 1;
        if (known)
            pdl_buf_putc(out, to[known - from]);
        else
            n = rest.p[0] == 'u' ? unescape_unicode(rest, out) : 0;
        if (n == 0) return false;
        pos = at + 1 + n;
    }
    return true;
}

bool pdl_chunk_read(pdl_str text, pdl_reply_builder *d) {
    pdl_scan s = {text, 0};
    chunk c = {0};
    if (pdl_dict_len(d->head) == 0 || d->choice != 0)
        return false; /* the first event also has id, model and more, so the slow reader takes it */
    if (!read_object(&s, &c, top_member) || !c.has_choice) return false;
    skip_blanks(&s);
    if (!scan_done(&s)) return false;
    pdl_buf plain = PDL_BUF;
    bool ok = !c.escaped || unescape(c.content, &plain);
    if (ok) d->begun = true;
    if (ok && c.has_content) pdl_reply_builder_text(d, c.escaped ? pdl_buf_str(&plain) : c.content);
    pdl_buf_fini(&plain);
    return ok;
}
