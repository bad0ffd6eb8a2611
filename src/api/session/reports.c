/* reports.c -- makes the sinks that receive the events of a run: the sink of the caller, journals,
 * spans, the trace. Each receiver that the options request becomes one sink. They all get the same
 * events with the same times, which come from the clock, from a replay or from a journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include "api/bound.h"
#include "api/prefix_report.h"
#include "api/report/call_log.h"
#include "api/session/compose.h"
#include "value/label.h"

#include "base/banned.h"

/* Appends the name that the policies have for an origin; without policies, its built-in name. */
static void put_origin(const void *user, pdl_label origin, pdl_buf *out) {
    const pdl_session *s = user;
    size_t bit = 0;
    while (bit < PDL_LABEL_COUNT && !(origin >> bit & 1)) bit++;
    if (s->rules.policies)
        pdl_policies_put_label(s->rules.policies, origin, out);
    else if (bit < PDL_LABEL_COUNT)
        pdl_buf_put(out, pdl_str_of(pdl_label_name(bit)));
}

static pdl_fold *new_fold(const pdl_session *s, bool whole) {
    const char *folder = pdl_environ_get(s->around.env, "TMPDIR");
    pdl_fold *f = pdl_fold_new(s->loaded.program, s->around.secrets, folder);
    pdl_fold_redact(f, pdl_session_redaction(s, PDL_SINK_trace));
    if (whole) pdl_fold_whole(f);
    if (s->reports.times && !s->opt.reports.trace_recorded) pdl_fold_replayed(f);
    if (s->opt.reports.labels || s->rules.policies) pdl_fold_labels(f, put_origin, s);
    return f;
}

static void add_fold(pdl_session *s, pdl_sinks *sinks) {
    pdl_reports *r = &s->reports;
    r->fold = new_fold(s, s->opt.reports.trace_whole);
    if (s->opt.reports.trace_later) {
        r->later = pdl_later_new(pdl_fold_sink(r->fold));
        pdl_later_follow(r->later, s->opt.reports.later_sink);
    }
    pdl_sinks_add(sinks, r->later ? pdl_later_sink(r->later) : pdl_fold_sink(r->fold));
}

/* Returns the sink for comparing prefixes. A replay has no world that writes requests, so it gets a
 * world that writes them without sending them. */
static pdl_sink prefix_sink(pdl_session *s) {
    pdl_world *answer = s->chain.rows[PDL_CHAIN_answer];
    if (!answer) answer = s->reports.previews = pdl_session_answer_world(s);
    return pdl_prefix_sink(s->opt.reports.prefix, pdl_compose_model(answer), s->around.prices);
}

void pdl_session_add_sinks(pdl_session *s, pdl_sinks *sinks) {
    sinks->now = s->reports.times ? pdl_times_of : pdl_session_wall;
    sinks->now_user = s->reports.times;
    if (s->files.durable && !pdl_durable_asks(s->files.durable)) {
        sinks->now = pdl_durable_time_of;
        sinks->now_user = s->files.durable;
    }
    if (s->opt.reports.sink.event) pdl_sinks_add(sinks, s->opt.reports.sink);
    if (s->opt.reports.sink.event && s->opt.reports.calls)
        pdl_sinks_add(sinks, pdl_calls_sink(&s->opt.reports.sink));
    if (s->reports.reached) pdl_sinks_add(sinks, pdl_reached_sink(s->reports.reached));
    if (s->files.journal && s->opt.files.record.n)
        pdl_sinks_add(sinks, pdl_journal_sink(s->files.journal));
    if (s->files.durable && pdl_durable_asks(s->files.durable))
        pdl_sinks_add(sinks, pdl_durable_sink(s->files.durable));
    if (s->opt.reports.prefix) pdl_sinks_add(sinks, prefix_sink(s));
    pdl_session_add_spans(s, sinks);
    if (s->opt.reports.trace) add_fold(s, sinks);
}

pdl_val pdl_session_bound(const pdl_session *s) {
    return pdl_program_bound(s->loaded.program,
                             &(pdl_bound_options){.variables = s->opt.program.variables,
                                                  .prices = s->around.prices,
                                                  .budget = s->opt.run.budget});
}

pdl_val pdl_session_unpriced(const pdl_session *s, const pdl_program *p, pdl_vref variables) {
    return pdl_program_unpriced(
        p, &(pdl_bound_options){.variables = variables, .prices = s->around.prices});
}

bool pdl_session_has_price(const pdl_session *s, pdl_str model) {
    pdl_price ignored;
    return pdl_price_find(s->around.prices, model, pdl_absent(), &ignored);
}

bool pdl_session_trace(const pdl_session *s, pdl_fold_put_fn *put, void *user, pdl_err *err) {
    if (s->reports.later) pdl_later_flush(s->reports.later);
    const pdl_cancel *outer = pdl_cancel_enter(pdl_run_cancel_scope(s->running.run));
    pdl_fold_write_rest(s->reports.fold);
    (void)pdl_cancel_enter(outer);
    return pdl_fold_write(s->reports.fold, put, user, err);
}

bool pdl_session_trace_so_far(const pdl_session *s, pdl_buf *out, pdl_err *err) {
    if (!s->reports.later) return false;
    pdl_fold *f = new_fold(s, false);
    bool ok = pdl_later_repeat(s->reports.later, pdl_fold_sink(f));
    if (ok) pdl_fold_write_rest(f);
    ok = ok && pdl_fold_json(f, out, err);
    pdl_fold_free(f);
    return ok;
}

pdl_later *pdl_session_later(const pdl_session *s) { return s->reports.later; }

void pdl_reports_end(pdl_reports *r) {
    pdl_later_free(r->later);
    pdl_fold_free(r->fold);
    pdl_times_free(r->times);
    pdl_reached_free(r->reached);
    if (r->previews) r->previews->ops->close(r->previews);
}

bool pdl_reports_ok(const pdl_reports *r) { return !r->later || r->fold; }
