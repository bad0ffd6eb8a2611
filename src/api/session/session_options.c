/* session_options.c -- the invariants of the options of a session. Options that violate them are a
 * bug of the caller, because the user's input was examined before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session_options.h"

#include "base/banned.h"

static bool program_ok(const pdl_session_program_options *o) { return !o->n_path || o->path; }

static bool run_ok(const pdl_session_run_options *o) { return !o->allow.n || o->explain; }

static bool models_ok(const pdl_session_model_options *o) {
    return o->rates.requests_per_second >= 0 && o->rates.tokens_per_minute >= 0;
}

static bool guards_ok(const pdl_session_guard_options *o) { return !o->n_policies || o->policies; }

static bool reports_ok(const pdl_session_report_options *o) {
    return (o->trace || (!o->trace_whole && !o->trace_later)) &&
           (o->trace_later || !o->later_sink.event);
}

static bool host_ok(const pdl_session_host_options *o) { return !o->n_hooks || o->hooks; }

bool pdl_session_options_ok(const pdl_session_options *o) {
    return program_ok(&o->program) && run_ok(&o->run) && models_ok(&o->models) &&
           guards_ok(&o->guards) && reports_ok(&o->reports) && host_ok(&o->host) &&
           !(o->host.shared && o->run.explain);
}
