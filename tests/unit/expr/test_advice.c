/* test_advice.c -- the help for expressions that are written as in another language.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "expr/expr.h"
#include "native/native.h"

#include "base/banned.h"

static bool is_filter(pdl_str name) { return pdl_filter_find(name) != NULL; }
static bool is_test(pdl_str name) { return pdl_test_find(name) != NULL; }
static const pdl_xnames known = {is_filter, is_test, pdl_filter_advise, pdl_test_advise};

/* For each hint the mistakes that it is for, and the nearest ones that it would be wrong about.
 * hint: how it begins; "": none */
static const struct {
    const char *text, *hint;
} syntax[] = {
    {"Hello ${ name !", "a } is missing"},
    {"Hello ${ name ! }", ""},
    {"${ name! }", "a sign of the text is written after the braces"},
    {"${ !name }", "write `not`"},
    {"${ a and !b }", "write `not`"},
    {"${ a ! b }", ""},
    {"${ not !a }", "write `not`"},
    {"${ a !in b }", "write `not in`"},
    {"${ x | default 'a' }", "the arguments of a filter are in parentheses: x | f(a)"},
    {"${ x | default \"a\" }", "the arguments of a filter are in parentheses: x | f(a)"},
    {"${ x | join ', ' | upper }", "the arguments of a filter are in parentheses: x | f(a)"},
    {"${ x | round 2 }", "the arguments of a filter are in parentheses: x | f(a)"},
    {"${ x | default fallback }", "the arguments of a filter are in parentheses: x | f(a)"},
    {"${ x | sort reverse=true }", "the arguments of a filter are in parentheses: x | f(a)"},
    {"${ x | replace 'a', 'b' }", "the arguments of a filter are in parentheses: x | f(a)"},
    {"${ x | upper 'a' }", "the arguments of a filter are in parentheses: x | f(a)"},
    {"${ 'it's' }",
     "the quote before this ends the text: one with ' is written in \"...\", one wi"},
    {"${ 'it's late' }",
     "the quote before this ends the text: one with ' is written in \"...\", one wi"},
    {"${ \"say \"hi\"\" }",
     "the quote before this ends the text: one with ' is written in \"...\", one wi"},
    {"${ x 'b' }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ 'a' x }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ 'abc }", "the quote is not closed"},
    {"${ \"abc' }", "the quote is not closed"},
    {"${ f x }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ f 'x' }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ f'x' }", "write 'a ' ~ x: there are no f-strings"},
    {"${ f\"x {y}\" }", "write 'a ' ~ x: there are no f-strings"},
    {"${ lambda x: x }", "there are no lambdas: a block with `function` is a function"},
    {"${ function(x) { return x } }", ""},
    {"${ import x }", "`import` is a block"},
    {"${ new x }", "there are no classes: Python runs in a block with `lang: python`"},
    {"${ let x = 1 }", "`def` on a block sets a variable"},
    {"${ var x }", "`def` on a block sets a variable"},
    {"${ await x }", "nothing is awaited: an answer is waited for where it is used"},
    {"${ typeof x }", "write `x is string`, `x is number`, `x is mapping` or `x is sequence`"},
    {"${ new + }", "a value is missing after +"},
    {"${ var = 1 }", "write == to compare; `def` on a block sets a variable"},
    {"${ import + }", "a value is missing after +"},
    {"${ const x = 3 }", "`def` on a block sets a variable"},
    {"${ a = b }", "write == to compare; `def` on a block sets a variable"},
    {"${ f(a=) }", "a value is missing after ="},
    {"${ a == = b }", "write =="},
    {"${ x -= 1 }", "an expression changes nothing: `def` on a block sets a variable"},
    {"${ a =< b }", "write <="},
    {"${ a => b }",
     "write >= to compare; there are no lambdas: a block with `function` is a function"},
    {"${ a -> b }", "there are no lambdas: a block with `function` is a function"},
    {"${ a <> b }", "write !="},
    {"${ a < > b }", "write !="},
    {"${ a | | b }", "write `or`"},
    {"${ a || b }", "write `or`"},
    {"${ a | }", "the name of a filter is missing after |"},
    {"${ | upper }", ""},
    {"${ a & b }", "write `and`"},
    {"${ a && }", "write `and`"},
    {"${ a++ }", "an expression changes nothing: `def` on a block sets a variable"},
    {"${ a + }", "a value is missing after +"},
    {"${ a-- }", "an expression changes nothing: `def` on a block sets a variable"},
    {"${ a ? b : c }", "write `a if condition else b`"},
    {"${ a ? }", ""},
    {"${ is it late? }", ""},
    {"${ a?.b }", "write `(a | default({})).b`"},
    {"${ a?.[0] }", "write `(a | default([]))[i]`"},
    {"${ a ?? b }", "write `a | default(b)`"},
    {"${ a? }", "a sign of the text is written after the braces"},
    {"${ $a }", "names inside of ${ } have no $"},
    {"${ a $b }", "names inside of ${ } have no $"},
    {"costs ${ price $ }", ""},
    {"${ {'$a'} }", "a variable inside of ${ } has no braces; an object is {'name': value}"},
    {"${ `a` }", "a text is written in ' or \""},
    {"${ 2 ^ 3 }", "a power is written **"},
    {"${ “a” }", "a text is written in ' or \"; this is a quote of books"},
    {"${ a “b” }", "a text is written in ' or \"; this is a quote of books"},
    {"${ a – b }", "minus is written -"},
    {"${ a − b }", "minus is written -"},
    {"${ a × b }", "times is written *"},
    {"${ a ≠ b }", "write !="},
    {"${ a ≤ b }", "write <="},
    {"${ a ≥ b }", "write >="},
    {"${ a … b }", ""},
    {"${ x for x in y }",
     "there are no comprehensions: a block with for and repeat makes a list, as d"},
    {"${ [x for x in y] }",
     "there are no comprehensions: a block with for and repeat makes a list, as d"},
    {"${ for x in y }",
     "there are no comprehensions: a block with for and repeat makes a list, as d"},
    {"${ {k: v for k in y} }",
     "there are no comprehensions: a block with for and repeat makes a list, as d"},
    {"${ {a for a in b} }",
     "there are no comprehensions: a block with for and repeat makes a list, as d"},
    {"${ (1 + 2 }", "the ( before this is not closed"},
    {"${ [1, 2 }", "the [ before this is not closed"},
    {"${ a) }", "nothing opens this bracket"},
    {"${ a] }", "nothing opens this bracket"},
    {"${ a[0 }", "the [ before this is not closed"},
    {"${ f(1 }", "the ( before this is not closed"},
    {"${ x | default('a' }", "the ( before this is not closed"},
    {"${ f(, 1) }", "a value is missing before this comma"},
    {"${ [1,, 2] }", "a value is missing before this comma"},
    {"${ {'a' 1} }", "a key is followed by a colon: {'name': value}"},
    {"${ {a = 1} }", "an object is {'name': value}"},
    {"${ 1 + }", "a value is missing after +"},
    {"${ * 2 }", ""},
    {"${ a b }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ hello world }",
     "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ a. }", "a name is missing after the dot"},
    {"${ a.'b' }", "write a['b']"},
    {"${ .a }", ""},
    {"${ 01 }", "a number does not begin with 0"},
    {"${ 1,000 }", "a number is written without commas"},
    {"${ 5% }", "a value is missing after %"},
    {"${ 5 % }", "a value is missing after %"},
    {"${ a if b else }", "a value is missing after `else`"},
    {"${ if a then b else c }", "write `a if condition else b`"},
    {"${ if a: b }", "write `a if condition else b`"},
    {"${ a then b }", "write `a if condition else b`"},
    {"${ a else b }", "write `a if condition else b`"},
    {"${ x is }", "the name of a test is missing after `is`"},
    {"${ x is not }", "the name of a test is missing after `is`"},
    {"${ x is empty }", "write `not x`, or `x | length == 0`"},
    {"${ x is emptyish }", ""},
    {"${ x is None }", "did you mean 'none'?"},
    {"${ x not defined }", "write `is not`, `not in` or !="},
    {"${ x is defined and not }", "a value is missing after `not`"},
    {"${ not }", "a value is missing after `not`"},
    {"${ a not b }", "write `is not`, `not in` or !="},
    {"${ a in }", "a value is missing after `in`"},
    {"${ a and }", "a value is missing after `and`"},
    {"${ a and and b }", ""},
    {"${ a or }", "a value is missing after `or`"},
    {"${ a AND b }", "write `and`"},
    {"${ a OR b }", "write `or`"},
    {"${ NOT a }", "write `not`"},
    {"${ a || }", "write `or`"},
    {"${ a; b }", "each expression has its own braces"},
    {"${ a # b }", "an expression has no comments"},
    {"${ a @ b }", ""},
    {"${ a \\ b }", ""},
    {"${ a:b }", ""},
    {"${ x[1:2 }", "the [ before this is not closed"},
    {"${ a ~= b }", ""},
    {"${ a =~ b }", "a regular expression is a parser of a block: {regex: ...}"},
    {"${ a === b }", "write =="},
    {"${ a !== b }", "write !="},
    {"${ a isnot b }",
     "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ a is not b }", ""},
    {"${ @a }", ""},
    {"${ #a }", ""},
    {"${ %a }", ""},
    {"${ a.b.c( }", "the ( before this is not closed"},
    {"Hello ${ name", "a } is missing"},
    {"Hello ${ name and how are you", "a } is missing"},
    {"Hello ${ name, how are you? I am fine.", "a } is missing"},
    {"Hello ${ user.name. How are you?", "a } is missing"},
    {"${ a && b", "a } is missing"},
    {"${ 'abc", "the quote is not closed"},
    {"Hello ${{ name }}", "the braces are single: ${ ... }"},
    {"${{ a", "a } is missing"},
    {"${{ a }", "the braces are single: ${ ... }"},
    {"${{ a.b }}", "the braces are single: ${ ... }"},
    {"Hello ${{ f(x) | upper }}!", "the braces are single: ${ ... }"},
    {"${ {a.b} }", ""},
    {"${ x # y }", "an expression has no comments"},
    {"${ '#' x }", "between two values"},
    {"${ a is 1 }", "write == to compare"},
    {"${ a is == 1 }", "write == to compare"},
    {"${ a is b 1 }", ""},
    {"${ a ^ b }", "a power is written **"},
    {"${a^^}", ""},
    {"{{#if a}}", "{# begins a comment, which #} ends"},
    {"${ 1; 2 }", "each expression has its own braces"},
    {"${ f(1; 2) }", ""},
    {"${ ${ a } }", "names inside of ${ } have no $"},
    {"${ ${a} + 1 }", "names inside of ${ } have no $"},
    {"${ {a} }", "a variable inside of ${ } has no braces; an object is {'name': value}"},
    {"${ \"a\" + }", "a value is missing after +"},
    {"${ }", "an expression is missing"},
    {"${}", "an expression is missing"},
    {"${", "a } is missing"},
    {"${ {{ a }} }", "the braces are single: ${ ... }"},
    {"${ {% if a %} }", ""},
    {"${ 'a' . 'b' }", "texts are joined by ~"},
    {"${ a := 1 }", "an expression changes nothing: `def` on a block sets a variable"},
    {"${ (a := 1) }", "an expression changes nothing: `def` on a block sets a variable"},
    {"${ x y=1 }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ f(x) = 1 }", "write == to compare; `def` on a block sets a variable"},
    {"${ print a }", "the result of a block is what is printed"},
    {"${ return a }", "the value of an expression is its result: leave `return` out"},
    {"${ def f(x) }", "a function is a block"},
    {"${ len x }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ x as y }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ *x }", ""},
    {"${ x ** }", "a value is missing after **"},
    {"${ a.b c.d }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ a, }", "several values are a list: [a, b]"},
    {"${ a, b c }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ not a == b else }", "write `a if condition else b`"},
    {"${ 3 apples }",
     "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ x | }", "the name of a filter is missing after |"},
    {"${ x |upper | }", "the name of a filter is missing after |"},
    {"${ x | upper() ) }", "nothing opens this bracket"},
    {"${ x.upper( }", "the ( before this is not closed"},
    {"${ a ~ }", "a value is missing after ~"},
    {"${ name:>10 }", ""},
    {"${ x:.2f }", "write '%.2f' | format(x)"},
    {"${ x:-default }", "write `a | default(b)`"},
    {"${ x['y']:-default }", "write `a | default(b)`"},
    {"${HOME:-default}", ""}, /* a variable of the shell */
    {"${ x ? y }", ""},
    {"${ obj->name }", "write a.b"},
    {"${ a - > b }", "there are no lambdas: a block with `function` is a function"},
    {"${ x -> x + 1 }", "there are no lambdas: a block with `function` is a function"},
    {"${ f(a b) }", "a comma or an operator is missing between the two"},
    {"${ f(hello world, 3) }", "a comma or an operator is missing between the two"},
    {"${ [1 2] }", "a comma or an operator is missing between the two"},
    {"${ {'a': 1 'b': 2} }", "a comma or an operator is missing between the two"},
    {"${ {'a', 'b'} }", ""},
    {"${ f(a=1, 2) }", "arguments without a name come before those with one"},
    {"${ x is string is not none }", "write `x is a and x is b`"},
    {"${ 'Hello 'name }",
     "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ name' }",
     "the quote is not closed; one that belongs to the text is written after the braces"},
    {"${ name's }",
     "the quote is not closed; one that belongs to the text is written after the braces"},
    {"${ user name }",
     "between two values there is an operator, such as ~; a text is put in quotes"},
    {"{{ name }} and ${ other", "a } is missing"},
    {"${ x } and ${ y z }",
     "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ x.y z }", "between two values there is an operator, such as ~; a text is put in quotes"},
    {"${ \"text with } brace\" + }", "a value is missing after +"},
    {"${ r'\\d' }", "no letter precedes the quote of a text"},
    {"${ (a, b }", "the ( before this is not closed"},
    {"${ a ) ] }", "nothing opens this bracket"},
    {"${ not ? }", ""},
    {"${ x | map(lambda y: y) }", "there are no lambdas: a block with `function` is a function"},
    {"${ $1 }", ""},
    {"${ a[\"b\"}", "the [ before this is not closed"},
    {"${ a['b' }", "the [ before this is not closed"},
    {"${ a['b }", "the quote is not closed"},
    {"${ a.b( }", "the ( before this is not closed"},
    {"${ {'a': 1 }", "a } is missing"},
    {"${ a = 1 }\n", "write == to compare"},
    {"${ a && b }", "write `and`"},
    {"x ${ a && b } y", "write `and`"},
    {"${ 1 < 2 and a & b }", "write `and`"},
    {"${ a and (b = 3) }", "write == to compare"},
    {"${ a += 1 }", "an expression changes nothing"},
    {"${ a - }", "a value is missing after -"},
    {"${ !a }", "write `not`"},
    {"${ f'{a}' }", "write 'a ' ~ x"},
    {"${ f(x => x) }", "there are no lambdas"},
    {"${ new Date() }", "there are no classes"},
    {"text ${ a", "a } is missing"},
    {"${ a | upercase }", "did you mean 'upper'?"},
    {"${ a | size }", "did you mean 'length'?"},
    {"${ a | defalt(1) }", "did you mean 'default'?"},
    {"${ a | zzzzzz }", ""},
    {"${ a | test }", ""},
    {"${ a | keys }", "write x | list"},
    {"${ a | split(',') }", "split is a method: write x.split(...)"},
    {"${ a | splt }", ""},
    {"${ a | any }", "write (x | select"},
    {"${ a | merge(b) }", "write dict(x, **y)"},
    {"${ a | upper }", "it can be read"},
    {"${ a is strng }", "did you mean 'string'?"},
};

