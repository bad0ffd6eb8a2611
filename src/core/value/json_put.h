/* json_put.h -- JSON that is written member by member, where making a dict first would cost more.
 *
 * Every function adds the comma that its place needs, which the last byte of the text decides: an
 * object, a list or a key may have begun there. So the text must be JSON alone; what comes before
 * it is written into another buffer, or ends in one of `{ [ :`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_JSON_PUT_H
#define PDL_VALUE_JSON_PUT_H

#include "base/buf.h"
#include "value/val.h"

/* An object or a list begins, as an item of a list, after a key, or at the beginning of the text.
 * Each is ended by a byte of the caller: pdl_buf_putc(out, '}'). */
void pdl_json_open(pdl_buf *out, char bracket);
/* The name of a member, with its colon; the caller writes the value. */
void pdl_json_put_key(pdl_buf *out, const char *name);
/* Whole members of an object. */
void pdl_json_put_text(pdl_buf *out, const char *name, pdl_str text);
void pdl_json_put_int(pdl_buf *out, const char *name, int64_t n);
void pdl_json_put_bool(pdl_buf *out, const char *name, bool value);
/* A value that has no form in JSON becomes its text (PDL_JSON_LOOSE); one that is too deep, or NaN,
 * becomes null. */
void pdl_json_put_value(pdl_buf *out, const char *name, pdl_vref v);

#endif
