/* native_advice.c -- words of Python, JavaScript and other template languages that people write in
 * programs, and the words that PDL has for them. A misspelt word is as often similar to one of
 * these words as to a word of PDL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "native/native.h"
#include "native/natives.h"

#include "base/banned.h"

#define EMPTY(filter) "nothing is in it: x | " filter " | default(y) is y then"
#define JOINED        "`~` joins values as text; x | int makes a number of a text"
#define NUMBER        PDL_TEXT_NUMBER
#define ANY_OF        "write (x | select | list | length) > 0"
#define ALL_OF        "write (x | reject | list | length) == 0"
#define AS_BOOL       "write `not not x`"
#define AS_LIST       "write x | list"
#define AS_SET        "write x | unique | list"
#define NOTHING       "the value is null: x | default(y, true) is y then"

#define IN_PYTHON "Python runs in a block: lang: python"
#define AS_REGEX  "a regular expression is a parser of a block: {regex: ...}"
#define ENVIRONS  "environment variables are given: -d home=\"$HOME\""
#define IS_EMPTY  "write `not x`, or `x | length == 0`"

typedef struct other_word {
    const char *word, *here;
} other_word;

/* Words of other languages that mean a filter. `here` is the name of this filter in PDL. */
static const other_word filters[] = {
    {"uppercase", "upper"},   {"upcase", "upper"},          {"toUpperCase", "upper"},
    {"lowercase", "lower"},   {"downcase", "lower"},        {"toLowerCase", "lower"},
    {"len", "length"},        {"size", "length"},           {"strip", "trim"},
    {"to_json", "tojson"},    {"dumps", "tojson"},          {"stringify", "tojson"},
    {"str", "string"},        {"text", "string"},           {"integer", "int"},
    {"number", "float"},      {"concat", "join"},           {"sorted", "sort"},
    {"reversed", "reverse"},  {"capitalise", "capitalize"}, {"if_undefined", "default"},
    {"otherwise", "default"},
};

/* Words that are not filters, each with advice. */
static const other_word no_filters[] = {
    {"any", ANY_OF},
    {"all", ALL_OF},
    {"bool", "write x == 'true' for a text, and `not not x` for another value"},
    {"tuple", AS_LIST},
    {"set", AS_SET},
    {"append", "write x + [item]"},
    {"push", "write x + [item]"},
    {"extend", "write x + y"},
    {"update", "write dict(x, **y)"},
    {"merge", "write dict(x, **y)"},
    {"combine", "write dict(x, **y)"},
    {"contains", "write `item in x`"},
    {"keys", "write x | list, or x.keys()"},
    {"from_json", "a block with parser: json reads JSON"},
    {"fromjson", "a block with parser: json reads JSON"},
    {"parse_json", "a block with parser: json reads JSON"},
    {"regex_replace", AS_REGEX},
    {"regex_search", AS_REGEX},
    {"regex_findall", AS_REGEX},
    {"match", AS_REGEX},
    {"from_yaml", "a block with parser: yaml reads YAML"},
    {"to_yaml", IN_PYTHON},
    {"to_nice_yaml", IN_PYTHON},
    {"to_nice_json", "write x | tojson(indent=2)"},
    {"b64encode", IN_PYTHON},
    {"b64decode", IN_PYTHON},
    {"hash", IN_PYTHON},
    {"md5", IN_PYTHON},
    {"sha1", IN_PYTHON},
    {"sha256", IN_PYTHON},
    {"date", IN_PYTHON},
    {"pluralize", IN_PYTHON},
    {"strftime", IN_PYTHON},
    {"to_datetime", IN_PYTHON},
    {"basename", "write (x | string).split('/') | last"},
    {"mandatory", "a variable without a value is an error: leave the filter out"},
    {"dict2items", "write x.items()"},
    {"flatten", "write x | sum(start=[])"},
    {"union", "write (x + y) | unique | list"},
    {"difference", "write x | reject('in', y) | list"},
    {"intersect", "write x | select('in', y) | list"},
    {"zip", "lists go in parallel: for: {a: LIST, b: LIST}"},
    {"type_debug", "write `x is string`, `x is number`, `x is mapping` or `x is sequence`"},
    {"trunc", "write x | int"},
    {"floor", "write x | round(0, 'floor') | int"},
    {"ceil", "write x | round(0, 'ceil') | int"},
    {"ceiling", "write x | round(0, 'ceil') | int"},
    {"toFixed", "write x | round(2), or '%.2f' | format(x)"},
    {"substr", "write x[from:to]"},
    {"substring", "write x[from:to]"},
    {"ternary", "write `a if condition else b`"},
};

