/* token.h -- tokens of expressions and templates, and the lexer that makes them. Private to expr.
 *
 * The lexer is lazy: it makes one token for each request, so that a syntax error is found before a
 * lexical error that follows it, as in the reference. Sources have LF line ends only (normalised by
 * the reader).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EXPR_TOKEN_H
#define PDL_EXPR_TOKEN_H

#include <stdarg.h>

#include "base/limits.h"
#include "expr/expr.h"

/* X(id, text). text describes the token in messages. */
/* clang-format off */
#define PDL_TOKENS(X) \
    X(EOF, "end of template") X(ERROR, "") X(DATA, "template data / text") \
    X(VAR_BEGIN, "begin of print statement") X(VAR_END, "end of print statement") \
    X(BLOCK_BEGIN, "begin of statement block") X(BLOCK_END, "end of statement block") \
    X(NAME, "name") X(STRING, "string") X(INT, "integer") X(FLOAT, "float") \
    X(ADD, "+") X(SUB, "-") X(DIV, "/") X(FLOORDIV, "//") X(MUL, "*") X(MOD, "%") X(POW, "**") \
    X(TILDE, "~") \
    X(LBRACKET, "[") X(RBRACKET, "]") X(LPAREN, "(") X(RPAREN, ")") X(LBRACE, "{") X(RBRACE, "}") \
    X(EQ, "==") X(NE, "!=") X(GT, ">") X(GE, ">=") X(LT, "<") X(LE, "<=") X(ASSIGN, "=") \
    X(DOT, ".") X(COLON, ":") X(PIPE, "|") X(COMMA, ",") X(SEMICOLON, ";")
/* clang-format on */

typedef enum {
#define X(id, text) PDL_TK_##id,
    PDL_TOKENS(X)
#undef X
        PDL_TK_COUNT
} pdl_tk;

/* Names with a meaning inside of expressions. The words are still names: `if`, `in` and others are
 * variables where an operand is expected. */
typedef enum {
    PDL_KW_NONE,
    PDL_KW_AND,
    PDL_KW_OR,
    PDL_KW_NOT,
    PDL_KW_IN,
    PDL_KW_IS,
    PDL_KW_IF,
    PDL_KW_ELSE,
    PDL_KW_TRUE,
    PDL_KW_FALSE,
    PDL_KW_NULL
} pdl_kw;

typedef struct pdl_token {
    pdl_tk kind;
    pdl_kw kw;           /* used by a NAME */
    uint32_t start, end; /* the offset in the normalised source */
    /* the name of a NAME, the value of a STRING, or the text that a DATA prints */
    pdl_str text;
    pdl_val value; /* value of an INT or FLOAT; a large integer is owned by the arena */
} pdl_token;

/* Values that belong to constants. They are dropped with the arena. */
typedef struct pdl_held {
    pdl_val v;
    struct pdl_held *next;
} pdl_held;

typedef struct pdl_holder {
    pdl_arena *arena;
    pdl_held **head; /* in the arena; NULL while no value is owned */
} pdl_holder;

void pdl_hold(pdl_holder *h, pdl_val v); /* takes v */

/* The first error of a reading. The error is unset while msg.p is NULL. */
typedef struct pdl_xfail {
    pdl_str msg;
    const char *cls;
    pdl_str hint;
    /* offsets in the normalised source; with as_written, offsets in the text of the program */
    uint32_t start, end;
    bool as_written;
    bool no_filter, no_test; /* the name of a filter, or of a test, is unknown */
} pdl_xfail;

/* A part of the normalised source. */
typedef struct pdl_xspan {
    uint32_t start, end;
} pdl_xspan;

/* Fills f unless it is set. Always returns false. */
PDL_PRINTF(5, 6)
bool pdl_xfail_set(pdl_xfail *f, pdl_arena *a, const char *cls, pdl_xspan at, const char *fmt, ...);
PDL_PRINTF(5, 0)
void pdl_xfail_vset(pdl_xfail *f, pdl_arena *a, const char *cls, pdl_xspan at, const char *fmt,
                    va_list ap);

