/* compile.h -- makes bytecode of programs. Never fails: code that cannot run becomes an instruction
 * that raises an error.
 *
 * Blocks, expressions and templates all become bytecode of one kind, because each of them may have
 * to wait for a model in the middle. A machine that walks a tree would have to keep its path
 * through the tree on the C stack while it waits. With bytecode the path is an index into the code
 * (vm/fiber.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_COMPILE_COMPILE_H
#define PDL_COMPILE_COMPILE_H

#include "compile/code.h"

/* Compiles a whole program; keeps p, which must have a main block. Names are interned in `names`,
 * which must outlive the code. With `trace`, the code also reports the values of fields. */
pdl_code *pdl_compile_program(pdl_program *p, pdl_interner *names, bool trace);

/* Compiles without the bodies of functions, which are compiled when they are first called: the
 * importer of a library uses a few of its functions. */
pdl_code *pdl_compile_module(pdl_program *p, pdl_interner *names, bool trace);
/* Returns where the body of a function of c begins. Compiles the body when that was not done
 * before; the instructions of c may then move in memory. */
uint32_t pdl_compile_function(pdl_code *c, const pdl_func_info *info);
void pdl_compile_functions(pdl_code *c); /* compiles the bodies of all functions */

/* Compiles one expression. The code leaves its value on the stack. With jinja, the expression is a
 * template, in which undefined values are lenient. Borrows e, whose arena must outlive the code.
 * node and loc are for errors. */
pdl_code *pdl_compile_expr(const pdl_expr *e, bool jinja, const pdl_node *node, pdl_loc loc,
                           pdl_interner *names);

/* Compiles a tree of data. Only tests use this. */
pdl_code *pdl_compile_tree(const pdl_tree *t, pdl_interner *names);

#endif