/* Words that are not tests, each with advice. */
static const other_word no_tests[] = {
    {"empty", IS_EMPTY},
    {"blank", IS_EMPTY},
    {"null", "did you mean 'none'?"},
    {"nil", "did you mean 'none'?"},
    {"undef", "did you mean 'undefined'?"},
    {"str", "did you mean 'string'?"},
    {"int", "did you mean 'integer'?"},
    {"bool", "did you mean 'boolean'?"},
    {"list", "did you mean 'sequence'?"},
    {"array", "did you mean 'sequence'?"},
    {"dict", "did you mean 'mapping'?"},
    {"object", "did you mean 'mapping'?"},
    {"function", "did you mean 'callable'?"},
    {"match", AS_REGEX},
    {"matching", AS_REGEX},
    {"search", AS_REGEX},
    {"regex", AS_REGEX},
    {"contains", "write `item in x`"},
    {"not", "write `is not`"},
    {"a", "leave `a` out: `x is string`"},
    {"an", "leave `an` out: `x is integer`"},
    {"greater", "write x > y"},
    {"less", "write x < y"},
};

/* The use of a name: BARE, f(x), x.y or x[y]. Programs may also use many of these names for
 * variables. */
enum { BARE = 1, CALLED = 2, DOTTED = 4 };

/* Names of other languages. `here` is the advice. Names of filters are not in this table. */
static const struct {
    const char *word;
    unsigned used;
    const char *here;
} names[] = {
    {"str", CALLED, "write x | string"},
    {"len", CALLED, "write x | length"},
    {"sorted", CALLED, "write x | sort"},
    {"reversed", CALLED, "write x | reverse"},
    {"null", BARE | CALLED | DOTTED, "write none"},
    {"nil", BARE | CALLED | DOTTED, "write none"},
    {"undefined", BARE | CALLED | DOTTED, "write `x is defined` or `x is not defined`"},
    {"NULL", BARE | CALLED | DOTTED, "write none"},
    {"TRUE", BARE | CALLED | DOTTED, "write true"},
    {"FALSE", BARE | CALLED | DOTTED, "write false"},
    {"isinstance", CALLED, "write `x is string`, `x is number`, `x is mapping` or `x is sequence`"},
    {"math", DOTTED, IN_PYTHON},
    {"os", DOTTED, IN_PYTHON},
    {"re", DOTTED,
     "Python runs in a block: lang: python; a regular expression is a parser: {regex: ...}"},
    {"datetime", CALLED | DOTTED, IN_PYTHON},
    {"env", DOTTED, ENVIRONS},
    {"inputs", BARE | DOTTED, "a value from outside is given: -d NAME=VALUE, and is ${ NAME }"},
    {"HOME", BARE, ENVIRONS},
    {"USER", BARE, ENVIRONS},
    {"PATH", BARE, ENVIRONS},
    {"PWD", BARE, ENVIRONS},
    {"environ", DOTTED, ENVIRONS},
    {"getenv", CALLED, ENVIRONS},
    {"input", CALLED, "a line is read by a block: read:"},
    {"input", BARE | DOTTED,
     "a value from outside is given: -d input=VALUE; "
     "a line is read by a block: {def: input, read:}"},
    {"open", CALLED, "a file is read by a block: read: FILE"},
    {"now", CALLED, "the time is read by Python: lang: python"},
    {"time", CALLED | DOTTED, "the time is read by Python: lang: python"},
    {"json", DOTTED, "write x | tojson, or a block with parser: json"},
    {"type", CALLED, "write `x is string`, `x is number`, `x is mapping` or `x is sequence`"},
    {"eval", CALLED, IN_PYTHON},
    {"print", CALLED, "the result of a block is what is printed"},
    {"loop", DOTTED, "`index: NAME` beside `for` is the number of the iteration, from 0"},
    {"enumerate", CALLED, "`index: NAME` beside `for` is the number of the iteration, from 0"},
    {"zip", CALLED, "lists go in parallel: for: {a: LIST, b: LIST}"},
    {"JSON", DOTTED, "write x | tojson, or a block with parser: json"},
    {"requests", DOTTED, IN_PYTHON},
    {"lambda", BARE | CALLED | DOTTED,
     "a function is a block: function: {x: integer}, return: ..."},
    {"any", CALLED, ANY_OF},
    {"all", CALLED, ALL_OF},
    {"bool", CALLED, AS_BOOL},
    {"tuple", CALLED, AS_LIST},
    {"set", CALLED, AS_SET},
    {"chr", CALLED, IN_PYTHON},
    {"ord", CALLED, IN_PYTHON},
    {"divmod", CALLED, "write a // b and a % b"},
    {"pow", CALLED, "write a ** b"},
    {"repr", CALLED, "write x | tojson"},
    {"parseInt", CALLED, "write x | int"},
    {"parseFloat", CALLED, "write x | float"},
    {"String", CALLED, "write x | string"},
    {"Number", CALLED, "write x | float"},
    {"Math", DOTTED, IN_PYTHON},
    {"Object", DOTTED, "write x.keys(), x.values() or x.items()"},
};

