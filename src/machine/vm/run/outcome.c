/* outcome.c -- ends a run, with its result or with an error that no handler caught.
 *
 * The run ends (spec execution L6) when the main fiber has ended, the result is resolved and all
 * calls have ended. A call whose reply is not used may still fail, and this may be an error of the
 * program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/context.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

void pdl_run_fail(pdl_run *r, pdl_err *err) {
    if (!r->outcome.failed) {
        r->outcome.failed = true;
        pdl_err_move(&r->outcome.err, err);
        pdl_run_effects_cancel(r);
        pdl_vm_files_close(r);
        pdl_sinks_send(&r->opt.sinks, &(pdl_event){
                                          .kind = PDL_EVENT_run_end,
                                          .err = &r->outcome.err,
                                          .value = pdl_absent(),
                                          .context = pdl_absent(),
                                      });
    }
    pdl_err_fini(err);
}

/* Returns the promise of a model's text when v is this promise, or is a text that has no other
 * part; else absent. */
static pdl_vref sole_source(pdl_vref v) {
    while (pdl_is(v, PDL_V_PROMISE) && pdl_is_absent(pdl_promise_of(v)->answer)) {
        pdl_vref pieces = pdl_promise_of(v)->pieces;
        if (!pdl_is_list(pieces) || pdl_list_len(pieces) != 1) return pdl_absent();
        v = pdl_list_at(pieces, 0);
    }
    return pdl_is(v, PDL_V_PROMISE) ? v : pdl_absent();
}

/* Called before the result is resolved, because the resolved value does not show where it comes
 * from. */
static void keep_answer(pdl_run *r, pdl_vref result) {
    pdl_message m;
    pdl_vref source = sole_source(result);
    if (pdl_is_absent(source) && !pdl_is_absent(r->fibers.main->background) &&
        pdl_context_last(r->fibers.main->background, &m))
        source = m.source;
    if (!pdl_is_absent(source))
        set_val(&r->outcome.answer, pdl_keep(pdl_promise_of(source)->answer));
}

static void redact_result(pdl_run *r) {
    const pdl_redaction *m = r->opt.redaction;
    if (pdl_redaction_covers(m, pdl_label_of(r->outcome.answer)))
        set_val(&r->outcome.answer, pdl_absent());
    if (pdl_redaction_covers(m, pdl_label_of(r->fibers.main->background)))
        set_val(&r->fibers.main->background, pdl_absent());
    r->outcome.result = pdl_redact_labelled(m, r->outcome.result);
}

pdl_step pdl_run_finish(pdl_run *r, pdl_err *err) {
    pdl_fiber *f = r->fibers.main;
    pdl_step s = pdl_inflight_await(f, 0, false, err);
    if (s == PDL_STEP_DONE && !pdl_inflight_raise_unnoticed(f, err)) s = PDL_STEP_FAIL;
    if (s == PDL_STEP_DONE) keep_answer(r, *top(f));
    if (s == PDL_STEP_DONE) s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    if (r->output.stream_failed && pdl_out_failed(r, err)) return PDL_STEP_FAIL;
    r->outcome.result = pop(f);
    if (r->opt.result_is_shown) redact_result(r);
    pdl_vm_files_close(r);
    f->state = FIBER_DONE;
    r->outcome.finished = true;
    pdl_sinks_send(&r->opt.sinks, &(pdl_event){
                                      .kind = PDL_EVENT_run_end,
                                      .value = r->outcome.result,
                                      .context = pdl_absent(),
                                  });
    return PDL_STEP_DONE;
}

pdl_vref pdl_run_result(const pdl_run *r) { return r->outcome.result; }
bool pdl_run_result_is_untrusted(const pdl_run *r) {
    return pdl_out_is_untrusted(pdl_label_of(r->outcome.result));
}
pdl_val pdl_run_scope(const pdl_run *r) { return pdl_vm_scope_value(r->fibers.main); }
pdl_vref pdl_run_context(const pdl_run *r) { return r->fibers.main->background; }
pdl_vref pdl_run_answer(const pdl_run *r) { return r->outcome.answer; }
double pdl_run_score(const pdl_run *r) { return r->outcome.score; }
pdl_label pdl_run_seen(const pdl_run *r) { return r->effects.seen; }
pdl_loc pdl_run_impossible(const pdl_run *r) { return r->outcome.impossible; }
const pdl_err *pdl_run_error(const pdl_run *r) { return &r->outcome.err; }

void pdl_run_outcome_end(pdl_run_outcome *o) {
    pdl_drop(o->result);
    pdl_drop(o->answer);
    pdl_err_fini(&o->err);
}

bool pdl_run_outcome_ok(const pdl_run_outcome *o) {
    if (o->finished && pdl_is_absent(o->result)) return false;
    return o->failed == (o->err.kind != 0);
}
