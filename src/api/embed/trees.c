/* trees.c -- programs as trees of values, and such trees as YAML. A host program that builds
 * programs from data needs no YAML: it passes a tree, which is written as YAML and loaded like any
 * other text. So there is one loader, and errors have lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/handles.h"
#include "base/limits.h"
#include "lang/dump.h"
#include "yaml/yaml.h"

#include "base/banned.h"

pdl_value *pdl_program_tree(const pdl_program *program) {
    return program && program->main ? pdl_value_box(pdl_block_dump(program->main, NULL)) : NULL;
}

pdl_value *pdl_value_to_yaml(const pdl_value *v, pdl_error **error) {
    pdl_err err = {0};
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_value *out = NULL;
    if (!v)
        pdl_misuse(error, "pdl_value_to_yaml: the value is NULL");
    else if (pdl_yaml_write(pdl_value_settled(v), &b, &err))
        out = pdl_value_box(
            pdl_with_label(pdl_text(pdl_buf_str(&b)), pdl_label_built(pdl_label_of(v->v))));
    else
        (void)pdl_error_give(error, &err, NULL);
    pdl_buf_fini(&b);
    return out;
}

pdl_value *pdl_program_text(const pdl_program *program) {
    return program && program->source ? pdl_value_box(pdl_text(program->source->text)) : NULL;
}

/* Returns true for data without functions and objects: in the YAML these would become texts. */
static bool is_data(pdl_vref v, unsigned depth, pdl_error **error) {
    if (depth > PDL_MAX_VALUE_DEPTH)
        return pdl_misuse(error, "pdl_load_value: the program is nested too deeply");
    bool is_dict = pdl_is_dict(v), is_list = pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE);
    size_t n = is_dict ? pdl_dict_len(v) : is_list ? pdl_list_len(v) : 0;
    if (!is_dict && !is_list && (pdl_is(v, PDL_V_FUNC) || pdl_is(v, PDL_V_HANDLE)))
        return pdl_misuse(error, "pdl_load_value: a program cannot hold a value of type %s",
                          pdl_type_name(v));
    for (size_t i = 0; i < n; i++)
        if (!is_data(is_dict ? pdl_dict_val_at(v, i) : pdl_list_at(v, i), depth + 1, error))
            return false;
    return true;
}

pdl_program *pdl_load_value(pdl_engine *engine, const pdl_value *tree, const char *name,
                            pdl_error **error) {
    if (!engine || !tree) {
        pdl_misuse(error, "pdl_load_value: the %s is NULL", engine ? "tree" : "engine");
        return NULL;
    }
    if (!is_data(pdl_value_settled(tree), 0, error)) return NULL;
    pdl_value *text = pdl_value_to_yaml(tree, error);
    size_t n = 0;
    const char *p = pdl_value_get_text(text, &n);
    pdl_program *program = p ? pdl_api_load(engine, p, n, name, true, error) : NULL;
    pdl_value_drop(text);
    return program;
}
