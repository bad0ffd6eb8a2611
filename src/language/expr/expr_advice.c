/* expr_advice.c -- help for expressions that have the syntax of another language, or a small
 * mistake. The message names the part that could not be read. The help names the right syntax.
 *
 * The tag with the error is made into tokens once more, so that each row knows the tokens before
 * and after the place of the error. Expressions without errors cost nothing. Rows that may guess
 * wrong are not allowed. tests/unit/expr/test_advice.c has, for each hint, the mistakes that must
 * get it, and similar mistakes that must not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "expr/read.h"

#include "base/banned.h"

/* The place where reading ended. */
typedef struct spot {
    const pdl_reader *r;
    pdl_str at; /* the text from this place on */
    pdl_token two_before, prev, here;
    char due; /* the bracket that must close the innermost open bracket, or 0 */
    pdl_lx_state state;
} spot;

static void look(const pdl_reader *r, spot *s) {
    pdl_xfail none = {0};
    pdl_holder holder = r->holder;
    pdl_lexer x;
    pdl_lex_init(&x, &holder, &none, r->lexer.src, r->lexer.opt, r->base != 0);
    *s = (spot){.r = r, .at = pdl_str_sub(r->lexer.src, r->fail.start, r->lexer.src.n)};
    s->here.kind = PDL_TK_VAR_BEGIN;
    do {
        s->two_before = s->prev;
        s->prev = s->here;
        s->due = x.n_brackets ? x.brackets[x.n_brackets - 1] : '\0';
        s->state = x.pending == PDL_TK_EOF ? x.state : PDL_LX_ROOT;
        pdl_lex_next(&x, &s->here);
    } while (s->here.kind != PDL_TK_EOF && s->here.kind != PDL_TK_ERROR &&
             s->here.start < r->fail.start);
}

/* --- conditions ------------------------------------------------------------------------------- */

static bool joins(const pdl_token *t) {
    return t->kw == PDL_KW_AND || t->kw == PDL_KW_OR || t->kw == PDL_KW_NOT || t->kw == PDL_KW_IN ||
           t->kw == PDL_KW_IS || t->kw == PDL_KW_IF || t->kw == PDL_KW_ELSE;
}

static bool ends_value(const pdl_token *t) {
    return t->kind == PDL_TK_STRING || t->kind == PDL_TK_INT || t->kind == PDL_TK_FLOAT ||
           t->kind == PDL_TK_RPAREN || t->kind == PDL_TK_RBRACKET || t->kind == PDL_TK_RBRACE ||
           (t->kind == PDL_TK_NAME && !joins(t));
}

static bool begins_value(const pdl_token *t) {
    return t->kind == PDL_TK_STRING || t->kind == PDL_TK_INT || t->kind == PDL_TK_FLOAT ||
           (t->kind == PDL_TK_NAME && !joins(t));
}

static bool touches(const spot *s) { return s->prev.end == s->here.start; }
static bool fails_with(const spot *s, const char *how) {
    return pdl_str_starts(s->r->fail.msg, pdl_str_of(how));
}
static bool is_program(const spot *s) { return pdl_str_is(s->r->lexer.opt->variable_start, "${"); }

static bool after_value(const spot *s) { return ends_value(&s->prev); }
static bool value_due(const spot *s) { return !ends_value(&s->prev); }
/* the tag around the place is closed */
static bool is_inside(const spot *s) { return s->r->base != 0; }
static bool is_end(const spot *s) {
    return s->here.kind == PDL_TK_VAR_END || s->here.kind == PDL_TK_BLOCK_END ||
           (s->here.kind == PDL_TK_EOF && is_inside(s));
}
static bool two_values(const spot *s) { return after_value(s) && begins_value(&s->here); }

