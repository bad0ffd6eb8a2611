/* events.c -- see events.h. libyaml's marks count code points of the text it was given; our spans
 * are bytes of the source. The translation is here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/events.h"

#include <string.h>
#include <yaml.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/text.h"

#include "base/banned.h"

/* Starting again costs the text up to the place: a fixed number of times is free, then the work is
 * bounded.
 */
enum { FREE_RESTARTS = 16, RESTART_BYTES = 64 << 20 };

/* One byte given to libyaml that the source does not have, before source byte off. Sorted by off.
 */
typedef struct insert {
    uint32_t off;
    char c;
} insert;

struct pdl_yreader {
    const pdl_source *src;
    yaml_parser_t parser;
    yaml_event_t event;
    bool open, have_event, again, ascii;
    pdl_buf given; /* the text as spelled for libyaml, empty while it is the source's */
    PDL_VEC(insert) inserts;
    pdl_buf patched;       /* the source with bytes overwritten; empty: none */
    pdl_buf joined;        /* text of the last scalar, where it had surrogates */
    size_t at_cp, at_byte; /* cursor of the translation in the given text */
    uint32_t
        gap;    /* end of the last scalar: from here on there are blanks, comments and indicators */
    size_t tab; /* first tab that was not examined, or PDL_NOT_FOUND */
    uint32_t directive; /* after the last '%' that was overwritten: a document start must follow */
    unsigned restarts;
    size_t work;
};

bool pdl_yaml_fail(pdl_err *err, const pdl_source *src, uint32_t off, const char *py_class,
                   const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    uint32_t end = off < src->text.n ? off + 1 : off;
    while (end < src->text.n && ((unsigned char)src->text.p[end] & 0xc0) == 0x80) end++;
    pdl_err_vset(err, PDL_E_syntax, (pdl_loc){src, off, end}, fmt, ap);
    va_end(ap);
    err->py_class = pdl_str_dup(pdl_str_of(py_class));
    return false;
}

/* --- the text given to libyaml ---------------------------------------------------------------- */

static pdl_str given(const pdl_yreader *r) {
    return r->given.len     ? pdl_buf_str(&r->given)
           : r->patched.len ? pdl_buf_str(&r->patched)
                            : r->src->text;
}

/* Makes libyaml read s. Its reader would copy the text and decode and check each character, which
 * pdl_yaml_check_chars has done already and took a tenth of the time of loading. So its scanner
 * gets the text as if it had been read up to the end of the file; the count of characters need only
 * be large enough. The scanner reads at most PDL_SOURCE_PAD bytes after the end, which are NULs. */
static void begin_parser(yaml_parser_t *p, pdl_str s) {
    if (!yaml_parser_initialize(p)) pdl_out_of_memory(sizeof *p);
    yaml_parser_set_input_string(p, (const unsigned char *)s.p, 0);
    yaml_parser_set_encoding(p, YAML_UTF8_ENCODING);
    p->buffer.pointer =
        (yaml_char_t *)(uintptr_t)s.p; /* only read; libyaml releases buffer.start */
    p->buffer.last = p->buffer.pointer + s.n;
    p->unread = s.n + 1;
    p->eof = 1;
}

static void pad(pdl_buf *b) { memset(pdl_buf_room(b, PDL_SOURCE_PAD), 0, PDL_SOURCE_PAD); }

static void spell(pdl_yreader *r) {
    pdl_str s = r->patched.len ? pdl_buf_str(&r->patched) : r->src->text;
    size_t from = 0;
    pdl_buf_clear(&r->given);
    if (!r->inserts.n) return;
    for (size_t i = 0; i < r->inserts.n; i++) {
        pdl_buf_put(&r->given, pdl_str_sub(s, from, r->inserts.p[i].off));
        pdl_buf_putc(&r->given, r->inserts.p[i].c);
        from = r->inserts.p[i].off;
    }
    pdl_buf_put(&r->given, pdl_str_sub(s, from, s.n));
    pad(&r->given);
}

static void start(pdl_yreader *r) {
    begin_parser(&r->parser, given(r));
    r->open = true;
    r->at_cp = r->at_byte = 0;
    r->gap = 0;
    r->tab = pdl_str_find(r->src->text, PDL_STR("\t"), 0);
    r->again = false;
}

static void stop(pdl_yreader *r) {
    if (r->have_event) yaml_event_delete(&r->event);
    if (r->open) yaml_parser_delete(&r->parser);
    r->have_event = r->open = false;
}

static bool is_ascii(pdl_str s) {
    uint64_t high = 0, w;
    size_t i = 0;
    for (; s.n - i >= sizeof w; i += sizeof w) {
        memcpy(&w, s.p + i, sizeof w);
        high |= w;
    }
    for (; i < s.n; i++) high |= (uint64_t)(unsigned char)s.p[i] << 56 | (unsigned char)s.p[i];
    return !(high & 0x8080808080808080u);
}

