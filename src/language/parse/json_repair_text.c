/* json_repair_text.c -- strings and bare words in text that is not quite JSON.
 *
 * A quote may end the string or belong to it. Before a separator, the closing quote may have been
 * forgotten. The text up to the next quotes decides both questions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"

#include <assert.h>

#include "base/utf8.h"
#include "parse/json_repair.h"

#include "base/banned.h"

static const pdl_str LEFT = {"\xe2\x80\x9c", 3}, RIGHT = {"\xe2\x80\x9d", 3};

enum { MAX_INLINE = 64 }; /* maximum depth of a container that belongs to a string */

/* A string that is being read. */
typedef struct {
    pdl_rp *r;
    pdl_rp_place place;
    pdl_str open, close; /* the quotes of the string; a bare word ends at a double quote */
    bool bare;           /* the string has no opening quote */
    bool doubled;        /* the string has two opening quotes */
    bool in_pair;        /* the first of a pair of quotes inside the string was read */
    bool no_member;      /* no quote or bracket follows, so commas belong to the string */
    bool container;      /* a container follows, and it belongs to the string */
    uint32_t braces;     /* number of braces that were opened in the string and not closed */
    /* a [ was read, and no ] or blank since then, as in a regex */
    bool in_class;
    bool opens;  /* a bare word ended at the quote that opens the next key */
    bool closed; /* the closing quote of the string was found */
} token;

uint32_t pdl_rp_cp(const pdl_rp *r, size_t i, size_t *next) {
    assert(i < r->src.n);
    const char *p = r->src.p + i;
    uint32_t cp = pdl_utf8_next(&p);
    *next = (size_t)(p - r->src.p);
    return cp;
}

/* --- looking ahead ---------------------------------------------------------------------------- */

/* Curly quotes use the places of two control characters in the table of remembered answers. */
static int slot_of(pdl_str what) {
    return what.n == 1 ? (unsigned char)what.p[0] & 127 : what.p[2] == LEFT.p[2] ? 1 : 2;
}

static size_t find_text(pdl_rp *r, pdl_str what, size_t i) {
    pdl_rp_memo *m = &r->memo[slot_of(what)];
    if (m->known && m->from <= i && i <= m->at) return m->at;
    size_t at = i < r->src.n ? pdl_str_find(r->src, what, i) : PDL_NOT_FOUND;
    *m = (pdl_rp_memo){i, at == PDL_NOT_FOUND ? r->src.n : at, true};
    return m->at;
}

size_t pdl_rp_find(pdl_rp *r, int c, size_t i) {
    char one = (char)c;
    return find_text(r, (pdl_str){&one, 1}, i);
}

static bool escaped(const pdl_rp *r, size_t i, size_t from) {
    size_t back = 0;
    while (i > from + back && rp_at(r, i - 1 - back) == '\\') back++;
    return back % 2 == 1;
}

/* Returns the next `what` at or after i that no backslash escapes; the length of the text when
 * there is none. */
static size_t find_plain(pdl_rp *r, pdl_str what, size_t i) {
    pdl_rp_memo *m = &r->plain[slot_of(what)];
    if (m->known && m->from <= i && i <= m->at) return m->at;
    *m = (pdl_rp_memo){i, i, true};
    for (;; m->at++) {
        m->at = find_text(r, what, m->at);
        if (m->at >= r->src.n || !escaped(r, m->at, i)) return m->at;
    }
}

static size_t find_byte(pdl_rp *r, char c, size_t i) { return find_plain(r, (pdl_str){&c, 1}, i); }

static size_t nearer(size_t a, size_t b) { return a < b ? a : b; }

/* Returns the next quote of any kind. */
static size_t next_quote(pdl_rp *r, size_t i) {
    return nearer(nearer(find_byte(r, '"', i), find_byte(r, '\'', i)),
                  nearer(find_plain(r, LEFT, i), find_plain(r, RIGHT, i)));
}

