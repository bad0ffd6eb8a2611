/* trees.c -- programs as trees of values, and those as YAML.
 * SPDX-License-Identifier: Apache-2.0 */
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
    else if (pdl_yaml_write(v->v, &b, &err))
        out = pdl_value_box(pdl_text(pdl_buf_str(&b)));
    else
        (void)pdl_error_give(error, &err, NULL);
    pdl_buf_fini(&b);
    return out;
}
