/* readers.h -- one reader for each parser word. Private to parse.
 *
 * Each reader takes a text and fails with the message of the Python exception (py_class is its
 * class). parse.c puts the sentence for users around the message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_PARSE_READERS_H
#define PDL_PARSE_READERS_H

#include "parse/parse.h"

PDL_MUST bool pdl_parse_json(pdl_str text, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_parse_jsonl(pdl_str text, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_parse_csv(const pdl_parser *p, pdl_str text, pdl_val *out, pdl_err *err);
/* Reads YAML. With as_python, the message is PyYAML's text of several lines; otherwise it is
 * "PROBLEM (line L, column C)". */
PDL_MUST bool pdl_parse_yaml(pdl_str text, bool as_python, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_parse_regex(const pdl_parser *p, pdl_str text, pdl_val *out, pdl_err *err);

/* Makes a value of text that is not JSON (json_repair.c). Sets *n to the number of values. When the
 * text has several values, *out is their list. A value replaces the one before it that has the same
 * shape, but not when `all` is true. */
PDL_MUST bool pdl_repair_text(pdl_str text, bool all, size_t *n, pdl_val *out, pdl_err *err);

#endif
