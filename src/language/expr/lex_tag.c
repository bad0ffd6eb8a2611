/* lex_tag.c -- see token.h. Reads the tokens between the delimiters of a tag. How a token is read
 * depends on the class of the first byte.
 *
 * A token is read in one of two ways. With the usual delimiters, }} and %}, no end of a tag begins
 * with a letter, a quote, an opening bracket or one of the signs . , | ~ : ;. Such a byte alone
 * decides what the token is (take_common). Nine of ten tokens begin with one of these bytes.
 * Everything else, and every error, goes through take_any, which checks for the end of the tag
 * first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "expr/token.h"

#include <stdio.h>

#include "base/utf8.h"

#include "base/banned.h"

/* The classes of bytes. SIGN: an operator that is the same whatever follows it. OPER: any other
 * operator. */
enum {
    C_NONE,
    C_BLANK,
    C_QUOTE,
    C_SIGN,
    C_OPEN,
    C_CLOSE,
    C_OPER,
    C_HIGH,
    C_WORD = 16, /* the bit of the bytes that may follow the first byte of a name */
    C_DIGIT = C_WORD,
    C_NAME
};

/* Python's \s counts U+001C..U+001F as white space. */
#define N8 C_NAME, C_NAME, C_NAME, C_NAME, C_NAME, C_NAME, C_NAME, C_NAME
#define H8 C_HIGH, C_HIGH, C_HIGH, C_HIGH, C_HIGH, C_HIGH, C_HIGH, C_HIGH
#define N7 C_NAME, C_NAME, C_NAME, C_NAME, C_NAME, C_NAME, C_NAME
#define D8 C_DIGIT, C_DIGIT, C_DIGIT, C_DIGIT, C_DIGIT, C_DIGIT, C_DIGIT, C_DIGIT
/* clang-format off */
static const uint8_t class_of[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, C_BLANK, C_BLANK, C_BLANK, C_BLANK, C_BLANK, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, C_BLANK, C_BLANK, C_BLANK, C_BLANK,
    C_BLANK, C_OPER, C_QUOTE, 0, 0, C_OPER, 0, C_QUOTE,
    C_OPEN, C_CLOSE, C_OPER, C_OPER, C_SIGN, C_OPER, C_SIGN, C_OPER, /* ( ) * + , - . / */
    D8, C_DIGIT, C_DIGIT, C_SIGN, C_SIGN, C_OPER, C_OPER, C_OPER, 0, /* 0-9 : ; < = > ? */
    0, N7, N8,                                                       /* @ A-O */
    N8, C_NAME, C_NAME, C_NAME, C_OPEN, 0, C_CLOSE, 0, C_NAME,       /* P-Z [ \ ] ^ _ */
    0, N7, N8,                                                       /* ` a-o */
    N8, C_NAME, C_NAME, C_NAME, C_OPEN, C_SIGN, C_OPER, C_SIGN, 0,   /* p-z { | } ~ */
    H8, H8, H8, H8, H8, H8, H8, H8, H8, H8, H8, H8, H8, H8, H8, H8
};
/* clang-format on */

static const char *const token_texts[] = {
#define X(id, text) text,
    PDL_TOKENS(X)
#undef X
};
static_assert(sizeof token_texts / sizeof token_texts[0] == PDL_TK_COUNT, "one text per token");

pdl_str pdl_tk_text(pdl_tk k) { return pdl_str_of(token_texts[k]); }

pdl_str pdl_token_text(const pdl_token *t) {
    return t->kind == PDL_TK_NAME ? t->text : pdl_tk_text(t->kind);
}

/* Sets a token without a text or a value. The caller sets the members that its kind has. Names and
 * operators, which most tokens are, are made here, so the function writes no other member. */
static inline void set_token(pdl_token *t, pdl_tk kind, uint32_t start, uint32_t end) {
    t->kind = kind;
    t->kw = PDL_KW_NONE;
    t->start = start;
    t->end = end;
}

