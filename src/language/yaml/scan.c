/* scan.c -- see scan.h: finds the next token, and with it the indentation and the keys of mappings.
 *
 * All decisions are made in the order of PyYAML's scanner. So when a text has several mistakes, the
 * one that PyYAML reports is found first. PyYAML searches all candidates for keys at each token.
 * Here the work for each byte is constant: an outer level has an older candidate than an inner
 * level, so the candidates that can no longer be keys are those of the outermost levels. oldest_key
 * passes over each of them once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/scan.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"
#include "value/text.h"
#include "yaml/events.h"
#include "yaml/run.h"

#include "base/banned.h"

enum { LONGEST_KEY = 1024, COMPACT_FROM = 4096 };

/* clang-format off */
#define E    PDL_YC_END | PDL_YC_BLOCK | PDL_YC_FLOW | PDL_YC_SINGLE | PDL_YC_DOUBLE
#define P    PDL_YC_BLOCK | PDL_YC_FLOW
#define W    PDL_YC_WORD | PDL_YC_URI
#define F    PDL_YC_FLOW
#define U    PDL_YC_URI
const uint8_t pdl_yclass[256] = {
    /* control characters from NUL on */
    E, E, E, E, E, E, E, E, E, E | PDL_YC_BLANK, E, E, E, E, E, E, /* the tenth is the tab */
    E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E,
    [0xc2] = E,    [0xe2] = E,    [' '] = PDL_YC_BLANK,
    [':'] = P | U, ['#'] = P,     ['"'] = PDL_YC_DOUBLE,
    [','] = F | U, ['?'] = F | U, ['\\'] = PDL_YC_DOUBLE,
    ['['] = F | U, [']'] = F | U, ['\''] = PDL_YC_SINGLE | U,
    ['{'] = F,     ['}'] = F,     ['-'] = W,
    ['_'] = W,     [';'] = U,
    ['/'] = U,     ['@'] = U,     ['&'] = U,     ['='] = U,
    ['+'] = U,     ['$'] = U,     ['.'] = U,     ['!'] = U,
    ['~'] = U,     ['*'] = U,     ['('] = U,     [')'] = U,
    ['%'] = U,     ['0'] = W,     ['1'] = W,     ['2'] = W,
    ['3'] = W,     ['4'] = W,     ['5'] = W,     ['6'] = W,
    ['7'] = W,     ['8'] = W,     ['9'] = W,     ['A'] = W,
    ['B'] = W,     ['C'] = W,     ['D'] = W,     ['E'] = W,
    ['F'] = W,     ['G'] = W,     ['H'] = W,     ['I'] = W,
    ['J'] = W,     ['K'] = W,     ['L'] = W,     ['M'] = W,
    ['N'] = W,     ['O'] = W,     ['P'] = W,     ['Q'] = W,
    ['R'] = W,     ['S'] = W,     ['T'] = W,     ['U'] = W,
    ['V'] = W,     ['W'] = W,     ['X'] = W,     ['Y'] = W,
    ['Z'] = W,     ['a'] = W,     ['b'] = W,     ['c'] = W,
    ['d'] = W,     ['e'] = W,     ['f'] = W,     ['g'] = W,
    ['h'] = W,     ['i'] = W,     ['j'] = W,     ['k'] = W,
    ['l'] = W,     ['m'] = W,     ['n'] = W,     ['o'] = W,
    ['p'] = W,     ['q'] = W,     ['r'] = W,     ['s'] = W,
    ['t'] = W,     ['u'] = W,     ['v'] = W,     ['w'] = W,
    ['x'] = W,     ['y'] = W,     ['z'] = W,
};
#undef E
#undef P
#undef W
#undef F
#undef U
/* clang-format on */

const char *pdl_ytoken_name(pdl_yt_kind k) {
    static const char *const names[] = {
#define X(id, name) name,
        PDL_YAML_TOKENS(X)
#undef X
    };
    return names[k];
}

