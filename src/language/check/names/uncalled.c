/* uncalled.c -- functions and methods that are not called although their result is meant.
 *
 * A method hides a field of the same name (`items`, `get`, `keys`): x.items is the method, as in
 * the reference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/infer.h"
#include "native/native.h"

#include "base/banned.h"

bool pdl_checker_hides_field(const pdl_checker *c, const pdl_ty *t, pdl_str *name) {
    const pdl_native *row = pdl_ty_native_of(t);
    bool known;
    if (!row || !t->receiver || t->receiver->kinds != PDL_TY_DICT) return false;
    *name = pdl_str_of(row->name);
    return pdl_ty_field_of(pdl_checker_arena(c), t->receiver, *name, &known) != NULL;
}

void pdl_checker_hint_method(pdl_checker *c, pdl_diag *d, const pdl_ty *t) {
    pdl_str name;
    const pdl_native *row = pdl_ty_native_of(t);
    if (!d) return;
    if (!row || !t->receiver) return;
    pdl_buf hint = PDL_BUF;
    pdl_put_uncalled(pdl_str_of(row->name), pdl_checker_hides_field(c, t, &name), &hint);
    pdl_checker_hint(c, d, "%s", pdl_buf_z(&hint));
    pdl_buf_fini(&hint);
}

bool pdl_checker_is_function(const pdl_ty *t) {
    return t->kinds == PDL_TY_FUNC || t->kinds == PDL_TY_NATIVE;
}

void pdl_checker_printed(pdl_checker *c, const pdl_ty *t, pdl_loc loc, pdl_loc mark) {
    if (!pdl_checker_is_function(t)) return;
    const pdl_ty_function *f = pdl_ty_function_of(t);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_function_text, loc, mark,
                                   "this is a function, not its result");
    if (!d) return;
    if (f && f->name.n)
        pdl_checker_hint(c, d, "call it: %.*s(%s)", PDL_FMT(f->name),
                         f->block->params.n ? "..." : "");
    else
        pdl_checker_hint_method(c, d, t);
}

void pdl_checker_condition(pdl_checker *c, const pdl_ty *t, const pdl_tree *cond) {
    if (cond)
        pdl_checker_printed(c, t, cond->loc, cond->node ? pdl_node_loc(cond->node) : cond->loc);
}

void pdl_infer_function(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    if (pdl_checker_is_function(t)) pdl_checker_printed(in->c, t, in->loc, pdl_infer_loc(in, x));
}

/* Reports `utils.get(x)` where `utils` has a function `get`: the expression calls the method of
 * objects instead. */
void pdl_infer_hidden(pdl_infer *in, const pdl_xnode *x, const pdl_ty *callee) {
    pdl_str name;
    bool known;
    if (!pdl_checker_hides_field(in->c, callee, &name)) return;
    const pdl_ty *field = pdl_ty_field_of(pdl_checker_arena(in->c), callee->receiver, name, &known);
    if (field->kinds != PDL_TY_FUNC) return;
    pdl_diag *d =
        pdl_infer_diag(in, PDL_RULE_function_text, x,
                       "this calls the method `%.*s` of objects, not the function", PDL_FMT(name));
    if (d) pdl_checker_hint(in->c, d, "the function is x['%.*s'](...)", PDL_FMT(name));
}

void pdl_infer_uncalled(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    if (t->kinds != PDL_TY_NATIVE || !t->receiver) return;
    pdl_diag *d =
        pdl_infer_diag(in, PDL_RULE_function_text, x, "this is a function, not its result");
    pdl_checker_hint_method(in->c, d, t);
}