static uint32_t cp_at(const pdl_lexer *x, uint32_t at, uint32_t *next) {
    const char *p = x->src.p + at;
    uint32_t cp = pdl_utf8_next(&p);
    *next = (uint32_t)(p - x->src.p);
    return cp;
}

/* Returns the offset after the white space that begins at `at`. The white space may be of any
 * script. */
PDL_COLD static uint32_t rare_blanks(const pdl_lexer *x, uint32_t at) {
    for (uint32_t next = at; at < x->src.n; at = next)
        if (!pdl_cp_is_space(cp_at(x, at, &next))) break;
    return at;
}

uint32_t pdl_lex_blanks(const pdl_lexer *x, uint32_t at) {
    while (at < x->src.n && class_of[(unsigned char)x->src.p[at]] == C_BLANK) at++;
    return at < x->src.n && class_of[(unsigned char)x->src.p[at]] == C_HIGH ? rare_blanks(x, at)
                                                                            : at;
}

static bool is_at(const pdl_lexer *x, uint32_t at, pdl_str s) {
    return x->src.n - at >= s.n && x->src.p[at] == s.p[0] && memcmp(x->src.p + at, s.p, s.n) == 0;
}

/* Returns true at an optional sign and the delimiter `close`. Sets *end to the position after the
 * text that the tag removes. */
static bool at_close(const pdl_lexer *x, pdl_str close, bool block, uint32_t *end) {
    char c = x->src.p[x->pos];
    if (c == '-' || (c == '+' && block)) {
        uint32_t at = x->pos + 1;
        if (is_at(x, at, close)) {
            at += (uint32_t)close.n;
            *end = c == '-' ? pdl_lex_blanks(x, at) : at;
            return true;
        }
    }
    if (!is_at(x, x->pos, close)) return false;
    *end = x->pos + (uint32_t)close.n;
    if (block && x->opt->trim_blocks && *end < x->src.n && x->src.p[*end] == '\n') ++*end;
    return true;
}

/* A line statement ends at the last newline of a run of white space, or at the end of the text. */
static bool at_line_end(const pdl_lexer *x, uint32_t *end) {
    uint32_t stop = pdl_lex_blanks(x, x->pos);
    if (stop < x->src.n)
        while (stop > x->pos && x->src.p[stop - 1] != '\n') stop--;
    *end = stop;
    return stop > x->pos || x->pos == x->src.n;
}

/* Returns false for most bytes, which cannot begin the end of a tag. */
static bool may_close(const pdl_lexer *x) {
    const pdl_str *close = x->state == PDL_LX_VAR ? &x->opt->variable_end : &x->opt->block_end;
    char c = x->src.p[x->pos];
    return c == close->p[0] || c == '-' || c == '+';
}

static bool take_end(pdl_lexer *x, pdl_token *t) {
    uint32_t end;
    pdl_tk kind = PDL_TK_BLOCK_END;
    if (x->n_brackets) return false;
    if (x->state == PDL_LX_LINE) {
        if (!at_line_end(x, &end)) return false;
    } else if (x->pos == x->src.n) {
        return false;
    } else if (!may_close(x)) {
        return false;
    } else if (x->state == PDL_LX_VAR) {
        if (!at_close(x, x->opt->variable_end, false, &end)) return false;
        kind = PDL_TK_VAR_END;
    } else if (!at_close(x, x->opt->block_end, true, &end)) {
        return false;
    }
    *t = (pdl_token){.kind = kind, .start = x->pos, .end = end};
    x->line_starting = end > x->pos && x->src.p[end - 1] == '\n';
    x->pos = end;
    x->state = PDL_LX_ROOT;
    return true;
}