static bool starts_at(const pdl_rp *r, size_t i, pdl_str s) {
    return i <= r->src.n && pdl_str_starts(pdl_str_sub(r->src, i, r->src.n), s);
}

size_t pdl_rp_quote(const pdl_rp *r, size_t i) {
    int c = rp_at(r, i);
    if (c == '"' || c == '\'') return 1;
    return starts_at(r, i, LEFT) || starts_at(r, i, RIGHT) ? 3 : 0;
}

static pdl_str quote_at(const pdl_rp *r, size_t i) {
    return pdl_str_sub(r->src, i, i + pdl_rp_quote(r, i));
}

/* Skips blanks and comments. */
static size_t skip_remarks(pdl_rp *r, size_t i) {
    for (;;) {
        i = rp_skip_blanks(r, i);
        int c = rp_at(r, i), d = rp_at(r, i + 1);
        if (c == '#' || (c == '/' && d == '/')) {
            while (rp_at(r, i) >= 0 && rp_at(r, i) != '\n' && rp_at(r, i) != '\r') i++;
        } else if (c == '/' && d == '*') {
            size_t end = pdl_str_find(r->src, PDL_STR("*/"), i + 2);
            if (end == PDL_NOT_FOUND) return r->src.n;
            i = end + 2;
        } else {
            return i;
        }
    }
}

static bool is_word_at(const pdl_rp *r, size_t i, bool first) {
    size_t next;
    int c = rp_at(r, i);
    return c >= 0 && (c == '_' || (c == '-' && !first) || pdl_cp_is_alnum(pdl_rp_cp(r, i, &next)));
}

/* Returns the offset after the bare word at i and its colon; 0 when there is no word
 * with a colon. */
static size_t bare_key_end(const pdl_rp *r, size_t i) {
    if (!is_word_at(r, i, true)) return 0;
    while (is_word_at(r, i, false)) pdl_rp_cp(r, i, &i);
    i = rp_skip_blanks(r, i);
    return rp_at(r, i) == ':' ? i + 1 : 0;
}

/* Returns true when `"key":`, ended by `close`, is at i. */
static bool quoted_key_at(pdl_rp *r, size_t i, pdl_str close) {
    size_t end = find_plain(r, close, i + pdl_rp_quote(r, i));
    return end < r->src.n && rp_at(r, rp_skip_blanks(r, end + close.n)) == ':';
}

bool pdl_rp_item_is_key(pdl_rp *r) { return quoted_key_at(r, r->pos, quote_at(r, r->pos)); }

/* Returns true when a comma and a member follow the quote at q. */
static bool member_follows(pdl_rp *r, size_t q, size_t n) {
    size_t i = rp_skip_blanks(r, q + n);
    if (rp_at(r, i) != ',') return false;
    i = skip_remarks(r, i + 1);
    if (!pdl_rp_quote(r, i)) return bare_key_end(r, i) > 0;
    return quoted_key_at(r, i, starts_at(r, i, LEFT) ? RIGHT : quote_at(r, i));
}

static bool ends_with(const pdl_buf *b, pdl_str s) { return pdl_str_ends(pdl_buf_str(b), s); }

/* --- escapes ---------------------------------------------------------------------------------- */