pdl_yreader *pdl_yreader_new(const pdl_source *src) {
    pdl_yreader *r = PDL_NEW(pdl_yreader);
    r->src = src;
    r->given = r->patched = r->joined = PDL_BUF;
    r->ascii = is_ascii(src->text);
    start(r);
    return r;
}

void pdl_yreader_free(pdl_yreader *r) {
    if (!r) return;
    stop(r);
    pdl_buf_fini(&r->given);
    pdl_buf_fini(&r->patched);
    pdl_buf_fini(&r->joined);
    pdl_vec_fini(&r->inserts);
    pdl_free(r);
}

bool pdl_yreader_again(const pdl_yreader *r) { return r->again; }

void pdl_yreader_restart(pdl_yreader *r) {
    stop(r);
    spell(r);
    start(r);
}

static bool may_restart(pdl_yreader *r, uint32_t off) {
    r->work += off;
    return r->restarts++ < FREE_RESTARTS || r->work < RESTART_BYTES;
}

static bool add_byte(pdl_yreader *r, uint32_t off, char c) {
    size_t i = r->inserts.n;
    if (!may_restart(r, off)) return false;
    (void)pdl_vec_push(&r->inserts);
    for (; i && r->inserts.p[i - 1].off > off; i--) r->inserts.p[i] = r->inserts.p[i - 1];
    r->inserts.p[i] = (insert){off, c};
    return r->again = true;
}

bool pdl_yreader_space(pdl_yreader *r, uint32_t off) { return add_byte(r, off + 1, ' '); }

static void overwrite(pdl_yreader *r, size_t off, char c) {
    if (!r->patched.len) {
        pdl_buf_put(&r->patched, r->src->text);
        pad(&r->patched);
    }
    r->patched.p[off] = c;
}

/* In the reference a tag extends over ",[]", where libyaml ends it. Such tags are unknown ones, so
 * libyaml may get other characters there; pdl_yreader_tag returns the real name. */
static bool respell_tag(pdl_yreader *r, uint32_t start, uint32_t end) {
    static const char chars[] = "-;/?:@&=+$,_.!~*'()[]%";
    pdl_str s = r->src->text;
    bool any = false;
    for (size_t i = start; i < end && (s.p[i] == '!' || s.p[i] == '&');) {
        bool tag = s.p[i] == '!' && !(i + 1 < s.n && s.p[i + 1] == '<');
        for (i++; i < s.n && s.p[i] != ' ' && s.p[i] != '\n' && s.p[i] != '\t'; i++) {
            bool word =
                (s.p[i] >= '0' && s.p[i] <= '9') || ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z');
            if (tag && !word && !strchr(chars, s.p[i])) break;
            if (tag && strchr(",[]", s.p[i]) && (!r->patched.len || r->patched.p[i] == s.p[i])) {
                if (!any && !may_restart(r, start)) return false;
                overwrite(r, i, '\'');
                any = true;
            }
        }
        while (i < end && (s.p[i] == ' ' || s.p[i] == '\n')) i++;
    }
    return r->again = any;
}

void pdl_yreader_tag(const pdl_yreader *r, const pdl_yevent *e, pdl_buf *out) {
    size_t at = out->len, i = e->start, k;
    pdl_str s = r->src->text;
    pdl_buf_put(out, e->tag);
    if (!r->patched.len) return;
    for (; i < s.n && s.p[i] != '!'; i++) {} /* an anchor may precede it */
    for (k = i; k < s.n && s.p[k] != ' ' && s.p[k] != '\n'; k++) {}
    for (size_t n = out->len;
         n > at && k > i && (out->p[n - 1] == s.p[k - 1] || out->p[n - 1] == '\''); n--, k--)
        out->p[n - 1] = s.p[k - 1];
}

/* --- surrogates: libyaml refuses "\ud83d\ude00", which is one character ----------------------- */

/* The escape at off of a double-quoted scalar, its length in *n: the code point of \xXX, \uXXXX,
 * \UXXXXXXXX;
 * 0 else. */
static uint32_t escape_at(pdl_str s, size_t off, size_t *n) {
    char kind = off + 1 < s.n ? s.p[off + 1] : '\0';
    size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    uint32_t cp = 0;
    *n = 2;
    for (size_t i = off + 2; i < off + 2 + digits; i++) {
        char c = i < s.n ? s.p[i] : '\0', low = (char)(c | 32);
        if (c >= '0' && c <= '9')
            cp = cp << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            cp = cp << 4 | (uint32_t)(low - 'a' + 10);
        else
            return 0;
    }
    *n += digits;
    return cp;
}

