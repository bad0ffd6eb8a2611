/* text.h -- values as text: the two printers of PDL (spec syntax 4.6).
 *
 * stringify makes the pieces of text blocks, printed results and contributions. str and repr are
 * Python's; expressions inside of longer strings, `~` and join use them. Promises must have been
 * resolved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_TEXT_H
#define PDL_VALUE_TEXT_H

#include "base/buf.h"
#include "value/val.h"

/* Appends a string unchanged, and nothing for a closure. Any other value is written as JSON if all
 * its parts are JSON (", " ": " separators, ASCII escapes, NaN and Infinity). Otherwise it is
 * written as Python's str() writes it. Error: limit. */
PDL_MUST bool pdl_stringify(pdl_vref v, pdl_buf *out, pdl_err *err);
/* Makes the text of pdl_stringify as a value. A string is returned unchanged (kept). */
PDL_MUST bool pdl_stringify_val(pdl_vref v, pdl_val *out, pdl_err *err);

/* Appends Python's str() or repr(). */
PDL_MUST bool pdl_val_str(pdl_vref v, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_val_repr(pdl_vref v, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_val_str_val(pdl_vref v, pdl_val *out, pdl_err *err);

/* Appends the repr of a string. */
void pdl_str_repr(pdl_str s, pdl_buf *out);
/* Works as pdl_str_repr for a text of a program, which may have any length. Returns false, with an
 * unfinished text in out, when the work is cancelled or there is no memory. */
PDL_MUST bool pdl_str_repr_long(pdl_str s, pdl_buf *out, pdl_err *err);

/* Appends str() or repr(), cut to about max bytes with "..." for messages. Never fails. */
void pdl_val_show(pdl_vref v, bool repr, size_t max, pdl_buf *out);

/* Appends Python's pprint.pformat with the default width 80. */
PDL_MUST bool pdl_val_pprint(pdl_vref v, pdl_buf *out, pdl_err *err);

#endif
