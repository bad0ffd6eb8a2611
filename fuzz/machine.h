/* machine.h -- runs code in a world that answers nothing, for a bounded time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FUZZ_MACHINE_H
#define PDL_FUZZ_MACHINE_H

#include "fuzz.h"

#include "compile/compile.h"
#include "lang/load.h"
#include "vm/vm.h"

enum { FUZZ_TURNS = 4 };

static inline bool fuzz_build(void *user, const pdl_build_source *source, pdl_code **out,
                              pdl_val *errors, pdl_err *err) {
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, source->name, source->text, &ok);
    if (ok)
        *out = pdl_compile_program(p, user, source->trace);
    else {
        *errors = pdl_list_new(0);
        pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "not a program");
    }
    pdl_program_drop(p);
    return ok;
}

/* Appends the text of the result or of the error, or "..." when the run did not end in time. */
static inline void fuzz_run(pdl_code *code, pdl_interner *names, pdl_vref vars, pdl_buf *out) {
    pdl_run_options opt = {
        .names = names, .world = pdl_null_world(), .build = fuzz_build, .build_user = names};
    pdl_run *r = pdl_run_new(&opt);
    pdl_run_start(r, code, vars);
    pdl_step s = PDL_STEP_WAIT;
    for (int i = 0; i < FUZZ_TURNS && s == PDL_STEP_WAIT; i++) {
        s = pdl_run_step(r);
        if (s == PDL_STEP_WAIT && !pdl_run_is_ready(r)) opt.world->ops->poll(opt.world, 0);
    }
    pdl_err err = {0};
    if (s == PDL_STEP_DONE) {
        if (!pdl_val_repr(pdl_run_result(r), out, &err)) pdl_err_fini(&err);
    } else if (s == PDL_STEP_FAIL) {
        FUZZ_MUST(pdl_run_error(r)->kind && pdl_run_error(r)->msg);
        pdl_buf_put(out, pdl_str_of(pdl_run_error(r)->msg));
    } else {
        PDL_PUT(out, "...");
    }
    pdl_run_free(r);
}

#endif
