/* err_span.h -- additions of the machine to an error: its exact span in a text, the call that the
 * user wrote, and the language of the failed code. Private to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_ERR_SPAN_H
#define PDL_VM_ERR_SPAN_H

#include "vm/fiber.h"

/* Marks the k-th part of the template whose STR_JOIN fails. */
void pdl_vm_mark_part(const pdl_fiber *f, size_t k, pdl_err *err);
/* Marks the line of Python code that failed; b is a code block. */
void pdl_vm_mark_code(const pdl_block *b, pdl_err *err);
/* Marks the place w in a Jinja template; b is its code block. Where the text of the template was
 * computed, a hint has the line. */
void pdl_vm_mark_template(const pdl_block *b, const pdl_srcsite *site, const pdl_srcspan *w,
                          pdl_err *err);

/* Adds a hint to err when e, the expression of `call`, means a method, although the object has a
 * function of the same name. */
void pdl_vm_advise_called(const pdl_fiber *f, const pdl_expr *e, pdl_err *err);

/* Explains how to use a shell, when the command seems to be written for one (advise.c). */
void pdl_vm_advise_command(const pdl_b_code *b, pdl_err *err);
/* Explains why Python does not know a name that ${ } put into the code (advise.c). */
void pdl_vm_advise_python(const pdl_b_code *b, pdl_err *err);
/* Adds to err that a library called a function of the program, in frame fr (advise.c). */
void pdl_vm_note_tool(const pdl_fiber *f, const pdl_vm_frame *fr, pdl_err *err);
/* Returns true when a library has called a function of the program in frame fr: a tool, with
 * arguments from a model (fiber.c). */
bool pdl_vm_enters_program(const pdl_fiber *f, const pdl_vm_frame *fr);
/* Called at the end of a call of a tool when reports_tools is set. Sends a note of the call
 * (advise.c). */
void pdl_vm_report_tool(const pdl_fiber *f, const pdl_vm_frame *fr, bool failed);
/* Returns the milliseconds of the clock of events, which wrap around (advise.c). */
uint32_t pdl_vm_now_ms(const pdl_fiber *f);
/* Suggests what to write when the expression of site uses a missing name or attribute, or a wrong
 * operand of an operator or filter (advise.c). */
void pdl_vm_advise(const pdl_fiber *f, const pdl_srcsite *site, pdl_err *err);

/* Returns the place where the program called the library function that is running; all-zero when no
 * such function is running. */
pdl_loc pdl_library_entry_loc(const pdl_fiber *f);
/* Returns true when the program itself, and not the library, called the running function. */
bool pdl_vm_enters_library(const pdl_fiber *f);
/* Reports an error inside of a library function at its call, since the user wrote the call and not
 * the library. Does nothing when call is all-zero. */
void pdl_err_move_to_call(pdl_err *err, pdl_loc call);
/* Rewords err as an error of code: "LANGUAGE Code error: CLASS('message')". class_name is used when
 * err has no class. */
void pdl_vm_code_error(const char *language, const char *class_name, pdl_loc loc, pdl_err *err);
/* Rewords an error of a remote object as an error of the expression that used it. */
void pdl_vm_expression_error(const pdl_expr *expr, pdl_err *err);

#endif
