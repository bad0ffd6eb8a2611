/* emit_model.c -- model blocks: name, parameters, input, request. The parameters are known only
 * when the program runs. But parameters that are written as numbers are converted here, so that the
 * request has the digits that the reference sends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "compile/emit.h"

#include "base/banned.h"

/* Returns true for parameters that are floats: a whole number is sent with a decimal point for such
 * a parameter, as the reference does. */
static bool is_float_parameter(pdl_str name) {
    static const char *const names[] = {"temperature", "top_p", "presence_penalty",
                                        "frequency_penalty", "timeout"};
    return PDL_STR_IN(name, names);
}

static pdl_val as_float(pdl_vref key, pdl_vref v) {
    if (pdl_is_str(key) && is_float_parameter(pdl_str_get(key)) && pdl_is(v, PDL_V_INT))
        return pdl_float((double)pdl_int_of(v));
    return pdl_keep(v);
}

static void emit_parameters(pdl_emit *e, const pdl_tree *t) {
    if (t->kind == PDL_TREE_CONST && pdl_is_dict(t->value)) {
        pdl_val d = pdl_dict_new(pdl_dict_len(t->value));
        for (size_t i = 0; i < pdl_dict_len(t->value); i++) {
            pdl_vref k = pdl_dict_key_at(t->value, i);
            d = pdl_dict_put(d, pdl_keep(k), as_float(k, pdl_dict_val_at(t->value, i)));
        }
        pdl_emit_const(e, d);
    } else if (t->kind == PDL_TREE_MAP) {
        for (uint32_t i = 0; i < t->n; i++) {
            pdl_emit_tree(e, t->keys[i]);
            bool fixed = t->keys[i]->kind == PDL_TREE_CONST && t->items[i]->kind == PDL_TREE_CONST;
            if (fixed)
                pdl_emit_const(e, as_float(t->keys[i]->value, t->items[i]->value));
            else
                pdl_emit_tree(e, t->items[i]);
        }
        emit_DICT(e, t->n);
    } else {
        pdl_emit_tree(e, t);
    }
}

void pdl_emit_model(pdl_emit *e, const pdl_b_model *b) {
    if (b->model)
        pdl_emit_tree(e, b->model);
    else
        pdl_emit_tree(e, b->processor);
    pdl_emit_trace_field(e, b->model ? "model" : "processor");
    if (b->parameters)
        emit_parameters(e, b->parameters);
    else
        emit_DICT(e, 0);
    pdl_emit_trace_field(e, "parameters");
    if (b->input)
        pdl_emit_value_of(e, b->input, (pdl_pos){.seg = PDL_SEG_NAME, .name = PDL_STR("input")});
    else
        emit_CONTEXT(e);
    pdl_emit_set_loc(e, b->head.loc);
    emit_MODEL(e, b);
}