static char after_blanks(pdl_str s, size_t from) {
    while (from < s.n && s.p[from] == ' ') from++;
    return from < s.n ? s.p[from] : '\0';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Returns true for `a & b`, but not for `flags & 1`. */
static bool joins_conditions(const spot *s) {
    return after_value(s) && !is_digit(after_blanks(s->at, 1));
}
static bool is_not(const spot *s) {
    char next = after_blanks(s->at, 1);
    return value_due(s) && (is_letter(next) || pdl_byte_in(next, PDL_STR("('\"")));
}
static bool is_not_in(const spot *s) {
    return after_value(s) && pdl_str_starts(s->at, PDL_STR("!in "));
}
/* Returns true for name! and name? at the end of a tag. */
static bool is_sign_of_text(const spot *s) {
    return after_value(s) && touches(s) && after_blanks(s->at, 1) == '}';
}
static bool has_colon(const spot *s) {
    size_t end = pdl_str_find(s->at, s->r->lexer.opt->variable_end, 0);
    return after_value(s) && pdl_str_find(pdl_str_sub(s->at, 0, end), PDL_STR(":"), 0) < s->at.n;
}
static bool names_variable(const spot *s) {
    char next = s->at.n > 1 ? s->at.p[1] : '\0';
    return is_program(s) && (is_letter(next) || next == '{');
}
static bool is_unclosed_quote(const spot *s) { return fails_with(s, "unexpected char"); }
static bool is_quote_of_name(const spot *s) { /* ${ name's } */
    return is_unclosed_quote(s) && s->prev.kind == PDL_TK_NAME && touches(s);
}
static bool is_twice_at_end(const spot *s) {
    return is_end(s) && s->prev.kind == s->two_before.kind && s->prev.start == s->two_before.end;
}
static bool is_member(const spot *s) { /* a->b */
    return s->two_before.end == s->prev.start && touches(s) && s->at.n > 1 && is_letter(s->at.p[1]);
}
static bool is_set_in_braces(const spot *s) { return s->due == '}' && after_value(s); }
static bool is_open_group(const spot *s) { /* 1,000 */
    return s->prev.kind == PDL_TK_INT && s->at.n > 1 && is_digit(s->at.p[1]) && !s->due;
}
static bool is_outside(const spot *s) { return after_value(s) && !s->due; }
static bool is_format(const spot *s) { return after_value(s) && !s->due && touches(s); }
/* Returns true after `name`, but not after `NAME`, which is a variable of the shell. */
static bool is_default(const spot *s) {
    pdl_str name = pdl_str_sub(s->r->lexer.src, s->prev.start, s->prev.end);
    bool small = s->prev.kind != PDL_TK_NAME;
    for (size_t i = 0; i < name.n; i++) small = small || (name.p[i] >= 'a' && name.p[i] <= 'z');
    return is_format(s) && small;
}
static bool is_in_quotes(const spot *s) { /* 'it's' */
    if (s->prev.kind != PDL_TK_STRING || !touches(s) || s->here.kind != PDL_TK_NAME) return false;
    pdl_str quote = pdl_str_sub(s->r->lexer.src, s->prev.end - 1, s->prev.end);
    size_t end = pdl_str_find(s->at, s->r->lexer.opt->variable_end, 0);
    return pdl_str_find(pdl_str_sub(s->at, 0, end), quote, 0) != PDL_NOT_FOUND;
}
static bool is_filter_argument(const spot *s) {
    return s->two_before.kind == PDL_TK_PIPE && s->prev.kind == PDL_TK_NAME && two_values(s);
}
static bool is_letter_of_quotes(const spot *s) {
    return s->here.kind == PDL_TK_STRING && s->prev.kind == PDL_TK_NAME && touches(s) &&
           s->prev.text.n == 1 && pdl_byte_in(s->prev.text.p[0], PDL_STR("rRbBuU"));
}
static bool lacks_colon(const spot *s) {
    return fails_with(s, "expected token ':'") && two_values(s);
}
static bool lacks_comma(const spot *s) {
    return fails_with(s, "expected token ','") && two_values(s);
}
static bool is_joined_by_dot(const spot *s) { /* 'a' . 'b' */
    return s->prev.kind == PDL_TK_DOT && s->two_before.end < s->prev.start;
}
static bool is_key_after_dot(const spot *s) { return s->prev.kind == PDL_TK_DOT && touches(s); }
static bool is_alone_in_braces(const spot *s) {
    return fails_with(s, "expected token ':'") && s->two_before.kind == PDL_TK_LBRACE;
}
static bool is_power(const spot *s) {
    return after_value(s) && !pdl_str_starts(s->at, PDL_STR("^^"));
}
/* The value is in two pairs of braces, as in Jinja: ${{ a.b }}. */
static bool is_double_brace(const spot *s) {
    pdl_str before = pdl_str_sub(s->r->lexer.src, 0, s->r->fail.start);
    size_t open = pdl_str_rfind(before, PDL_STR("{"));
    return is_program(s) && fails_with(s, "expected token ':'") && after_value(s) &&
           open != PDL_NOT_FOUND && open && before.p[open - 1] == '{';
}
static bool is_zero_before(const spot *s) {
    return s->prev.kind == PDL_TK_INT && s->here.kind == PDL_TK_INT && touches(s);
}
static bool lacks_operand(const spot *s) {
    bool closes = s->due && s->at.n && s->at.p[0] == s->due;
    return (is_end(s) || closes || s->here.kind == PDL_TK_COMMA) && value_due(s) &&
           fails_with(s, "unexpected");
}
static bool is_mismatched(const spot *s) {
    return s->due && pdl_str_find(s->r->fail.msg, PDL_STR("', expected '"), 0) != PDL_NOT_FOUND;
}
static bool is_surplus(const spot *s) { return !s->due && fails_with(s, "unexpected '"); }

/* --- what is said ----------------------------------------------------------------------------- */

#define SETS      "an expression changes nothing: `def` on a block sets a variable"
#define NO_LAMBDA "there are no lambdas: a block with `function` is a function"
#define BOOK      "a text is written in ' or \"; this is a quote of books"
#define LOOPS                                                                                      \
    "there are no comprehensions: a block with for and repeat makes a list, as do the filters "    \
    "map and selectattr"
#define COMPARES     "write == to compare; `def` on a block sets a variable"
#define VARIABLE     "`def` on a block sets a variable"
#define FUNCTION     "a function is a block"
#define SIGN_OF_TEXT "a sign of the text is written after the braces"
#define REGEX        "a regular expression is a parser of a block: {regex: ...}"
#define IMPORT       "`import` is a block"
#define NO_CLASS     "there are no classes: Python runs in a block with `lang: python`"
#define WAITED       "nothing is awaited: an answer is waited for where it is used"
#define PRINTED      "the result of a block is what is printed"
#define ARROW_OR_GE                                                                                \
    "write >= to compare; there are no lambdas: a block with `function` is a function"
#define QUOTE_OF_TEXT                                                                              \
    "the quote is not closed; one that belongs to the text is written after the braces"
#define ALONE     "a variable inside of ${ } has no braces; an object is {'name': value}"
#define CONDITION "write `a if condition else b`"

#define ANY PDL_TK_COUNT

/* `at` begins at the place where reading ended, and `prev` is the token before that place. The
 * first row whose condition holds is used. */
static const struct {
    pdl_tk prev;
    const char *at;
    bool (*when)(const spot *s); /* NULL means always */
    const char *hint;
} signs[] = {
    {ANY, "&&", NULL, "write `and`"},
    {PDL_TK_PIPE, "|", NULL, "write `or`"},
    {ANY, "&", joins_conditions, "write `and`"},
    {PDL_TK_EQ, "=", NULL, "write =="},
    {PDL_TK_NE, "=", NULL, "write !="},
    {PDL_TK_LT, ">", NULL, "write !="},
    {PDL_TK_ASSIGN, ">", NULL, NO_LAMBDA},
    {PDL_TK_SUB, ">", is_member, "write a.b"},
    {PDL_TK_SUB, ">", NULL, NO_LAMBDA},
    {PDL_TK_ADD, "=", NULL, SETS},
    {PDL_TK_SUB, "=", NULL, SETS},
    {PDL_TK_MUL, "=", NULL, SETS},
    {PDL_TK_DIV, "=", NULL, SETS},
    {PDL_TK_MOD, "=", NULL, SETS},
    {PDL_TK_PIPE, "=", NULL, SETS},
    {ANY, ":=", after_value, SETS},
    {ANY, "=>", after_value, ARROW_OR_GE},
    {ANY, "=<", after_value, "write <="},
    {ANY, "=~", after_value, REGEX},
    {ANY, "=", is_set_in_braces, "an object is {'name': value}"},
    {ANY, "=", after_value, COMPARES},
    {PDL_TK_ADD, "}", is_twice_at_end, SETS},
    {PDL_TK_SUB, "}", is_twice_at_end, SETS},
    {ANY, "??", after_value, "write `a | default(b)`"},
    {ANY, "?.[", after_value, "write `(a | default([]))[i]`"},
    {ANY, "?.", after_value, "write `(a | default({})).b`"},
    {ANY, "?", is_sign_of_text, SIGN_OF_TEXT},
    {ANY, "?", has_colon, CONDITION},
    {ANY, "!in ", is_not_in, "write `not in`"},
    {ANY, "!", is_sign_of_text, SIGN_OF_TEXT},
    {ANY, "!", is_not, "write `not`"},
    {ANY, "$", names_variable, "names inside of ${ } have no $"},
    {ANY, "`", NULL, "a text is written in ' or \""},
    {ANY, "\u201c", NULL, BOOK},
    {ANY, "\u201d", NULL, BOOK},
    {ANY, "\u2018", NULL, BOOK},
    {ANY, "\u2019", NULL, BOOK},
    {ANY, "\u2212", NULL, "minus is written -"},
    {ANY, "\u2013", NULL, "minus is written -"},
    {ANY, "\u00d7", NULL, "times is written *"},
    {ANY, "\u00f7", NULL, "divided by is written /"},
    {ANY, "\u2260", NULL, "write !="},
    {ANY, "\u2264", NULL, "write <="},
    {ANY, "\u2265", NULL, "write >="},
    {ANY, "^", is_power, "a power is written **"},
    {ANY, "'", is_quote_of_name, QUOTE_OF_TEXT},
    {ANY, "\"", is_quote_of_name, QUOTE_OF_TEXT},
    {ANY, "'", is_unclosed_quote, "the quote is not closed"},
    {ANY, "\"", is_unclosed_quote, "the quote is not closed"},
    {ANY, "'", is_joined_by_dot, "texts are joined by ~"},
    {ANY, "\"", is_joined_by_dot, "texts are joined by ~"},
    {ANY, "'", is_key_after_dot, "write a['b']"},
    {ANY, "\"", is_key_after_dot, "write a['b']"},
    {ANY, "for ", after_value, LOOPS},
    {ANY, "then ", after_value, CONDITION},
    {ANY, "else ", after_value, CONDITION},
    {ANY, "unless ", after_value, "write `a if not condition else b`"},
    {ANY, "not ", after_value, "write `is not`, `not in` or !="},
    {ANY, "contains ", after_value, "write `item in x`"},
    {ANY, "equals ", after_value, "write =="},
    {ANY, "AND ", after_value, "write `and`"},
    {ANY, "OR ", after_value, "write `or`"},
    {ANY, ",", is_open_group, "a number is written without commas"},
    {ANY, ",", is_outside, "several values are a list: [a, b]"},
    {ANY, ",", value_due, "a value is missing before this comma"},
    {ANY, ":-", is_default, "write `a | default(b)`"},
    {ANY, ":.", is_format, "write '%.2f' | format(x)"},
    {ANY, "#", after_value, "an expression has no comments"},
    {ANY, ";", is_outside, "each expression has its own braces: ${ ... }"},
    {ANY, "}", is_double_brace, "the braces are single: ${ ... }"},
    {ANY, "}", is_alone_in_braces, ALONE},
    {ANY, "", is_in_quotes,
     "the quote before this ends the text: one with ' is written in \"...\", one with \" in "
     "'...'; values are joined by ~"},
    {ANY, "", is_filter_argument, "the arguments of a filter are in parentheses: x | f(a)"},
    {ANY, "", is_zero_before, "a number does not begin with 0"},
    {ANY, "", is_letter_of_quotes, "no letter precedes the quote of a text"},
    {ANY, "", lacks_colon, "a key is followed by a colon: {'name': value}"},
    {ANY, "", lacks_comma, "a comma or an operator is missing between the two"},
};

/* The word before the place where reading ended. A value follows the word, so the author took it
 * for a keyword. */
static const struct {
    const char *word, *hint;
} words[] = {
    {"f", "write 'a ' ~ x: there are no f-strings"},
    {"lambda", NO_LAMBDA},
    {"function", FUNCTION},
    {"def", FUNCTION},
    {"import", IMPORT},
    {"new", NO_CLASS},
    {"typeof", "write `x is string`, `x is number`, `x is mapping` or `x is sequence`"},
    {"await", WAITED},
    {"print", PRINTED},
    {"return", "the value of an expression is its result: leave `return` out"},
    {"var", VARIABLE},
    {"let", VARIABLE},
    {"const", VARIABLE},
    {"set", VARIABLE},
    {"if", CONDITION},
    {"for", LOOPS},
    {"NOT", "write `not`"},
};

/* The hints in a Jinja template, where blocks of PDL are unknown. An empty text means that there is
 * no hint. */
static const struct {
    const char *hint, *instead;
} in_jinja[] = {
    {SETS, "an expression changes nothing: {% set x = ... %} sets a variable"},
    {COMPARES, "write == to compare; {% set x = ... %} sets a variable"},
    {VARIABLE, "{% set x = ... %} sets a variable"},
    {FUNCTION, "a function is a macro: {% macro f(x) %}"},
    {NO_LAMBDA, "there are no lambdas: {% macro f(x) %} makes a function"},
    {ARROW_OR_GE, "write >= to compare; there are no lambdas"},
    {LOOPS, "there are no comprehensions: write {% for %}, or the filters map and selectattr"},
    {ALONE, "an object is {'name': value}"},
    {REGEX, ""},
    {IMPORT, ""},
    {NO_CLASS, ""},
    {WAITED, ""},
    {PRINTED, "{{ x }} prints x"},
};

/* The beginnings of messages for which one hint is always right. */
static const struct {
    const char *fails, *hint;
} failures[] = {
    {"invalid syntax for function call", "arguments without a name come before those with one"},
    {"You cannot chain multiple tests", "write `x is a and x is b`"},
    {"Missing end of comment tag",
     "{# begins a comment, which #} ends; the text {# is written ${ '{#' }"},
};

static bool word_fits(const spot *s, const char *word) {
    if (s->prev.kind != PDL_TK_NAME || !pdl_str_is(s->prev.text, word)) return false;
    if (s->two_before.kind == PDL_TK_DOT || s->two_before.kind == PDL_TK_PIPE) return false;
    if (pdl_str_is(s->prev.text, "f")) return s->here.kind == PDL_TK_STRING && touches(s);
    if (pdl_str_is(s->prev.text, "lambda") && s->here.kind == PDL_TK_COLON) return true;
    return begins_value(&s->here) && !ends_value(&s->two_before);
}

static pdl_str by_word(const spot *s) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word_fits(s, words[i].word)) return pdl_str_of(words[i].hint);
    return (pdl_str){0};
}

