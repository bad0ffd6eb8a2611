/* printer.h -- one walk of str()/repr() with its depth and its ceiling. Private to text.c and
 * context.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_PRINTER_H
#define PDL_VALUE_PRINTER_H

#include "base/buf.h"
#include "value/val.h"

typedef struct pdl_printer {
    pdl_buf *out;
    pdl_err *err;
    size_t stop; /* the walk ends with PDL_E_limit when out->len is greater than this */
    unsigned depth;
    /* the value of out->len at which cancellation and memory are checked again; at most stop */
    size_t check_at;
} pdl_printer;

/* Appends repr(), or str() when `repr` is false. Both differ for strings, dates, undefined and
 * extension objects. Inside of containers they are the same. */
PDL_MUST bool pdl_print(pdl_printer *p, pdl_vref v, bool repr);
PDL_MUST bool pdl_print_context(pdl_printer *p, pdl_vref c);

#endif