/* Returns true when the invariants of a scanner hold: its place is inside of its text, each open
 * level has its entry in keys, and the queue is not read beyond its end. */
static inline bool scan_ok(const pdl_yscan *s) {
    bool is_inside = s->text <= s->line && s->line <= s->pos && s->pos <= s->end;
    return is_inside && s->keys.n > s->flow && s->head <= s->queue.n &&
           (s->indent >= 0 || !s->indents.n);
}

/* --- life ------------------------------------------------------------------------------------- */

void pdl_yscan_init(pdl_yscan *s, const pdl_source *src) {
    *s = (pdl_yscan){
        .src = src, .indent = -1, .allow_key = true, .texts = PDL_BUF, .names = PDL_BUF};
    s->text = s->pos = s->line = s->column_at = src->text.p;
    s->end = s->text + src->text.n;
    s->high = src->simple ? s->end : s->text;
    *pdl_vec_push(&s->keys) = (pdl_ykey){0};
}

void pdl_yscan_fini(pdl_yscan *s) {
    pdl_vec_fini(&s->indents);
    pdl_vec_fini(&s->keys);
    pdl_vec_fini(&s->queue);
    pdl_vec_fini(&s->tagdirs);
    pdl_buf_fini(&s->texts);
    pdl_buf_fini(&s->names);
}

/* --- places and failures ---------------------------------------------------------------------- */

/* Counts byte order marks, which have no column. */
static uint32_t count_marks(pdl_str s) {
    uint32_t n = 0;
    if (!pdl_byte_in('\xef', s)) return 0;
    for (size_t at = 0; (at = pdl_str_find(s, PDL_STR("\xef\xbb\xbf"), at)) != PDL_NOT_FOUND; at++)
        n++;
    return n;
}

/* Counts columns from the last place whose column was needed, so a line is counted once. */
uint32_t pdl_ycolumn_slow(pdl_yscan *s, const char *p) {
    if (s->high <= s->line) {
        s->high = pdl_yrun_ascii(s->line, s->end);
        if (p <= s->high) return (uint32_t)(p - s->line);
    }
    if (s->column_at < s->line || s->column_at > p) {
        s->column_at = s->line;
        s->column_cp = 0;
    }
    pdl_str part = {s->column_at, (size_t)(p - s->column_at)};
    s->column_cp += (uint32_t)pdl_utf8_count(part) - count_marks(part);
    s->column_at = p;
    return s->column_cp;
}