static void test_syntax(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    for (size_t i = 0; i < sizeof syntax / sizeof *syntax; i++) {
        const pdl_expr *e = pdl_expr_read(a, pdl_str_of(syntax[i].text), &known);
        pdl_str hint = e->form == PDL_X_BROKEN ? e->fault->hint : PDL_STR("it can be read");
        bool ok = *syntax[i].hint ? pdl_str_starts(hint, pdl_str_of(syntax[i].hint)) : !hint.n;
        if (!ok) fail_msg("%s: %.*s", syntax[i].text, PDL_FMT(hint));
    }
    pdl_arena_free(a);
}

/* In Jinja, nothing is said that is of programs alone. */
static const struct {
    const char *text, *hint;
} templates[] = {
    {"{{ a = b }}", "write == to compare; {% set"},
    {"{% if a = b %}x{% endif %}", "write == to compare; {% set"},
    {"{{ a += 1 }}", "an expression changes nothing: {% set"},
    {"{{ lambda x: x }}", "there are no lambdas: {% macro"},
    {"{{ [x for x in y] }}", "there are no comprehensions: write {% for"},
    {"{{ a =~ b }}", ""},
    {"{{ import x }}", ""},
    {"{{ $a }}", ""},
    {"Hello {{ name", "a }} is missing"},
    {"Hello {{ name, how are you?", "a }} is missing"},
    {"{% if a and", "a %} is missing"},
    {"{% if a %}x", ""},
    {"{{ a && b }}", "write `and`"},
    {"{{ {'a'} }}", "an object is {'name'"},
};