static pdl_str by_sign(const spot *s) {
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (signs[i].prev != ANY && signs[i].prev != s->prev.kind) continue;
        if (!pdl_str_starts(s->at, pdl_str_of(signs[i].at))) continue;
        if (!signs[i].when || signs[i].when(s)) return pdl_str_of(signs[i].hint);
    }
    return (pdl_str){0};
}

static const struct {
    const char *letter, *hint;
} unseen[] = {
#define X(letter, words) {letter, "the expression has " words},
#include "base/unseen.def"
#undef X
};

/* Returns the help for a letter that cannot be seen. */
static pdl_str by_unseen(const spot *s) {
    if (!fails_with(s, "unexpected char")) return (pdl_str){0};
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
        if (pdl_str_starts(s->at, pdl_str_of(unseen[i].letter))) return pdl_str_of(unseen[i].hint);
    return (pdl_str){0};
}

static pdl_str for_jinja(pdl_str hint) {
    for (size_t i = 0; i < sizeof in_jinja / sizeof *in_jinja; i++)
        if (pdl_str_is(hint, in_jinja[i].hint)) return pdl_str_of(in_jinja[i].instead);
    return hint;
}

static char opening_of(char due) { return due == ')' ? '(' : due == ']' ? '[' : '{'; }

/* Returns the help for a missing sign or a superfluous sign. */
static pdl_str by_gap(const spot *s) {
    pdl_buf b = PDL_BUF;
    bool is_name = s->prev.kind == PDL_TK_NAME; /* a keyword such as is, not, and */
    if (is_end(s) && s->prev.kind == PDL_TK_VAR_BEGIN)
        PDL_PUT(&b, "an expression is missing");
    else if (is_end(s) && s->prev.kind == PDL_TK_PIPE)
        PDL_PUT(&b, "the name of a filter is missing after |");
    else if (is_end(s) && (s->prev.kw == PDL_KW_IS || s->two_before.kw == PDL_KW_IS))
        PDL_PUT(&b, "the name of a test is missing after `is`");
    else if (s->prev.kw == PDL_KW_IS && fails_with(s, "expected token 'name'"))
        PDL_PUT(&b, "write == to compare");
    else if (is_end(s) && s->prev.kind == PDL_TK_DOT)
        PDL_PUT(&b, "a name is missing after the dot");
    else if (pdl_byte_in(after_blanks(s->at, 0), PDL_STR(")]}")) && is_mismatched(s))
        pdl_buf_putf(&b, "the %c before this is not closed", opening_of(s->due));
    else if (lacks_operand(s) && is_name)
        pdl_buf_putf(&b, "a value is missing after `%.*s`", PDL_FMT(s->prev.text));
    else if (lacks_operand(s) && s->prev.kind >= PDL_TK_ADD)
        pdl_buf_putf(&b, "a value is missing after %.*s", PDL_FMT(pdl_token_text(&s->prev)));
    else if (pdl_byte_in(after_blanks(s->at, 0), PDL_STR(")]")) && is_surplus(s))
        PDL_PUT(&b, "nothing opens this bracket");
    else if (two_values(s))
        PDL_PUT(&b, "between two values there is an operator, such as ~; a text is put in quotes");
    pdl_str out = b.len ? pdl_arena_str(s->r->arena, pdl_buf_str(&b)) : (pdl_str){0};
    pdl_buf_fini(&b);
    return out;
}

