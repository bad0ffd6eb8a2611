/* repair_text.c -- strings and bare words in text that is not quite JSON.
 *
 * The question at each quote is whether it ends the string or belongs to it, and at each separator whether
 * the closing quote was forgotten before it. Both are decided by what follows up to the next quotes.
 */
#include "base/num.h"
#include "base/utf8.h"
#include "parse/repair.h"

#include "base/banned.h"

/* A string being read. */
typedef struct {
    pdl_rp *r;
    pdl_rp_place place;
    pdl_str quote;      /* the closing one; empty for a bare word */
    bool in_pair;       /* behind the first of a pair of inner quotes */
    bool missing;       /* ended without its quote */
    bool comma_decided; /* without a closing quote: the first comma was found to belong to it */
    bool escaped;       /* the last character was an escape */
    uint32_t braces;    /* opened in it */
} token;

uint32_t pdl_rp_cp(const pdl_rp *r, size_t i, size_t *next) {
    const char *p = r->src.p + i;
    uint32_t cp = pdl_utf8_next(&p);
    *next = (size_t)(p - r->src.p);
    return cp;
}

size_t pdl_rp_find(pdl_rp *r, int c, size_t i) {
    pdl_rp_memo *m = &r->memo[c & 127];
    if (m->known && m->from <= i && i <= m->at) return m->at;
    const char *p = i < r->src.n ? memchr(r->src.p + i, c, r->src.n - i) : NULL;
    *m = (pdl_rp_memo){i, p ? (size_t)(p - r->src.p) : r->src.n, true};
    return m->at;
}

static bool starts_at(const pdl_rp *r, size_t i, pdl_str s) {
    return i <= r->src.n && s.n && pdl_str_starts(pdl_str_sub(r->src, i, r->src.n), s);
}

size_t pdl_rp_quote(const pdl_rp *r, size_t i) {
    int c = rp_at(r, i);
    if (c == '"' || c == '\'') return 1;
    return starts_at(r, i, PDL_STR("\xe2\x80\x9c")) || starts_at(r, i, PDL_STR("\xe2\x80\x9d")) ? 3 : 0;
}

/* The next closing quote that is not escaped, at or behind i; the text's length when there is none. */
static size_t next_quote(token *t, size_t i) {
    pdl_rp *r = t->r;
    for (;;) {
        i = pdl_rp_find(r, (unsigned char)t->quote.p[0] & 127, i);
        if (t->quote.n == 3) i = PDL_NOT_FOUND;
        if (i >= r->src.n) return r->src.n;
        size_t back = 0;
        while (back < i && rp_at(r, i - 1 - back) == '\\') back++;
        if (back % 2 == 0) return i;
        i++;
    }
}

/* --- escapes ----------------------------------------------------------------------------------------- */

