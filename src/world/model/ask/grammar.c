/* grammar.c -- writes the grammar with which a llama.cpp server allows only the texts of a list, or
 * only matches of a regular expression. A regular expression is rewritten while it is read, without
 * a tree in between:
 *
 *    alternatives := sequence ("|" sequence)*      sequence := (atom quantifier?)*
 *    atom := "(" alternatives ")" | "[" class "]" | "." | "\" escape | character
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/grammar.h"

#include "base/limits.h"
#include "base/num.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "model/ask/messages.h"

#include "base/banned.h"

/* Characters that need an escape between quotes and between brackets. */
static const char quoted[] = "\"\\", bracketed[] = "[]^-\\";

static void put_char(uint32_t c, const char *special, pdl_buf *out) {
    if (c == '\n')
        PDL_PUT(out, "\\n");
    else if (c < 0x20 || c == 0x7f || (c < 0x7f && strchr(special, (int)c)))
        pdl_buf_putf(out, "\\x%02X", (unsigned)c);
    else
        pdl_buf_put_cp(out, c);
}

static void put_quoted(pdl_str s, pdl_buf *out) {
    const char *p = s.p, *end = s.p + s.n;
    pdl_buf_putc(out, '"');
    while (p < end) {
        uint32_t c = pdl_utf8_next(&p);
        if (c == '"' || c == '\\') {
            pdl_buf_putc(out, '\\');
            pdl_buf_putc(out, (char)c);
        } else {
            put_char(c, "", out);
        }
    }
    pdl_buf_putc(out, '"');
}

bool pdl_grammar_of_choice(pdl_vref choices, pdl_buf *out, pdl_err *err) {
    if (!pdl_is_list(choices) || pdl_list_len(choices) == 0)
        return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                           "guided_choice should be a list of texts that is not empty");
    PDL_PUT(out, "root ::= ");
    for (size_t i = 0; i < pdl_list_len(choices); i++) {
        pdl_buf text = PDL_BUF;
        pdl_message_text(pdl_list_at(choices, i), &text);
        if (i) PDL_PUT(out, " | ");
        put_quoted(pdl_buf_str(&text), out);
        pdl_buf_fini(&text);
    }
    return true;
}

/* --- regular expressions ---------------------------------------------------------------------- */

typedef struct grammar_reader {
    pdl_scan s;
    unsigned depth;
    bool literal; /* the last atom is one character without a quantifier */
    pdl_buf *out;
    pdl_err *err;
} reader;

static bool refuse(reader *r, const char *what) {
    return pdl_err_set(r->err, PDL_E_bad_request, (pdl_loc){0},
                       "guided_regex: %s at byte %zu of %.*s", what, r->s.pos + 1,
                       PDL_FMT(r->s.src));
}

static bool accept(reader *r, const char *z) { return scan_accept_str(&r->s, pdl_str_of(z)); }

static uint32_t next_char(reader *r) {
    const char *p = r->s.src.p + r->s.pos;
    uint32_t c = pdl_utf8_next(&p);
    r->s.pos = (size_t)(p - r->s.src.p);
    return c;
}

static bool read_hex(reader *r, unsigned digits, uint32_t *c) {
    *c = 0;
    for (unsigned i = 0; i < digits; i++) {
        int v = pdl_hex_digit(scan_peek(&r->s));
        if (v < 0) return refuse(r, "a hexadecimal digit is missing");
        *c = *c * 16 + (uint32_t)v;
        r->s.pos++;
    }
    return true;
}

/* Reads what follows a backslash: a class of characters (*set: its text between brackets;
 * *negated) or one character. */
