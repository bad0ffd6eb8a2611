/* parse.h -- the `parser:` field, which makes a value of text (spec syntax 5).
 *
 * Models rarely return exactly the format that was requested. The parsers named by a word are
 * strict, as in the reference; only `json` tries strict reading first and then repairs, and it
 * never fails on text. A failed parser raises an error that `retry` and `fallback` can catch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_PARSE_PARSE_H
#define PDL_PARSE_PARSE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/regex.h"
#include "value/val.h"
#include "yaml/node.h"

typedef enum {
    PDL_PARSE_JSON,
    PDL_PARSE_JSONL,
    PDL_PARSE_YAML,
    PDL_PARSE_CSV,
    PDL_PARSE_REGEX
} pdl_parser_kind;
typedef enum {
    PDL_PM_SEARCH,
    PDL_PM_MATCH,
    PDL_PM_FULLMATCH,
    PDL_PM_SPLIT,
    PDL_PM_FINDALL
} pdl_parser_mode;

/* The kinds that the spec of a record accepts in a column, as bits. Cells of a column that accepts
 * no text are read as JSON. */
typedef enum {
    PDL_CELL_text = 1,
    PDL_CELL_integer = 2,
    PDL_CELL_number = 4,
    PDL_CELL_boolean = 8,
    PDL_CELL_null = 16,   /* an empty cell */
    PDL_CELL_missing = 32 /* an empty cell is an absent field */
} pdl_cell_type;
typedef struct pdl_csv_column {
    pdl_str name;
    unsigned takes;
} pdl_csv_column;

/* A parser as written in a program. A parser lives in an arena; its compiled regex is released with
 * the arena. */
typedef struct pdl_parser {
    pdl_parser_kind kind;
    pdl_parser_mode mode; /* used by REGEX */
    pdl_str regex;        /* used by REGEX: the regex as written */
    /* used by REGEX; NULL when the regex is wrong, and the parser then fails when it is used */
    pdl_regex *compiled;
    /* used by REGEX with an object spec: the names in the order of the spec */
    pdl_str *groups;
    uint32_t n_groups;
    bool has_object_spec;
    /* used by CSV: the first row has the names, and the other rows are objects */
    bool header;
    const pdl_csv_column *columns; /* used by CSV with a header: the columns of the spec */
    uint32_t n_columns;
} pdl_parser;

/* A row of the table of parser words: docs, schema, messages. */
typedef struct pdl_parser_row {
    const char *name;
    pdl_parser_kind kind;
    const char *doc;
} pdl_parser_row;
const pdl_parser_row *pdl_parsers(size_t *n);
pdl_parser_kind pdl_parser_find(pdl_str name, bool *found); /* ignores case */
const char *pdl_parser_mode_name(pdl_parser_mode m);
bool pdl_parser_mode_find(pdl_str name, pdl_parser_mode *out); /* ignores case */

/* Makes a regex parser. groups has the keys of an object spec, in their order. The texts of the
 * keys are borrowed and must outlive the parser. */
pdl_parser *pdl_parser_regex(pdl_arena *a, pdl_str regex, pdl_parser_mode mode,
                             const pdl_str *groups, size_t n_groups, bool object_spec);
pdl_parser *pdl_parser_word(pdl_arena *a, pdl_parser_kind kind);

/* Applies p to v, which must be a string (spec syntax 5). Errors: PDL_E_parser with the full
 * message for users ("Attempted to parse ill-formed JSON: JSONDecodeError(\"...\")"), and py_class
 * is the Python class. */
PDL_MUST bool pdl_parse(const pdl_parser *p, pdl_vref v, pdl_val *out, pdl_err *err);

/* Works as pdl_parse, for conformance tests: the error has the message of the Python exception
 * alone, without the sentence around it. */
PDL_MUST bool pdl_parse_raw(const pdl_parser *p, pdl_vref v, pdl_val *out, pdl_err *err);

/* Reads JSON. When strict reading fails, the text is repaired. Fails only on limits. */
PDL_MUST bool pdl_json_repair(pdl_str text, pdl_val *out, pdl_err *err);
/* Returns the list of all JSON values in a text: the objects and lists, or else what is in fences.
 * Values in the thoughts of a model count only when no other is there. */
PDL_MUST bool pdl_json_values(pdl_str text, pdl_val *out, pdl_err *err);

#endif