PDL_COLD static void fail_char(pdl_lexer *x, pdl_token *t) {
    uint32_t next, cp = cp_at(x, x->pos, &next);
    char shown[16] = "";
    pdl_str at = {x->src.p + x->pos, next - x->pos};
    if (cp == '\\')
        at = PDL_STR("\\\\");
    else if (!pdl_cp_is_printable(cp)) {
        char letter = cp < 0x100 ? 'x' : cp < 0x10000 ? 'u' : 'U';
        int digits = cp < 0x100 ? 2 : cp < 0x10000 ? 4 : 8;
        int n = snprintf(shown, sizeof shown, "\\%c%0*x", letter, digits, (unsigned)cp);
        at = (pdl_str){shown, (size_t)n};
    }
    const char *quote = cp == '\'' ? "\"" : "'";
    size_t index = pdl_utf8_count((pdl_str){x->src.p, x->pos});
    pdl_xfail_set(x->fail, x->arena, "TemplateSyntaxError", (pdl_xspan){x->pos, next},
                  "unexpected char %s%.*s%s at %zu", quote, PDL_FMT(at), quote, index);
    *t = (pdl_token){.kind = PDL_TK_ERROR, .start = x->pos, .end = next};
}

/* Finds a keyword by its length and first letter, because this is called for each name, and few
 * names are keywords. */
static pdl_kw keyword_of(pdl_str s) {
    const char *p = s.p;
#define IS(lit, keyword) (memcmp(p, lit, sizeof lit - 1) == 0 ? keyword : PDL_KW_NONE)
    switch (s.n) {
    case 2:
        if (p[0] == 'i')
            return p[1] == 'f'   ? PDL_KW_IF
                   : p[1] == 'n' ? PDL_KW_IN
                   : p[1] == 's' ? PDL_KW_IS
                                 : PDL_KW_NONE;
        return IS("or", PDL_KW_OR);
    case 3: return p[0] == 'a' ? IS("and", PDL_KW_AND) : IS("not", PDL_KW_NOT);
    case 4:
        if (p[0] == 'e') return IS("else", PDL_KW_ELSE);
        if (p[0] == 't' || p[0] == 'T')
            return memcmp(p + 1, "rue", 3) == 0 ? PDL_KW_TRUE : PDL_KW_NONE;
        if (p[0] == 'n' || p[0] == 'N')
            return memcmp(p + 1, "one", 3) == 0 ? PDL_KW_NULL : PDL_KW_NONE;
        return PDL_KW_NONE;
    case 5:
        if (p[0] != 'f' && p[0] != 'F') return PDL_KW_NONE;
        return memcmp(p + 1, "alse", 4) == 0 ? PDL_KW_FALSE : PDL_KW_NONE;
    default: return PDL_KW_NONE;
    }
#undef IS
}

static inline bool is_word_byte(char c) { return class_of[(unsigned char)c] & C_WORD; }

bool pdl_lex_has_end(pdl_str src) {
    return !src.n || !is_word_byte(src.p[src.n - 1]) || !is_word_byte(src.p[src.n]);
}

/* Returns the offset after the letters, digits and `_` of ASCII that begin at `at`. Some other byte
 * always follows them in the source. */
static inline uint32_t ascii_name(const pdl_lexer *x, uint32_t at) {
    const char *p = x->src.p + at;
    for (;; p += 4) {
        if (!is_word_byte(p[0])) break;
        if (!is_word_byte(p[1])) return (uint32_t)(p + 1 - x->src.p);
        if (!is_word_byte(p[2])) return (uint32_t)(p + 2 - x->src.p);
        if (!is_word_byte(p[3])) return (uint32_t)(p + 3 - x->src.p);
    }
    return (uint32_t)(p - x->src.p);
}

/* Takes a name with letters beyond ASCII. The name has every character that Python counts as
 * alphanumeric. A name that is not an identifier is an error. */
PDL_COLD static bool take_foreign_name(pdl_lexer *x, pdl_token *t) {
    uint32_t at = x->pos, next;
    bool valid = true;
    for (;;) {
        at = ascii_name(x, at);
        if (at == x->src.n || class_of[(unsigned char)x->src.p[at]] != C_HIGH) break;
        uint32_t cp = cp_at(x, at, &next);
        bool more = pdl_cp_is_id_continue(cp);
        if (!more && !pdl_cp_is_alnum(cp)) break;
        valid = valid && (at == x->pos ? pdl_cp_is_id_start(cp) : more);
        at = next;
    }
    if (at == x->pos) return false;
    *t = (pdl_token){
        .kind = PDL_TK_NAME, .start = x->pos, .end = at, .text = {x->src.p + x->pos, at - x->pos}};
    if (!valid) {
        pdl_xfail_set(x->fail, x->arena, "TemplateSyntaxError", (pdl_xspan){x->pos, at},
                      "Invalid character in identifier");
        t->kind = PDL_TK_ERROR;
    }
    x->pos = at;
    return true;
}

