/* tool_call.h -- binds the arguments of a server's tool that are no parameters of its function.
 * Private to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_RUN_TOOL_CALL_H
#define PDL_VM_RUN_TOOL_CALL_H

#include "vm/closure.h"

/* Returns true when the function is in the program of a tool server. Most functions are not, and
 * need none of the functions below. */
static inline bool pdl_vm_is_of_server(const pdl_closure *c) {
    return pdl_is_dict(c->code->signatures);
}

/* Returns the schema of the arguments when the function is a tool of a server; else absent. */
pdl_vref pdl_vm_tool_schema(const pdl_closure *c);

/* Returns true when the function is a tool that has no parameter of this name. */
bool pdl_vm_is_other(const pdl_closure *c, pdl_str name);

/* Returns true when the function may be called with an argument of this name, which has the labels
 * of_name. Else sets err. */
bool pdl_vm_tool_takes(const pdl_closure *c, pdl_str name, pdl_label of_name, pdl_err *err);

/* Moves the arguments without a parameter from *args to *others, which stays absent when there are
 * none. Refuses arguments that the tool does not take; b gives the place of the error. */
bool pdl_vm_take_others(const pdl_b_call *b, const pdl_closure *c, pdl_val *args, pdl_val *others,
                        pdl_err *err);

/* Binds the other arguments in the scope of a tool's body. Takes s and others, which may be absent.
 */
pdl_scope *pdl_vm_bind_others(const pdl_run *r, const pdl_closure *c, pdl_scope *s, pdl_val others);

#endif
