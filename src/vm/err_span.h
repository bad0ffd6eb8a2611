/* err_span.h -- the exact span of an error inside of a text. Private to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_ERR_SPAN_H
#define PDL_VM_ERR_SPAN_H

#include "vm/fiber.h"

/* The k-th part of the template whose STR_JOIN fails. */
void pdl_vm_mark_part(const pdl_fiber *f, size_t k, pdl_err *err);
/* The line of Python code that failed; b is a code block. */
void pdl_vm_mark_code(const pdl_block *b, pdl_err *err);

#endif
