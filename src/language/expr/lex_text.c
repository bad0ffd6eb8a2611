/* lex_text.c -- see token.h. Text outside of tags: finds the next opening, applies white space
 * control, skips comments.
 *
 * The order of the rules at one place is that of the reference: raw blocks, then longer openings
 * before shorter ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/utf8.h"
#include "expr/token.h"

#include "base/banned.h"

/* --- the rules of an environment -------------------------------------------------------------- */

static void add_rule(pdl_lexer *x, pdl_lx_state state, pdl_str open) {
    uint32_t i = x->n_rules++;
    for (; i > 0 && x->rules[i - 1].open.n < open.n; i--) x->rules[i] = x->rules[i - 1];
    x->rules[i] = (pdl_lx_rule){state, open};
    if (open.n) x->firsts[(unsigned char)open.p[0] >> 5] |= 1u << (open.p[0] & 31);
}

void pdl_lex_init(pdl_lexer *x, pdl_holder *h, pdl_xfail *f, pdl_str src, const pdl_xoptions *opt,
                  bool inside) {
    x->arena = h->arena;
    x->holder = h;
    x->fail = f;
    x->src = src;
    x->pos = x->n_brackets = x->n_rules = x->pending_at = 0;
    x->state = inside ? PDL_LX_VAR : PDL_LX_ROOT;
    x->pending = PDL_TK_EOF;
    x->line_starting = true;
    x->has_line_rules = false;
    x->opt = opt;
    x->ends_are_signs = pdl_lex_ends_are_signs(opt);
    if (inside) return;
    memset(x->firsts, 0, sizeof x->firsts);
    /* When two openings have the same length, the opening that was added first counts. */
    add_rule(x, PDL_LX_VAR, opt->variable_start);
    if (opt->line_statement.n) add_rule(x, PDL_LX_LINE, opt->line_statement);
    if (opt->line_comment.n) add_rule(x, PDL_LX_LINE_COMMENT, opt->line_comment);
    add_rule(x, PDL_LX_COMMENT, opt->comment_start);
    add_rule(x, PDL_LX_BLOCK, opt->block_start);
    x->has_line_rules = opt->line_statement.n || opt->line_comment.n;
}

/* --- finding an opening ----------------------------------------------------------------------- */

/* An opening in the text. The text before it ends at `at`. The opening ends at `end`, after its
 * sign and the text that the sign removes. */
typedef struct {
    pdl_lx_state state;
    uint32_t at, end;
    char sign; /* '-', '+' or 0 */
} opening;

static bool is_at(const pdl_lexer *x, uint32_t at, pdl_str s) {
    return at <= x->src.n && x->src.n - at >= s.n && memcmp(x->src.p + at, s.p, s.n) == 0;
}

static char take_sign(const pdl_lexer *x, uint32_t *at) {
    if (*at >= x->src.n || (x->src.p[*at] != '-' && x->src.p[*at] != '+')) return '\0';
    return x->src.p[(*at)++];
}

/* Reads the opening of a block, a sign, blanks, a word and blanks. Returns the offset after them,
 * or 0 for any other text. */
static uint32_t word_tag(const pdl_lexer *x, uint32_t at, pdl_str word, char *sign) {
    if (!is_at(x, at, x->opt->block_start)) return 0;
    at += (uint32_t)x->opt->block_start.n;
    *sign = take_sign(x, &at);
    at = pdl_lex_blanks(x, at);
    return is_at(x, at, word) ? pdl_lex_blanks(x, at + (uint32_t)word.n) : 0;
}

/* Returns true at the end of a block tag, and sets *end to the position after the text that the tag
 * removes. `raw` accepts no '+' and trims nothing. */
static bool block_close(const pdl_lexer *x, uint32_t at, bool trims, uint32_t *end) {
    uint32_t n = (uint32_t)x->opt->block_end.n;
    char c = at < x->src.n ? x->src.p[at] : '\0';
    if ((c == '-' || (c == '+' && trims)) && is_at(x, at + 1, x->opt->block_end)) {
        *end = c == '-' ? pdl_lex_blanks(x, at + 1 + n) : at + 1 + n;
        return true;
    }
    if (!is_at(x, at, x->opt->block_end)) return false;
    *end = at + n;
    if (trims && x->opt->trim_blocks && *end < x->src.n && x->src.p[*end] == '\n') ++*end;
    return true;
}

