/* builtins.c -- see schema.h: the page of builtins, from the tables of the natives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "lang/schema.h"
#include "native/native.h"

#include "base/banned.h"

static const char head[] = "# Builtins\n\n"
                           "What expressions and templates can call: the filters, tests, functions "
                           "and methods of Jinja and Python, and what is added here\n"
                           "(`json`, `pylist`, `stdlib`). The first parameter of a filter, a test "
                           "or a method is the value before it. This page is made\n"
                           "from the tables of the program; the examples are run "
                           "(`tools/builtins-page`).\n\n"
                           "A filter follows `|`, a test follows `is`, a method follows a dot; "
                           "arguments after the first one are in parentheses, and\n"
                           "those that have a name may be left out or given by it:\n\n"
                           "```pdl\n"
                           "defs:\n"
                           "  bees: {data: [{name: Maya, age: 2}, {name: Willi, age: 1}]}\n"
                           "text:\n"
                           "- \"${ bees | map(attribute='name') | join(', ') }\\n\"\n"
                           "- \"${ bees[0].age is odd } ${ bees | length is gt(1) }\\n\"\n"
                           "- \"${ bees[0].name.upper().replace('A', 'a') } ${ range(3) | list "
                           "}\\n\"\n"
                           "```\n\n"
                           "```output\n"
                           "Maya, Willi\n"
                           "False True\n"
                           "MaYa [0, 1, 2]\n"
                           "```\n";

/* Writes the text of a cell of a table, in which a bar would end the cell. */
static void put_cell(pdl_str s, pdl_buf *out) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '|') pdl_buf_putc(out, '\\');
        pdl_buf_putc(out, s.p[i]);
    }
}

/* Writes a row. The names of stdlib's natives begin with pdl_, which the page replaces by
 * `stdlib.`. */
static void put_row(const pdl_native *row, pdl_buf *out) {
    pdl_str name = pdl_str_of(row->name), prefix = PDL_STR("pdl_");
    bool is_stdlib = pdl_str_starts(name, prefix);
    PDL_PUT(out, "| `");
    if (is_stdlib) PDL_PUT(out, "stdlib.");
    put_cell(is_stdlib ? pdl_str_sub(name, prefix.n, name.n) : name, out);
    PDL_PUT(out, "(");
    pdl_str params = pdl_str_of(row->params);
    bool nameless = pdl_str_ends(params, PDL_STR(", ")); /* the last parameter has no name */
    put_cell(params, out);
    if (nameless) PDL_PUT(out, "other");
    if (row->flags & (PDL_N_VARARGS | PDL_N_KWARGS))
        pdl_buf_put(out, pdl_str_of(params.n ? ", ..." : "..."));
    PDL_PUT(out, ")` | ");
    put_cell(pdl_str_of(row->doc), out);
    PDL_PUT(out, " |\n");
}

void pdl_each_filter_name(void (*fn)(void *to, pdl_str name), void *to) {
    size_t n;
    const pdl_native *rows = pdl_filters(&n);
    for (size_t i = 0; i < n; i++) fn(to, pdl_str_of(rows[i].name));
}

void pdl_builtins_page(pdl_buf *out) {
    pdl_buf_put(out, pdl_str_of(head));
    for (size_t i = 0; i < PDL_NATIVE_TABLES; i++) {
        pdl_native_table t = pdl_native_table_at(i);
        pdl_buf_putf(out, "\n## %s\n\n| | |\n|---|---|\n", t.title);
        for (size_t k = 0; k < t.n; k++) put_row(&t.rows[k], out);
    }
}