static bool is_high(uint32_t cp) { return cp >= 0xd800 && cp <= 0xdbff; }
static bool is_low(uint32_t cp) { return cp >= 0xdc00 && cp <= 0xdfff; }

/* Spells every surrogate from off to the end of its scalar as U+FFFD, which has the same length;
 * join_surrogates distinguishes them. */
static bool respell_surrogates(pdl_yreader *r, uint32_t off) {
    pdl_str s = r->src->text;
    size_t n = 0;
    if (off < 2 || !may_restart(r, off)) return false;
    for (size_t i = off - 2; i < s.n && s.p[i] != '"'; i += n) {
        n = 1;
        uint32_t cp = s.p[i] == '\\' ? escape_at(s, i, &n) : 0;
        if (!is_high(cp) && !is_low(cp)) continue;
        for (size_t k = i + 2; k < i + n; k++)
            overwrite(r, k, i + n - k <= 4 ? "dfff"[i + n - k - 1] : '0');
        r->again = true;
    }
    return r->again;
}

/* Text of a scalar in which surrogates were respelled: each U+FFFD of it, in order, is one in the
 * source or a surrogate; two that form a pair become their character. */
static pdl_str join_surrogates(pdl_yreader *r, const pdl_yevent *e) {
    pdl_str s = r->src->text, rest = e->text, mark = PDL_STR("\xef\xbf\xbd");
    size_t n = 0, m = 0;
    pdl_buf_clear(&r->joined);
    for (size_t i = e->start; i < e->end && i < s.n; i += n) {
        n = 1;
        uint32_t cp = 0;
        if (s.p[i] == '\\')
            cp = escape_at(s, i, &n);
        else if (pdl_str_starts(pdl_str_sub(s, i, s.n), mark))
            cp = 0xfffd;
        bool half = is_high(cp) || is_low(cp);
        if (!half && cp != 0xfffd) continue;
        size_t at = pdl_str_find(rest, mark, 0);
        if (at == PDL_NOT_FOUND) break;
        uint32_t low =
            is_high(cp) && i + n < s.n && s.p[i + n] == '\\' ? escape_at(s, i + n, &m) : 0;
        pdl_buf_put(&r->joined, pdl_str_sub(rest, 0, at));
        rest = pdl_str_sub(rest, at + mark.n, rest.n);
        if (is_low(low)) {
            char text[4];
            size_t len = pdl_utf8_put(0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00), text);
            pdl_buf_put(&r->joined, (pdl_str){text, len});
            rest = pdl_str_sub(rest, mark.n, rest.n);
            n += m;
        } else {
            pdl_buf_put(&r->joined, mark);
        }
    }
    pdl_buf_put(&r->joined, rest);
    return pdl_buf_str(&r->joined);
}

/* --- places ----------------------------------------------------------------------------------- */