static void test_templates(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        const pdl_expr *e = pdl_expr_read_template(a, pdl_str_of(templates[i].text), NULL, &known);
        pdl_str hint = e->form == PDL_X_BROKEN ? e->fault->hint : PDL_STR("it can be read");
        pdl_str want = pdl_str_of(templates[i].hint);
        bool ok = want.n ? pdl_str_starts(hint, want) : !hint.n;
        if (!ok) fail_msg("%s: %.*s", templates[i].text, PDL_FMT(hint));
    }
    pdl_arena_free(a);
}

/* A name that is no function of ours is mostly one of a variable: only what is called, or has a dot
 * after it, is taken for one of another language. hint: how it begins; "": none. */
static const struct {
    const char *name;
    bool called, dotted;
    const char *hint;
} names[] = {
    {"len", true, false, "write x | length"},
    {"len", false, false, ""},
    {"input", true, false, "a line is read by a block"},
    {"input", false, false, "a value from outside is given: -d input=VALUE"},
    {"input", false, true, "a value from outside is given"},
    {"title", true, false, "title is a filter"},
    {"title", false, false, ""},
    {"title", false, true, ""},
    {"split", true, false, "split is a method: write x.split(...)"},
    {"split", false, false, ""},
    {"items", false, false, ""},
    {"any", true, false, "write (x | select | list | length) > 0"},
    {"tuple", true, false, "write x | list"},
    {"bool", true, false, "write `not not x`"},
    {"any", false, false, ""},
    {"math", false, true, "Python runs in a block"},
    {"math", false, false, ""},
    {"env", false, true, "environment variables are given"},
    {"env", false, false, ""},
    {"loop", false, true, "`index: NAME` beside `for`"},
    {"loop", false, false, ""},
    {"time", false, false, ""},
    {"time", true, false, "the time is read by Python"},
    {"null", false, false, "write none"},
    {"nul", false, false, ""},
    {"animal", true, true, ""},
};

