/* object.h -- operations on remote objects: values that live in the Python worker. Private to vm.
 *
 * Each pdl_vm_start_... function pushes the promise of the worker's answer and takes its values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_OBJECT_H
#define PDL_VM_OBJECT_H

#include "value/handle.h"
#include "value/int.h"
#include "vm/fiber.h"

void pdl_vm_start_attr(pdl_fiber *f, pdl_val handle, pdl_val name);
void pdl_vm_start_item(pdl_fiber *f, pdl_val handle, pdl_val key);
void pdl_vm_start_iter(pdl_fiber *f, pdl_val handle);
/* Starts a call. name is the name of a method, or absent. */
void pdl_vm_start_call(pdl_fiber *f, pdl_val handle, pdl_val name, pdl_val args, pdl_val kwargs);
/* pdl_vm_start_slice takes an object and three bounds from the stack, pdl_vm_start_unary takes an
 * object, and pdl_vm_start_binary takes two operands. */
void pdl_vm_start_slice(pdl_fiber *f);
void pdl_vm_start_unary(pdl_fiber *f, const char *operator);
void pdl_vm_start_binary(pdl_fiber *f, const char *operator, bool negated);
/* When the test is an operator (such as `eq`) and one of its operands contains an object, asks the
 * worker for the result, whose promise replaces the operands. With `negated`, asks for the opposite
 * result. Returns false for other tests and operands. */
bool pdl_object_test(pdl_fiber *f, const pdl_callsig *sh, bool negated);
const char *pdl_vm_arith_text(pdl_arith op);
/* Returns true when v is an object, or may contain one. */
bool pdl_vm_has_object(pdl_vref v);
/* Returns true when one of the n topmost values is an object, or may contain one. */
bool pdl_vm_any_object(const pdl_fiber *f, size_t n);
/* Applies a filter to a value that is or contains an object. Sets *done when the result has
 * replaced the operands. Otherwise the caller calls the native, and then pdl_object_filter_end. */
pdl_step pdl_object_filter(pdl_fiber *f, const pdl_callsig *sh, bool *done, pdl_err *err);
void pdl_object_filter_end(pdl_fiber *f, const pdl_callsig *sh);
/* When the method formats objects, asks the worker for the result, whose promise replaces the
 * operands. Returns false for other methods. */
bool pdl_object_method(pdl_fiber *f, const pdl_callsig *sh);
/* Returns how many values the arguments of a call take on the stack. */
size_t pdl_vm_arg_count(const pdl_callsig *s);

#endif