static bool tail(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Source byte of a mark. Events come in order, so the cursor moves little. */
static uint32_t look_up_byte(pdl_yreader *r, size_t cp) {
    pdl_str s = given(r);
    size_t b = cp > s.n ? s.n : cp;
    if (!r->ascii) {
        b = r->at_byte;
        while (r->at_cp < cp && b < s.n) {
            size_t ascii = 0, most = cp - r->at_cp < s.n - b ? cp - r->at_cp : s.n - b;
            while (ascii < most && (unsigned char)s.p[b + ascii] < 0x80) ascii++;
            r->at_cp += ascii;
            b += ascii;
            if (ascii == most) continue;
            b += pdl_utf8_len((unsigned char)s.p[b]);
            r->at_cp++;
        }
        for (; r->at_cp > cp && b; r->at_cp--)
            for (b--; b && tail(s.p[b]); b--) {}
        r->at_byte = b;
    }
    if (r->inserts.n) {
        size_t lo = 0, hi = r->inserts.n; /* the ith inserted byte is at its off + i */
        while (lo < hi) {
            size_t mid = (lo + hi) / 2;
            if (r->inserts.p[mid].off + mid < b)
                lo = mid + 1;
            else
                hi = mid;
        }
        b -= lo;
    }
    return b > r->src->text.n ? (uint32_t)r->src->text.n : (uint32_t)b;
}

static inline uint32_t byte_of(pdl_yreader *r, size_t cp) {
    bool same = r->ascii && !r->inserts.n && cp <= r->src->text.n;
    return PDL_LIKELY(same) ? (uint32_t)cp : look_up_byte(r, cp);
}

static bool fail_at(pdl_yreader *r, uint32_t off, pdl_err *err, const char *py_class,
                    const char *text) {
    return pdl_yaml_fail(err, r->src, off, py_class, "%s", text);
}

/* --- what libyaml is too kind about ----------------------------------------------------------- */

static char src_at(const pdl_yreader *r, size_t i) {
    return i < r->src->text.n ? r->src->text.p[i] : '\0';
}

/* Is byte `at` of a stretch without scalars (from r->gap on) inside a comment or a directive? */
static bool in_comment(const pdl_yreader *r, size_t at) {
    size_t i = at;
    while (i > r->gap && src_at(r, i - 1) != '\n') i--;
    if (src_at(r, i) == '%' && (i == 0 || src_at(r, i - 1) == '\n')) return true;
    for (; i < at; i++)
        if (src_at(r, i) == '#' && (i == r->gap || strchr(" \t\n,", src_at(r, i - 1)))) return true;
    return false;
}

static size_t tab_from(const pdl_yreader *r, size_t off) {
    return pdl_str_find(r->src->text, PDL_STR("\t"), off);
}

/* The reference takes a tab for no separator: the first one in a gap or a plain scalar before `to`
 * is an error. */
static bool gap_tabs_from(pdl_yreader *r, size_t to, pdl_err *err) {
    while (r->tab < to) {
        if (!in_comment(r, r->tab))
            return fail_at(r, (uint32_t)r->tab, err, "ScannerError",
                           "found character '\\t' that cannot start any token");
        r->tab = tab_from(r, r->tab + 1);
    }
    return true;
}

static inline bool gap_tabs(pdl_yreader *r, size_t to, pdl_err *err) {
    return r->tab >= to ||
           gap_tabs_from(r, to, err); /* no tab: PDL_NOT_FOUND, the largest number */
}

static size_t content_start(const pdl_yreader *r, const pdl_yevent *e) {
    size_t i = e->start;
    while (i < e->end && (src_at(r, i) == '!' || src_at(r, i) == '&')) {
        while (i < e->end && !strchr(" \t\n", src_at(r, i))) i++;
        for (;;) { /* blanks, line ends and comments between properties */
            while (i < e->end && strchr(" \t\n", src_at(r, i))) i++;
            if (src_at(r, i) != '#') break;
            while (i < e->end && src_at(r, i) != '\n') i++;
        }
    }
    return i;
}

static bool bad_char(pdl_yreader *r, uint32_t off, const char *what, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    size_t n = off < r->src->text.n ? pdl_utf8_len((unsigned char)r->src->text.p[off]) : 0;
    pdl_buf_putf(&b, "%s, but found ", what);
    pdl_str_repr(n ? pdl_str_sub(r->src->text, off, off + n) : PDL_STR("\0"), &b);
    fail_at(r, off, err, "ScannerError", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

static const char header_end[] = "expected chomping or indentation indicators";
static const char line_end[] = "expected a comment or a line break";

/* Header of a block scalar: libyaml accepts tabs, and a comment without a blank before it. */
static bool check_header(pdl_yreader *r, size_t i, pdl_err *err) {
    size_t first;
    for (i++; src_at(r, i) && strchr("+-0123456789", src_at(r, i)); i++) {}
    if (src_at(r, i) == '#') return bad_char(r, (uint32_t)i, header_end, err);
    first = i;
    while (src_at(r, i) == ' ') i++;
    if (src_at(r, i) == '\t')
        return bad_char(r, (uint32_t)i, i == first ? header_end : line_end, err);
    return true;
}

static bool check_scalar(pdl_yreader *r, const pdl_yevent *e, pdl_err *err) {
    bool block = e->style == PDL_STYLE_LITERAL || e->style == PDL_STYLE_FOLDED;
    if (!block && (r->tab == PDL_NOT_FOUND || r->tab >= e->end)) return true;
    size_t content = content_start(r, e);
    if (!gap_tabs(r, e->style == PDL_STYLE_PLAIN ? e->end : content, err)) return false;
    if (block && !check_header(r, content, err)) return false;
    if (r->tab != PDL_NOT_FOUND && r->tab < e->end) r->tab = tab_from(r, e->end);
    return true;
}

/* %YAML lines before a document: major.minor, then blanks or the end of the line. */
static bool check_directives(pdl_yreader *r, uint32_t from, uint32_t to, pdl_err *err) {
    pdl_str s = r->src->text;
    for (size_t i = from; i < to;) {
        if (pdl_str_starts(pdl_str_sub(s, i, to), PDL_STR("%YAML "))) {
            size_t p = i + 6;
            while (src_at(r, p) == ' ') p++;
            for (int part = 0; part < 2; part++) {
                if (src_at(r, p) < '0' || src_at(r, p) > '9')
                    return bad_char(r, (uint32_t)p, "expected a digit", err);
                while (src_at(r, p) >= '0' && src_at(r, p) <= '9') p++;
                if (!part && src_at(r, p++) != '.')
                    return bad_char(r, (uint32_t)p - 1, "expected a digit or '.'", err);
            }
            if (!strchr(" \n", src_at(r, p)))
                return bad_char(r, (uint32_t)p, "expected a digit or ' '", err);
            while (src_at(r, p) == ' ') p++;
            if (!strchr("#\n", src_at(r, p))) return bad_char(r, (uint32_t)p, line_end, err);
        }
        i = pdl_str_find(s, PDL_STR("\n"), i);
        if (i == PDL_NOT_FOUND) break;
        i++;
    }
    return true;
}

/* --- errors ----------------------------------------------------------------------------------- */

/* How the reference names tokens; what libyaml calls them. */
static const char *token_name(yaml_token_type_t t) {
    static const struct {
        yaml_token_type_t type;
        const char *name;
    } names[] = {
        {YAML_STREAM_END_TOKEN, "<stream end>"},
        {YAML_VERSION_DIRECTIVE_TOKEN, "<directive>"},
        {YAML_TAG_DIRECTIVE_TOKEN, "<directive>"},
        {YAML_DOCUMENT_START_TOKEN, "<document start>"},
        {YAML_DOCUMENT_END_TOKEN, "<document end>"},
        {YAML_BLOCK_SEQUENCE_START_TOKEN, "<block sequence start>"},
        {YAML_BLOCK_MAPPING_START_TOKEN, "<block mapping start>"},
        {YAML_BLOCK_END_TOKEN, "<block end>"},
        {YAML_FLOW_SEQUENCE_START_TOKEN, "["},
        {YAML_FLOW_SEQUENCE_END_TOKEN, "]"},
        {YAML_FLOW_MAPPING_START_TOKEN, "{"},
        {YAML_FLOW_MAPPING_END_TOKEN, "}"},
        {YAML_BLOCK_ENTRY_TOKEN, "-"},
        {YAML_FLOW_ENTRY_TOKEN, ","},
        {YAML_KEY_TOKEN, "?"},
        {YAML_VALUE_TOKEN, ":"},
        {YAML_ALIAS_TOKEN, "<alias>"},
        {YAML_ANCHOR_TOKEN, "<anchor>"},
        {YAML_TAG_TOKEN, "<tag>"},
        {YAML_SCALAR_TOKEN, "<scalar>"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].type == t) return names[i].name;
    return "<token>";
}

/* Name of the token at a code point: read once more, as tokens. */
static const char *token_at(const pdl_yreader *r, size_t cp) {
    /* A collection that begins here was returned already. */
    bool inside = r->parser.context && r->parser.context_mark.index == cp &&
                  strstr(r->parser.context, "block");
    yaml_parser_t p;
    yaml_token_t t;
    const char *name = "<stream end>";
    begin_parser(&p, given(r));
    for (bool more = true; more && yaml_parser_scan(&p, &t);) {
        bool hit = t.start_mark.index == cp && t.type != YAML_BLOCK_END_TOKEN &&
                   t.type != YAML_STREAM_START_TOKEN;
        if (hit && inside &&
            (t.type == YAML_BLOCK_MAPPING_START_TOKEN || t.type == YAML_BLOCK_SEQUENCE_START_TOKEN))
            inside = hit = false;
        if (hit) name = token_name(t.type);
        more = !hit && t.type != YAML_STREAM_END_TOKEN && t.type != YAML_NO_TOKEN;
        yaml_token_delete(&t);
    }
    yaml_parser_delete(&p);
    return name;
}

/* libyaml's problem -> the reference's. `with`: what follows the text: nothing, the repr of the
 * character at the place, or the name of the token there. */
typedef enum { ALONE, CHAR, TOKEN } with;
static const struct {
    const char *theirs, *ours;
    with with;
    int skip; /* code points from libyaml's place to ours */
} problems[] = {
    {"did not find expected <document start>", "expected '<document start>', but found ", TOKEN, 0},
    {"did not find expected node content", "expected the node content, but found ", TOKEN, 0},
    {"did not find expected '-' indicator", "expected <block end>, but found ", TOKEN, 0},
    {"did not find expected key", "expected <block end>, but found ", TOKEN, 0},
    {"did not find expected ',' or ']'", "expected ',' or ']', but got ", TOKEN, 0},
    {"did not find expected ',' or '}'", "expected ',' or '}', but got ", TOKEN, 0},
    {"found duplicate %YAML directive", "found duplicate YAML directive", ALONE, 0},
    {"found incompatible YAML document",
     "found incompatible YAML document (version 1.* is required)", ALONE, 0},
    {"block sequence entries are not allowed in this context",
     "sequence entries are not allowed here", ALONE, 0},
    {"mapping keys are not allowed in this context", "mapping keys are not allowed here", ALONE, 0},
    {"mapping values are not allowed in this context", "mapping values are not allowed here", ALONE,
     0},
    {"found unexpected document indicator", "found unexpected document separator", ALONE, 0},
    {"did not find expected alphabetic or numeric character",
     "expected alphabetic or numeric character, but found ", CHAR, 0},
    {"could not find expected directive name",
     "expected alphabetic or numeric character, but found ", CHAR, 0},
    {"found unexpected non-alphabetical character",
     "expected alphabetic or numeric character, but found ", CHAR, 0},
    {"did not find expected digit or '.' character", "expected a digit or '.', but found ", CHAR,
     0},
    {"did not find expected version number", "expected a digit, but found ", CHAR, 0},
    {"did not find expected whitespace or line break", "expected ' ', but found ", CHAR, 0},
    {"did not find expected whitespace", "expected ' ', but found ", CHAR, 0},
    {"did not find expected '!'", "expected '!', but found ", CHAR, 0},
    {"did not find expected tag URI", "expected URI, but found ", CHAR, 0},
    {"did not find the expected '>'", "expected '>', but found ", CHAR, 0},
    {"found unknown escape character", "found unknown escape character ", CHAR, 1},
    {"found an indentation indicator equal to 0",
     "expected indentation indicator in the range 1-9, but found 0", ALONE, 0},
    {"found a tab character that violates indentation",
     "found character '\\t' that cannot start any token", ALONE, 0},
    {"found a tab character where an indentation space is expected",
     "found character '\\t' that cannot start any token", ALONE, 0},
};

/* Problems whose text needs more than the table. */
static bool odd_problem(pdl_yreader *r, const char *problem, uint32_t off, pdl_str ch, pdl_buf *b) {
    pdl_str s = r->src->text;
    if (strcmp(problem, "found character that cannot start any token") == 0) {
        PDL_PUT(b, "found character ");
        pdl_str_repr(ch, b);
        PDL_PUT(b, " that cannot start any token");
    } else if (strcmp(problem, "did not find expected comment or line break") == 0) {
        bool header = off && strchr("|>+-0123456789", s.p[off - 1]) && r->parser.context &&
                      strstr(r->parser.context, "block scalar");
        pdl_buf_putf(b, "%s, but found ", header ? header_end : line_end);
        pdl_str_repr(ch, b);
    } else if (strcmp(problem, "did not find expected hexdecimal number") == 0) {
        char kind = off ? s.p[off - 1] : 'x';
        size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8, k = off;
        while (k < s.n && k - off < digits && strchr("0123456789abcdefABCDEF", s.p[k]) && s.p[k])
            k++;
        pdl_buf_putf(b, "expected escape sequence of %zu hexadecimal numbers, but found ", digits);
        pdl_str_repr(k < s.n ? pdl_str_sub(s, k, k + pdl_utf8_len((unsigned char)s.p[k]))
                             : PDL_STR("\0"),
                     b);
    } else if (strcmp(problem, "found undefined tag handle") == 0) {
        size_t end = off + 1;
        while (end < s.n && s.p[end] != '!' && !strchr(" \n", s.p[end])) end++;
        PDL_PUT(b, "found undefined tag handle ");
        pdl_str_repr(pdl_str_sub(s, off, end + 1), b);
    } else {
        return false;
    }
    return true;
}

/* Width of the indentation found before a tab, in the reference's way of detecting it: is the tab
 * then content? */
static bool tab_is_content(pdl_yreader *r, uint32_t off, uint32_t header) {
    pdl_str s = r->src->text;
    int parent = r->parser.indent < 0 ? 0 : r->parser.indent,
        indent = r->parser.indent + 1 < 1 ? 1 : r->parser.indent + 1, column = 0;
    size_t i = header + 1;
    for (; i < s.n && strchr("+-0123456789", s.p[i]); i++)
        if (s.p[i] >= '1' && s.p[i] <= '9') return false; /* explicit: libyaml is right */
    i = pdl_str_find(s, PDL_STR("\n"), i);
    for (i = i == PDL_NOT_FOUND ? s.n : i + 1; i <= off && i < s.n; i++) {
        column = s.p[i] == ' ' ? column + 1 : s.p[i] == '\n' ? 0 : column;
        if (column > indent) indent = column;
    }
    return column == indent && indent - parent <= 9 && indent - parent >= 1 &&
           add_byte(r, header + 1, (char)('0' + indent - parent));
}

/* Can the text be spelled so that libyaml reads it as the reference does? */
static bool respell(pdl_yreader *r, uint32_t off, uint32_t context) {
    const char *p = r->parser.problem;
    pdl_str s = r->src->text;
    if (strcmp(p, "did not find expected whitespace or line break") == 0 &&
        strchr(",[]", src_at(r, off)))
        return src_at(r, off) && respell_tag(r, context, off + 1);
    if (strcmp(p, "found invalid Unicode character escape code") == 0)
        return respell_surrogates(r, off);
    if (strcmp(p, "found unexpected ':'") == 0) return pdl_yreader_space(r, off);
    if (strcmp(p, "found a tab character where an indentation space is expected") == 0)
        return tab_is_content(r, off, context);
    if (strcmp(p, "found unknown directive name") == 0 && src_at(r, context) == '%' &&
        may_restart(r, off)) {
        overwrite(r, context, '#');
        if (context >= r->directive) r->directive = context + 1;
        return r->again = true;
    }
    if (strcmp(p, "found incompatible YAML document") == 0) {
        size_t i = off;
        while (i < s.n && s.p[i] != '.' && s.p[i] != '\n') i++;
        bool one = i > off && s.p[i - 1] == '1' && i > 1 && s.p[i - 2] == ' ';
        if (src_at(r, off) != '%' || !one || src_at(r, i) != '.' || !may_restart(r, off))
            return false;
        overwrite(r, ++i, '1');
        for (i++; src_at(r, i) >= '0' && src_at(r, i) <= '9'; i++) overwrite(r, i, ' ');
        return r->again = true;
    }
    return false;
}

/* After a key indicator without a key, `[?]` or `[?, a]`, libyaml drops the next token: it is given
 * a ':' to drop. */
static bool respell_key(pdl_yreader *r, uint32_t off, uint32_t context) {
    pdl_str s = r->src->text;
    if (r->parser.error != YAML_PARSER_ERROR || !r->parser.context ||
        !strstr(r->parser.context, "flow sequence"))
        return false;
    for (size_t i = context + 1, k; i < off && i < s.n; i++) {
        if (s.p[i] != '?' || !strchr("[, \n", s.p[i - 1])) continue;
        for (k = i + 1; k < s.n && (s.p[k] == ' ' || s.p[k] == '\n'); k++) {}
        if (k >= s.n || (s.p[k] != ',' && s.p[k] != ']')) continue;
        bool done = false;
        for (size_t j = 0; j < r->inserts.n && !done; j++) done = r->inserts.p[j].off == i + 1;
        if (!done) return add_byte(r, (uint32_t)i + 1, ' ') && add_byte(r, (uint32_t)i + 1, ':');
    }
    return false;
}

static bool translate(pdl_yreader *r, pdl_err *err) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) pdl_out_of_memory(r->src->text.n);
    const char *py_class = p->error == YAML_SCANNER_ERROR  ? "ScannerError"
                           : p->error == YAML_PARSER_ERROR ? "ParserError"
                                                           : "ReaderError";
    const char *problem = p->problem ? p->problem : "cannot be read";
    if (p->error != YAML_SCANNER_ERROR && p->error != YAML_PARSER_ERROR)
        return fail_at(r, 0, err, py_class, problem);
    uint32_t off = byte_of(r, p->problem_mark.index),
             context = p->context ? byte_of(r, p->context_mark.index) : off;
    bool quoted =
        p->context && (strstr(p->context, "quoted") || strstr(p->context, "block scalar"));
    if (!gap_tabs(r, quoted ? context : off, err)) return false;
    if (respell(r, off, context) || respell_key(r, off, context)) return false;
    pdl_buf b = PDL_BUF;
    int skip = 0;
    size_t i = 0, n = sizeof problems / sizeof problems[0];
    while (i < n && strcmp(problems[i].theirs, problem) != 0) i++;
    if (i < n) skip = problems[i].skip;
    for (int k = 0; k < skip && off < r->src->text.n; k++)
        off += (uint32_t)pdl_utf8_len((unsigned char)r->src->text.p[off]);
    pdl_str ch =
        off < r->src->text.n
            ? pdl_str_sub(r->src->text, off, off + pdl_utf8_len((unsigned char)r->src->text.p[off]))
            : PDL_STR("\0");
    if (i < n) {
        pdl_buf_put(&b, pdl_str_of(problems[i].ours));
        if (problems[i].with == CHAR) pdl_str_repr(ch, &b);
        if (problems[i].with == TOKEN)
            pdl_str_repr(pdl_str_of(token_at(r, p->problem_mark.index)), &b);
    } else if (!odd_problem(r, problem, off, ch, &b)) {
        pdl_buf_put(&b, pdl_str_of(problem));
    }
    fail_at(r, off, err, py_class, pdl_buf_z(&b));
    pdl_yaml_advise(err);
    pdl_buf_fini(&b);
    return false;
}

/* --- events ----------------------------------------------------------------------------------- */

static pdl_str z(const unsigned char *p) { return p ? pdl_str_of((const char *)p) : (pdl_str){0}; }

static void take_scalar(const yaml_event_t *ye, pdl_yevent *e) {
    static const pdl_node_style styles[] = {
        [YAML_PLAIN_SCALAR_STYLE] = PDL_STYLE_PLAIN,
        [YAML_SINGLE_QUOTED_SCALAR_STYLE] = PDL_STYLE_SINGLE,
        [YAML_DOUBLE_QUOTED_SCALAR_STYLE] = PDL_STYLE_DOUBLE,
        [YAML_LITERAL_SCALAR_STYLE] = PDL_STYLE_LITERAL,
        [YAML_FOLDED_SCALAR_STYLE] = PDL_STYLE_FOLDED,
    };
    e->kind = PDL_YEV_SCALAR;
    e->anchor = z(ye->data.scalar.anchor);
    e->tag = z(ye->data.scalar.tag);
    e->text = (pdl_str){(const char *)ye->data.scalar.value, ye->data.scalar.length};
    e->style = styles[ye->data.scalar.style];
    e->plain = ye->data.scalar.plain_implicit != 0;
    if (pdl_str_is(e->tag, "!")) { /* the non-specific tag of an empty node */
        e->tag = (pdl_str){0};
        e->plain = true;
    }
}

/* A document that begins, or a stream that ends, without "---"; not after a directive that libyaml
 * did not see. */
static bool need_start(pdl_yreader *r, const yaml_event_t *ye, uint32_t off, pdl_err *err) {
    if (r->directive <= r->gap || r->directive > off + 1) return true;
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "expected '<document start>', but found ");
    pdl_str_repr(pdl_str_of(token_at(r, ye->start_mark.index)), &b);
    fail_at(r, off, err, "ParserError", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

static bool take(pdl_yreader *r, const yaml_event_t *ye, pdl_yevent *e, pdl_err *err) {
    memset(e, 0, sizeof *e);
    e->start = byte_of(r, ye->start_mark.index);
    e->end = byte_of(r, ye->end_mark.index);
    switch ((int)ye->type) {
    case YAML_SCALAR_EVENT:
        take_scalar(ye, e);
        if (!gap_tabs(r, e->start, err) || !check_scalar(r, e, err)) return false;
        if (r->patched.len && e->style == PDL_STYLE_DOUBLE) e->text = join_surrogates(r, e);
        if (e->end > e->start) r->gap = e->end;
        return true;
    case YAML_SEQUENCE_START_EVENT:
        e->kind = PDL_YEV_SEQ;
        e->anchor = z(ye->data.sequence_start.anchor);
        e->tag = z(ye->data.sequence_start.tag);
        e->style = ye->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE ? PDL_STYLE_FLOW
                                                                             : PDL_STYLE_BLOCK;
        break;
    case YAML_MAPPING_START_EVENT:
        e->kind = PDL_YEV_MAP;
        e->anchor = z(ye->data.mapping_start.anchor);
        e->tag = z(ye->data.mapping_start.tag);
        e->style = ye->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE ? PDL_STYLE_FLOW
                                                                           : PDL_STYLE_BLOCK;
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: e->kind = PDL_YEV_CLOSE; break;
    case YAML_ALIAS_EVENT:
        e->kind = PDL_YEV_ALIAS;
        e->anchor = z(ye->data.alias.anchor);
        break;
    case YAML_DOCUMENT_START_EVENT:
        e->kind = PDL_YEV_DOC;
        if (!check_directives(r, r->gap, e->end, err)) return false;
        if (ye->data.document_start.implicit && !need_start(r, ye, e->start, err)) return false;
        break;
    case YAML_STREAM_END_EVENT:
        e->kind = PDL_YEV_STOP;
        return gap_tabs(r, r->src->text.n, err) && need_start(r, ye, e->start, err);
    default: e->kind = PDL_YEV_STOP; break;
    }
    if (pdl_str_is(e->tag, "!")) e->tag = (pdl_str){0};
    e->plain = !e->tag.n;
    if (!gap_tabs(r, e->start, err)) return false;
    if (e->kind == PDL_YEV_DOC && !ye->data.document_start.implicit) r->gap = e->end;
    return true;
}

bool pdl_yreader_next(pdl_yreader *r, pdl_yevent *e, pdl_err *err) {
    for (;;) {
        if (r->have_event) yaml_event_delete(&r->event);
        r->have_event = false;
        if (!yaml_parser_parse(&r->parser, &r->event)) return translate(r, err);
        r->have_event = true;
        if (r->event.type != YAML_STREAM_START_EVENT && r->event.type != YAML_DOCUMENT_END_EVENT)
            break;
    }
    if (!take(r, &r->event, e, err)) return false;
    return !e->tag.n || !respell_tag(r, e->start, e->start + (uint32_t)e->tag.n);
}
