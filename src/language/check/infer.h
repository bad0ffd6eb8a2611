/* infer.h -- the parts of the inference of types in expressions. Private to check.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_INFER_H
#define PDL_CHECK_INFER_H

#include "check/checker.h"

/* An expression that is being examined. */
typedef struct pdl_infer {
    pdl_checker *c;
    const pdl_expr *e;
    const pdl_node *node; /* the scalar that contains the expression, or NULL */
    pdl_loc loc;
    bool lenient; /* the expression is in a Jinja block, so undefined values print as nothing */
} pdl_infer;

/* Reports a problem of a part of the expression. */
PDL_PRINTF(4, 5)
pdl_diag *pdl_infer_diag(const pdl_infer *in, pdl_rule_id rule, const pdl_xnode *x, const char *fmt,
                         ...);
pdl_loc pdl_infer_loc(const pdl_infer *in, const pdl_xnode *x);
/* Checks a value that is used. Reports an error when it is undefined, unless the expression is
 * lenient. Returns t, or the type `any` after an error. */
const pdl_ty *pdl_infer_used(const pdl_infer *in, const pdl_xnode *x, const pdl_ty *t);

/* Returns the type of a tree (infer.c). */
const pdl_ty *pdl_infer_type(pdl_infer *in, const pdl_xnode *x);
/* Returns the rule for a text that cannot be read. If an unknown filter or test is the reason, this
 * is the rule for unknown filters or tests; otherwise it is `other`. */
pdl_rule_id pdl_infer_fault_rule(const pdl_xfault *f, pdl_rule_id other);

/* Checks a statement of a template (jinja.c). */
void pdl_infer_statement(pdl_infer *in, const pdl_xnode *x);

/* The next functions return the types of operators, attributes and items (operators.c). */
const pdl_ty *pdl_infer_unary(pdl_infer *in, const pdl_xnode *x, const pdl_ty *a);
const pdl_ty *pdl_infer_binary(pdl_infer *in, const pdl_xnode *x, const pdl_ty *a, const pdl_ty *b);
/* Returns the type of one comparison of a chain. */
const pdl_ty *pdl_infer_compare(pdl_infer *in, const pdl_xnode *x, pdl_xop op, const pdl_ty *a,
                                const pdl_ty *b);
const pdl_ty *pdl_infer_attr(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t);
const pdl_ty *pdl_infer_item(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t);

/* Reports the call of a method that hides a function of the object (uncalled.c). */
void pdl_infer_hidden(pdl_infer *in, const pdl_xnode *x, const pdl_ty *callee);
/* Reports x when it is a method before a filter, and the program does not call the method
 * (uncalled.c). */
void pdl_infer_uncalled(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t);
/* Reports x, which has the type t, when it is a function and its result is meant (uncalled.c). */
void pdl_infer_function(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t);

/* The next functions return the types of calls, filters and tests (calls.c). */
const pdl_ty *pdl_infer_call(pdl_infer *in, const pdl_xnode *x, const pdl_ty *callee);
const pdl_ty *pdl_infer_filter(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t);
const pdl_ty *pdl_infer_test(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t);

#endif
