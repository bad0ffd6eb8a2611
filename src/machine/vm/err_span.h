/* err_span.h -- what the machine adds to an error: its exact span in a text, the call that the user
 * wrote, the words of the language that failed. Private to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_ERR_SPAN_H
#define PDL_VM_ERR_SPAN_H

#include "vm/fiber.h"

/* Marks the kth part of the template whose STR_JOIN fails. */
void pdl_vm_mark_part(const pdl_fiber *f, size_t k, pdl_err *err);
/* The line of Python code that failed; b is a code block. */
void pdl_vm_mark_code(const pdl_block *b, pdl_err *err);

/* Adds where the object has a function of this name, when the expression of `call` is a method. */
void pdl_vm_advise_called(const pdl_fiber *f, const pdl_expr *e, pdl_err *err);

/* advise.c: adds how a shell is had, where the command looks as if one read it. */
void pdl_vm_advise_command(const pdl_b_code *b, pdl_err *err);
/* advise.c: adds why a name is unknown to Python code that ${ } put there. */
void pdl_vm_advise_python(const pdl_b_code *b, pdl_err *err);
/* advise.c: adds the call in frame fr, of a function of the program by a library, to err. */
void pdl_vm_note_tool(const pdl_fiber *f, const pdl_vm_frame *fr, pdl_err *err);
/* fiber.c: returns true when a library has called a function of the program in frame fr: a tool,
 * with what a model said. */
bool pdl_vm_enters_program(const pdl_fiber *f, const pdl_vm_frame *fr);
/* advise.c: with reports_tools, sends a note of this call, which ends. */
void pdl_vm_report_tool(const pdl_fiber *f, const pdl_vm_frame *fr, bool failed);
/* advise.c: milliseconds of the clock of events; they wrap around. */
uint32_t pdl_vm_now_ms(const pdl_fiber *f);
/* advise.c: adds what to write instead, where the expression of site asks for a name or an
 * attribute that is not there, or what an operator or filter needs. */
void pdl_vm_advise(const pdl_fiber *f, const pdl_srcsite *site, pdl_err *err);

/* Returns where the program called the library function that is running; all-zero when none is. */
pdl_loc pdl_library_entry_loc(const pdl_fiber *f);
/* Did the program itself, and not the library, call the function that is running? */
bool pdl_vm_enters_library(const pdl_fiber *f);
/* Reports an error inside of a library function at its call, since the user wrote the call and not
 * the library. Does nothing when call is all-zero. */
void pdl_err_move_to_call(pdl_err *err, pdl_loc call);
/* Rewords err as an error of code: "LANGUAGE Code error: CLASS('message')". class_name is used when
 * err has no class. */
void pdl_vm_code_error(const char *language, const char *class_name, pdl_loc loc, pdl_err *err);
/* Rewords an error of a remote object as one of the expression that used it. */
void pdl_vm_expression_error(const pdl_expr *expr, pdl_err *err);

#endif
