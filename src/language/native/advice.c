/* advice.c -- what people write who know Python, JavaScript or other template languages, and what
 * it is called here. A misspelt word is near to one of these as often as to a word of ours.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/native.h"
#include "native/natives.h"

#include "base/banned.h"

typedef struct other_word {
    const char *word, *here;
} other_word;

/* here: the filter. */
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

/* here: what to write. Names that are filters are not in this table. */
static const other_word names[] = {
    {"str", "write x | string"},
    {"len", "write x | length"},
    {"sorted", "write x | sort"},
    {"reversed", "write x | reverse"},
    {"null", "write none"},
    {"nil", "write none"},
    {"undefined", "write `x is defined` or `x is not defined`"},
    {"NULL", "write none"},
    {"TRUE", "write true"},
    {"FALSE", "write false"},
    {"isinstance", "write `x is string`, `x is number`, `x is mapping` or `x is sequence`"},
    {"math", "Python runs in a block: lang: python"},
    {"os", "Python runs in a block: lang: python"},
    {"re", "Python runs in a block: lang: python; a regular expression is a parser: {regex: ...}"},
    {"datetime", "Python runs in a block: lang: python"},
    {"env", "environment variables are given: -d home=\"$HOME\""},
    {"environ", "environment variables are given: -d home=\"$HOME\""},
    {"getenv", "environment variables are given: -d home=\"$HOME\""},
    {"input", "a line is read by a block: read:"},
    {"open", "a file is read by a block: read: FILE"},
    {"now", "the time is read by Python: lang: python"},
    {"time", "the time is read by Python: lang: python"},
    {"json", "write x | tojson, or a block with parser: json"},
    {"type", "write `x is string`, `x is number`, `x is mapping` or `x is sequence`"},
    {"eval", "Python runs in a block: lang: python"},
    {"print", "the result of a block is what is printed"},
    {"loop", "`index: NAME` beside `for` is the number of the round, from 0"},
    {"enumerate", "`index: NAME` beside `for` is the number of the round, from 0"},
    {"zip", "lists go in parallel: for: {a: LIST, b: LIST}"},
    {"JSON", "write x | tojson, or a block with parser: json"},
    {"requests", "Python runs in a block: lang: python"},
    {"lambda", "a function is a block: function: {x: integer}, return: ..."},
};

/* here: what to write in place of x.word. */
static const other_word attributes[] = {
    {"length", "write x | length"},
    {"size", "write x | length"},
    {"len", "write x | length"},
    {"push", "write x + [item]"},
    {"add", "write x + [item]"},
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

/* Exact words first: `size` is nearer to `slice` than to `length`. */
pdl_str pdl_filter_near(pdl_str name) {
    pdl_str words[PDL_N_COUNT(filters)];
    const char *here = find(filters, PDL_N_COUNT(filters), name);
    if (here) return pdl_str_of(here);
    pdl_str near = pdl_rows_near(pdl_rows_filters(), name);
    if (near.n) return near;
    for (size_t i = 0; i < PDL_N_COUNT(filters); i++) words[i] = pdl_str_of(filters[i].word);
    near = pdl_str_nearest(name, words, PDL_N_COUNT(filters));
    here = near.n ? find(filters, PDL_N_COUNT(filters), near) : NULL;
    return here ? pdl_str_of(here) : (pdl_str){0};
}

void pdl_name_advise(pdl_str name, pdl_buf *out) {
    const char *here = find(names, PDL_N_COUNT(names), name);
    if (here)
        pdl_buf_putf(out, "%s", here);
    else if (pdl_filter_find(name))
        pdl_buf_putf(out, "%.*s is a filter: write x | %.*s", PDL_FMT(name), PDL_FMT(name));
}

pdl_str pdl_attribute_advice(pdl_str name) {
    const char *here = find(attributes, PDL_N_COUNT(attributes), name);
    return here ? pdl_str_of(here) : (pdl_str){0};
}
