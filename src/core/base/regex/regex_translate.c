/* regex_translate.c -- see regex_translate.h.
 *
 * PCRE2 accepts most of Python's syntax, but some of it has another meaning there, and its error
 * messages are different. So a program would match differently here and in the reference. Therefore
 * one pass of recursive descent checks a pattern as Python does, with Python's messages, and writes
 * each construct in a spelling that Python and PCRE2 read alike. Literals are always escaped,
 * classes that Python and PCRE2 define differently are spelled out, and named groups become
 * numbered groups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex/regex_translate.h"

#include "base/regex/regex_flags.h"
#include "base/regex/regex_scan.h"
#include "base/utf8.h"
#include "base/vec.h"

#include "base/banned.h"

enum {
    MAX_NESTING = 200,  /* PCRE2 recurses in C, too */
    MAX_REPEAT = 65535, /* a limit of PCRE2 */
    MAX_GROUPS = 65535, /* a limit of PCRE2 */
};
/* this is Python's MAXREPEAT, above which widths and repetitions do not grow */
#define ENDLESS UINT64_C(0xffffffff)

/* The lowest and the highest number of characters that a part of the pattern can match. */
typedef struct {
    uint64_t lo, hi;
} width;

typedef struct {
    width width;
    bool closed;
} group;

/* A reference to a group by its number in a condition. References are checked at the end. */
typedef struct {
    size_t number, pos;
} condition;

typedef struct {
    pdl_rx_scan s;
    pdl_regex_text *out;
    unsigned flags;
    size_t nesting;
    PDL_VEC(group) groups; /* the group with this number is groups.p[number - 1] */
    PDL_VEC(condition) conditions;
    /* one more than the number of groups before the look-behind; 0 outside of a look-behind */
    size_t behind;
    bool behind_varies; /* the pattern has a look-behind without a fixed width */
} reader;

/* A sequence that is being built. */
typedef enum { ITEM_NONE, ITEM_PLACE, ITEM_REPEAT, ITEM_OTHER } item_kind;
typedef struct {
    item_kind last;
    width total, last_width; /* width before the last item, and of the last item */
    /* the sequence begins the pattern, where flags for the whole pattern are allowed */
    bool first;
} sequence;

static const width no_width = {0, 0}, one_character = {1, 1};