static inline bool take_name(pdl_lexer *x, pdl_token *t) {
    uint32_t at = ascii_name(x, x->pos);
    if (at < x->src.n && class_of[(unsigned char)x->src.p[at]] == C_HIGH)
        return take_foreign_name(x, t);
    pdl_str text = {x->src.p + x->pos, at - x->pos};
    set_token(t, PDL_TK_NAME, x->pos, at);
    if (text.n - 2 <= 3) t->kw = keyword_of(text);
    t->text = text;
    x->pos = at;
    return true;
}

/* The operators of one character. */
static const uint8_t single[256] = {
    ['+'] = PDL_TK_ADD,    ['-'] = PDL_TK_SUB,    ['/'] = PDL_TK_DIV,      ['*'] = PDL_TK_MUL,
    ['%'] = PDL_TK_MOD,    ['~'] = PDL_TK_TILDE,  ['['] = PDL_TK_LBRACKET, [']'] = PDL_TK_RBRACKET,
    ['('] = PDL_TK_LPAREN, [')'] = PDL_TK_RPAREN, ['{'] = PDL_TK_LBRACE,   ['}'] = PDL_TK_RBRACE,
    ['>'] = PDL_TK_GT,     ['<'] = PDL_TK_LT,     ['='] = PDL_TK_ASSIGN,   ['.'] = PDL_TK_DOT,
    [':'] = PDL_TK_COLON,  ['|'] = PDL_TK_PIPE,   [','] = PDL_TK_COMMA,    [';'] = PDL_TK_SEMICOLON,
};

static pdl_tk operator_at(const pdl_lexer *x, uint32_t *len) {
    char c = x->src.p[x->pos], d = x->pos + 1 < x->src.n ? x->src.p[x->pos + 1] : '\0';
    *len = 2;
    if (d == '=') {
        if (c == '=') return PDL_TK_EQ;
        if (c == '!') return PDL_TK_NE;
        if (c == '>') return PDL_TK_GE;
        if (c == '<') return PDL_TK_LE;
    } else if (d == c) {
        if (c == '/') return PDL_TK_FLOORDIV;
        if (c == '*') return PDL_TK_POW;
    }
    *len = 1;
    return single[(unsigned char)c] ? (pdl_tk)single[(unsigned char)c] : PDL_TK_ERROR;
}

/* Checks that brackets match. */
static bool count_bracket(pdl_lexer *x, pdl_tk kind) {
    char due;
    if (kind == PDL_TK_LPAREN)
        due = ')';
    else if (kind == PDL_TK_LBRACKET)
        due = ']';
    else if (kind == PDL_TK_LBRACE)
        due = '}';
    else if (kind == PDL_TK_RPAREN || kind == PDL_TK_RBRACKET || kind == PDL_TK_RBRACE) {
        char c = x->src.p[x->pos];
        if (!x->n_brackets)
            return pdl_xfail_set(x->fail, x->arena, "TemplateSyntaxError",
                                 (pdl_xspan){x->pos, x->pos + 1}, "unexpected '%c'", c);
        due = x->brackets[--x->n_brackets];
        return due == c || pdl_xfail_set(x->fail, x->arena, "TemplateSyntaxError",
                                         (pdl_xspan){x->pos, x->pos + 1},
                                         "unexpected '%c', expected '%c'", c, due);
    } else {
        return true;
    }
    if (x->n_brackets == PDL_LX_BRACKETS)
        return pdl_xfail_set(
            x->fail, x->arena, "TemplateSyntaxError", (pdl_xspan){x->pos, x->pos + 1},
            "expression is nested too deeply (more than %d levels)", (int)PDL_MAX_EXPR_DEPTH);
    x->brackets[x->n_brackets++] = due;
    return true;
}

