/* token.h -- tokens of expressions and templates, and the lexer that makes them. Private to expr.
 *
 * The lexer is lazy: it makes one token for each request, so that a lexical error is found after a
 * syntax error that precedes it, as in the reference. Sources have LF line ends only (normalised by
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

/* Names with a meaning inside of expressions. They stay names: `if`, `in`, ... are variables where
 * an operand is expected. */
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
    pdl_kw kw;           /* set for a NAME */
    uint32_t start, end; /* bytes in the normalised source */
    pdl_str text;        /* NAME: the name; STRING: its value; DATA: the text to print */
    pdl_val value;       /* value of an INT or FLOAT; a large integer is owned by the arena */
} pdl_token;

/* Values that constants own. They are dropped with the arena. */
typedef struct pdl_held {
    pdl_val v;
    struct pdl_held *next;
} pdl_held;

typedef struct pdl_holder {
    pdl_arena *arena;
    pdl_held **head; /* in the arena; NULL while no value is owned */
} pdl_holder;

void pdl_hold(pdl_holder *h, pdl_val v); /* takes v */

/* The first error of a reading. Unset while msg.p is NULL. */
typedef struct pdl_xfail {
    pdl_str msg;
    const char *cls;
    pdl_str hint;
    /* offsets in the normalised source, or with as_written in the text as written */
    uint32_t start, end;
    bool as_written;
    bool no_filter, no_test; /* no filter (test) has the name that is read */
} pdl_xfail;

/* A part of the normalised source. */
typedef struct pdl_xspan {
    uint32_t start, end;
} pdl_xspan;

/* Fills f unless it is set. Always false. */
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

/* One kind of opening, which ends the text before it. Rules are tried in order at each position. */
typedef struct pdl_lx_rule {
    pdl_lx_state state;
    pdl_str open;
} pdl_lx_rule;

enum { PDL_LX_RULES = 5, PDL_LX_BRACKETS = PDL_MAX_EXPR_DEPTH + 56 };

/* Invariants: pos <= src.n; brackets[0..n_brackets) are the closing brackets that are expected;
 * each name in src is followed by a byte that ends it, which may be the one after src. */
typedef struct pdl_lexer {
    pdl_arena *arena;
    pdl_holder *holder;
    pdl_xfail *fail;
    pdl_str src;
    uint32_t pos;
    pdl_lx_state state;
    pdl_tk pending; /* the begin token that is returned before the lexer continues; EOF: none */
    uint32_t pending_at;
    uint32_t n_brackets;
    bool line_starting; /* the last match of text ended with a newline */
    bool has_line_rules;
    /* the ends of tags begin with an operator, so only at operators an end has to be looked for */
    bool ends_are_signs;
    uint32_t n_rules;
    pdl_lx_rule rules[PDL_LX_RULES];
    uint32_t firsts[8];      /* bit set of the first bytes of the rules */
    const pdl_xoptions *opt; /* options in which all delimiters are set */
    char brackets[PDL_LX_BRACKETS];
} pdl_lexer;

/* Starts a lexer at the start of src, which works in the arena of h. opt has all its delimiters,
 * and outlives the lexer. With inside, src is the inside of one expression. */
void pdl_lex_init(pdl_lexer *x, pdl_holder *h, pdl_xfail *f, pdl_str src, const pdl_xoptions *opt,
                  bool inside);

/* These are parts of the lexer: lex_text.c (outside of tags), lex_tag.c (inside), lex_literal.c
 * (strings and numbers). */
void pdl_lex_text(pdl_lexer *x, pdl_token *t);
void pdl_lex_tag(pdl_lexer *x, pdl_token *t);
/* Reads the string that begins at the cursor. Returns false, and does nothing, when no quote closes
 * it. */
bool pdl_lex_string(pdl_lexer *x, pdl_token *t);
void pdl_lex_number(pdl_lexer *x, pdl_token *t);          /* called at a digit */
uint32_t pdl_lex_blanks(const pdl_lexer *x, uint32_t at); /* offset after the white space at `at` */
/* Returns true when the next token may be = . Makes no token. */
bool pdl_lex_may_assign(const pdl_lexer *x);
/* Returns true when no name of src continues after its end. */
bool pdl_lex_has_end(pdl_str src);

/* Makes the next token; ERROR after an error of the lexer. At the end of the text, and at every
 * later call, it makes EOF. */
static inline void pdl_lex_next(pdl_lexer *x, pdl_token *t) {
    if (PDL_LIKELY(x->state == PDL_LX_VAR && x->pending == PDL_TK_EOF))
        pdl_lex_tag(x, t);
    else
        pdl_lex_text(x, t);
}

/* Returns true when the ends of tags are signs, as }} and %} are. */
bool pdl_lex_ends_are_signs(const pdl_xoptions *opt);

/* Returns how messages name a token: "end of print statement", "x", "integer". */
pdl_str pdl_token_text(const pdl_token *t);
pdl_str pdl_tk_text(pdl_tk k);

#endif
