/* closure.h -- functions of the program at run time: closures, calls, and their return. Private to
 * vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_CLOSURE_H
#define PDL_VM_CLOSURE_H

#include "value/func.h"
#include "vm/fiber.h"

typedef struct pdl_closure {
    pdl_func base;
    pdl_code *code; /* kept */
    const pdl_func_info *info;
    pdl_scope *scope; /* the scope of the definition, without the name of the function itself */
    pdl_val role;     /* the role that was in force at the definition */
    pdl_path *path;   /* id of the function block */
    pdl_loc loc;
    uint32_t instances; /* number of expression calls so far */
} pdl_closure;
static inline pdl_closure *closure_of(pdl_vref v) {
    assert(pdl_is(v, PDL_V_FUNC));
    return (pdl_closure *)(void *)pdl_obj_of(v);
}

pdl_val pdl_closure_new(pdl_fiber *f, const pdl_func_info *info);
/* Returns the labels that the arguments of a call get from the called value. In a computed program
 * (lang: pdl) these are the labels of that value: the author of the program has read what describes
 * the function, and has written the arguments. */
pdl_label pdl_vm_label_of_arguments(const pdl_fiber *f, pdl_vref func);
/* Pushes the frame of a call from an expression. Takes func and the arguments. */
pdl_step pdl_vm_call_closure(pdl_fiber *f, pdl_val func, const pdl_call_args *args, pdl_err *err);
/* Executes RETURN. Sets *ended when the fiber has no frames left. */
pdl_step pdl_vm_return(pdl_fiber *f, pdl_err *err, bool *ended);
/* Starts a call from outside, by Python code that has a function. A new fiber runs the call, and
 * `done` gets the result. Takes the values. */
void pdl_run_call_in(void *user, const pdl_effect *code, pdl_val func, pdl_val args, pdl_val kwargs,
                     pdl_call_done done);

#endif