/* Returns the help for a tag that does not end. A missing end is reported before every other
 * mistake in the tag. A quote that is not closed may hide the end. */
static pdl_str by_end(const spot *s) {
    const pdl_xoptions *opt = s->r->lexer.opt;
    pdl_str end = s->state == PDL_LX_VAR ? opt->variable_end : opt->block_end;
    if (s->state != PDL_LX_VAR && s->state != PDL_LX_BLOCK) return (pdl_str){0};
    if (is_inside(s) || pdl_str_find(s->at, end, 0) != PDL_NOT_FOUND) return (pdl_str){0};
    if (value_due(s) && is_unclosed_quote(s)) return (pdl_str){0};
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "a %.*s is missing", PDL_FMT(end));
    pdl_str out = pdl_arena_str(s->r->arena, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return out;
}

pdl_str pdl_read_advice(const pdl_reader *r) {
    static const char *const read[] = {"unexpected", "expected", "Expected", "chunk after"};
    bool is_read = false;
    spot s;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (pdl_str_starts(r->fail.msg, pdl_str_of(failures[i].fails)))
            return pdl_str_of(failures[i].hint);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        is_read = is_read || pdl_str_starts(r->fail.msg, pdl_str_of(read[i]));
    if (!is_read) return (pdl_str){0};
    look(r, &s);
    pdl_str hint = by_end(&s);
    if (!hint.n) hint = by_unseen(&s);
    if (!hint.n) hint = by_word(&s);
    if (!hint.n) hint = by_sign(&s);
    if (!hint.n) hint = by_gap(&s);
    return is_program(&s) ? hint : for_jinja(hint);
}
