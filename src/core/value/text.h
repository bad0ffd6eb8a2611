/* text.h -- value -> text: the two printers of PDL (spec syntax 4.6).
 *
 * stringify: pieces of text blocks, printed results, contributions. str/repr: Python's, for
 * interpolation inside longer strings, `~`, join. Promises must have been resolved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_TEXT_H
#define PDL_VALUE_TEXT_H

#include "base/buf.h"
#include "value/val.h"

/* String: itself; closure: nothing; JSON if the whole value is JSON (", " ": " separators, ASCII
 * escapes, NaN and Infinity), else Python str of the whole value. Error: limit. */
PDL_MUST bool pdl_stringify(pdl_vref v, pdl_buf *out, pdl_err *err);
/* The same as a value; a string is returned unchanged (kept). */
PDL_MUST bool pdl_stringify_val(pdl_vref v, pdl_val *out, pdl_err *err);

/* Python's str() / repr(). */
PDL_MUST bool pdl_val_str(pdl_vref v, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_val_repr(pdl_vref v, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_val_str_val(pdl_vref v, pdl_val *out, pdl_err *err);

/* repr of a string. */
void pdl_str_repr(pdl_str s, pdl_buf *out);
/* The same for a text of a program, which may have any length: returns false, with an unfinished
 * text in out, when the work is cancelled or there is no memory. */
PDL_MUST bool pdl_str_repr_long(pdl_str s, pdl_buf *out, pdl_err *err);

/* str() / repr() cut to about max bytes with "..." for messages; never fails. */
void pdl_val_show(pdl_vref v, bool repr, size_t max, pdl_buf *out);

/* Python's pprint.pformat with the default width 80. */
PDL_MUST bool pdl_val_pprint(pdl_vref v, pdl_buf *out, pdl_err *err);

#endif
