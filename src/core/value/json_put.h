/* json_put.h -- JSON that is written member by member, where making a dict first would cost more.
 *
 * Every function adds the comma that its place needs. It finds out from the last byte of the text
 * whether an object, a list or a key has just begun. So the text must be JSON alone; other text
 * before it is in another buffer, or ends in one of `{ [ :`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_JSON_PUT_H
#define PDL_VALUE_JSON_PUT_H

#include "base/buf.h"
#include "value/val.h"

/* Begins an object or a list: as an item of a list, after a key, or at the beginning of the text.
 * The caller ends each with a byte: pdl_buf_putc(out, '}'). */
void pdl_json_open(pdl_buf *out, char bracket);
/* Writes the name of a member and its colon; the caller writes the value. */
void pdl_json_put_key(pdl_buf *out, const char *name);
/* These write whole members of an object. */
void pdl_json_put_text(pdl_buf *out, const char *name, pdl_str text);
void pdl_json_put_int(pdl_buf *out, const char *name, int64_t n);
void pdl_json_put_bool(pdl_buf *out, const char *name, bool value);
/* Writes the bytes as two hexadecimal digits each. */
void pdl_json_put_hex(pdl_buf *out, const char *name, pdl_str bytes);
/* Writes a member. A value that has no form in JSON becomes its text (PDL_JSON_LOOSE). A value that
 * contains NaN, or that is too deep, becomes null as a whole. */
void pdl_json_put_value(pdl_buf *out, const char *name, pdl_vref v);
/* Writes an item of a list. */
void pdl_json_add_text(pdl_buf *out, pdl_str text);

/* Writes {"$pdl":KIND, which begins the form of a value that JSON lacks, for the worker and the
 * journal. Writes no comma before it: code that writes a list of values adds the commas. */
void pdl_json_open_kind(pdl_buf *out, const char *kind);

#endif