static bool take_operator(pdl_lexer *x, pdl_token *t) {
    uint32_t len;
    pdl_tk kind = operator_at(x, &len);
    if (kind == PDL_TK_ERROR) return false;
    set_token(t, kind, x->pos, x->pos + len);
    if (!count_bracket(x, kind)) t->kind = PDL_TK_ERROR;
    x->pos += len;
    return true;
}

bool pdl_lex_ends_are_signs(const pdl_xoptions *opt) {
    return !opt->line_statement.n && class_of[(unsigned char)opt->variable_end.p[0]] == C_OPER &&
           class_of[(unsigned char)opt->block_end.p[0]] == C_OPER;
}

/* Reads any token. The function is not inlined into pdl_lex_tag. It uses many registers, which
 * pdl_lex_tag would then save for every token, even for a name. */
PDL_APART static void take_any(pdl_lexer *x, pdl_token *t) {
    for (;;) {
        if (take_end(x, t)) return;
        if (x->pos == x->src.n) break;
        uint8_t c = class_of[(unsigned char)x->src.p[x->pos]];
        if (c != C_BLANK && c != C_HIGH) break;
        uint32_t at = pdl_lex_blanks(x, x->pos);
        if (at == x->pos) break;
        x->pos = at;
    }
    if (x->pos == x->src.n) {
        *t = (pdl_token){.kind = PDL_TK_EOF, .start = x->pos, .end = x->pos};
        return;
    }
    bool ok = false;
    switch (class_of[(unsigned char)x->src.p[x->pos]]) {
    case C_DIGIT: pdl_lex_number(x, t); return;
    case C_NAME:
    case C_HIGH: ok = take_name(x, t); break;
    case C_QUOTE: ok = pdl_lex_string(x, t); break;
    case C_SIGN:
    case C_OPEN:
    case C_CLOSE:
    case C_OPER: ok = take_operator(x, t); break;
    default: break;
    }
    if (!ok) fail_char(x, t);
}

static inline bool take_byte(pdl_lexer *x, pdl_token *t, char c) {
    set_token(t, (pdl_tk)single[(unsigned char)c], x->pos, x->pos + 1);
    x->pos++;
    return true;
}

/* Takes a token that the byte c at the cursor alone decides. For any other token it returns false
 * and does nothing. Names come first, because they are nearly half of all tokens. */
static inline bool take_common(pdl_lexer *x, pdl_token *t, char c) {
    uint8_t class = class_of[(unsigned char)c];
    if (class == C_NAME) return take_name(x, t);
    if (class == C_SIGN) return take_byte(x, t, c);
    if (class == C_OPEN && x->n_brackets < PDL_LX_BRACKETS) {
        x->brackets[x->n_brackets++] = c == '(' ? ')' : (char)(c + 2); /* c is [ or { */
        return take_byte(x, t, c);
    }
    if (class == C_CLOSE && x->n_brackets && x->brackets[x->n_brackets - 1] == c) {
        x->n_brackets--;
        return take_byte(x, t, c);
    }
    return class == C_QUOTE && pdl_lex_string(x, t);
}

void pdl_lex_tag(pdl_lexer *x, pdl_token *t) {
    if (PDL_LIKELY(x->ends_are_signs)) {
        const char *p = x->src.p + x->pos, *end = x->src.p + x->src.n;
        while (p < end && class_of[(unsigned char)*p] == C_BLANK) p++;
        x->pos = (uint32_t)(p - x->src.p);
        if (p < end && take_common(x, t, *p)) return;
    }
    take_any(x, t);
}

bool pdl_lex_may_assign(const pdl_lexer *x) {
    uint32_t at = pdl_lex_blanks(x, x->pos);
    return at < x->src.n && x->src.p[at] == '=';
}
