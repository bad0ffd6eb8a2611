/* ops.h -- the functions of the instructions, generated from compile/ops.def, and what the files of
 * instructions share. Private to vm.
 *
 * pdl_op_NAME executes a row OP(NAME, ...) and may fail or wait; for a row OP_SURE(NAME, ...) it
 * does neither. Both get the operands that the row lists. The loop in exec.c executes rows
 * OP_INLINE itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_OPS_H
#define PDL_VM_OPS_H

#include "compile/code.h"
#include "compile/operand.h"
#include "value/int.h"
#include "vm/closure.h"
#include "vm/fiber.h"

/* clang-format off */
#define PARAM_CONST_TYPE pdl_vref
#define OP(name, pops, pushes, flow, sees, a, c, doc) \
    pdl_step pdl_op_##name(pdl_fiber *f PARAM_##a PARAM_##c, pdl_err *err);
#define OP_SURE(name, pops, pushes, flow, sees, a, c, doc) \
    void pdl_op_##name(pdl_fiber *f PARAM_##a PARAM_##c);
#define OP_INLINE(name, pops, pushes, flow, sees, a, c, doc)
#include "compile/ops.def"
/* clang-format on */

/* Returns the environment for natives that the fiber calls (ops_expr.c). */
const pdl_native_env *pdl_vm_native_env(pdl_fiber *f);
/* Operators and calls on an undefined value fail, even in lenient templates. */
static inline bool refuse_undefined(pdl_vref v, pdl_err *err) {
    return !pdl_is(v, PDL_V_UNDEFINED) || pdl_undefined_error(v, err);
}
static inline bool is_handle(pdl_vref v) { return pdl_is(v, PDL_V_HANDLE); }

/* These functions are in ops_block.c. */
void pdl_vm_enter(pdl_fiber *f, const pdl_blockinfo *info);
void pdl_vm_to_message(pdl_fiber *f);
pdl_val pdl_vm_background_add(pdl_val a, pdl_val b); /* takes a and b; either may be absent */
/* These functions are in contribute.c. */
void pdl_vm_files_close(pdl_run *r);
bool pdl_vm_is_aggregator_messages(pdl_vref v, pdl_str name, pdl_val *out);
/* This function is in match.c. */
bool pdl_vm_pattern_match(pdl_fiber *f, const pdl_pattern *p, pdl_vref v);
/* Returns true when a file was found. The path and its text stay for INCLUDE or IMPORT
 * (ops_file.c). */
bool pdl_vm_source_found(pdl_fiber *f);
/* Declares the functions in the parameter `tools` to the model (ops_tools.c). */
PDL_MUST bool pdl_vm_declare_tools(const pdl_fiber *f, pdl_val *params, pdl_err *err);
/* These functions are in ops_expr.c. */
void pdl_vm_native_env_init(pdl_fiber *f);
pdl_step pdl_vm_unary(pdl_fiber *f, pdl_opcode op, pdl_err *err);
/* Computes the truth value of the value on top, which stays on the stack. */
pdl_step pdl_vm_truth(pdl_fiber *f, bool *truth, pdl_err *err);
void pdl_vm_rebind(pdl_fiber *f, const pdl_callsig *sh);
pdl_val pdl_vm_name_value(pdl_fiber *f, pdl_name name);
/* Appends str(v). An undefined value is the empty text in templates and an error elsewhere. */
bool pdl_vm_put_str(pdl_fiber *f, pdl_vref v, pdl_buf *b, pdl_err *err);
/* Appends the text escaped for HTML, unless the value is marked safe. */
bool pdl_vm_put_escaped(pdl_fiber *f, pdl_vref v, pdl_buf *b, pdl_err *err);

/* These functions are in ops_template.c. */
pdl_step pdl_vm_loop_begin(pdl_fiber *f, bool recursive, uint32_t entry, pdl_err *err);
bool pdl_vm_loop_next(pdl_fiber *f, pdl_val *item);
/* Returns false when x is not a loop object, or has no such attribute. */
bool pdl_vm_loop_attr(pdl_vref x, pdl_str name, pdl_val *out);
pdl_val pdl_vm_macro_new(pdl_fiber *f, const pdl_macro_info *m);
pdl_step pdl_vm_cell_call(pdl_fiber *f, pdl_val callee, const pdl_call_args *args, bool *handled,
                          pdl_val *out, pdl_err *err);
/* Binds the name to x where the variable has the value old: in the scopes to which the running
 * template returns, and in those of the macros that are running. */
void pdl_vm_rebind_outside(pdl_fiber *f, pdl_name name, pdl_vref old, pdl_vref x);

#endif