/* Returns the number that n hex digits at i mean, or -1. */
static int32_t hex_at(const pdl_rp *r, size_t i, size_t n) {
    int32_t v = 0;
    for (size_t k = 0; k < n; k++) {
        int d = pdl_hex_digit(rp_at(r, i + k));
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

/* Reads \uXXXX or \xXX at the backslash under the cursor. Two surrogates are joined; a single
 * surrogate becomes U+FFFD. */
static bool read_code(pdl_rp *r) {
    bool u = rp_at(r, r->pos + 1) == 'u';
    size_t n = u ? 4 : 2;
    int32_t c = hex_at(r, r->pos + 2, n), low;
    if (c < 0) return false;
    r->pos += 2 + n;
    if (c >= 0xd800 && c < 0xdc00 && rp_peek(r) == '\\' && rp_at(r, r->pos + 1) == 'u' &&
        (low = hex_at(r, r->pos + 2, 4)) >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        r->pos += 6;
    }
    pdl_buf_put_cp(&r->text, c >= 0xd800 && c < 0xe000 ? 0xfffd : (uint32_t)c);
    return true;
}

/* Reads an even number of backslashes at the cursor: each pair becomes one backslash. Returns false
 * for an odd number, and before a quote that does not end the string. */
static bool read_run(token *t) {
    pdl_rp *r = t->r;
    size_t end = r->pos;
    while (rp_at(r, end) == '\\') end++;
    size_t n = end - r->pos;
    int after = rp_at(r, rp_skip_blanks(r, end + 1));
    bool ends = after < 0 || strchr(",:}]", after) != NULL;
    if (n % 2 || (starts_at(r, end, t->close) && !ends)) return false;
    for (size_t i = 0; i < n / 2; i++) pdl_buf_putc(&r->text, '\\');
    r->pos = end;
    return true;
}

/* Reads an escape at a backslash. Returns false when the backslash begins no escape and was
 * copied. */
static bool read_escape(token *t) {
    static const char from[] = "nrtb", to[] = "\n\r\t\b";
    pdl_rp *r = t->r;
    int c = rp_at(r, r->pos + 1);
    const char *k = c > 0 ? strchr(from, c) : NULL;
    size_t quote = pdl_rp_quote(r, r->pos + 1);
    if (c == '\\' && read_run(t)) return true;
    if ((c == 'u' || c == 'x') && read_code(r)) return true;
    if (k) {
        pdl_buf_putc(&r->text, to[k - from]);
        r->pos += 2;
    } else if (quote) {
        pdl_buf_put(&r->text, pdl_str_sub(r->src, r->pos + 1, r->pos + 1 + quote));
        r->pos += 1 + quote;
    } else if (c == '\\') { /* several backslashes become one, which a quote after them replaces */
        pdl_buf_putc(&r->text, '\\');
        r->pos += 2;
        for (size_t n; ends_with(&r->text, PDL_STR("\\")); r->pos += n) {
            n = starts_at(r, r->pos, t->close) ? t->close.n : rp_peek(r) == '\\';
            if (!n) break;
            pdl_buf_cut(&r->text, r->text.len - 1);
            pdl_buf_put(&r->text, pdl_str_sub(r->src, r->pos, r->pos + n));
        }
    } else {
        pdl_buf_putc(&r->text, '\\');
        r->pos++;
        return false;
    }
    return true;
}

/* --- does the quote at the cursor end the string? --------------------------------------------- */

/* Returns true when the number of closing quotes from q to the next ] is even. The count is stored,
 * since the next quote needs it again. */
static bool even_quotes(token *t, size_t q) {
    pdl_rp *r = t->r;
    size_t bracket = find_byte(r, ']', q);
    if (r->count_to != bracket || r->count_from > q || !r->count_known) {
        r->count_known = true;
        r->count_to = bracket;
        r->count_from = q;
        r->count = 0;
        for (size_t i = q; (i = find_plain(r, t->close, i)) < bracket; i += t->close.n) r->count++;
    }
    while (r->count_from < q) {
        if (starts_at(r, r->count_from, t->close)) r->count--;
        r->count_from++;
    }
    return r->count % 2 == 0;
}

/* Returns the end of the text after a quote: the next quote, or a character that closes or
 * separates an open container. */
static size_t stop_behind(token *t, size_t i) {
    pdl_rp *r = t->r;
    bool letters = false;
    for (; i < r->src.n && !starts_at(r, i, t->close) && !starts_at(r, i, t->open); i++) {
        int c = rp_at(r, i);
        size_t next;
        if (!letters && ((c | 32) >= 'a' && (c | 32) <= 'z'))
            letters = true;
        else if (!letters && c >= 0xc0)
            letters = pdl_cp_is_alpha(pdl_rp_cp(r, i, &next));
        bool in_key = t->place == PDL_RP_KEY || r->keys,
             in_value = t->place == PDL_RP_VALUE || r->values;
        if ((in_key && (c == ':' || c == '}')) || (in_value && c == '}') ||
            (r->lists && (c == ']' || c == ',')) ||
            (!letters && t->place == PDL_RP_VALUE && c == ','))
            break;
    }
    return i;
}

/* Returns true when the quote at q, which is further on in the text of a value, opens a key. */
static bool opens_key(token *t, size_t q) {
    pdl_rp *r = t->r;
    size_t i = find_plain(r, t->close, q + t->close.n) + t->close.n;
    for (int c; (c = rp_at(r, i)) >= 0 && c != ':'; i++)
        if (c == ',' || c == ']' || c == '}' ||
            (starts_at(r, i, t->close) && rp_at(r, i - 1) != '\\'))
            return false;
    return rp_at(r, i) == ':';
}

/* Returns true when the quote at the cursor, whose next quote is at q, ends the string. Otherwise
 * the two may be a pair inside the string. */
static bool ends_before_quote(token *t, size_t q) {
    pdl_rp *r = t->r;
    bool adjacent = rp_skip_blanks(r, r->pos + t->close.n) >= q, value = t->place == PDL_RP_VALUE;
    bool member = value && member_follows(r, q, t->close.n);
    if (adjacent && !member) return true;
    if (member || t->place == PDL_RP_KEY) return false;
    bool ends = value ? opens_key(t, q) : !even_quotes(t, q);
    t->in_pair = !ends;
    return ends;
}

static bool ends_at_quote(token *t) {
    pdl_rp *r = t->r;
    if (t->in_class && t->place == PDL_RP_VALUE &&
        find_byte(r, ']', r->pos + t->close.n) < r->src.n)
        return false;
    if (t->doubled && starts_at(r, r->pos + t->close.n, t->close)) {
        r->pos += t->close.n;
        return true;
    }
    if (t->bare && t->place == PDL_RP_VALUE) {
        size_t q = find_text(r, t->close, r->pos + t->close.n);
        t->opens = q < r->src.n && rp_at(r, rp_skip_blanks(r, q + t->close.n)) == ':';
        return true;
    }
    if (t->in_pair) return t->in_pair = false;
    size_t i = stop_behind(t, r->pos + t->close.n);
    if (rp_at(r, i) == ',' && t->place == PDL_RP_VALUE) {
        int c = rp_at(r, rp_skip_blanks(r, find_plain(r, t->close, i + 1) + t->close.n));
        return c != '}' && c != ',';
    }
    return !starts_at(r, i, t->close) || rp_at(r, i - 1) == '\\' || ends_before_quote(t, i);
}

/* --- was the closing quote forgotten? --------------------------------------------------------- */

/* Returns true when a value begins at i, which is after the colon of `, key: value`. The key has no
 * quotes. */
static bool value_at(pdl_rp *r, size_t i) {
    static const char *const words[] = {"true", "false", "null"};
    i = rp_skip_blanks(r, i);
    int c = rp_at(r, i);
    if (pdl_rp_quote(r, i) || c == '{' || c == '[' || c == '-' || (c >= '0' && c <= '9'))
        return true;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (!starts_at(r, i, pdl_str_of(words[k]))) continue;
        int end = rp_at(r, i + strlen(words[k]));
        if (end < 0 || rp_blank(end) || end == ',' || end == '}' || end == ']') return true;
    }
    size_t brace = find_byte(r, '}', i);
    return brace < r->src.n && brace < next_quote(r, i);
}

/* Returns true when the comma at the cursor ends the value: a member, the end of the dict or the
 * end of the text follows. */
static bool comma_ends(token *t) {
    pdl_rp *r = t->r;
    size_t i = rp_skip_blanks(r, r->pos + 1), key;
    int c = rp_at(r, i);
    if (t->no_member) return false;
    if (c < 0 || c == '}') return true;
    if (pdl_rp_quote(r, i)) return quoted_key_at(r, i, quote_at(r, i));
    if (c == '`') return bare_key_end(r, i + 1) > 0;
    if ((key = bare_key_end(r, i)) && value_at(r, key)) return true;
    t->container = c == '{' || c == '[';
    if (t->container) return false;
    size_t q = next_quote(r, i), box = nearer(find_byte(r, '{', i), find_byte(r, '[', i));
    t->no_member = q == r->src.n && box == r->src.n;
    return q < box && quoted_key_at(r, q, quote_at(r, q));
}

/* Returns true when the brace at the cursor of a value closes its dict. */
static bool brace_ends(token *t) {
    pdl_rp *r = t->r;
    size_t i = rp_skip_blanks(r, r->pos + 1), q = find_plain(r, t->close, r->pos + 1);
    if (i >= r->src.n) return true;
    if (q == r->src.n) {
        if (find_byte(r, ':', r->pos + 1) < r->src.n) return true;
        return find_byte(r, '}', i) <= i + 1 && rp_at(r, r->pos + 1) != '\\';
    }
    i = rp_skip_blanks(r, q + t->close.n);
    if (rp_at(r, r->pos + 1) == '\\' || i >= r->src.n || rp_at(r, i) == ',' || rp_at(r, i) == '}')
        return false;
    i = find_plain(r, t->open, i);
    if (i >= r->src.n) return false;
    i = rp_skip_blanks(r, i + t->open.n);
    return i >= r->src.n || rp_at(r, i) == ':';
}

/* Returns true when the colon at the cursor ends a key. */
static bool colon_ends(token *t) {
    pdl_rp *r = t->r;
    size_t i = find_plain(r, t->open, r->pos + 1);
    if (i == r->src.n) return true;
    i = find_plain(r, t->close, i + t->open.n);
    if (i == r->src.n) return false;
    int c = rp_at(r, rp_skip_blanks(r, i + t->close.n));
    return c == ',' || c == '}';
}

/* Returns true for the last brace: at most the fence of a code block follows the brace at the
 * cursor, and the string does not end after it. */
static bool is_last_brace(token *t) {
    pdl_rp *r = t->r;
    size_t i = rp_skip_blanks(r, r->pos + 1);
    if (i >= r->src.n || !starts_at(r, i, PDL_STR("```"))) return i >= r->src.n;
    for (i = find_plain(r, t->close, i + 3); i < r->src.n;
         i = find_plain(r, t->close, i + t->close.n)) {
        int c = rp_at(r, rp_skip_blanks(r, i + t->close.n));
        if (c < 0 || strchr(",}]", c)) return false;
    }
    return true;
}

/* Returns the offset after the container at i. Brackets in quotes are ignored. Returns 0 when the
 * container is not closed or is too deep. */
static size_t container_end(pdl_rp *r, size_t i) {
    char open[MAX_INLINE];
    size_t n = 0;
    for (int c; (c = rp_at(r, i)) >= 0; i++) {
        size_t quote = pdl_rp_quote(r, i);
        if (quote) {
            pdl_str close = starts_at(r, i, LEFT) ? RIGHT : quote_at(r, i);
            i = find_plain(r, close, i + quote);
        } else if (c == '{' || c == '[' || c == '(') {
            if (n == MAX_INLINE) return 0;
            open[n++] = c == '{' ? '}' : c == '[' ? ']' : ')';
        } else if (n > 0 && c == open[n - 1] && --n == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Copies the container at the cursor when it belongs to the value: it follows a comma, or it is
 * `{key: ..}`. Returns false when nothing was copied. */
static bool copy_container(token *t) {
    pdl_rp *r = t->r;
    int c = rp_peek(r);
    bool opens = t->container && (c == '{' || c == '[' || c == '(');
    if (t->place != PDL_RP_VALUE ||
        (!opens && (c != '{' || !bare_key_end(r, rp_skip_blanks(r, r->pos + 1)))))
        return false;
    size_t end = container_end(r, r->pos);
    if (!end) return false;
    pdl_buf_put(&r->text, pdl_str_sub(r->src, r->pos, end));
    r->pos = end;
    t->container = false;
    return true;
}

/* Returns true when the string ends before the character c at the cursor, which is not
 * its quote. */
static bool stops(token *t, int c) {
    pdl_rp *r = t->r;
    if (t->bare && t->place == PDL_RP_KEY && (c == ':' || rp_blank(c))) return true;
    if (t->bare && t->place == PDL_RP_ITEM && (c == ']' || c == ',')) return true;
    if (t->place == PDL_RP_VALUE && c == ',') return comma_ends(t);
    if (c != '}' && c != ']') return false;
    bool behind_quote = ends_with(&r->text, t->close);
    if (t->place == PDL_RP_VALUE && c == '}') {
        if (t->braces && !behind_quote) return false;
        return (!behind_quote && brace_ends(t)) || is_last_brace(t);
    }
    return c == ']' && r->lists && !behind_quote && find_plain(r, t->close, r->pos) == r->src.n;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void copy_char(token *t) {
    pdl_rp *r = t->r;
    int c = rp_peek(r);
    size_t n = pdl_utf8_len((unsigned char)c);
    pdl_buf_put(&r->text, pdl_str_sub(r->src, r->pos, r->pos + n));
    r->pos += n;
    if (c == '{') t->braces++;
    if (c == '}' && t->braces) t->braces--;
    if (c == '[') t->in_class = true;
    if (c == ']') t->in_class = false;
}

/* Copies text up to a character that may be significant. */
static void copy_run(token *t) {
    pdl_rp *r = t->r;
    size_t from = r->pos, i = from;
    bool blanks = t->bare || t->in_class;
    for (int c; (c = rp_at(r, i)) > 0 && c < 0x80 && !strchr("\"'\\,:{}[]", c) &&
                !(blanks && rp_blank(c));)
        i++;
    pdl_buf_put(&r->text, pdl_str_sub(r->src, from, i));
    r->pos = i;
}

static void strip_end(pdl_buf *b) {
    size_t n = b->len;
    while (n && rp_blank((unsigned char)b->p[n - 1])) n--;
    pdl_buf_cut(b, n);
}

/* Reads up to the closing quote, or to the place where it was forgotten. Returns true
 * at the quote. */
static bool read_body(token *t) {
    pdl_rp *r = t->r;
    for (int c; (c = rp_peek(r)) >= 0;) {
        if (starts_at(r, r->pos, t->close)) return true;
        if (c == '\\') {
            if (read_escape(t)) continue;
        } else if (copy_container(t)) {
            continue;
        } else if (stops(t, c)) {
            return false;
        } else {
            copy_char(t);
            copy_run(t);
        }
        if (r->text.len && rp_blank((unsigned char)r->text.p[r->text.len - 1])) t->in_class = false;
        if (rp_peek(r) == ':' && !t->bare && t->place == PDL_RP_KEY && colon_ends(t)) return false;
        if (!starts_at(r, r->pos, t->close) || ends_with(&r->text, PDL_STR("\\"))) continue;
        if (ends_at_quote(t)) return !t->opens;
        copy_char(t);
    }
    return false;
}

/* Reads the rest of the string and returns its value. */
static pdl_val finish(token *t) {
    pdl_rp *r = t->r;
    t->closed = read_body(t);
    if (t->closed) r->pos += t->close.n;
    if (t->opens) { /* the quote at which the text ended also opens the next key */
        do r->pos--;
        while (((unsigned char)r->src.p[r->pos] & 0xc0) == 0x80);
    }
    if (!t->closed || t->bare || ends_with(&r->text, PDL_STR("\n"))) strip_end(&r->text);
    return pdl_text(pdl_buf_str(&r->text));
}

/* Reads `"text"`, if the text after it can follow a string in this position. */
static bool read_simple(token *t, pdl_val *out) {
    pdl_rp *r = t->r;
    if (rp_peek(r) != '"') return false;
    size_t end = pdl_rp_find(r, '"', r->pos + 1);
    if (end == r->src.n) return false;
    pdl_str s = pdl_str_sub(r->src, r->pos + 1, end);
    int c = rp_at(r, rp_skip_blanks(r, end + 1));
    const char *follow = t->place == PDL_RP_KEY ? ":" : t->place == PDL_RP_VALUE ? ",}" : ",]";
    if (c < 0 ? t->place == PDL_RP_KEY : strchr(follow, c) == NULL) return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\\' || s.p[i] == '\n' || s.p[i] == '\r') return false;
    r->pos = end + 1;
    *out = pdl_text(s);
    return true;
}

/* Returns true when only blanks are between the cursor and q. */
static bool blank_until(const pdl_rp *r, size_t q) { return rp_skip_blanks(r, r->pos + 1) >= q; }

/* Handles another quote at the cursor, directly after an opening quote. Returns true when the
 * string is empty. */
static bool read_doubled(token *t) {
    pdl_rp *r = t->r;
    size_t n = t->open.n;
    int c = rp_at(r, r->pos + n);
    const char *follow = t->place == PDL_RP_KEY ? ":" : t->place == PDL_RP_VALUE ? ",}" : ",]";
    if (c >= 0 && strchr(follow, c)) {
        r->pos += n;
        return true;
    }
    if (starts_at(r, r->pos + n, t->open)) return true;
    size_t q = find_plain(r, t->close, r->pos + n), end;
    if (q < r->src.n && starts_at(r, q + t->close.n, t->close)) {
        t->doubled = true;
        r->pos += n;
        return false;
    }
    if (q < r->src.n && t->place == PDL_RP_VALUE && !blank_until(r, q)) {
        end = find_plain(r, t->close, q + t->close.n);
        c = end < r->src.n ? rp_at(r, rp_skip_blanks(r, end + t->close.n)) : 0;
        if (c < 0 || c == ',' || c == '}') { /* the string begins with words in quotes */
            pdl_buf_put(&r->text, t->open);
            t->in_pair = true;
            r->pos += n;
            return false;
        }
    }
    size_t i = rp_skip_blanks(r, r->pos + n);
    c = rp_at(r, i);
    bool empty = pdl_rp_quote(r, i) || c == '{' || c == '[';
    if (empty || (c != ',' && c != ']' && c != '}')) r->pos += n;
    return empty;
}

pdl_val pdl_rp_string(pdl_rp *r, pdl_rp_place place) {
    token t = {.r = r, .place = place};
    pdl_val v;
    if (read_simple(&t, &v)) return v;
    t.open = t.close = quote_at(r, r->pos);
    if (pdl_str_eq(t.open, LEFT)) t.close = RIGHT;
    if (pdl_str_eq(t.open, RIGHT)) t.open = t.close = PDL_STR("\"");
    r->pos += pdl_rp_quote(r, r->pos);
    pdl_buf_clear(&r->text);
    if (starts_at(r, r->pos, t.open) && read_doubled(&t)) return pdl_textz("");
    return finish(&t);
}

static token bare(pdl_rp *r, pdl_rp_place place) {
    pdl_buf_clear(&r->text);
    return (token){
        .r = r, .place = place, .open = PDL_STR("\""), .close = PDL_STR("\""), .bare = true};
}

pdl_val pdl_rp_word(pdl_rp *r, pdl_rp_place place) {
    token t = bare(r, place);
    return finish(&t);
}

/* Reads a bare key. A bare key before a blank counts only if a colon or a comma follows the blank;
 * otherwise it is dropped. */
bool pdl_rp_bare_key(pdl_rp *r, pdl_val *out) {
    token t = bare(r, PDL_RP_KEY);
    pdl_val v = finish(&t);
    if (!t.closed && rp_blank(rp_peek(r))) {
        r->pos = rp_skip_blanks(r, r->pos);
        if (rp_peek(r) != ':' && rp_peek(r) != ',') {
            pdl_drop(v);
            return false;
        }
    }
    *out = v;
    return true;
}