static void test_names(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pdl_buf b = PDL_BUF;
        pdl_name_advise(pdl_str_of(names[i].name), names[i].called, names[i].dotted, &b);
        pdl_str want = pdl_str_of(names[i].hint), got = pdl_buf_str(&b);
        if (want.n ? !pdl_str_starts(got, want) : got.n > 0)
            fail_msg("row %zu, %s: %.*s", i, names[i].name, PDL_FMT(got));
        pdl_buf_fini(&b);
    }
}

/* What fails, in Python's words; the nearest failures have another remedy, or none is known. */
static const struct {
    const char *failure, *hint;
} failures[] = {
    {"No first item, sequence was empty.", "nothing is in it: x | first"},
    {"No last item, sequence was empty.", "nothing is in it: x | last"},
    {"unsupported operand type(s) for +: 'dict' and 'dict'", "write dict(x, **y)"},
    {"unsupported operand type(s) for +: 'dict' and 'list'", ""},
    {"unsupported operand type(s) for -: 'dict' and 'dict'", ""},
    {"unsupported operand type(s) for +: 'int' and 'str'", "`~` joins values"},
    {"unsupported operand type(s) for +: 'int' and 'list'", ""},
    {"unsupported operand type(s) for -: 'str' and 'int'", "x | int makes a number"},
    {"'<' not supported between instances of 'str' and 'int'", "x | int makes a number"},
    {"'<' not supported between instances of 'str' and 'list'", ""},
    {"'<' not supported between instances of 'NoneType' and 'int'", "the value is null"},
    {"can only concatenate list (not \"str\") to list", "write x + [item]"},
    {"sequence item 0: expected str instance, int found", "write x | join(', ')"},
    {"sequence of items", ""},
    {"'int' object is not iterable", ""},
    {"'int' object is not callable", ""},
};

