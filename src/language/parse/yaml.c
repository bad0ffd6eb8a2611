/* yaml.c -- reads one YAML document. The message of an error has its position.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/yaml.h"
#include "base/utf8.h"
#include "parse/readers.h"

#include "base/banned.h"

/* PyYAML shortens lines that are longer than this; here they are left out */
enum { SNIPPET_COLUMNS = 75 };

/* Returns the line of text with this number, from 1, without its line end. */
static pdl_str line_at(pdl_str text, uint32_t line) {
    size_t from = 0, to;
    while (line-- > 1 && (to = pdl_str_find(text, PDL_STR("\n"), from)) != PDL_NOT_FOUND)
        from = to + 1;
    to = pdl_str_find(text, PDL_STR("\n"), from);
    return pdl_str_sub(text, from, to);
}

/* Writes what str() of PyYAML's exception prints: the problem, its place, the line and a caret. */
static void put_as_python(pdl_buf *b, const char *problem, pdl_str text, uint32_t line,
                          uint32_t column) {
    pdl_str source = line_at(text, line);
    if (pdl_str_ends(pdl_str_of(problem), PDL_STR("that cannot start any token")))
        PDL_PUT(b, "while scanning for the next token\n");
    pdl_buf_putf(b, "%s\n  in \"<unicode string>\", line %u, column %u:", problem, line, column);
    if (pdl_utf8_count(source) > SNIPPET_COLUMNS) return;
    PDL_PUT(b, "\n    ");
    pdl_buf_put(b, source);
    pdl_buf_putf(b, "\n%*s^", (int)column + 3, "");
}

bool pdl_parse_yaml(pdl_str text, bool as_python, pdl_val *out, pdl_err *err) {
    uint32_t line = 0, column = 0;
    if (pdl_yaml_read(text, out, &line, &column, err)) return true;
    /* The message of a ReaderError ends with "... position 3". */
    bool has_place = as_python && err->py_class && strcmp(err->py_class, "ReaderError") == 0;
    if (line && !has_place) {
        pdl_buf b = PDL_BUF;
        if (as_python)
            put_as_python(&b, err->msg, text, line, column);
        else
            pdl_buf_putf(&b, "%s (line %u, column %u)", err->msg, line, column);
        pdl_err_reword(err, &b);
    }
    err->loc = (pdl_loc){0}; /* a position in the text is not a place in the program */
    return false;
}
