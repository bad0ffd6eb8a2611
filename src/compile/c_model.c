/* c_model.c -- model blocks: name, parameters, input, request. */
#include "compile/emit.h"

#include "base/banned.h"

void c_model(pdl_emit *e, const pdl_b_model *b, pdl_info *info) {
    (void)info;
    if (b->model) c_tree(e, b->model);
    else c_tree(e, b->processor);
    c_trace_field(e, b->model ? "model" : "processor");
    if (b->parameters) c_tree(e, b->parameters);
    else emit(e, PDL_OP_DICT, 0, 0, 0);
    c_trace_field(e, "parameters");
    if (b->input) c_sub(e, b->input, (pdl_pos){.seg = PDL_SEG_NAME, .name = PDL_STR("input")});
    else emit(e, PDL_OP_CONTEXT, 0, 0, 0);
    c_at(e, b->head.loc);
    emit(e, PDL_OP_MODEL, 0, 0, add_ptr(e, b));
}