static void test_failures(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        pdl_str want = pdl_str_of(failures[i].hint);
        pdl_str got = pdl_failure_advice(pdl_str_of(failures[i].failure));
        if (want.n ? !pdl_str_starts(got, want) : got.n > 0)
            fail_msg("%s: %.*s", failures[i].failure, PDL_FMT(got));
    }
}

/* Filters and tests of other tools, and near words about which nothing is known. */
static const struct {
    const char *word, *filter, *test;
} missing[] = {
    {"empty", "", "write `not x`"},
    {"match", "a regular expression is a parser", "a regular expression is a parser"},
    {"dict", "", "did you mean 'mapping'?"},
    {"a", "", "leave `a` out"},
    {"Even", "", "did you mean 'even'?"},
    {"matched_by", "", ""},
    {"b64encode", "Python runs in a block", ""},
    {"to_nice_json", "write x | tojson(indent=2)", ""},
    {"bool", "write x == 'true' for a text", "did you mean 'boolean'?"},
    {"intersect", "write x | select('in', y) | list", ""},
    {"pluralize", "Python runs in a block", ""},
    {"cut", "", ""},
};

static void test_missing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        pdl_buf filter = PDL_BUF, test = PDL_BUF;
        pdl_filter_advise(pdl_str_of(missing[i].word), &filter);
        pdl_test_advise(pdl_str_of(missing[i].word), &test);
        const pdl_buf *got[] = {&filter, &test};
        const char *want[] = {missing[i].filter, missing[i].test};
        for (int k = 0; k < 2; k++)
            if (*want[k] ? !pdl_str_starts(pdl_buf_str(got[k]), pdl_str_of(want[k])) : got[k]->len)
                fail_msg("%s: %.*s", missing[i].word, PDL_FMT(pdl_buf_str(got[k])));
        pdl_buf_fini(&filter);
        pdl_buf_fini(&test);
    }
}

/* What is suggested exists. */
static void test_words(void **state) {
    (void)state;
    static const char *const filters[] = {"uppercase", "len",  "size",   "strip", "to_json",
                                          "str",       "text", "number", "concat"};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        t_assert(pdl_filter_find(pdl_filter_near(pdl_str_of(filters[i]))));
    t_assert_str(pdl_attribute_advice(PDL_STR("push")), "write x + [item]");
    t_assert(pdl_attribute_advice(PDL_STR("colour")).n == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syntax), cmocka_unit_test(test_templates),
        cmocka_unit_test(test_names),  cmocka_unit_test(test_failures),
        cmocka_unit_test(test_words),  cmocka_unit_test(test_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