static bool read_escape(reader *r, const char **set, bool *negated, uint32_t *c) {
    static const struct {
        char name;
        const char *set;
        bool negated;
    } sets[] = {
        {'d', "0-9", false}, {'w', "a-zA-Z0-9_", false}, {'s', " \\t\\n\\r\\x0B\\x0C", false},
        {'D', "0-9", true},  {'W', "a-zA-Z0-9_", true},  {'S', " \\t\\n\\r\\x0B\\x0C", true},
    };
    static const char plain[] = "ntrfv0", meant[] = "\n\t\r\f\v";
    *set = NULL;
    if (scan_done(&r->s)) return refuse(r, "nothing follows the backslash");
    char k = r->s.src.p[r->s.pos];
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if (sets[i].name != k) continue;
        *set = sets[i].set;
        *negated = sets[i].negated;
        r->s.pos++;
        return true;
    }
    const char *at = k ? strchr(plain, k) : NULL;
    if (at) {
        *c = (unsigned char)meant[at - plain];
        r->s.pos++;
        return true;
    }
    if (accept(r, "x")) return read_hex(r, 2, c);
    if (accept(r, "u")) return read_hex(r, 4, c);
    if ((k >= 'a' && k <= 'z') || (k >= 'A' && k <= 'Z') || (k >= '1' && k <= '9'))
        return refuse(r, "a reference, a boundary or an unknown escape");
    *c = next_char(r);
    return true;
}

/* Reads one character of a class, or the members of a set. */
static bool read_member(reader *r, bool *is_set, uint32_t *c) {
    const char *set;
    bool negated;
    *is_set = false;
    if (!accept(r, "\\")) {
        *c = next_char(r);
        return true;
    }
    if (!read_escape(r, &set, &negated, c)) return false;
    if (!set) return true;
    if (negated) return refuse(r, "a negated set inside of brackets");
    pdl_buf_put(r->out, pdl_str_of(set));
    *is_set = true;
    return true;
}

/* Reads a class; "[" has been read. */
static bool read_class(reader *r) {
    bool first = true, is_set;
    uint32_t from, to;
    pdl_buf_putc(r->out, '[');
    if (accept(r, "^")) pdl_buf_putc(r->out, '^');
    for (; first || !accept(r, "]"); first = false) {
        if (scan_done(&r->s)) return refuse(r, "a closing bracket is missing");
        if (!read_member(r, &is_set, &from)) return false;
        if (is_set) continue;
        put_char(from, bracketed, r->out);
        bool range =
            scan_peek(&r->s) == '-' && r->s.pos + 1 < r->s.src.n && r->s.src.p[r->s.pos + 1] != ']';
        if (!range) continue;
        r->s.pos++;
        if (!read_member(r, &is_set, &to)) return false;
        if (is_set || to < from) return refuse(r, "a range from more to less");
        pdl_buf_putc(r->out, '-');
        put_char(to, bracketed, r->out);
    }
    pdl_buf_putc(r->out, ']');
    return true;
}

/* Reads "{m,n}" after an atom. Other text in braces is literal. */
static bool read_count(reader *r, bool *found) {
    pdl_str rest = scan_rest(&r->s);
    size_t end = pdl_str_find(rest, PDL_STR("}"), 0),
           comma = pdl_str_find(pdl_str_sub(rest, 0, end), PDL_STR(","), 0);
    int64_t least = 0, most = -1;
    *found = false;
    if (!pdl_str_starts(rest, PDL_STR("{")) || end == PDL_NOT_FOUND) return true;
    pdl_str low = pdl_str_sub(rest, 1, comma < end ? comma : end),
            high = comma < end ? pdl_str_sub(rest, comma + 1, end) : low;
    if (low.n == 0 && high.n == 0) return true;
    if (low.n && !pdl_num_read_int(low, &least)) return true;
    if (high.n && !pdl_num_read_int(high, &most)) return true;
    if (least < 0 || (high.n && most < least)) return refuse(r, "a count from more to less");
    r->s.pos += end + 1;
    *found = true;
    pdl_buf_putf(r->out, "{%lld,", (long long)least);
    if (high.n) pdl_buf_putf(r->out, "%lld", (long long)most);
    pdl_buf_putc(r->out, '}');
    return true;
}

/* Greedy and lazy quantifiers allow the same texts. */
static bool read_quantifier(reader *r) {
    bool found = true;
    int c = scan_peek(&r->s);
    if (c == '*' || c == '+' || c == '?') {
        pdl_buf_putc(r->out, (char)c);
        r->s.pos++;
    } else if (!read_count(r, &found)) {
        return false;
    }
    if (!found || accept(r, "?")) return true;
    c = scan_peek(&r->s);
    return (c != '*' && c != '+') || refuse(r, "a quantifier after a quantifier");
}

static bool read_alternatives(reader *r);