PDL_PRINTF(4, 0)
static bool fail(pdl_yscan *s, const char *at, const char *shown, const char *fmt, va_list ap) {
    pdl_buf b = PDL_BUF;
    pdl_buf_vputf(&b, fmt, ap);
    if (shown)
        pdl_str_repr((pdl_str){shown, shown < s->end ? pdl_utf8_len((unsigned char)*shown) : 1},
                     &b);
    pdl_yaml_fail(s->err, s->src, pdl_yoff(s, at), "ScannerError", "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

bool pdl_yfail(pdl_yscan *s, const char *at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail(s, at, NULL, fmt, ap);
    va_end(ap);
    return false;
}

bool pdl_yfail_shown(pdl_yscan *s, const char *at, const char *shown, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail(s, at, shown, fmt, ap);
    va_end(ap);
    return false;
}

/* --- the queue -------------------------------------------------------------------------------- */

PDL_COLD void pdl_ylog_token(pdl_yscan *s, const pdl_ytoken *t) {
    static const pdl_ytree_token_kind kinds[] = {
        [PDL_YT_KEY] = PDL_YTREE_KEY_TOKEN,
        [PDL_YT_VALUE] = PDL_YTREE_VALUE_TOKEN,
        [PDL_YT_BLOCK_ENTRY] = PDL_YTREE_ENTRY_TOKEN,
        [PDL_YT_FLOW_SEQ] = PDL_YTREE_SEQ_OPEN_TOKEN,
        [PDL_YT_FLOW_SEQ_END] = PDL_YTREE_SEQ_CLOSE_TOKEN,
        [PDL_YT_FLOW_MAP] = PDL_YTREE_MAP_OPEN_TOKEN,
        [PDL_YT_FLOW_MAP_END] = PDL_YTREE_MAP_CLOSE_TOKEN,
        [PDL_YT_FLOW_ENTRY] = PDL_YTREE_COMMA_TOKEN,
        [PDL_YT_ALIAS] = PDL_YTREE_ALIAS_TOKEN,
        [PDL_YT_ANCHOR] = PDL_YTREE_ANCHOR_TOKEN,
        [PDL_YT_TAG] = PDL_YTREE_TAG_TOKEN,
        [PDL_YT_SCALAR] = PDL_YTREE_SCALAR_TOKEN,
        [PDL_YT_DIRECTIVE] = PDL_YTREE_DIRECTIVE_TOKEN,
        [PDL_YT_DOC_START] = PDL_YTREE_DOC_START_TOKEN,
        [PDL_YT_DOC_END] = PDL_YTREE_DOC_END_TOKEN,
    };
    if (t->end > t->start) pdl_ylog_add(s->log, kinds[t->kind], t->start, t->end);
}

static void push_at(pdl_yscan *s, pdl_yt_kind kind) {
    pdl_ypush(s, kind, s->pos, s->pos)->extra = s->indent < 0 ? 0 : (uint32_t)s->indent;
}

PDL_COLD static void compact(pdl_yscan *s) {
    s->taken += s->head;
    s->queue.n -= s->head;
    memmove(s->queue.p, s->queue.p + s->head, s->queue.n * sizeof *s->queue.p);
    s->head = 0;
}

/* --- simple keys ------------------------------------------------------------------------------ */

static void kill_key(pdl_yscan *s, pdl_ykey *k) {
    k->live = false;
    s->queue.p[k->token - s->taken].kind = PDL_YT_DEAD;
}

PDL_COLD static bool fail_required(pdl_yscan *s, const pdl_ykey *k) {
    s->context = k->start;
    return pdl_yfail(s, s->pos, "could not find expected ':'");
}

/* Returns true when more than LONGEST_KEY characters are between the key and here. Byte order marks
 * count as characters here, although they have no column. */
static bool is_too_long(pdl_yscan *s, const pdl_ykey *k) {
    size_t n = (size_t)(s->pos - s->text) - k->start;
    if (n <= LONGEST_KEY || n > 4 * LONGEST_KEY) return n > LONGEST_KEY;
    return pdl_utf8_count((pdl_str){s->text + k->start, n}) > LONGEST_KEY;
}

/* Drops keys whose line has ended, or that are too long. */
static bool drop_old_keys(pdl_yscan *s) {
    for (; s->oldest_key <= s->flow; s->oldest_key++) {
        pdl_ykey *k = &s->keys.p[s->oldest_key];
        if (!k->live) continue;
        if (k->line == pdl_yoff(s, s->line) && !is_too_long(s, k)) return true;
        if (k->required) return fail_required(s, k);
        kill_key(s, k);
    }
    return true;
}

static inline bool drop_stale_keys(pdl_yscan *s) {
    return PDL_LIKELY(s->oldest_key > s->flow) || drop_old_keys(s);
}

static inline bool remove_key(pdl_yscan *s) {
    pdl_ykey *k = &s->keys.p[s->flow];
    if (!k->live) return true;
    if (k->required) return fail_required(s, k);
    kill_key(s, k);
    return true;
}

/* Notes that a key may begin here. */
static inline bool save_key(pdl_yscan *s) {
    if (!s->allow_key) return true;
    uint32_t column = pdl_ycolumn(s);
    if (!remove_key(s)) return false;
    s->keys.p[s->flow] = (pdl_ykey){.live = true,
                                    .required = !s->flow && s->indent == (int32_t)column,
                                    .token = s->taken + s->queue.n,
                                    .start = pdl_yoff(s, s->pos),
                                    .column = column,
                                    .line = pdl_yoff(s, s->line)};
    if (s->flow < s->oldest_key) s->oldest_key = s->flow;
    pdl_ypush(s, PDL_YT_CANDIDATE, s->pos, s->pos);
    return true;
}

/* --- indentation ------------------------------------------------------------------------------ */

static inline void unwind_indent(pdl_yscan *s, int32_t column) {
    while (!s->flow && s->indent > column) {
        push_at(s, PDL_YT_BLOCK_END);
        s->indent = s->indents.p[--s->indents.n];
    }
}

static inline bool add_indent(pdl_yscan *s, uint32_t column) {
    if (s->indent >= (int32_t)column) return false;
    *pdl_vec_push(&s->indents) = s->indent;
    s->indent = (int32_t)column;
    return true;
}

/* --- fetching tokens -------------------------------------------------------------------------- */

void pdl_yscan_comment(pdl_yscan *s) {
    const char *start = s->pos;
    s->pos = pdl_yline_end(start);
    if (s->log)
        pdl_ylog_add(s->log, PDL_YTREE_COMMENT_TOKEN, pdl_yoff(s, start), pdl_yoff(s, s->pos));
}

/* Skips blanks, comments and line ends. A tab does not count as a blank here. */
static inline void pass_space(pdl_yscan *s) {
    if (s->pos == s->text && s->end - s->pos >= 3 && memcmp(s->pos, "\xef\xbb\xbf", 3) == 0)
        s->pos += 3;
    for (;;) {
        s->pos = pdl_yrun_spaces(s->pos);
        if (*s->pos == '#') pdl_yscan_comment(s);
        uint32_t n = pdl_ybreak(s->pos);
        if (!n) return;
        pdl_ynext_line(s, n);
        if (!s->flow) s->allow_key = true;
    }
}

PDL_COLD static bool fetch_end(pdl_yscan *s) {
    unwind_indent(s, -1);
    if (!remove_key(s)) return false;
    for (uint32_t i = 0; i <= s->flow; i++)
        if (s->keys.p[i].live) kill_key(s, &s->keys.p[i]);
    s->oldest_key = s->flow + 1;
    s->allow_key = false;
    pdl_ypush(s, PDL_YT_STREAM_END, s->pos, s->pos);
    s->done = true;
    return true;
}

/* Makes the token of a directive or document mark, which ends all block collections. */
PDL_COLD static bool fetch_mark(pdl_yscan *s, pdl_yt_kind kind) {
    unwind_indent(s, -1);
    if (!remove_key(s)) return false;
    s->allow_key = false;
    if (kind == PDL_YT_DIRECTIVE) return pdl_yscan_directive(s);
    s->pos += 3;
    pdl_ypush(s, kind, s->pos - 3, s->pos);
    return true;
}

/* Makes the token of an indicator of one byte. */
static inline bool fetch_one(pdl_yscan *s, pdl_yt_kind kind) {
    s->pos++;
    pdl_ypush(s, kind, s->pos - 1, s->pos);
    return true;
}

static bool fetch_flow_start(pdl_yscan *s, pdl_yt_kind kind) {
    if (!save_key(s)) return false;
    if (!s->flow++) s->flow_start = pdl_yoff(s, s->pos);
    if (s->keys.n <= s->flow) (void)pdl_vec_push(&s->keys);
    s->keys.p[s->flow].live = false;
    s->allow_key = true;
    return fetch_one(s, kind);
}

/* Ends a flow collection. When no flow collection is open, the parser refuses this token before the
 * scanner reads on. */
static bool fetch_flow_end(pdl_yscan *s, pdl_yt_kind kind) {
    if (!remove_key(s)) return false;
    if (s->flow) s->flow--;
    s->allow_key = false;
    return fetch_one(s, kind);
}

static bool fetch_flow_entry(pdl_yscan *s) {
    s->allow_key = true;
    return remove_key(s) && fetch_one(s, PDL_YT_FLOW_ENTRY);
}

static bool fetch_block_entry(pdl_yscan *s) {
    if (!s->flow) {
        if (!s->allow_key) return pdl_yfail(s, s->pos, "sequence entries are not allowed here");
        if (add_indent(s, pdl_ycolumn(s))) push_at(s, PDL_YT_SEQ_START);
    }
    s->allow_key = true;
    return remove_key(s) && fetch_one(s, PDL_YT_BLOCK_ENTRY);
}

static bool fetch_key(pdl_yscan *s) {
    if (!s->flow) {
        if (!s->allow_key) return pdl_yfail(s, s->pos, "mapping keys are not allowed here");
        if (add_indent(s, pdl_ycolumn(s))) push_at(s, PDL_YT_MAP_START);
    }
    s->allow_key = !s->flow;
    return remove_key(s) && fetch_one(s, PDL_YT_KEY);
}

/* Handles the ':' that makes the candidate of this level a key. */
static inline void settle_key(pdl_yscan *s, pdl_ykey *k) {
    pdl_ytoken *t = &s->queue.p[k->token - s->taken];
    bool begins = !s->flow && add_indent(s, k->column);
    t->kind = begins ? PDL_YT_MAP_KEY : PDL_YT_KEY;
    t->extra = k->column;
    k->live = false;
    s->allow_key = false;
}

static bool fetch_value(pdl_yscan *s) {
    pdl_ykey *k = &s->keys.p[s->flow];
    if (k->live) {
        settle_key(s, k);
        return fetch_one(s, PDL_YT_VALUE);
    }
    if (!s->flow) {
        if (!s->allow_key) return pdl_yfail(s, s->pos, "mapping values are not allowed here");
        if (add_indent(s, pdl_ycolumn(s))) push_at(s, PDL_YT_MAP_START);
    }
    s->allow_key = !s->flow;
    return remove_key(s) && fetch_one(s, PDL_YT_VALUE);
}

/* Supplies a ':' without width for a word that is where a key must be. */
PDL_COLD static void supply_value(pdl_yscan *s) {
    pdl_ykey *k = &s->keys.p[0];
    const pdl_ytoken t = s->queue.p[s->queue.n - 1];
    if (t.kind != PDL_YT_SCALAR || t.start != k->start || !pdl_ytolerant_key(s, k, t.end)) return;
    bool new_line = k->line != pdl_yoff(s, s->line);
    settle_key(s, k);
    s->allow_key = new_line;
    pdl_ypush(s, PDL_YT_VALUE, s->text + t.end, s->text + t.end);
}

/* Returns true when the text of candidate k is certainly a key: its ':' is at the cursor. */
static inline bool is_key_now(const pdl_yscan *s, const pdl_ykey *k) {
    return *s->pos == ':' && k->live && k->line == pdl_yoff(s, s->line) &&
           pdl_yoff(s, s->pos) - k->start <= LONGEST_KEY &&
           (s->flow || pdl_yblank_or_end(s->pos + 1));
}

/* Reads content that may be a key. No further key may begin after it on the line. When its ':'
 * follows directly, the tokens of the key are made here, so that the reader gets all three tokens
 * at once. */
static inline bool fetch_content(pdl_yscan *s, bool (*scan)(pdl_yscan *)) {
    if (!save_key(s)) return false;
    s->allow_key = false;
    if (!scan(s)) return false;
    pdl_ykey *k = &s->keys.p[s->flow];
    if (PDL_UNLIKELY(s->tolerant)) {
        if (!s->flow && k->live) supply_value(s);
    } else if (is_key_now(s, k)) {
        s->context = pdl_yoff(s, s->pos);
        settle_key(s, k);
        if (s->oldest_key == s->flow) s->oldest_key++;
        return fetch_one(s, PDL_YT_VALUE);
    }
    return true;
}

static bool fetch_block_scalar(pdl_yscan *s) {
    s->allow_key = true;
    return remove_key(s) && pdl_yscan_block(s);
}

PDL_COLD static bool fail_start(pdl_yscan *s) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "found character ");
    pdl_str_repr((pdl_str){s->pos, pdl_utf8_len((unsigned char)*s->pos)}, &b);
    pdl_yfail(s, s->pos, "%s that cannot start any token", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* This function is a flat switch over the first byte of a token. A byte without a case begins a
 * plain scalar. */
static inline bool fetch_token(pdl_yscan *s) {
    const char *p = s->pos;
    switch (*p) {
    case '\0':
        if (p >= s->end) return fetch_end(s);
        break;
    case '%':
        if (!pdl_ycolumn(s)) return fetch_mark(s, PDL_YT_DIRECTIVE);
        return fail_start(s);
    case '[': return fetch_flow_start(s, PDL_YT_FLOW_SEQ);
    case '{': return fetch_flow_start(s, PDL_YT_FLOW_MAP);
    case ']': return fetch_flow_end(s, PDL_YT_FLOW_SEQ_END);
    case '}': return fetch_flow_end(s, PDL_YT_FLOW_MAP_END);
    case ',': return fetch_flow_entry(s);
    case '-':
    case '.':
        if (pdl_yis_separator(p) && !pdl_ycolumn(s))
            return fetch_mark(s, *p == '-' ? PDL_YT_DOC_START : PDL_YT_DOC_END);
        if (*p == '-' && pdl_yblank_or_end(p + 1)) return fetch_block_entry(s);
        break;
    case '?':
        if (s->flow || pdl_yblank_or_end(p + 1)) return fetch_key(s);
        break;
    case ':':
        if (s->flow || pdl_yblank_or_end(p + 1)) return fetch_value(s);
        break;
    case '*':
    case '&': return fetch_content(s, pdl_yscan_anchor);
    case '!': return fetch_content(s, pdl_yscan_tag);
    case '\'':
    case '"': return fetch_content(s, pdl_yscan_quoted);
    case '|':
    case '>': return s->flow ? fail_start(s) : fetch_block_scalar(s);
    case '\t':
    case '#':
    case '@':
    case '`': return fail_start(s);
    default: break;
    }
    return fetch_content(s, pdl_yscan_plain);
}

/* Fails where a tolerant scanner ends a flow collection, because an entry outside of it begins.
 * Returns true everywhere else. */
PDL_COLD static bool flow_continues(pdl_yscan *s) {
    if (!s->flow || !pdl_ytolerant_ends(s, s->text + s->flow_start)) return true;
    return pdl_yfail(s, s->pos, "expected ',' or the end of the collection");
}

static inline bool fetch(pdl_yscan *s) {
    pass_space(s);
    s->context = pdl_yoff(s, s->pos);
    if (PDL_UNLIKELY(s->tolerant) && !flow_continues(s)) return false;
    if (!drop_stale_keys(s)) return false;
    if (!s->flow && s->indent >= 0) unwind_indent(s, (int32_t)pdl_ycolumn(s));
    return fetch_token(s);
}

const pdl_ytoken *pdl_yscan_fill(pdl_yscan *s) {
    assert(scan_ok(s));
    for (;;) {
        while (s->head < s->queue.n && s->queue.p[s->head].kind == PDL_YT_DEAD) s->head++;
        if (s->head == s->queue.n) {
            s->taken += s->queue.n;
            s->queue.n = s->head = 0;
            s->texts.len = 0;
        } else {
            if (s->done) return &s->queue.p[s->head];
            if (!drop_stale_keys(s)) return NULL;
            pdl_yt_kind next = s->queue.p[s->head].kind;
            if (next == PDL_YT_DEAD) continue;
            if (next != PDL_YT_CANDIDATE) return &s->queue.p[s->head];
            if (s->head >= COMPACT_FROM && s->head > s->queue.n / 2) compact(s);
        }
        if (!fetch(s)) return NULL;
    }
}