/* Attributes of other languages. `here` is advice on what to write in place of x.word. */
static const other_word attributes[] = {
    {"length", "write x | length"},
    {"size", "write x | length"},
    {"len", "write x | length"},
    {"push", "write x + [item]"},
    {"add", "write x + [item]"},
    {"concat", "write x + y"},
    {"join", "write x | join(', ')"},
    {"toUpperCase", "write x.upper()"},
    {"toLowerCase", "write x.lower()"},
    {"trim", "write x.strip()"},
    {"includes", "write item in x"},
    {"contains", "write item in x"},
    {"has", "write item in x"},
    {"has_key", "write name in x"},
    {"startsWith", "write x.startswith(text)"},
    {"endsWith", "write x.endswith(text)"},
    {"substring", "write x[from:to]"},
    {"substr", "write x[from:to]"},
    {"slice", "write x[from:to]"},
    {"charAt", "write x[i]"},
    {"indexOf", "write x.index(item)"},
    {"toString", "write x | string"},
    {"map", "write x | map(attribute='name'), or a block with for and repeat"},
    {"filter", "write x | selectattr('name'), or a block with for and repeat"},
    {"forEach", "write a block with for and repeat"},
    {"reduce", "write a block with for, repeat and join"},
    {"sorted", "write x | sort"},
    {"text", "the text of an answer is the answer itself"},
    {"content", "the text of an answer is the answer itself"},
};

static const char *find(const other_word *rows, size_t n, pdl_str word) {
    for (size_t i = 0; i < n; i++)
        if (pdl_str_is(word, rows[i].word)) return rows[i].here;
    return NULL;
}

/* A word of another language is recognised in spite of a misspelling when it has at least this
 * number of letters. A short word such as `test` is similar to too many words. */
enum { LONG_WORD = 6 };

/* Tries exact words first, because `size` is more similar to `slice` than to `length`. */
pdl_str pdl_filter_near(pdl_str name) {
    pdl_str words[PDL_N_COUNT(filters)];
    size_t n = 0;
    const char *here = find(filters, PDL_N_COUNT(filters), name);
    if (here) return pdl_str_of(here);
    if (find(no_filters, PDL_N_COUNT(no_filters), name)) return (pdl_str){0};
    pdl_str near = pdl_rows_near(pdl_rows_filters(), name);
    if (near.n) return near;
    for (size_t i = 0; i < PDL_N_COUNT(filters); i++)
        if (strlen(filters[i].word) >= LONG_WORD) words[n++] = pdl_str_of(filters[i].word);
    near = pdl_str_nearest(name, words, n);
    here = near.n ? find(filters, PDL_N_COUNT(filters), near) : NULL;
    return here ? pdl_str_of(here) : (pdl_str){0};
}

static bool is_method(pdl_str name) {
    const pdl_rows all[] = {pdl_rows_str(), pdl_rows_list(), pdl_rows_dict()};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (pdl_rows_find(all[i], name)) return true;
    return false;
}

void pdl_filter_advise(pdl_str name, pdl_buf *out) {
    const char *here = find(no_filters, PDL_N_COUNT(no_filters), name);
    if (here) {
        pdl_buf_putf(out, "%s", here);
        return;
    }
    if (is_method(name)) {
        pdl_buf_putf(out, "%.*s is a method: write x.%.*s(...)", PDL_FMT(name), PDL_FMT(name));
        return;
    }
    pdl_str near = pdl_filter_near(name);
    if (near.n) pdl_buf_putf(out, "did you mean '%.*s'?", PDL_FMT(near));
}