/* Returns true when the code point before `at` is not white space. */
static bool behind_ink(const pdl_lexer *x, uint32_t at) {
    if (at == 0) return false;
    uint32_t from = at - 1;
    while (from > 0 && ((unsigned char)x->src.p[from] & 0xc0) == 0x80) from--;
    return pdl_lex_blanks(x, from) < at;
}

static bool line_rule_at(const pdl_lexer *x, const pdl_lx_rule *r, uint32_t at, uint32_t *end) {
    bool line_start = at == 0 || x->src.p[at - 1] == '\n';
    uint32_t p = at;
    if (r->state == PDL_LX_LINE) {
        if (!line_start) return false;
        while (p < x->src.n && (x->src.p[p] == ' ' || x->src.p[p] == '\t' || x->src.p[p] == '\v'))
            p++;
    } else {
        if (!line_start && !behind_ink(x, at)) return false;
        uint32_t stop = pdl_lex_blanks(x, p);
        const char *nl = stop > p ? memchr(x->src.p + p, '\n', stop - p) : NULL;
        p = nl ? (uint32_t)(nl - x->src.p) : stop;
    }
    if (!is_at(x, p, r->open)) return false;
    *end = p + (uint32_t)r->open.n;
    return true;
}

static bool opens_at(const pdl_lexer *x, uint32_t at, opening *o) {
    uint32_t end = word_tag(x, at, PDL_STR("raw"), &o->sign);
    o->at = at;
    if (end && block_close(x, end, false, &o->end)) {
        o->state = PDL_LX_RAW;
        return true;
    }
    for (uint32_t i = 0; i < x->n_rules; i++) {
        const pdl_lx_rule *r = &x->rules[i];
        if (r->state == PDL_LX_LINE || r->state == PDL_LX_LINE_COMMENT) {
            if (!line_rule_at(x, r, at, &end)) continue;
        } else {
            if (!is_at(x, at, r->open)) continue;
            end = at + (uint32_t)r->open.n;
        }
        o->state = r->state;
        o->sign = take_sign(x, &end);
        o->end = end;
        return true;
    }
    return false;
}

static bool find_opening(const pdl_lexer *x, opening *o) {
    for (uint32_t at = x->pos; at < x->src.n; at++) {
        unsigned char c = (unsigned char)x->src.p[at];
        if (!x->has_line_rules && !(x->firsts[c >> 5] >> (c & 31) & 1)) continue;
        if (opens_at(x, at, o)) return true;
    }
    return false;
}

/* --- text before an opening ----------------------------------------------------------------- */

static uint32_t strip_end(const pdl_lexer *x, uint32_t from, uint32_t to) {
    while (to > from) {
        uint32_t at = to - 1;
        while (at > from && ((unsigned char)x->src.p[at] & 0xc0) == 0x80) at--;
        if (pdl_lex_blanks(x, at) < to) break;
        to = at;
    }
    return to;
}

/* Applies lstrip_blocks: removes blanks between the start of the line and a tag. */
static uint32_t strip_line(const pdl_lexer *x, uint32_t from, uint32_t to) {
    uint32_t at = to;
    while (at > from && x->src.p[at - 1] != '\n') at--;
    if (at == from && !x->line_starting) return to;
    return pdl_lex_blanks(x, at) >= to ? at : to;
}

static uint32_t text_end(const pdl_lexer *x, const opening *o) {
    if (o->sign == '-') return strip_end(x, x->pos, o->at);
    if (o->sign != '+' && x->opt->lstrip_blocks && o->state != PDL_LX_VAR)
        return strip_line(x, x->pos, o->at);
    return o->at;
}

