/* emit_function.c -- functions and calls. Bodies follow the code of the program. A list of
 * functions whose bodies are not emitted yet keeps the compiler from recursing into them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include "base/banned.h"

void pdl_emit_function(pdl_emit *e, const pdl_b_function *b, pdl_pos pos) {
    pdl_func_info *f = pdl_arena_new(e->a, pdl_func_info);
    f->block = b;
    f->name_text = b->head.def.s.p ? b->head.def.s : pos.def_name;
    if (f->name_text.p) f->name = pdl_emit_intern(e, f->name_text);
    f->n_params = b->params.n;
    f->params = pdl_arena_new_n(e->a, pdl_name, f->n_params);
    for (uint32_t i = 0; i < f->n_params; i++)
        f->params[i] = pdl_emit_intern(e, b->params.names[i]);
    *pdl_vec_push(&e->code->functions) = f;
    emit_FUNC(e, f);
}

void pdl_emit_function_body(pdl_emit *e, pdl_func_info *f) {
    pdl_emit_set_loc(e, f->block->body->loc);
    f->entry = pdl_emit_next_index(e);
    pdl_emit_block(e, f->block->body, (pdl_pos){.seg = PDL_SEG_NONE});
    pdl_emit_set_loc(e, pdl_field_loc(&f->block->head, "return"));
    emit_RETURN(e);
}

void pdl_emit_call(pdl_emit *e, const pdl_b_call *b) {
    if (b->args)
        pdl_emit_tree(e, b->args);
    else
        emit_DICT(e, 0);
    pdl_emit_trace_field(e, "args");
    pdl_emit_tree(e, b->func);
    pdl_emit_set_loc(e, pdl_field_loc(&b->head, "call"));
    emit_CALL_BLOCK(e, b);
}
