/* yaml.h -- YAML 1.1 as PDL programs use it (PyYAML's safe loader) -> located nodes and values;
 * values -> YAML; one document (spec syntax 1.3, 1.4).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_YAML_H
#define PDL_YAML_YAML_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"
#include "yaml/node.h"

/* Bytes of a file as a source: checks UTF-8 (error PDL_E_syntax at the byte), skips a BOM, turns CR
 * LF and CR into LF. */
PDL_MUST bool pdl_yaml_source(pdl_arena *a, pdl_str name, pdl_str bytes, pdl_source **out,
                              pdl_err *err);

/* Reads src as one document. *out has kind NULL for an empty one. Aliases share nodes (a node may
 * have several parents); their total expansion is counted and capped (PDL_MAX_YAML_NODES), as is
 * the depth (PDL_MAX_YAML_DEPTH); an alias to an enclosing node is an error. Merge keys are
 * applied. Duplicate keys: last value, first position. Error: PDL_E_syntax at the problem's place;
 * msg is PyYAML's problem text ("mapping values are not allowed here"), py_class its class
 * ("ScannerError", "ParserError", "ComposerError", "ConstructorError", "ReaderError",
 * "ValueError"). */
PDL_MUST bool pdl_yaml_load(pdl_arena *a, const pdl_source *src, const pdl_node **out,
                            pdl_err *err);

/* Node -> value: strings, numbers, dates, !!binary, !!set, !!omap, !!pairs as PyYAML constructs
 * them. Aliased nodes share the value. */
PDL_MUST bool pdl_yaml_to_val(const pdl_node *n, pdl_val *out, pdl_err *err);
/* The same, but a key that is a word (no, on, true) is the text that is written. */
PDL_MUST bool pdl_yaml_to_val_written(const pdl_node *n, pdl_val *out, pdl_err *err);

/* Both steps, for data files, --data, `parser: yaml`. When src_name is empty, the loc of an error
 * has no source, and *line and *column (1-based, 0 unknown; may be NULL) are its position in the
 * text. */
PDL_MUST bool pdl_yaml_read(pdl_str text, pdl_val *out, uint32_t *line, uint32_t *column,
                            pdl_err *err);

/* Value -> YAML text: block style, `|` for multi-line strings, quoted where a plain scalar would
 * read as something else; keys in order. Reading it back gives an equal value. Values beyond YAML
 * (functions...) are written as their str() text. */
PDL_MUST bool pdl_yaml_write(pdl_vref v, pdl_buf *out, pdl_err *err);

#endif
