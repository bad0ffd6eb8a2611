/* previews.c -- pdl_explain: shows users of the library the requests that a program would send to
 * models, without sending them. A session with the option `explain` runs the program without
 * answers. This file gives it the settings of the engine and returns its notes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/handles.h"
#include "base/limits.h"
#include "io/file.h"

#include "base/banned.h"

static pdl_value *explained(pdl_session *s, pdl_program *program, pdl_error **error) {
    pdl_session_use(s, program);
    if (pdl_session_run(s) != PDL_STEP_FAIL) return pdl_value_box(pdl_session_explained(s));
    if (error) *error = pdl_error_make(pdl_run_error(pdl_session_get(s)), s);
    return NULL;
}

static pdl_value *explain(pdl_engine *e, pdl_program *program, const pdl_value *inputs,
                          const char *allow, pdl_error **error) {
    pdl_err err = {0};
    pdl_session *s = NULL;
    pdl_str file = program->source ? program->source->name : PDL_STR("");
    pdl_session_options o = {
        .program = {.file = file,
                    .dir = pdl_file_folder(file),
                    .path = e->paths.p,
                    .n_path = e->paths.n,
                    .names = e->names,
                    .variables = inputs ? pdl_value_settled(inputs) : pdl_absent()},
        .run = {.jobs = PDL_MAX_MAP_WORKERS,
                .explain = true,
                .allow = pdl_str_of(allow ? allow : "")},
        .models.prices = pdl_str_of(e->prices),
        .host = {.hooks = e->hooks.p, .n_hooks = e->hooks.n},
    };
    pdl_value *v = NULL;
    if (pdl_session_new(&o, &s, &err))
        v = explained(s, program, error);
    else
        pdl_error_give(error, &err, NULL);
    pdl_session_free(s);
    return v;
}

pdl_value *pdl_explain(pdl_engine *engine, pdl_program *program, const pdl_value *inputs,
                       const char *allow, pdl_error **error) {
    if (!engine || !program)
        pdl_misuse(error, "pdl_explain: the %s is NULL", engine ? "program" : "engine");
    else if (inputs && pdl_value_kind(inputs) != PDL_KIND_DICT)
        pdl_misuse(error, "pdl_explain: inputs is not a dict");
    else {
        pdl_pool *before = pdl_pool_enter(engine->pool);
        pdl_value *v = explain(engine, program, inputs, allow, error);
        pdl_pool_enter(before);
        return v;
    }
    return NULL;
}