typedef enum {
    PDL_LX_ROOT,
    PDL_LX_VAR,
    PDL_LX_BLOCK,
    PDL_LX_LINE,
    PDL_LX_RAW,
    PDL_LX_COMMENT,
    PDL_LX_LINE_COMMENT
} pdl_lx_state;

/* One kind of opening. An opening ends the text before it. Rules are tried in order at each
 * position. */
typedef struct pdl_lx_rule {
    pdl_lx_state state;
    pdl_str open;
} pdl_lx_rule;

enum { PDL_LX_RULES = 5, PDL_LX_BRACKETS = PDL_MAX_EXPR_DEPTH + 56 };

/* Invariants: pos <= src.n; brackets[0..n_brackets) are the closing brackets that are expected;
 * each name in src is followed by a byte that ends it, which may be the byte after src. */
typedef struct pdl_lexer {
    pdl_arena *arena;
    pdl_holder *holder;
    pdl_xfail *fail;
    pdl_str src;
    uint32_t pos;
    pdl_lx_state state;
    /* the begin token that is returned before the lexer continues; EOF when there is no
     * such token */
    pdl_tk pending;
    uint32_t pending_at;
    uint32_t n_brackets;
    bool line_starting; /* the last match of text ended with a newline */
    bool has_line_rules;
    /* the ends of tags begin with an operator, so the lexer looks for an end only at operators */
    bool ends_are_signs;
    uint32_t n_rules;
    pdl_lx_rule rules[PDL_LX_RULES];
    uint32_t firsts[8];      /* a bit set of the first bytes of the rules */
    const pdl_xoptions *opt; /* options that set all delimiters */
    char brackets[PDL_LX_BRACKETS];
} pdl_lexer;

/* Starts a lexer at the start of src. The lexer works in the arena of h. opt has all its
 * delimiters, and outlives the lexer. With `inside`, src is the text inside of one `${ }`. */
void pdl_lex_init(pdl_lexer *x, pdl_holder *h, pdl_xfail *f, pdl_str src, const pdl_xoptions *opt,
                  bool inside);

/* The lexer has these parts: lex_text.c reads outside of tags, lex_tag.c inside of tags, and
 * lex_literal.c reads strings and numbers. */
void pdl_lex_text(pdl_lexer *x, pdl_token *t);
void pdl_lex_tag(pdl_lexer *x, pdl_token *t);
/* Reads the string that begins at the cursor. Returns false, and does nothing, when no quote closes
 * the string. */
bool pdl_lex_string(pdl_lexer *x, pdl_token *t);
void pdl_lex_number(pdl_lexer *x, pdl_token *t); /* called at a digit */
/* returns the offset after the white space at `at` */
uint32_t pdl_lex_blanks(const pdl_lexer *x, uint32_t at);
/* Returns true when the next token may be = . Makes no token. */
bool pdl_lex_may_assign(const pdl_lexer *x);
/* Returns true unless the last byte of src and the byte after src can belong to one name. */
bool pdl_lex_has_end(pdl_str src);

/* Makes the next token. After an error of the lexer it makes ERROR. At the end of the text, and at
 * every later call, it makes EOF. */
static inline void pdl_lex_next(pdl_lexer *x, pdl_token *t) {
    if (PDL_LIKELY(x->state == PDL_LX_VAR && x->pending == PDL_TK_EOF))
        pdl_lex_tag(x, t);
    else
        pdl_lex_text(x, t);
}

/* Returns true when the ends of tags are signs, such as }} and %}. */
bool pdl_lex_ends_are_signs(const pdl_xoptions *opt);

/* Returns how messages name a token: "end of print statement", "x", "integer". */
pdl_str pdl_token_text(const pdl_token *t);
pdl_str pdl_tk_text(pdl_tk k);

#endif
