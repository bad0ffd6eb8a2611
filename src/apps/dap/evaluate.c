/* evaluate.c -- evaluates expressions of the client; see debugger.h.
 *
 * An expression becomes a program of one block. A separate run evaluates it with the variables of
 * the stopped run. The evaluation sends no request, so that showing a value changes nothing;
 * variables whose value a model has not returned yet are left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "dap/debugger.h"
#include "value/json_put.h"
#include "value/promise.h"

#include "base/banned.h"

/* Returns the variables whose values are known, without the variables that every run has. */
static pdl_val known_variables(pdl_vref scope) {
    pdl_val d = pdl_dict_new(8);
    for (size_t i = 0; i < pdl_dict_len(scope); i++) {
        pdl_vref key = pdl_dict_key_at(scope, i), v = pdl_dict_val_at(scope, i);
        pdl_err err = {0};
        pdl_val settled;
        if (!pdl_is_str(key) || pdl_str_starts(pdl_str_get(key), PDL_STR("pdl_")) ||
            pdl_text_is(key, "stdlib"))
            continue;
        if (!pdl_may_hold_promise(v))
            d = pdl_dict_put(d, pdl_keep(key), pdl_keep(v));
        else if (pdl_is_absent(pdl_promise_blocking(v)) && pdl_promise_resolve(v, &settled, &err))
            d = pdl_dict_put(d, pdl_keep(key), settled);
        pdl_err_fini(&err);
    }
    return d;
}

static void put_program(pdl_str expression, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    pdl_str e = pdl_str_trim(expression);
    bool braced = pdl_str_starts(e, PDL_STR("${"));
    pdl_buf_putf(&text, braced ? "%.*s" : "${ %.*s }", PDL_FMT(e));
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "data", pdl_buf_str(&text));
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&text);
}

/* Evaluates. The policies of the debugged run decide what an error shows, because it may contain
 * values of that run. */
static bool finish(const debugger *g, pdl_session *s, pdl_val *out, pdl_buf *text) {
    pdl_session_start(s);
    pdl_step step = pdl_session_step(s, 0);
    for (int i = 0; step == PDL_STEP_WAIT && i < 100; i++) step = pdl_session_step(s, 10);
    const pdl_run *run = pdl_session_get(s);
    if (step == PDL_STEP_DONE) {
        *out = pdl_keep(pdl_run_result(run));
        return true;
    }
    if (step == PDL_STEP_WAIT)
        PDL_PUT(text, "it asks a model or something else outside: that is not done here");
    else
        pdl_session_put_error(g->session, pdl_run_error(run), text);
    return false;
}

bool pdl_dap_evaluate(debugger *g, pdl_str expression, pdl_val scope, pdl_val *out, pdl_buf *text) {
    pdl_val variables = known_variables(scope);
    pdl_buf program = PDL_BUF;
    pdl_session *s = NULL;
    const pdl_program *p;
    pdl_err err = {0};
    bool ok = false;
    put_program(expression, &program);
    g->evaluating = true;
    if (!pdl_session_new(
            &(pdl_session_options){
                .program = {.file = PDL_STR("expression"),
                            .variables = variables,
                            .names = g->names},
                .run = {.purpose = PDL_FOR_TEXT, .explain = true},
            },
            &s, &err))
        pdl_buf_put(text, pdl_str_of(err.msg));
    else if (!pdl_session_load(s, pdl_buf_str(&program), &p))
        pdl_buf_put(text, p->diags.n ? p->diags.p[0].text : PDL_STR("it cannot be read"));
    else
        ok = finish(g, s, out, text);
    g->evaluating = false;
    pdl_err_fini(&err);
    pdl_session_free(s);
    pdl_buf_fini(&program);
    pdl_drop(variables);
    pdl_drop(scope);
    return ok;
}