void pdl_test_advise(pdl_str name, pdl_buf *out) {
    const char *here = find(no_tests, PDL_N_COUNT(no_tests), name);
    pdl_str near = here ? (pdl_str){0} : pdl_test_near(name);
    if (here)
        pdl_buf_putf(out, "%s", here);
    else if (near.n)
        pdl_buf_putf(out, "did you mean '%.*s'?", PDL_FMT(near));
}

void pdl_name_advise(pdl_str name, bool called, bool dotted, pdl_buf *out) {
    unsigned used = (called ? CALLED : 0u) | (dotted ? DOTTED : 0u);
    if (!used) used = BARE;
    for (size_t i = 0; i < PDL_N_COUNT(names); i++) {
        if (!(names[i].used & used) || !pdl_str_is(name, names[i].word)) continue;
        pdl_buf_putf(out, "%s", names[i].here);
        return;
    }
    if (called && pdl_filter_find(name))
        pdl_buf_putf(out, "%.*s is a filter: write x | %.*s", PDL_FMT(name), PDL_FMT(name));
    else if (called && is_method(name))
        pdl_buf_putf(out, "%.*s is a method: write x.%.*s(...)", PDL_FMT(name), PDL_FMT(name));
}

/* The beginnings of messages of operators and filters in Python's words, each with advice. */
static const other_word failures[] = {
    {"No first item, sequence was empty.", EMPTY("first")},
    {"No last item, sequence was empty.", EMPTY("last")},
    {"No random item, sequence was empty.", EMPTY("random")},
    {"No aggregated item, sequence was empty.", EMPTY("max")},
    {"unsupported operand type(s) for +: 'dict' and 'dict'", "write dict(x, **y)"},
    {"sequence item ", "write x | join(', '), which takes values of every type"},
    {"unsupported operand type(s) for +: 'int' and 'str'", JOINED},
    {"unsupported operand type(s) for +: 'float' and 'str'", JOINED},
    {"can only concatenate list (not ", "write x + [item]; `~` joins values as text"},
    {"unsupported operand type(s) for -: 'str' and 'int'", NUMBER},
    {"unsupported operand type(s) for -: 'int' and 'str'", NUMBER},
    {"unsupported operand type(s) for -: 'str' and 'str'", NUMBER},
    {"unsupported operand type(s) for /: 'str' and ", NUMBER},
    {"unsupported operand type(s) for /: 'int' and 'str'", NUMBER},
    {"unsupported operand type(s) for //: 'str' and ", NUMBER},
    {"can't multiply sequence by non-int of type 'str'", NUMBER},
    {"'<' not supported between instances of 'str' and 'int'", NUMBER},
    {"'<' not supported between instances of 'int' and 'str'", NUMBER},
    {"'<=' not supported between instances of 'str' and 'int'", NUMBER},
    {"'<=' not supported between instances of 'int' and 'str'", NUMBER},
    {"'>' not supported between instances of 'str' and 'int'", NUMBER},
    {"'>' not supported between instances of 'int' and 'str'", NUMBER},
    {"'>=' not supported between instances of 'str' and 'int'", NUMBER},
    {"'>=' not supported between instances of 'int' and 'str'", NUMBER},
    {"'str' object cannot be interpreted as an integer", NUMBER},
    {"unsupported operand type(s) for +: 'NoneType' and ", NOTHING},
    {"unsupported operand type(s) for -: 'NoneType' and ", NOTHING},
    {"'<' not supported between instances of 'NoneType' and ", NOTHING},
    {"'>' not supported between instances of 'NoneType' and ", NOTHING},
    {"object of type 'NoneType' has no len()", NOTHING},
    {"'NoneType' object is not iterable", NOTHING},
    {"'float' object cannot be interpreted as an integer", "write x | int"},
};

/* Returns true for a message about the number of arguments of a filter or a test. Such a message
 * names the filter or test by its function in Jinja, such as do_replace. */
static bool counts_arguments(pdl_str msg) {
    bool is_filter = pdl_str_starts(msg, PDL_STR("do_")) ||
                     pdl_str_starts(msg, PDL_STR("sync_do_")) ||
                     pdl_str_starts(msg, PDL_STR("test_"));
    return is_filter && pdl_str_find(msg, PDL_STR(" positional argument"), 0) != PDL_NOT_FOUND;
}

