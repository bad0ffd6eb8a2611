/* unstable_fix.c -- the fix of the rule prefix-unstable: moves the changing sentence of a prompt to
 * the end of the prompt.
 *
 * A prompt may depend on the order of its sentences, so the fix is only offered, and `pdl check
 * --fix` does not make it. It is offered only where one sentence changes, stays whole, and leaves
 * nothing for the rule to report. A sentence is a line, or what is between full stops before
 * capital letters. The separator moves with the sentence as the source has it, with the indentation
 * of a block or the escape of a line end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/checker.h"

#include "base/banned.h"

/* A text of the program, and the parts of text and expressions into which it was split. */
typedef struct prompt {
    pdl_str text;
    const pdl_xlist *parts;
    uint32_t part; /* the first part that ends after the place that is read */
} prompt;

/* text[from, to) is a sentence; the next sentence begins at `next`. */
typedef struct sentence {
    size_t from, to, next;
} sentence;

/* Returns true when the byte at `at` is not a part of an expression or statement. Each call must
 * have a larger `at` than the call before it. */
static bool is_literal(prompt *p, size_t at) {
    while (p->part < p->parts->n && p->parts->p[p->part]->end <= at) p->part++;
    if (p->part == p->parts->n) return false;
    const pdl_xnode *x = p->parts->p[p->part];
    return x->kind == PDL_X_TEXT && x->start <= at;
}

static bool is_upper(char b) { return b >= 'A' && b <= 'Z'; }
static bool is_lower(char b) { return b >= 'a' && b <= 'z'; }
static bool is_stop(char b) { return b == '.' || b == '!' || b == '?'; }

/* Returns true when a sentence ends at offset `to`: with `.`, `!` or `?` after an expression, or
 * after a word that is longer than most abbreviations. */
static bool is_ended(pdl_str s, size_t to) {
    if (!to || !is_stop(s.p[to - 1])) return false;
    size_t n = 0;
    while (n + 1 < to && is_lower(s.p[to - 2 - n])) n++;
    return n >= 3 || (to > 1 && s.p[to - 2] == '}');
}

/* Returns true when the next sentence can begin at offset `from`. It cannot begin with an
 * expression that trims the blanks before the expression: after the move, other blanks would be
 * trimmed. */
static bool can_begin(pdl_str s, size_t from) {
    if (from == s.n) return false;
    pdl_str rest = pdl_str_sub(s, from, s.n);
    return is_upper(rest.p[0]) ||
           (pdl_str_starts(rest, PDL_STR("${")) && !pdl_str_starts(rest, PDL_STR("${-")));
}

static sentence read_sentence(prompt *p, size_t from) {
    pdl_str s = p->text;
    for (size_t i = from; i < s.n; i++) {
        if (!is_literal(p, i)) continue;
        if (s.p[i] == '\n') {
            size_t next = i;
            while (next < s.n && s.p[next] == '\n') next++;
            return (sentence){from, i, next};
        }
        if (s.p[i] == ' ' && is_ended(s, i) && can_begin(s, i + 1))
            return (sentence){from, i, i + 1};
    }
    return (sentence){from, s.n, s.n};
}

static bool is_letter(char b) { return is_upper(b) || is_lower(b) || (unsigned char)b >= 0x80; }

/* Returns true when the text itself has a letter in [from, to). */
static bool has_letter(const prompt *of, size_t from, size_t to) {
    prompt p = {of->text, of->parts, 0};
    for (size_t i = from; i < to; i++)
        if (is_literal(&p, i) && is_letter(p.text.p[i])) return true;
    return false;
}

/* Returns true when the sentence is one or more whole lines, or is inside a line. */
static bool is_whole(pdl_str s, const sentence *one) {
    return s.p[one->to] != '\n' || !one->from || s.p[one->from - 1] == '\n';
}

/* Returns true when the sentence can be moved: it ends with the changing parts, which begin at
 * `first`, and means the same elsewhere. It would not mean the same if it were an item of a list,
 * or if a colon preceded it. */
static bool can_move(const prompt *p, const sentence *one, size_t first) {
    pdl_str s = p->text;
    size_t before = one->from;
    while (before && (s.p[before - 1] == '\n' || s.p[before - 1] == ' ')) before--;
    return can_begin(s, one->from) && is_ended(s, one->to) && is_whole(s, one) &&
           !has_letter(p, first, one->to) && !(before && s.p[before - 1] == ':');
}

/* Returns where the last sentence ends; 0 when the text does not end with a whole sentence. */
static size_t end_of(pdl_str s) {
    size_t end = s.n;
    while (end && (s.p[end - 1] == '\n' || s.p[end - 1] == ' ')) end--;
    return is_ended(s, end) ? end : 0;
}

/* Finds the one sentence that changes and is followed by other sentences. */
static bool find_sentence(prompt *p, size_t end, uint32_t first, uint32_t last, sentence *out) {
    size_t at = 0;
    do {
        *out = read_sentence(p, at);
        at = out->next;
    } while (at < end && first >= out->to);
    return last < out->to && at < end && can_move(p, out, first);
}

/* Returns true when YAML reads the rest of the text as before once the sentence is removed. The
 * first line of a block of lines decides its indentation, so the new first line has to begin
 * without blanks and must not be empty. */
static bool keeps_indentation(const prompt *p, const pdl_node *n, const sentence *one) {
    size_t start = 0;
    while (start < one->from && p->text.p[start] == '\n') start++;
    return n->style != PDL_STYLE_LITERAL || start < one->from ||
           !pdl_byte_in(p->text.p[one->next], PDL_STR(" \t\n"));
}

/* Returns true when bytes of the text can be moved in the source. The scalar must be literal or on
 * one line. */
static bool is_movable(const pdl_node *n, const pdl_xlist *parts) {
    if (!n || n->kind != PDL_NODE_SCALAR || n->style == PDL_STYLE_FOLDED) return false;
    /* the tags of a statement, such as {% if %} and {% endif %}, may be in several sentences */
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts->p[i]->kind > PDL_X_OUTPUT) return false;
    pdl_str source = pdl_str_sub(n->src->text, n->start, n->end);
    return n->style == PDL_STYLE_LITERAL || !pdl_byte_in('\n', source);
}

static uint32_t start_in_source(const pdl_node *n, size_t at) {
    return pdl_node_text_loc(n, at, at + 1).start;
}

static uint32_t end_in_source(const pdl_node *n, size_t at) {
    return pdl_node_text_loc(n, at - 1, at).end;
}

void pdl_checker_move_sentence(pdl_checker *c, pdl_diag *d, const pdl_node *n,
                               const pdl_xlist *parts, uint32_t first, uint32_t last) {
    sentence one;
    if (!d || !is_movable(n, parts)) return;
    prompt p = {n->text, parts, 0};
    size_t end = end_of(n->text);
    if (!end || !find_sentence(&p, end, first, last, &one)) return;
    if (!keeps_indentation(&p, n, &one)) return;
    uint32_t from = start_in_source(n, one.from), to = end_in_source(n, one.to);
    uint32_t next = start_in_source(n, one.next), at = end_in_source(n, end);
    pdl_str source = n->src->text;
    pdl_buf added = PDL_BUF;
    pdl_buf_put(&added, pdl_str_sub(source, to, next));
    pdl_buf_put(&added, pdl_str_sub(source, from, to));
    pdl_program_edit(c->p, d, (pdl_loc){n->src, from, next}, PDL_STR(""));
    pdl_program_edit(c->p, d, (pdl_loc){n->src, at, at}, pdl_buf_str(&added));
    pdl_buf_fini(&added);
}
