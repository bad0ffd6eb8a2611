/* yaml.h -- YAML 1.1 as PDL programs use it (PyYAML's safe loader): text becomes located nodes and
 * values, and values become YAML. A text is one document (spec syntax 1.3, 1.4).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_YAML_H
#define PDL_YAML_YAML_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"
#include "yaml/node.h"

/* Makes a source of the bytes of a file: checks UTF-8 (error PDL_E_syntax at the byte), skips a
 * BOM, turns CR LF and CR into LF. */
PDL_MUST bool pdl_yaml_source(pdl_arena *a, pdl_str name, pdl_str bytes, pdl_source **out,
                              pdl_err *err);

/* Reads src as one document. For an empty document, the type of *out is PDL_NT_NULL. An alias is
 * the node that it names, so a node may have several parents. The depth is limited
 * (PDL_MAX_YAML_DEPTH), and so is the number of nodes with aliases expanded (PDL_MAX_YAML_NODES).
 * An alias of a node around it is an error. Merge keys are applied. A duplicate key keeps its first
 * position and gets the last value. Error: PDL_E_syntax at the problem's place; msg is PyYAML's
 * problem text ("mapping values are not allowed here"), py_class its class ("ScannerError",
 * "ParserError", "ComposerError", "ConstructorError", "ReaderError", "ValueError"). */
PDL_MUST bool pdl_yaml_load(pdl_arena *a, const pdl_source *src, const pdl_node **out,
                            pdl_err *err);

/* Makes a value of a node: strings, numbers, dates, !!binary, !!set, !!omap, !!pairs as PyYAML
 * constructs them. Aliased nodes share the value. */
PDL_MUST bool pdl_yaml_to_val(const pdl_node *n, pdl_val *out, pdl_err *err);
/* Works as pdl_yaml_to_val, but a key that is a word (no, on, true) becomes the text that is
 * written. */
PDL_MUST bool pdl_yaml_to_val_written(const pdl_node *n, pdl_val *out, pdl_err *err);

/* Loads text and makes its value, for `parser: yaml`. The loc of an error has no source, and *line
 * and *column (1-based, 0 unknown; may be NULL) are its position in the text. */
PDL_MUST bool pdl_yaml_read(pdl_str text, pdl_val *out, uint32_t *line, uint32_t *column,
                            pdl_err *err);
/* Works as pdl_yaml_read, but a key that is a word (no, on, true) becomes the text that is written,
 * as in programs. Used for data files, --data and files of tests. */
PDL_MUST bool pdl_yaml_read_written(pdl_str text, pdl_val *out, uint32_t *line, uint32_t *column,
                                    pdl_err *err);

/* Appends a value as YAML text: block style, `|` for multi-line strings, quotes where a plain
 * scalar would read as something else; keys in order. Reading it back gives an equal value. Values
 * beyond YAML (functions...) are written as their str() text. */
PDL_MUST bool pdl_yaml_write(pdl_vref v, pdl_buf *out, pdl_err *err);

#endif