pdl_str pdl_failure_advice(pdl_str msg) {
    if (counts_arguments(msg)) return PDL_STR("the value before the filter or test counts as one");
    for (size_t i = 0; i < PDL_N_COUNT(failures); i++)
        if (pdl_str_starts(msg, pdl_str_of(failures[i].word))) return pdl_str_of(failures[i].here);
    return (pdl_str){0};
}

pdl_str pdl_attribute_advice(pdl_str name) {
    const char *here = find(attributes, PDL_N_COUNT(attributes), name);
    return here ? pdl_str_of(here) : (pdl_str){0};
}

static bool is_dashed_byte(char c) {
    return c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

pdl_str pdl_dashed_name(pdl_str text, pdl_str name, size_t *from) {
    for (size_t at; (at = pdl_str_find(text, name, *from)) != PDL_NOT_FOUND;) {
        bool begins = !at || !is_dashed_byte(text.p[at - 1]);
        size_t end = at + name.n;
        while (end < text.n && is_dashed_byte(text.p[end])) end++;
        *from = end;
        if (begins && end > at + name.n && text.p[at + name.n] == '-')
            return pdl_str_sub(text, at, end);
    }
    return (pdl_str){0};
}

/* Returns the index of a column by its name in a row of a table, or -1. */
static int64_t column_of(pdl_vref row, pdl_str name) {
    enum { MAX_COLUMNS = 1000 };
    if (!pdl_is_list(row)) return -1;
    for (size_t i = 0, n = pdl_list_len(row); i < n && i < MAX_COLUMNS; i++) {
        pdl_vref x = pdl_list_at(row, i);
        if (pdl_is_str(x) && pdl_str_eq(pdl_str_get(x), name)) return (int64_t)i;
    }
    return -1;
}

static void advise_list(pdl_vref x, pdl_str name, pdl_buf *out) {
    pdl_vref first = pdl_list_len(x) ? pdl_list_at(x, 0) : pdl_null();
    int64_t own = column_of(x, name), below = column_of(first, name);
    if (pdl_is_dict(first))
        PDL_PUT(out, "it is a list of objects: x[0] is the first one, `for` goes through them");
    else if (own >= 0)
        pdl_buf_putf(out, "it is a list with '%.*s' as its item %lld: a column is x[%lld]",
                     PDL_FMT(name), (long long)own, (long long)own);
    else if (below >= 0)
        pdl_buf_putf(out,
                     "its rows are lists, and '%.*s' is in the first one: the column is "
                     "x[1][%lld], `for` goes through the rows",
                     PDL_FMT(name), (long long)below);
    else
        PDL_PUT(out, "it is a list: its items are x[0], x[1]; `for` goes through them");
}

void pdl_uncalled_advise(pdl_vref receiver, pdl_str name, pdl_buf *out) {
    pdl_put_uncalled(name, pdl_is_dict(receiver) && !pdl_is_absent(pdl_dict_gets(receiver, name)),
                     out);
}

void pdl_put_uncalled(pdl_str name, bool hides_field, pdl_buf *out) {
    if (hides_field)
        pdl_buf_putf(out, "x.%.*s is a method of objects: the field is x['%.*s']", PDL_FMT(name),
                     PDL_FMT(name));
    else
        pdl_buf_putf(out, "a method is called: x.%.*s()", PDL_FMT(name));
}

void pdl_fields_advise(pdl_vref x, pdl_str name, bool called, pdl_buf *out) {
    if (called && !pdl_is_dict_method(name)) return; /* a method of texts or lists was meant */
    if (pdl_is_list(x)) advise_list(x, name, out);
    if (!pdl_is_str(x)) return;
    pdl_str s = pdl_str_trim(pdl_str_get(x));
    size_t at = pdl_str_find(s, name, 0);
    bool begins = at == 0 || (at != PDL_NOT_FOUND && s.p[at - 1] == '\n');
    if (s.n && pdl_byte_in(s.p[0], PDL_STR("{[")))
        PDL_PUT(out, "it is a text with JSON: `parser: json` beside what gives it makes an object "
                     "of it");
    else if (begins && at + name.n < s.n && s.p[at + name.n] == ':')
        PDL_PUT(out, "it is a text with YAML: `parser: yaml` beside what gives it makes an object "
                     "of it");
    else
        PDL_PUT(out, "it is a text, without a field or method of this name; if it is JSON, "
                     "`parser: json` beside what gives it reads it");
}