static void data_token(pdl_lexer *x, pdl_token *t, uint32_t from, uint32_t to) {
    pdl_str s = {x->src.p + from, to - from};
    pdl_str nl = x->opt->newline;
    if (nl.n && !pdl_str_is(nl, "\n") && memchr(s.p, '\n', s.n)) {
        pdl_buf b = PDL_BUF;
        for (size_t i = 0, at; i < s.n; i = at + 1) {
            at = pdl_str_find(s, PDL_STR("\n"), i);
            pdl_buf_put(&b, pdl_str_sub(s, i, at));
            if (at == PDL_NOT_FOUND) break;
            pdl_buf_put(&b, nl);
        }
        s = pdl_arena_str(x->arena, pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
    *t = (pdl_token){.kind = PDL_TK_DATA, .start = from, .end = to, .text = s};
}

/* --- states ----------------------------------------------------------------------------------- */

static void move_to(pdl_lexer *x, uint32_t end) {
    x->line_starting = end > 0 && x->src.p[end - 1] == '\n';
    x->pos = end;
}

/* Returns true when a token was made. */
static bool lex_root(pdl_lexer *x, pdl_token *t) {
    opening o;
    uint32_t from = x->pos, n = (uint32_t)x->src.n;
    if (!find_opening(x, &o)) {
        *t = (pdl_token){.kind = PDL_TK_EOF, .start = n, .end = n};
        if (from < n) data_token(x, t, from, n);
        x->pos = n;
        return true;
    }
    uint32_t to = text_end(x, &o);
    move_to(x, o.end);
    x->state = o.state;
    x->pending_at = o.at;
    if (o.state == PDL_LX_VAR)
        x->pending = PDL_TK_VAR_BEGIN;
    else if (o.state == PDL_LX_BLOCK || o.state == PDL_LX_LINE)
        x->pending = PDL_TK_BLOCK_BEGIN;
    if (to == from) return false;
    data_token(x, t, from, to);
    return true;
}

static bool missing_end(pdl_lexer *x, pdl_token *t, const char *msg) {
    *t = (pdl_token){.kind = PDL_TK_EOF, .start = x->pos, .end = x->pos};
    /* an opening that ends the text opens nothing, as in the reference */
    if (x->pos == x->src.n) return true;
    pdl_xfail_set(x->fail, x->arena, "TemplateSyntaxError", (pdl_xspan){x->pending_at, x->pos},
                  "%s", msg);
    t->kind = PDL_TK_ERROR;
    return true;
}

static bool lex_comment(pdl_lexer *x, pdl_token *t) {
    size_t at = pdl_str_find(x->src, x->opt->comment_end, x->pos);
    if (at == PDL_NOT_FOUND) return missing_end(x, t, "Missing end of comment tag");
    uint32_t end = (uint32_t)(at + x->opt->comment_end.n);
    char sign = at > x->pos ? x->src.p[at - 1] : '\0';
    if (sign == '-')
        end = pdl_lex_blanks(x, end);
    else if (sign != '+' && x->opt->trim_blocks && end < x->src.n && x->src.p[end] == '\n')
        end++;
    move_to(x, end);
    x->state = PDL_LX_ROOT;
    return false;
}

static bool lex_raw(pdl_lexer *x, pdl_token *t) {
    opening o = {.state = PDL_LX_RAW};
    uint32_t from = x->pos;
    for (size_t at = from;; at++) {
        at = pdl_str_find(x->src, x->opt->block_start, at);
        if (at == PDL_NOT_FOUND) return missing_end(x, t, "Missing end of raw directive");
        uint32_t end = word_tag(x, (uint32_t)at, PDL_STR("endraw"), &o.sign);
        o.at = (uint32_t)at;
        if (end && block_close(x, end, true, &o.end)) break;
    }
    uint32_t to = text_end(x, &o);
    move_to(x, o.end);
    x->state = PDL_LX_ROOT;
    if (to == from) return false;
    data_token(x, t, from, to);
    return true;
}

static void skip_line_comment(pdl_lexer *x) {
    size_t at = pdl_str_find(x->src, PDL_STR("\n"), x->pos);
    move_to(x, at == PDL_NOT_FOUND ? (uint32_t)x->src.n : (uint32_t)at);
    x->state = PDL_LX_ROOT;
}

void pdl_lex_text(pdl_lexer *x, pdl_token *t) {
    if (x->fail->msg.p) {
        *t = (pdl_token){.kind = PDL_TK_ERROR, .start = x->pos, .end = x->pos};
        return;
    }
    for (;;) {
        if (x->pending != PDL_TK_EOF) {
            *t = (pdl_token){.kind = x->pending, .start = x->pending_at, .end = x->pos};
            x->pending = PDL_TK_EOF;
            return;
        }
        if (x->state == PDL_LX_ROOT) {
            if (lex_root(x, t)) return;
        } else if (x->state == PDL_LX_COMMENT) {
            if (lex_comment(x, t)) return;
        } else if (x->state == PDL_LX_RAW) {
            if (lex_raw(x, t)) return;
        } else if (x->state == PDL_LX_LINE_COMMENT) {
            skip_line_comment(x);
        } else {
            pdl_lex_tag(x, t);
            return;
        }
    }
}
