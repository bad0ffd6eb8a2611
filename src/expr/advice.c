/* advice.c -- help for expressions that are written as in another language: the message says what
 * could not be read, the help what it is called here.
 *
 * It examines the bytes around the place where reading ended, and costs nothing until then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "expr/read.h"

#include "base/banned.h"

/* `at` begins where reading ended, `before` ends there; both must fit. The first row counts. */
static const struct {
    const char *before, *at, *hint;
} signs[] = {
    {"", "&&", "write `and`"},
    {"|", "|", "write `or`"},
    {"", "&", "write `and`"},
    {"==", "=", "write =="},
    {"!=", "=", "write !="},
    {"<", ">", "write !="},
    {"=", ">", "there are no lambdas: a block with `function` is a function"},
    {"-", ">", "there are no lambdas: a block with `function` is a function"},
    {"+", "=", "an expression changes nothing: `def` on a block sets a variable"},
    {"-", "=", "an expression changes nothing: `def` on a block sets a variable"},
    {"*", "=", "an expression changes nothing: `def` on a block sets a variable"},
    {"/", "=", "an expression changes nothing: `def` on a block sets a variable"},
    {"", "=", "write == to compare; `def` on a block sets a variable"},
    {"++", "", "an expression changes nothing: `def` on a block sets a variable"},
    {"--", "", "an expression changes nothing: `def` on a block sets a variable"},
    {"", "??", "write `a | default(b)`"},
    {"", "?.", "write `(a | default({})).b`"},
    {"", "?", "write `a if condition else b`"},
    {"", "!", "write `not`"},
    {"", "$", "names inside of ${ } have no $"},
    {"", "`", "a text is written in ' or \""},
    {"", "\u201c", "a text is written in ' or \"; this is a quote of books"},
    {"", "\u201d", "a text is written in ' or \"; this is a quote of books"},
    {"", "\u2018", "a text is written in ' or \"; this is a quote of books"},
    {"", "\u2019", "a text is written in ' or \"; this is a quote of books"},
    {"", "\u2212", "minus is written -"},
    {"", "\u2013", "minus is written -"},
    {"", "\u00d7", "times is written *"},
    {"", "\u2260", "write !="},
    {"", "\u2264", "write <="},
    {"", "\u2265", "write >="},
    {"", "^", "a power is written **"},
    {"", "'", "the quote is not closed"},
    {"", "\"", "the quote is not closed"},
    {"", "for ",
     "there are no comprehensions: a block with for and repeat makes a list, as do the "
     "filters map and selectattr"},
};

/* The word before the place where reading ended. */
static const struct {
    const char *word, *hint;
} words[] = {
    {"f", "write 'a ' ~ x: there are no f-strings"},
    {"lambda", "there are no lambdas: a block with `function` is a function"},
    {"function", "a function is a block"},
    {"import", "`import` is a block"},
    {"new", "there are no classes: Python runs in a block with `lang: python`"},
    {"typeof", "write `x is string`, `x is number`, `x is mapping` or `x is sequence`"},
    {"await", "nothing is awaited: an answer is waited for where it is used"},
    {"var", "`def` on a block sets a variable"},
    {"let", "`def` on a block sets a variable"},
    {"const", "`def` on a block sets a variable"},
};

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static pdl_str last_word(pdl_str before) {
    size_t end = before.n, from;
    while (end && (before.p[end - 1] == ' ' || before.p[end - 1] == '\n')) end--;
    for (from = end; from && is_word_byte(before.p[from - 1]); from--) {}
    return pdl_str_sub(before, from, end);
}

static pdl_str trim_end(pdl_str s) {
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\n')) s.n--;
    return s;
}

pdl_str pdl_read_advice(const pdl_reader *r) {
    pdl_str src = r->lexer.src, before = pdl_str_sub(src, 0, r->fail.start),
            at = pdl_str_sub(src, r->fail.start, src.n), word = last_word(before);
    if (!trim_end(before).n) before = (pdl_str){0};
    bool at_end = !at.n || at.p[0] == '}';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pdl_str_is(word, words[i].word)) return pdl_str_of(words[i].hint);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (!pdl_str_starts(at, pdl_str_of(signs[i].at))) continue;
        pdl_str end = *signs[i].at ? before : trim_end(before);
        if (!pdl_str_ends(end, pdl_str_of(signs[i].before))) continue;
        if (*signs[i].at || at_end) return pdl_str_of(signs[i].hint);
    }
    if (pdl_str_starts(pdl_str_trim(before), PDL_STR("${{")) && at.n && at.p[0] == '}')
        return PDL_STR("the braces are single: ${ ... }");
    if (!at.n) return PDL_STR("a } is missing");
    if (at_end && pdl_str_ends(trim_end(before), PDL_STR("{")))
        return PDL_STR("an expression is missing");
    return (pdl_str){0};
}