/* n hex digits at i, or -1. */
static int32_t hex_at(const pdl_rp *r, size_t i, size_t n) {
    int32_t v = 0;
    for (size_t k = 0; k < n; k++) {
        int d = pdl_hex_digit(rp_at(r, i + k));
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

/* \uXXXX or \xXX at the cursor's backslash; surrogates are joined, a lone one becomes U+FFFD. */
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

/* At a backslash. What is no escape keeps its backslash. */
static void read_escape(token *t) {
    static const char from[] = "nrtb\\\"'", to[] = "\n\r\t\b\\\"'";
    pdl_rp *r = t->r;
    int c = rp_at(r, r->pos + 1);
    const char *k = c > 0 ? strchr(from, c) : NULL;
    if (k) {
        pdl_buf_putc(&r->text, to[k - from]);
        r->pos += 2;
    } else if ((c != 'u' && c != 'x') || !read_code(r)) {
        pdl_buf_putc(&r->text, '\\');
        r->pos++;
    }
}

/* --- what follows ------------------------------------------------------------------------------------- */

/* Does `"key":` stand at i, in any quotes? */
static bool quoted_key_at(token *t, size_t i) {
    pdl_rp *r = t->r;
    int c = rp_at(r, i);
    if (c != '"' && c != '\'') return false;
    size_t end = pdl_rp_find(r, c, i + 1);
    return end < r->src.n && rp_at(r, rp_skip_blanks(r, end + 1)) == ':';
}

/* Does `key:` stand at i, one bare word? */
static bool bare_key_at(const token *t, size_t i) {
    const pdl_rp *r = t->r;
    size_t from = i, next;
    while (i < r->src.n && (rp_at(r, i) == '_' || pdl_cp_is_alnum(pdl_rp_cp(r, i, &next))))
        pdl_rp_cp(r, i, &i);
    return i > from && rp_at(r, rp_skip_blanks(r, i)) == ':';
}

static bool key_at(token *t, size_t i) {
    i = rp_skip_blanks(t->r, i);
    return quoted_key_at(t, i) || bare_key_at(t, i);
}

/* Between `from` and the next quote q: does q begin the key of a next member, behind a comma? */
static bool member_follows(token *t, size_t from, size_t q) {
    size_t i = q;
    while (i > from && rp_blank(rp_at(t->r, i - 1))) i--;
    return i > from && rp_at(t->r, i - 1) == ',' && quoted_key_at(t, q);
}

/* --- does the quote at the cursor end the string? ------------------------------------------------------ */

/* Is the quote behind q followed by a colon? */
static bool key_ends_at_next(token *t, size_t q) {
    size_t end = next_quote(t, q + 1);
    return (end < t->r->src.n && rp_at(t->r, rp_skip_blanks(t->r, end + 1)) == ':') ||
           rp_at(t->r, rp_skip_blanks(t->r, q + 1)) == ':';
}

static bool ends_key(token *t, size_t after) {
    pdl_rp *r = t->r;
    size_t i = rp_skip_blanks(r, after), q;
    int c = rp_at(r, i);
    if (c == ':' || c < 0) return true;
    if (t->in_pair) return t->in_pair = false;
    if (c == '}') return true;
    if (r->lists && (c == ',' || c == ']')) return true;
    q = next_quote(t, after);
    if (q == r->src.n || q == i || pdl_rp_find(r, ':', i) < q || pdl_rp_find(r, '}', i) < q) return true;
    if (r->lists && (pdl_rp_find(r, ',', i) < q || pdl_rp_find(r, ']', i) < q)) return true;
    if ((c == '[' || c == '{') && !key_ends_at_next(t, q)) return true;
    t->in_pair = true;
    return false;
}

static bool ends_value(token *t, size_t after) {
    pdl_rp *r = t->r;
    size_t i = rp_skip_blanks(r, after), q;
    int c = rp_at(r, i);
    if (t->in_pair) {
        t->in_pair = false;
        return c == ',' && key_at(t, i + 1);
    }
    if (c < 0 || c == ',' || c == '}' || (c == ']' && r->lists)) return true;
    q = next_quote(t, after);
    if (q == r->src.n || q == i || member_follows(t, i, q)) return true;
    if (c != ':' && pdl_rp_find(r, '}', i) < q) return true;
    if (r->lists && pdl_rp_find(r, ']', i) < q) return true;
    if (c != ':' && quoted_key_at(t, q)) return true;
    t->in_pair = true;
    return false;
}

static bool ends_item(token *t, size_t after) {
    pdl_rp *r = t->r;
    size_t i = rp_skip_blanks(r, after), q;
    int c = rp_at(r, i);
    if (t->in_pair) {
        t->in_pair = false;
        return c < 0;
    }
    if (c < 0 || c == ',' || c == ']' || (c == ':' && !r->inner) || c == ')' || (c == '}' && r->dicts))
        return true;
    /* Text that ends with an escaped quote was escaped with care. */
    if (r->pos >= 2 && rp_at(r, r->pos - 2) == '\\' && starts_at(r, r->pos - 1, t->quote)) return true;
    q = next_quote(t, after);
    if (q == r->src.n || q == i || pdl_rp_find(r, ',', i) < q || pdl_rp_find(r, ']', i) < q) return true;
    if (r->dicts && pdl_rp_find(r, '}', i) < q) return true;
    int d = rp_at(r, rp_skip_blanks(r, q + 1));
    if (d < 0 || d == ',' || d == ']' || d == ':') {
        bool opens = rp_blank(rp_at(r, q - 1)) || q == i;
        if (!opens) return true;
    }
    t->in_pair = true;
    return false;
}

static bool ends_at_quote(token *t) {
    size_t after = t->r->pos + t->quote.n;
    switch (t->place) {
    case PDL_RP_KEY: return ends_key(t, after);
    case PDL_RP_VALUE: return ends_value(t, after);
    case PDL_RP_ITEM: return ends_item(t, after);
    }
    PDL_BUG("place %d", (int)t->place);
}

/* --- was the closing quote forgotten? ------------------------------------------------------------------ */

static bool forgotten_in_key(token *t, int c) {
    pdl_rp *r = t->r;
    if (c != ':') return false;
    size_t q = next_quote(t, r->pos);
    if (q == r->src.n) return true;
    return q == rp_skip_blanks(r, r->pos + 1) && rp_at(r, rp_skip_blanks(r, q + 1)) != ':';
}

/* At a brace that nothing in the text opened, no quote ahead: does it close the dict? */
static bool brace_ends_text(token *t) {
    pdl_rp *r = t->r;
    size_t i = rp_skip_blanks(r, r->pos + 1);
    if (rp_at(r, i) == ']' && t->quote.n) return rp_at(r, rp_skip_blanks(r, i + 1)) < 0;
    if (rp_at(r, i) != ',') return true;
    i = rp_skip_blanks(r, i + 1);
    return rp_at(r, i) == '{' || key_at(t, i);
}

static bool forgotten_in_value(token *t, int c) {
    pdl_rp *r = t->r;
    size_t q;
    if (c == ',') {
        if (rp_at(r, rp_skip_blanks(r, r->pos + 1)) < 0) return true;
        q = next_quote(t, r->pos);
        if (q == r->src.n) {
            bool first = !t->comma_decided;
            if (rp_at(r, rp_skip_blanks(r, r->pos + 1)) == '}') return true;
            t->comma_decided = true;
            return first && key_at(t, r->pos + 1);
        }
        return !t->in_pair && q == rp_skip_blanks(r, r->pos + 1) && quoted_key_at(t, q);
    }
    if (c != '}' && !(c == ']' && r->lists)) return false;
    if (c == '}' && t->braces) return t->braces-- == 0;
    q = next_quote(t, r->pos);
    if (q == r->src.n) return c == ']' || !r->lists || brace_ends_text(t);
    size_t i = rp_skip_blanks(r, r->pos + 1);
    return c == '}' && rp_at(r, i) == ',' &&
           (member_follows(t, i, q) || rp_at(r, rp_skip_blanks(r, i + 1)) == '{');
}

static bool forgotten_in_item(token *t, int c) { return c == ']' && next_quote(t, t->r->pos) == t->r->src.n; }

static bool forgotten(token *t, int c) {
    if (c == '{') t->braces++;
    if (c != ',' && c != ':' && c != '}' && c != ']') return false;
    switch (t->place) {
    case PDL_RP_KEY: return forgotten_in_key(t, c);
    case PDL_RP_VALUE: return forgotten_in_value(t, c);
    case PDL_RP_ITEM: return forgotten_in_item(t, c);
    }
    PDL_BUG("place %d", (int)t->place);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void copy_char(pdl_rp *r) {
    size_t n = pdl_utf8_len((unsigned char)r->src.p[r->pos]);
    pdl_buf_put(&r->text, pdl_str_sub(r->src, r->pos, r->pos + n));
    r->pos += n;
}

static void strip_end(pdl_buf *b) {
    size_t n = b->len;
    while (n && rp_blank((unsigned char)b->p[n - 1])) n--;
    pdl_buf_cut(b, n);
}

/* Up to and with the closing quote, or up to where it was forgotten. */
static void read_quoted(token *t) {
    pdl_rp *r = t->r;
    r->inner = false;
    for (int c; (c = rp_peek(r)) >= 0;) {
        bool after_escape = t->escaped && t->place == PDL_RP_ITEM;
        t->escaped = c == '\\';
        if (c == '\\') {
            read_escape(t);
        } else if (starts_at(r, r->pos, t->quote)) {
            if (ends_at_quote(t)) {
                r->pos += t->quote.n;
                return;
            }
            pdl_buf_put(&r->text, t->quote);
            r->pos += t->quote.n;
            r->inner = true;
        } else if (!after_escape && forgotten(t, c)) {
            break;
        } else {
            copy_char(r);
        }
    }
    t->missing = true;
}

pdl_val pdl_rp_string(pdl_rp *r, pdl_rp_place place) {
    size_t n = pdl_rp_quote(r, r->pos);
    token t = {.r = r, .place = place, .quote = pdl_str_sub(r->src, r->pos, r->pos + n)};
    if (n == 3) t.quote = PDL_STR("\xe2\x80\x9d");
    r->pos += n;
    pdl_buf_clear(&r->text);
    bool doubled = n == 1 && starts_at(r, r->pos, t.quote);
    if (doubled) { /* "" is empty, or a doubled quote */
        int c = rp_at(r, rp_skip_blanks(r, ++r->pos));
        size_t i = rp_skip_blanks(r, r->pos), next;
        if (c < 0 || (c != '\\' && !pdl_cp_is_alnum(pdl_rp_cp(r, i, &next)))) return pdl_textz("");
    }
    read_quoted(&t);
    if (doubled && !t.missing && starts_at(r, r->pos, t.quote)) r->pos += n;
    if (t.missing || (r->text.len && r->text.p[r->text.len - 1] == '\n')) strip_end(&r->text);
    return pdl_text(pdl_buf_str(&r->text));
}

/* At a comma of a bare word: does a member begin behind it, or the dict end? A bare key after several commas
 * must have a value that is plainly one. */
static bool comma_ends_word(token *t) {
    pdl_rp *r = t->r;
    bool first = !t->comma_decided;
    size_t i = rp_skip_blanks(r, r->pos + 1), q = pdl_rp_find(r, '"', i);
    int c = rp_at(r, i);
    t->comma_decided = true;
    if (c == '}' || c < 0 || quoted_key_at(t, i) || (q < r->src.n && member_follows(t, r->pos, q)))
        return true;
    if (!bare_key_at(t, i)) return false;
    c = rp_at(r, rp_skip_blanks(r, pdl_rp_find(r, ':', i) + 1));
    return first || c == '{' || c == '[' || c == '"';
}

/* Behind an opening quote that was taken for a closing one, `key": "value"` is one item. */
static bool quote_stays_in_item(token *t) {
    if (t->place != PDL_RP_ITEM) return false;
    t->in_pair = !t->in_pair && rp_at(t->r, rp_skip_blanks(t->r, t->r->pos + 1)) == ':' &&
                 pdl_rp_find(t->r, '"', t->r->pos + 1) < t->r->src.n;
    bool stays = t->in_pair || t->braces;
    t->braces = t->in_pair; /* so that the second quote of the pair stays too */
    return stays;
}

static bool ends_word(token *t, int c) {
    if (c == '"') return !quote_stays_in_item(t);
    if (c == ']') return t->place == PDL_RP_ITEM || t->r->lists;
    if (t->place == PDL_RP_ITEM) return c == ',';
    if (c == '{') t->braces++;
    if (c == '}' && t->braces) return t->braces-- == 0;
    return (c == '}' && brace_ends_text(t)) || (c == ',' && comma_ends_word(t));
}

pdl_val pdl_rp_word(pdl_rp *r, pdl_rp_place place) {
    token t = {.r = r, .place = place};
    pdl_buf_clear(&r->text);
    for (int c; (c = rp_peek(r)) >= 0 && !ends_word(&t, c);) {
        if (c == '\\')
            read_escape(&t);
        else
            copy_char(r);
    }
    if (rp_peek(r) == '"') r->pos++; /* it closes the word although none opened it */
    strip_end(&r->text);
    return pdl_text(pdl_buf_str(&r->text));
}

/* A bare key ends at a colon, at a quote that would close it, at the end of a list, or at a blank: then it is
 * a key only if a colon follows, otherwise it is dropped. */
bool pdl_rp_bare_key(pdl_rp *r, pdl_val *out) {
    token t = {.r = r, .place = PDL_RP_KEY, .quote = PDL_STR("\"")};
    bool ok = false;
    pdl_buf_clear(&r->text);
    for (int c; !ok && (c = rp_peek(r)) >= 0;) {
        size_t next = rp_skip_blanks(r, r->pos);
        if (next > r->pos) {
            r->pos = next;
            if (rp_peek(r) != ':') return false;
        } else if (c == ':' || (c == ']' && r->lists)) {
            ok = true;
        } else if (c == '"' && ends_key(&t, r->pos + 1)) {
            r->pos++;
            ok = true;
        } else {
            copy_char(r);
        }
    }
    if (ok) *out = pdl_text(pdl_buf_str(&r->text));
    return ok;
}