/* Reads a group; "(" has been read. */
static bool read_group(reader *r) {
    if (accept(r, "?")) {
        bool named = accept(r, "P<") ||
                     (pdl_str_starts(scan_rest(&r->s), PDL_STR("<")) && r->s.pos + 1 < r->s.src.n &&
                      r->s.src.p[r->s.pos + 1] != '=' && r->s.src.p[r->s.pos + 1] != '!');
        size_t end = pdl_str_find(r->s.src, PDL_STR(">"), r->s.pos);
        if (named && end != PDL_NOT_FOUND)
            r->s.pos = end + 1;
        else if (named || !accept(r, ":"))
            return refuse(r, "lookaround, a reference or a flag");
    }
    if (++r->depth > PDL_MAX_SCHEMA_DEPTH) return refuse(r, "groups are nested too deeply");
    pdl_buf_putc(r->out, '(');
    if (!read_alternatives(r)) return false;
    if (!accept(r, ")")) return refuse(r, "a closing parenthesis is missing");
    pdl_buf_putc(r->out, ')');
    r->depth--;
    r->literal = false;
    return true;
}

static bool read_atom(reader *r) {
    const char *set;
    bool negated;
    uint32_t c;
    if (accept(r, "(")) return read_group(r);
    if (accept(r, "[")) return read_class(r);
    if (accept(r, ".")) {
        PDL_PUT(r->out, "[^\\n\\r]");
        return true;
    }
    c = (uint32_t)scan_peek(&r->s);
    if (c == '*' || c == '+' || c == '?') return refuse(r, "there is nothing to repeat");
    if (!accept(r, "\\")) {
        c = next_char(r);
    } else if (!read_escape(r, &set, &negated, &c)) {
        return false;
    } else if (set) {
        pdl_buf_putf(r->out, "[%s%s]", negated ? "^" : "", set);
        return true;
    }
    r->literal = true;
    pdl_buf_putc(r->out, '"');
    put_char(c, quoted, r->out);
    pdl_buf_putc(r->out, '"');
    return true;
}

/* The whole answer is matched, so anchors at its ends add nothing. */
static bool skip_anchor(reader *r, bool *skipped) {
    bool first = r->s.pos == 0, begin = accept(r, "^") || accept(r, "\\A");
    bool end = !begin && (accept(r, "$") || accept(r, "\\Z") || accept(r, "\\z"));
    *skipped = begin || end;
    return (!begin || first) && (!end || scan_done(&r->s))
               ? true
               : refuse(r, "an anchor inside of the expression");
}

/* Joins adjacent literals: "a" "b" becomes "ab". The blank between the two literals is at
 * `start`. */
static void join_literals(pdl_buf *out, size_t start) {
    pdl_buf last = PDL_BUF;
    pdl_buf_put(&last, pdl_str_sub(pdl_buf_str(out), start + 2, out->len));
    pdl_buf_cut(out, start - 1);
    pdl_buf_put(out, pdl_buf_str(&last));
    pdl_buf_fini(&last);
}

static bool read_sequence(reader *r) {
    bool empty = true, was_literal = false, skipped;
    while (!scan_done(&r->s) && scan_peek(&r->s) != '|' && scan_peek(&r->s) != ')') {
        if (!skip_anchor(r, &skipped)) return false;
        if (skipped) continue;
        size_t start = r->out->len;
        if (!empty) pdl_buf_putc(r->out, ' ');
        empty = r->literal = false;
        if (!read_atom(r)) return false;
        bool literal = r->literal;
        size_t end = r->out->len;
        if (!read_quantifier(r)) return false;
        literal = literal && end == r->out->len;
        if (literal && was_literal) join_literals(r->out, start);
        was_literal = literal;
    }
    if (empty) PDL_PUT(r->out, "\"\"");
    return true;
}

static bool read_alternatives(reader *r) {
    do {
        if (!read_sequence(r)) return false;
    } while (accept(r, "|") && (PDL_PUT(r->out, " | "), true));
    return true;
}

bool pdl_grammar_of_regex(pdl_str regex, pdl_buf *out, pdl_err *err) {
    reader r = {.s = {regex, 0}, .out = out, .err = err};
    PDL_PUT(out, "root ::= ");
    return read_alternatives(&r) &&
           (scan_done(&r.s) || refuse(&r, "a parenthesis is closed that was not opened"));
}
