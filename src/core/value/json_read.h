/* json_read.h -- reads strict JSON (RFC 8259) as a value, with the byte position of a failure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_JSON_READ_H
#define PDL_VALUE_JSON_READ_H

#include "value/val.h"

enum {
    /* Accept NaN, Infinity, -Infinity, and lone surrogate escapes (as U+FFFD), as Python's json
     * does. */
    PDL_JSON_PYTHON = 1,
    PDL_JSON_PREFIX = 2,  /* stop after the first value; *end is its end */
    PDL_JSON_CONTROL = 4, /* accept control characters (raw line breaks) inside strings */
};

/* Reads the whole of text (blanks around it are allowed). A duplicate key keeps its first position
 * and gets the last value. Errors: PDL_E_limit when the text is nested deeper than
 * PDL_MAX_JSON_DEPTH, or when a string or an integer is too large; PDL_E_syntax with py_class
 * "JSONDecodeError" and Python's message, such as "Expecting ',' delimiter: line 1 column 7 (char
 * 6)". *end (may be NULL) gets the number of bytes that were read. */
PDL_MUST bool pdl_json_read(pdl_str text, int flags, pdl_val *out, size_t *end, pdl_err *err);

/* Reads a document from outside, which may begin with a byte order mark. */
PDL_MUST bool pdl_json_read_document(pdl_str text, int flags, pdl_val *out, pdl_err *err);

/* Documents of one kind (the lines of a JSONL file, the chunks of a stream) share the texts of keys
 * and the shapes of objects. A struct with all members zero is empty. The caches are small and
 * direct-mapped, so their memory is bounded. */
enum { PDL_JSON_KEYS = 64, PDL_JSON_SHAPES = 16 };
typedef struct pdl_json_keys {
    uint64_t used;   /* a bit for each slot in use */
    uint32_t shaped; /* a bit for each shape in use */
    pdl_val slot[PDL_JSON_KEYS];
    struct pdl_shape *shape[PDL_JSON_SHAPES];
    uint64_t begins[PDL_JSON_SHAPES]; /* the first bytes of each shape's first key */
} pdl_json_keys;

/* Works as pdl_json_read, but uses the keys of earlier documents and adds the keys of this
 * document. */
PDL_MUST bool pdl_json_read_with(pdl_str text, int flags, pdl_json_keys *keys, pdl_val *out,
                                 size_t *end, pdl_err *err);
void pdl_json_keys_fini(pdl_json_keys *keys);

#endif