static uint64_t capped(uint64_t x) { return x > ENDLESS ? ENDLESS : x; }
static width add(width a, width b) { return (width){capped(a.lo + b.lo), capped(a.hi + b.hi)}; }
static width times(width a, uint64_t lo, uint64_t hi) {
    return (width){capped(a.lo * lo), a.hi == 0 ? 0 : capped(a.hi * hi)};
}
static width either(width a, width b) {
    return (width){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static void append(sequence *q, item_kind kind, width w) {
    q->total = add(q->total, q->last_width);
    q->last = kind;
    q->last_width = w;
}

static bool fail_overflow(reader *x, const char *msg) {
    pdl_err_set(x->s.err, PDL_E_parser, (pdl_loc){0}, "%s", msg);
    x->s.err->py_class = pdl_str_dup(PDL_STR("OverflowError"));
    return false;
}

/* Writing */

#define PUT(x, lit) PDL_PUT(&(x)->out->text, lit)

static bool nocase_ascii(const reader *x) {
    return (x->flags & PDL_RX_NOCASE) && (x->flags & PDL_RX_ASCII);
}
static bool nocase_unicode(const reader *x) {
    return (x->flags & PDL_RX_NOCASE) && !(x->flags & PDL_RX_ASCII);
}

/* Letters that are equal for Python, but not for PCRE2, when case is ignored. */
static const struct {
    uint32_t letters[4]; /* the array ends with zeros */
    const char *items;
} same_letters[] = {
    {{'I', 'i', 0x130, 0x131}, "Ii\\x{130}\\x{131}"},
    {{0x390, 0x1fd3}, "\\x{390}\\x{1fd3}"},
    {{0x3b0, 0x1fe3}, "\\x{3b0}\\x{1fe3}"},
    {{0xfb05, 0xfb06}, "\\x{fb05}\\x{fb06}"},
};
enum { SAME_LETTERS = sizeof same_letters / sizeof same_letters[0] };

/* Returns true when row i of same_letters has a letter in [lo, hi]. */
static bool in_row(size_t i, uint32_t lo, uint32_t hi) {
    for (size_t k = 0; k < 4 && same_letters[i].letters[k]; k++)
        if (same_letters[i].letters[k] >= lo && same_letters[i].letters[k] <= hi) return true;
    return false;
}

static void put_escaped(reader *x, uint32_t cp) {
    pdl_buf *b = &x->out->text;
    if (pdl_rx_is_letter((int32_t)cp) || pdl_rx_is_digit((int32_t)cp))
        pdl_buf_putc(b, (char)cp);
    else
        pdl_buf_putf(b, "\\x{%x}", cp);
}

static void put_literal(reader *x, uint32_t cp) {
    for (size_t i = 0; i < SAME_LETTERS && nocase_unicode(x); i++)
        if (in_row(i, cp, cp)) {
            pdl_buf_putf(&x->out->text, "[%s]", same_letters[i].items);
            return;
        }
    if (nocase_ascii(x) && pdl_rx_is_letter((int32_t)cp))
        pdl_buf_putf(&x->out->text, "[%c%c]", (char)cp, (char)(cp ^ 32));
    else if (cp >= 0x80 && (cp < 0xd800 || cp >= 0xe000))
        pdl_buf_put_cp(&x->out->text, cp);
    else
        put_escaped(x, cp);
}

static void put_range(reader *x, uint32_t lo, uint32_t hi) {
    put_escaped(x, lo);
    if (hi == lo) return;
    PUT(x, "-");
    put_escaped(x, hi);
}

/* Writes the characters of [lo, hi] that are between first and last, in the other ASCII case. */
static void put_other_case(reader *x, uint32_t lo, uint32_t hi, uint32_t first, uint32_t last) {
    if (lo < first) lo = first;
    if (hi > last) hi = last;
    if (lo <= hi) put_range(x, lo ^ 32, hi ^ 32);
}

static void put_set_range(reader *x, uint32_t lo, uint32_t hi) {
    put_range(x, lo, hi);
    if (nocase_ascii(x)) {
        put_other_case(x, lo, hi, 'a', 'z');
        put_other_case(x, lo, hi, 'A', 'Z');
    }
    for (size_t i = 0; i < SAME_LETTERS && nocase_unicode(x); i++)
        if (in_row(i, lo, hi)) pdl_buf_put(&x->out->text, pdl_str_of(same_letters[i].items));
}

/* Writes the members of the class inside a set. PCRE2's \s differs: it has U+180E and lacks U+001C
 * to U+001F. */
static void put_class_items(reader *x, uint32_t letter) {
    static const struct {
        char letter;
        const char *ascii, *unicode;
    } classes[] = {
        {'d', "0-9", "\\d"},
        {'D', "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}", "\\D"},
        {'w', "0-9A-Z_a-z", "\\w"},
        {'W', "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}", "\\W"},
        {'s', "\\x{9}-\\x{d}\\x{20}",
         "\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"
         "\\x{202f}"
         "\\x{205f}\\x{3000}"},
        {'S', "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}",
         "\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{"
         "1fff}"
         "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-"
         "\\x{10ffff}"},
    };
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if ((uint32_t)classes[i].letter == letter) {
            const char *items = x->flags & PDL_RX_ASCII ? classes[i].ascii : classes[i].unicode;
            pdl_buf_put(&x->out->text, pdl_str_of(items));
        }
}

#define ASCII_WORD "[0-9A-Z_a-z]"

static void put_place(reader *x, uint32_t letter) {
    bool ascii = x->flags & PDL_RX_ASCII;
    if (letter == 'A')
        PUT(x, "\\A");
    else if (letter == 'Z')
        PUT(x, "\\z");
    else if (letter == 'b' && ascii)
        PUT(x, "(?:(?<=" ASCII_WORD ")(?!" ASCII_WORD ")|(?<!" ASCII_WORD ")(?=" ASCII_WORD "))");
    else if (letter == 'b')
        PUT(x, "\\b");
    else {
        PUT(x, "(?!\\A\\z)"); /* in the empty text Python finds neither \b nor \B */
        if (ascii)
            PUT(x,
                "(?:(?<=" ASCII_WORD ")(?=" ASCII_WORD ")|(?<!" ASCII_WORD ")(?!" ASCII_WORD "))");
        else
            PUT(x, "\\B");
    }
}

/* References */

static bool is_closed(const reader *x, size_t number) {
    return number <= x->groups.n && x->groups.p[number - 1].closed;
}

/* Inside a look-behind, references are allowed only to groups that were closed before it. */
static bool check_behind(reader *x, size_t number) {
    if (!x->behind) return true;
    if (!is_closed(x, number))
        return pdl_rx_fail(&x->s, x->s.next.pos, "cannot refer to an open group");
    if (number < x->behind) return true;
    return pdl_rx_fail(&x->s, x->s.next.pos,
                       "cannot refer to group defined in the same lookbehind subpattern");
}

static bool put_backref(reader *x, sequence *q, size_t number, size_t pos) {
    if (!is_closed(x, number)) return pdl_rx_fail(&x->s, pos, "cannot refer to an open group");
    if (!check_behind(x, number)) return false;
    if (nocase_ascii(x))
        pdl_buf_putf(&x->out->text, "(?i:\\g{%zu})", number);
    else
        pdl_buf_putf(&x->out->text, "\\g{%zu}", number);
    append(q, ITEM_OTHER, x->groups.p[number - 1].width);
    return true;
}

static size_t find_name(const reader *x, pdl_str name) {
    return (size_t)(uintptr_t)pdl_map_find(&x->out->names, name);
}

static bool is_identifier(pdl_str name) {
    const char *p = name.p, *end = name.p + name.n;
    if (name.n == 0 || !pdl_cp_is_id_start(pdl_utf8_next(&p))) return false;
    while (p < end)
        if (!pdl_cp_is_id_continue(pdl_utf8_next(&p))) return false;
    return true;
}

static bool check_name(reader *x, pdl_str name, size_t pos) {
    if (is_identifier(name)) return true;
    return pdl_rx_fail_name(&x->s, pos, "bad character in group name", name);
}

/* Single characters and sets. */

static bool read_escape(reader *x, sequence *q, pdl_rx_token esc) {
    pdl_rx_escape e;
    if (!pdl_rx_read_escape(&x->s, esc, false, &e)) return false;
    switch (e.kind) {
    case PDL_RX_CHAR:
        put_literal(x, e.value);
        append(q, ITEM_OTHER, one_character);
        return true;
    case PDL_RX_CLASS:
        PUT(x, "[");
        put_class_items(x, e.value);
        PUT(x, "]");
        append(q, ITEM_OTHER, one_character);
        return true;
    case PDL_RX_PLACE:
        put_place(x, e.value);
        append(q, ITEM_PLACE, no_width);
        return true;
    case PDL_RX_BACKREF:
        if (e.value <= x->groups.n) return put_backref(x, q, e.value, esc.pos);
        return pdl_rx_fail(&x->s, esc.pos + 1, "invalid group reference %u", e.value);
    }
    PDL_BUG("escape kind %d", (int)e.kind);
}

/* Reads one character or class of a set, whose first token is t. */
static bool read_set_item(reader *x, pdl_rx_token t, pdl_rx_escape *out) {
    if (t.cp == '\\') return pdl_rx_read_escape(&x->s, t, true, out);
    *out = (pdl_rx_escape){PDL_RX_CHAR, (uint32_t)t.cp};
    return true;
}

static void put_set_item(reader *x, pdl_rx_escape e) {
    if (e.kind == PDL_RX_CLASS)
        put_class_items(x, e.value);
    else
        put_set_range(x, e.value, e.value);
}

static pdl_str token_text(const reader *x, pdl_rx_token t) {
    size_t n = pdl_utf8_len((unsigned char)x->s.src.p[t.at]);
    if (t.cp == '\\') n += pdl_utf8_len((unsigned char)x->s.src.p[t.at + n]);
    return pdl_str_sub(x->s.src, t.at, t.at + n);
}

/* Reads the text after "lo-" in a set: the end of a range, or the ] that makes the minus a
 * character (then sets *done). */
static bool read_range(reader *x, pdl_rx_token open, pdl_rx_token from, pdl_rx_escape lo,
                       bool *done) {
    pdl_rx_token to;
    pdl_rx_escape hi;
    if (!pdl_rx_get(&x->s, &to)) return false;
    if (to.cp < 0) return pdl_rx_fail(&x->s, open.pos, "unterminated character set");
    if (to.cp == ']') {
        put_set_item(x, lo);
        put_set_range(x, '-', '-');
        *done = true;
        return true;
    }
    if (!read_set_item(x, to, &hi)) return false;
    if (lo.kind != PDL_RX_CHAR || hi.kind != PDL_RX_CHAR || hi.value < lo.value) {
        size_t length = 1 + (from.cp == '\\' ? 2u : 1u) + (to.cp == '\\' ? 2u : 1u);
        return pdl_rx_fail(&x->s, x->s.next.pos - length, "bad character range %.*s-%.*s",
                           PDL_FMT(token_text(x, from)), PDL_FMT(token_text(x, to)));
    }
    put_set_range(x, lo.value, hi.value);
    return true;
}

static bool read_set(reader *x, sequence *q, pdl_rx_token open) {
    bool negated, done = false;
    if (!pdl_rx_accept(&x->s, '^', &negated)) return false;
    if (negated)
        PUT(x, "[^");
    else
        PUT(x, "[");
    for (bool empty = true; !done; empty = false) {
        pdl_rx_token t;
        pdl_rx_escape e;
        bool range;
        if (!pdl_rx_get(&x->s, &t)) return false;
        if (t.cp < 0) return pdl_rx_fail(&x->s, open.pos, "unterminated character set");
        if (t.cp == ']' && !empty) break;
        if (!read_set_item(x, t, &e) || !pdl_rx_accept(&x->s, '-', &range)) return false;
        if (!range)
            put_set_item(x, e);
        else if (!read_range(x, open, t, e, &done))
            return false;
    }
    PUT(x, "]");
    append(q, ITEM_OTHER, one_character);
    return true;
}

/* Repetition */

/* Reads decimal digits into *value, which is at most ENDLESS. Sets *any when there are digits. */
static bool read_count(reader *x, uint64_t *value, bool *any) {
    pdl_rx_token t;
    for (*any = false; pdl_rx_is_digit(x->s.next.cp); *any = true) {
        if (!*any) *value = 0;
        if (!pdl_rx_get(&x->s, &t)) return false;
        *value = capped(*value * 10 + (uint64_t)(t.cp - '0'));
    }
    return true;
}

/* Reads the bounds after "{". Sets *literal when the brace does not begin a repetition. */
static bool read_bounds(reader *x, uint64_t *lo, uint64_t *hi, bool *literal) {
    pdl_rx_token after = x->s.next;
    bool any_lo, any_hi, comma, closed;
    *lo = 0;
    *hi = ENDLESS;
    *literal = after.cp == '}';
    if (*literal) return true;
    if (!read_count(x, lo, &any_lo) || !pdl_rx_accept(&x->s, ',', &comma)) return false;
    if (comma && !read_count(x, hi, &any_hi)) return false;
    if (!comma) {
        any_hi = any_lo;
        if (any_lo) *hi = *lo;
    }
    if (!pdl_rx_accept(&x->s, '}', &closed)) return false;
    if (!closed) {
        pdl_rx_seek(&x->s, after);
        *literal = true;
        return true;
    }
    if ((any_lo && *lo == ENDLESS) || (any_hi && *hi == ENDLESS))
        return fail_overflow(x, "the repetition number is too large");
    if (*hi < *lo) return pdl_rx_fail(&x->s, after.pos, "min repeat greater than max repeat");
    return true;
}

static bool put_bounds(reader *x, uint64_t lo, uint64_t hi) {
    pdl_buf *b = &x->out->text;
    if (lo > MAX_REPEAT)
        return pdl_err_set(x->s.err, PDL_E_limit, (pdl_loc){0},
                           "a repetition of more than %d is not supported", (int)MAX_REPEAT);
    if (hi > MAX_REPEAT)
        pdl_buf_putf(b, "{%u,}", (unsigned)lo);
    else
        pdl_buf_putf(b, "{%u,%u}", (unsigned)lo, (unsigned)hi);
    return true;
}

static bool read_repeat(reader *x, sequence *q, pdl_rx_token t) {
    uint64_t lo = t.cp == '+', hi = t.cp == '?' ? 1 : ENDLESS;
    bool literal = false, lazy, possessive = false;
    if (t.cp == '{' && !read_bounds(x, &lo, &hi, &literal)) return false;
    if (literal) {
        put_literal(x, '{');
        append(q, ITEM_OTHER, one_character);
        return true;
    }
    if (q->last == ITEM_NONE || q->last == ITEM_PLACE)
        return pdl_rx_fail(&x->s, t.pos, "nothing to repeat");
    if (q->last == ITEM_REPEAT) return pdl_rx_fail(&x->s, t.pos, "multiple repeat");
    if (!pdl_rx_accept(&x->s, '?', &lazy)) return false;
    if (!lazy && !pdl_rx_accept(&x->s, '+', &possessive)) return false;
    /* An item without width matches in the same way once or a thousand times, but PCRE2 needs a
     * fixed count in a look-behind. */
    if (x->behind && q->last_width.hi == 0) lo = hi = lo > 0;
    if (!put_bounds(x, lo, hi)) return false;
    if (lazy) PUT(x, "?");
    if (possessive) PUT(x, "+");
    if (possessive && x->groups.n > 0) x->out->plain = true;
    q->last = ITEM_REPEAT;
    q->last_width = times(q->last_width, lo, hi);
    return true;
}

/* Groups */

static bool read_alternatives(reader *x, bool top, width *out);
static bool read_sequence(reader *x, bool first, width *out);

static bool close_group(reader *x, pdl_rx_token open) {
    bool closed;
    if (!pdl_rx_accept(&x->s, ')', &closed)) return false;
    if (!closed) return pdl_rx_fail(&x->s, open.pos, "missing ), unterminated subpattern");
    PUT(x, ")");
    return true;
}

static bool read_end_of_pattern(reader *x, pdl_rx_token *out) {
    if (!pdl_rx_get(&x->s, out)) return false;
    return out->cp >= 0 || pdl_rx_fail(&x->s, x->s.next.pos, "unexpected end of pattern");
}

static bool unknown_extension(reader *x, const char *before, pdl_rx_token t) {
    /* the position of the error is that of the question mark */
    return pdl_rx_fail(&x->s, t.pos - strlen(before), "unknown extension %s%.*s", before,
                       PDL_FMT(token_text(x, t)));
}

static bool read_capture(reader *x, sequence *q, pdl_rx_token open, pdl_str name, size_t name_pos) {
    if (x->groups.n == MAX_GROUPS) return pdl_rx_fail(&x->s, x->s.next.pos, "too many groups");
    size_t number = x->groups.n + 1, old = name.n ? find_name(x, name) : 0;
    if (old) {
        pdl_buf shown = PDL_BUF;
        pdl_buf_putf(&shown, "redefinition of group name '%.*s' as group %zu; was group %zu",
                     PDL_FMT(name), number, old);
        pdl_rx_fail(&x->s, name_pos, "%s", pdl_buf_z(&shown));
        pdl_buf_fini(&shown);
        return false;
    }
    if (name.n) pdl_map_put(&x->out->names, name, (void *)(uintptr_t)number);
    *pdl_vec_push(&x->groups) = (group){0};
    PUT(x, "(");
    width w;
    if (!read_alternatives(x, false, &w) || !close_group(x, open)) return false;
    x->groups.p[number - 1] = (group){w, true};
    append(q, ITEM_OTHER, w);
    return true;
}

static bool read_named_backref(reader *x, sequence *q) {
    size_t pos = x->s.next.pos;
    pdl_str name;
    if (!pdl_rx_until(&x->s, ')', "group name", &name) || !check_name(x, name, pos)) return false;
    size_t number = find_name(x, name);
    if (!number) return pdl_rx_fail_name(&x->s, pos, "unknown group name", name);
    return put_backref(x, q, number, pos);
}

/* Reads a group after "(?P". */
static bool read_p(reader *x, sequence *q, pdl_rx_token open) {
    pdl_rx_token t;
    if (!read_end_of_pattern(x, &t)) return false;
    if (t.cp == '=') return read_named_backref(x, q);
    if (t.cp != '<') return unknown_extension(x, "?P", t);
    size_t pos = x->s.next.pos;
    pdl_str name;
    if (!pdl_rx_until(&x->s, '>', "group name", &name) || !check_name(x, name, pos)) return false;
    return read_capture(x, q, open, name, pos);
}

static bool read_look(reader *x, sequence *q, pdl_rx_token open, pdl_rx_token t) {
    bool behind = t.cp == '<';
    if (behind && !read_end_of_pattern(x, &t)) return false;
    if (t.cp != '=' && t.cp != '!') return unknown_extension(x, "?<", t);
    bool outermost = behind && !x->behind;
    if (outermost) x->behind = x->groups.n + 1;
    pdl_buf_putf(&x->out->text, "(?%s%c", behind ? "<" : "", (char)t.cp);
    width w;
    if (!read_alternatives(x, false, &w)) return false;
    if (outermost) x->behind = 0;
    if (!close_group(x, open)) return false;
    if (behind && w.lo != w.hi) x->behind_varies = true;
    append(q, ITEM_OTHER, no_width);
    return true;
}

static bool read_comment(reader *x, pdl_rx_token open) {
    for (;;) {
        pdl_rx_token t;
        if (x->s.next.cp < 0)
            return pdl_rx_fail(&x->s, open.pos, "missing ), unterminated comment");
        if (!pdl_rx_get(&x->s, &t)) return false;
        if (t.cp == ')') return true;
    }
}

/* Reads the number in a condition. Returns false when text is not a number. */
static bool condition_number(pdl_str text, size_t *out) {
    size_t value = 0;
    text = pdl_str_trim(text);
    if (text.n == 0) return false;
    for (const char *p = text.p, *end = p + text.n; p < end;) {
        int digit = pdl_cp_digit_value(pdl_utf8_next(&p));
        if (digit < 0) return false;
        if (value <= MAX_GROUPS) value = value * 10 + (size_t)digit;
    }
    *out = value;
    return true;
}

static bool read_condition_group(reader *x, size_t *number) {
    size_t pos = x->s.next.pos;
    pdl_str name;
    if (!pdl_rx_until(&x->s, ')', "group name", &name)) return false;
    if (is_identifier(name)) {
        *number = find_name(x, name);
        if (!*number) return pdl_rx_fail_name(&x->s, pos, "unknown group name", name);
        return check_behind(x, *number);
    }
    if (!condition_number(name, number))
        return pdl_rx_fail_name(&x->s, pos, "bad character in group name", name);
    if (*number == 0) return pdl_rx_fail(&x->s, pos, "bad group number");
    if (*number > MAX_GROUPS)
        return pdl_rx_fail(&x->s, pos, "invalid group reference %zu", *number);
    *pdl_vec_push(&x->conditions) = (condition){*number, pos};
    return check_behind(x, *number);
}

/* Reads a condition after "(?(". */
static bool read_condition(reader *x, sequence *q, pdl_rx_token open) {
    size_t number = 0;
    bool more;
    width yes, no = no_width;
    if (!read_condition_group(x, &number)) return false;
    pdl_buf_putf(&x->out->text, "(?(%zu)", number);
    if (!read_sequence(x, false, &yes) || !pdl_rx_accept(&x->s, '|', &more)) return false;
    if (more) {
        PUT(x, "|");
        if (!read_sequence(x, false, &no)) return false;
        if (x->s.next.cp == '|')
            return pdl_rx_fail(&x->s, x->s.next.pos,
                               "conditional backref with more than two branches");
    }
    if (!close_group(x, open)) return false;
    append(q, ITEM_OTHER, either(yes, no));
    return true;
}

/* Flags */

/* Returns the flags that PCRE2 gets. NOCASE is not one of them under ASCII rules, because both
 * cases of the letters are then spelled out. */
static unsigned pcre_flags(unsigned flags) {
    unsigned kept = flags & ((unsigned)PDL_RX_NOCASE | PDL_RX_MULTILINE | PDL_RX_DOTALL);
    return flags & PDL_RX_ASCII ? kept & ~(unsigned)PDL_RX_NOCASE : kept;
}

static void put_flag_letters(reader *x, unsigned flags) {
    if (flags & PDL_RX_NOCASE) PUT(x, "i");
    if (flags & PDL_RX_MULTILINE) PUT(x, "m");
    if (flags & PDL_RX_DOTALL) PUT(x, "s");
}

static bool read_flag_group(reader *x, sequence *q, pdl_rx_token open, int32_t c) {
    unsigned old = x->flags;
    pdl_rx_flags change;
    width w;
    if (!pdl_rx_read_flags(&x->s, c, &change)) return false;
    if (change.for_all && (!q->first || q->last != ITEM_NONE))
        return pdl_rx_fail(&x->s, open.pos, "global flags not at the start of the expression");
    x->flags = pdl_rx_with_flags(x->flags, &change);
    if (change.for_all) {
        x->out->flags = pcre_flags(x->flags);
        return true;
    }
    unsigned was = pcre_flags(old), now = pcre_flags(x->flags);
    PUT(x, "(?");
    put_flag_letters(x, now & ~was);
    if (was & ~now) PUT(x, "-");
    put_flag_letters(x, was & ~now);
    PUT(x, ":");
    if (!read_alternatives(x, false, &w) || !close_group(x, open)) return false;
    x->flags = old;
    append(q, ITEM_OTHER, w);
    return true;
}

static bool read_plain_group(reader *x, sequence *q, pdl_rx_token open, const char *opening) {
    width w;
    pdl_buf_put(&x->out->text, pdl_str_of(opening));
    if (!read_alternatives(x, false, &w) || !close_group(x, open)) return false;
    append(q, ITEM_OTHER, w);
    return true;
}

static bool read_group(reader *x, sequence *q, pdl_rx_token open) {
    bool special;
    pdl_rx_token t;
    if (!pdl_rx_accept(&x->s, '?', &special)) return false;
    if (!special) return read_capture(x, q, open, (pdl_str){0}, 0);
    if (!read_end_of_pattern(x, &t)) return false;
    switch (t.cp) {
    case 'P': return read_p(x, q, open);
    case ':': return read_plain_group(x, q, open, "(?:");
    case '>': return read_plain_group(x, q, open, "(?>");
    case '#': return read_comment(x, open);
    case '=':
    case '!':
    case '<': return read_look(x, q, open, t);
    case '(': return read_condition(x, q, open);
    default: break;
    }
    if (t.cp == '-' || pdl_rx_is_flag(t.cp)) return read_flag_group(x, q, open, t.cp);
    return unknown_extension(x, "?", t);
}

/* Sequences and alternatives. */

static bool read_item(reader *x, sequence *q, pdl_rx_token t) {
    switch (t.cp) {
    case '\\': return read_escape(x, q, t);
    case '[': return read_set(x, q, t);
    case '(': return read_group(x, q, t);
    case '*':
    case '+':
    case '?':
    case '{': return read_repeat(x, q, t);
    case '.':
        PUT(x, ".");
        append(q, ITEM_OTHER, one_character);
        return true;
    case '^':
        PUT(x, "^");
        append(q, ITEM_PLACE, no_width);
        return true;
    case '$':
        PUT(x, "$");
        append(q, ITEM_PLACE, no_width);
        return true;
    default:
        put_literal(x, (uint32_t)t.cp);
        append(q, ITEM_OTHER, one_character);
        return true;
    }
}

/* With the verbose flag, skips t and sets *skipped, if t is a blank or begins a comment. */
static bool skip_verbose(reader *x, pdl_rx_token t, bool *skipped) {
    *skipped = false;
    if (!(x->flags & PDL_RX_VERBOSE)) return true;
    *skipped = t.cp == ' ' || (t.cp >= '\t' && t.cp <= '\r') || t.cp == '#';
    if (t.cp != '#') return true;
    do
        if (!pdl_rx_get(&x->s, &t)) return false;
    while (t.cp >= 0 && t.cp != '\n');
    return true;
}

static bool read_sequence(reader *x, bool first, width *out) {
    sequence q = {.first = first};
    while (x->s.next.cp >= 0 && x->s.next.cp != '|' && x->s.next.cp != ')') {
        pdl_rx_token t;
        bool skipped;
        if (!pdl_rx_get(&x->s, &t) || !skip_verbose(x, t, &skipped)) return false;
        if (!skipped && !read_item(x, &q, t)) return false;
    }
    *out = add(q.total, q.last_width);
    return true;
}

static bool read_alternatives(reader *x, bool top, width *out) {
    bool more;
    width w;
    if (++x->nesting > MAX_NESTING)
        return pdl_err_set(x->s.err, PDL_E_limit, (pdl_loc){0}, "groups nested more than %d deep",
                           (int)MAX_NESTING);
    if (!read_sequence(x, top, out) || !pdl_rx_accept(&x->s, '|', &more)) return false;
    while (more) {
        PUT(x, "|");
        if (!read_sequence(x, false, &w) || !pdl_rx_accept(&x->s, '|', &more)) return false;
        *out = either(*out, w);
    }
    x->nesting--;
    return true;
}

static bool read_pattern(reader *x, pdl_str pattern, pdl_err *err) {
    width w;
    if (!pdl_rx_start(&x->s, pattern, err) || !read_alternatives(x, true, &w)) return false;
    if (x->s.next.cp >= 0) return pdl_rx_fail(&x->s, x->s.next.pos, "unbalanced parenthesis");
    for (size_t i = 0; i < x->conditions.n; i++)
        if (x->conditions.p[i].number > x->groups.n)
            return pdl_rx_fail(&x->s, x->conditions.p[i].pos, "invalid group reference %zu",
                               x->conditions.p[i].number);
    if (!x->behind_varies) return true;
    pdl_err_set(err, PDL_E_parser, (pdl_loc){0}, "look-behind requires fixed-width pattern");
    err->py_class = pdl_str_dup(PDL_STR("error"));
    return false;
}

bool pdl_regex_translate(pdl_str pattern, unsigned flags, pdl_regex_text *out, pdl_err *err) {
    reader x = {.out = out, .flags = flags};
    out->text = PDL_BUF;
    out->flags = pcre_flags(flags);
    bool ok = read_pattern(&x, pattern, err);
    out->groups = x.groups.n;
    pdl_vec_fini(&x.groups);
    pdl_vec_fini(&x.conditions);
    return ok;
}

void pdl_regex_text_fini(pdl_regex_text *t) {
    pdl_buf_fini(&t->text);
    pdl_map_fini(&t->names);
}
