/* result_check.h -- checks values against their specs. Private to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_RESULT_CHECK_H
#define PDL_VM_RESULT_CHECK_H

#include "types/type.h"
#include "vm/closure.h"

/* The subject of a check, for the message "Type errors HEADER NAME:". */
typedef struct pdl_checked {
    const char *header;
    pdl_str name; /* the name in the message; may be empty */
    pdl_loc loc;  /* the place of the message; a problem without a place is reported here, too */
    /* the place where the arguments of a call were written; NULL for other subjects */
    const pdl_node *args;
} pdl_checked;
/* Checks that *v has the type t. When a policy is in force, a value that fits gets the labels that
 * pdl_type_bound computes. */
bool pdl_vm_check_value(pdl_run *r, const pdl_type *t, pdl_val *v, const pdl_checked *of,
                        pdl_err *err);
pdl_step pdl_vm_check_function_result(pdl_fiber *f, const pdl_closure *c, pdl_err *err);

/* A parser or spec of a block, to be applied to the reply of a model call. The stage runs when the
 * reply arrives. */
struct pdl_stage;
/* Runs a stage. reply is the reply of the call, which may say why the text is not what was
 * requested. */
void pdl_vm_run_stage(pdl_run *r, struct pdl_stage *s, pdl_vref reply);

/* Applies parser and spec of a model block to its answer and appends all faults: one line each,
 * with the path, in the words of JSON. Returns false when the spec finds no faults, or the parser
 * refuses the answer. */
bool pdl_vm_put_faults(pdl_run *r, const pdl_block *b, pdl_vref answer, pdl_buf *out);

#endif
