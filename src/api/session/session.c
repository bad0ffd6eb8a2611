/* session.c -- opens, steps and ends a session; see session.h. A session is the sum of its parts
 * (session_parts.h). This file calls the parts in an order in which each finds what it needs. What
 * the user gave is opened and checked first, so that an error comes before anything is executed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include <assert.h>

#include "api/calls/merge.h"
#include "api/report/call_log.h"
#include "api/report/explain.h"
#include "api/report/stage_dump.h"
#include "api/session/compose.h"
#include "api/session/confined.h"
#include "api/session/jobs.h"
#include "api/session/subruns.h"
#include "api/setup/env.h"
#include "api/setup/env_settings.h"
#include "api/setup/install_folders.h"
#include "api/setup/written_keys.h"
#include "base/limits.h"
#include "base/version.h"
#include "budget/budget_world.h"
#include "cache/cache.h"
#include "compile/compile.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/loop.h"
#include "journal/journal.h"
#include "journal/times.h"
#include "lang/load.h"
#include "mcp/mcp.h"
#include "model/model.h"
#include "trace/fold.h"
#include "value/label.h"

#include "base/banned.h"

/* this is lib/stdlib.pdl, which is embedded when libpdl is built */
extern const unsigned char pdl_stdlib_text[];
extern const size_t pdl_stdlib_text_len;

pdl_str pdl_session_library_text(void) {
    return (pdl_str){(const char *)pdl_stdlib_text, pdl_stdlib_text_len};
}

int64_t pdl_session_wall(void *user, const pdl_event *e) {
    (void)user;
    (void)e;
    return pdl_clock_wall_ns();
}

pdl_chain *pdl_session_chain(pdl_session *s) {
    if (!s->chain.first) pdl_chain_open(s);
    return &s->chain;
}

bool pdl_session_ok(const pdl_session *s) {
    return pdl_around_ok(&s->around) && pdl_session_rules_ok(&s->rules) &&
           pdl_open_files_ok(&s->files) && (!s->chain.first || pdl_chain_ok(&s->chain)) &&
           pdl_loaded_ok(&s->loaded) && pdl_running_ok(&s->running) &&
           pdl_reports_ok(&s->reports) && pdl_group_ok(s);
}

/* Reads the policies of the session's options. The session ends before an error is printed, so
 * secrets in the error are redacted here. */
static bool read_policies(pdl_session *s, pdl_err *err) {
    pdl_err why = {0};
    pdl_buf b = PDL_BUF;
    if (pdl_session_read_policies(s, &why)) return true;
    pdl_session_blame_option(&why);
    pdl_redact_text(s->around.secrets, pdl_str_of(why.msg), &b);
    pdl_err_set(err, why.kind, why.loc, "%s", pdl_buf_z(&b));
    err->preformatted = why.preformatted;
    pdl_buf_clear(&b);
    if (why.hint) pdl_redact_text(s->around.secrets, pdl_str_of(why.hint), &b);
    if (why.hint) pdl_err_hint(err, "%s", pdl_buf_z(&b));
    pdl_err_fini(&why);
    pdl_buf_fini(&b);
    return false;
}

static bool check_limits(pdl_session *s, pdl_err *err) {
    const pdl_session_options *o = &s->opt;
    bool reads = !s->group.shared && o->run.purpose == PDL_FOR_RUNS;
    if (reads && !pdl_settings_check(pdl_session_env_of, s, err)) return false;
    return !o->models.timeouts || pdl_timing_check(pdl_str_of(o->models.timeouts), err) ||
           pdl_session_blame_option(err);
}

static bool begin_explain(pdl_session *s, pdl_err *err) {
    if (!s->opt.run.explain) return true;
    s->reports.reached = pdl_reached_new();
    return !s->opt.run.allow.n || pdl_allow_read(s->opt.run.allow, &s->reports.allowed, err);
}

/* Opens everything that the user named, so that an error comes before the program is read. */
static bool open_all(pdl_session *s, pdl_err *err) {
    if (!pdl_around_open(s, err)) return false;
    s->rules.confined =
        pdl_confined_new(&s->opt, pdl_session_env_of, s, &s->around.folders, s->loaded.arena);
    if (!check_limits(s, err) || !pdl_session_open_telemetry(s, err) || !read_policies(s, err) ||
        !pdl_session_open_sandbox(s, err))
        return false;
    if (!s->group.shared)
        pdl_mcp_secrets(&(pdl_mcp_options){.env = pdl_session_env_of, .user = s},
                        s->around.secrets);
    if (!begin_explain(s, err) || !pdl_open_files_open(s, err)) return false;
    pdl_session_fill_redactions(s);
    return true;
}

bool pdl_session_new(const pdl_session_options *options, pdl_session **out, pdl_err *err) {
    pdl_session *s = PDL_NEW(pdl_session), *shared = options->host.shared;
    assert(pdl_session_options_ok(options));
    s->opt = *options;
    s->loaded.arena = pdl_arena_make();
    s->loaded.names =
        options->program.names ? pdl_interner_keep(options->program.names) : pdl_interner_new();
    s->running.reserve = shared ? pdl_reserve_keep(shared->running.reserve) : pdl_reserve_new();
    s->running.subs = shared ? shared->running.subs : pdl_subruns_new();
    if (s->opt.run.budget)
        s->running.budget = pdl_budget_new(s->opt.run.budget, NULL, (pdl_loc){0});
    if ((shared && !pdl_group_join(s, shared, err)) || !open_all(s, err)) {
        pdl_session_free(s);
        return false;
    }
    assert(pdl_session_ok(s));
    *out = s;
    return true;
}

/* Ends the session. Each part ends after the parts that use it. */
void pdl_session_free(pdl_session *s) {
    if (!s) return;
    pdl_running_stop(s);
    pdl_reports_end(&s->reports);
    pdl_beside_end(s);
    pdl_chain_close(&s->chain);
    if (s->files.journal && s->opt.files.record.n && !s->loaded.code)
        pdl_journal_forget(s->files.journal);
    pdl_open_files_end(&s->files);
    pdl_session_close_telemetry(s);
    pdl_session_rules_end(&s->rules);
    pdl_running_end(&s->running);
    pdl_group_leave(s);
    pdl_around_end(s);
    pdl_group_end(&s->group);
    pdl_loaded_end(&s->loaded);
    pdl_free(s);
}

static bool hooks_are_ready(const pdl_session *s) {
    const pdl_world *answer = s->chain.rows[PDL_CHAIN_answer];
    return answer && pdl_compose_is_ready(answer);
}

static bool any_ready(const pdl_session *s) {
    return pdl_run_is_ready(s->running.run) || pdl_subruns_are_ready(s->running.subs);
}

void pdl_session_start(pdl_session *s) {
    pdl_err refused = {0};
    bool allowed = pdl_session_read_own_policy(s, &refused) && pdl_session_keep_guards(s, &refused);
    (void)pdl_session_chain(s);
    pdl_run_options o = pdl_session_machine_options(s);
    o.stream = s->opt.run.stream;
    pdl_session_add_sinks(s, &o.sinks);
    s->running.run = pdl_run_new(&o);
    bool all =
        s->opt.reports.trace || s->opt.run.explain || s->opt.reports.all_blocks || s->reports.spans;
    if (!s->loaded.code)
        s->loaded.code = pdl_compile_program(s->loaded.program, s->loaded.names, all);
    pdl_api_debug_code(s->opt.reports.debug, s->loaded.code);
    pdl_val vars =
        pdl_session_with_defaults(s->opt.program.variables, PDL_LABEL_data | PDL_LABEL_FREE);
    if (s->files.journal && s->opt.files.record.n) pdl_session_record_program(s);
    pdl_drop(s->loaded.inputs);
    s->loaded.inputs = s->chain.rows[PDL_CHAIN_precheck] ? pdl_keep(vars) : pdl_absent();
    pdl_err err = {0};
    bool ok = pdl_model_defaults_check(pdl_dict_getz(vars, "pdl_model_default_parameters"), &err);
    pdl_run_start(s->running.run, s->loaded.code, vars);
    pdl_drop(vars);
    if (!allowed)
        pdl_run_cancel(s->running.run, &refused);
    else if (!ok)
        pdl_run_cancel(s->running.run, &err);
    if (!allowed) pdl_err_fini(&err);
}

bool pdl_session_only_waits(const pdl_session *s) {
    return s->files.durable && !pdl_session_is_ready(s) && pdl_durable_only_waits(s->files.durable);
}

bool pdl_session_park(pdl_session *s) {
    if (!pdl_session_only_waits(s) || !pdl_durable_park(s->files.durable)) return false;
    (void)pdl_session_end_parked(s);
    return true;
}

/* Returns how many of the timeout_ms milliseconds since `start` are left; -1 when there is no
 * limit. */
static int time_left(uint64_t start, int timeout_ms) {
    uint64_t gone = timeout_ms > 0 ? (pdl_clock_ns() - start) / 1000000 : 0;
    if (timeout_ms <= 0) return timeout_ms;
    return gone >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)gone;
}

static pdl_step step(pdl_session *s, int timeout_ms) {
    uint64_t start = timeout_ms > 0 ? pdl_clock_ns() : 0;
    for (;;) {
        pdl_step step = pdl_run_step(s->running.run);
        if (step != PDL_STEP_WAIT) return step;
        if (pdl_subruns_step(s->running.subs)) continue;
        int left = any_ready(s) ? 0 : time_left(start, timeout_ms);
        bool open = s->chain.first->ops->poll(s->chain.first, left);
        if (pdl_session_end_parked(s) || (!left && pdl_session_park(s))) continue;
        bool looks =
            s->opt.run.explain || (s->files.durable && !pdl_durable_asks(s->files.durable));
        if (!open && !any_ready(s) && looks) return PDL_STEP_WAIT;
        if (!open && !any_ready(s)) {
            pdl_err err = {0};
            pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                        "the run waits for an answer that cannot come");
            pdl_run_cancel(s->running.run, &err);
        } else if (timeout_ms >= 0 && time_left(start, timeout_ms) == 0) {
            return PDL_STEP_WAIT;
        }
    }
}

/* Steps the session. The session's flag also cancels work of worlds during a poll, such as reading
 * a file or parsing a reply. */
pdl_step pdl_session_step(pdl_session *s, int timeout_ms) {
    pdl_cancel scope = {.flag = s->opt.run.cancel};
    const pdl_cancel *outer = pdl_cancel_enter(&scope);
    pdl_step result = step(s, timeout_ms);
    (void)pdl_cancel_enter(outer);
    return result;
}

bool pdl_session_finish(pdl_session *s, pdl_err *err) {
    const pdl_err *why = s->running.run ? pdl_run_error(s->running.run) : NULL;
    const pdl_open_files *f = &s->files;
    if (why && !why->kind) why = NULL;
    return (!f->durable || pdl_durable_finish(f->durable, why, err)) &&
           (!f->journal || pdl_journal_finish(f->journal, err)) &&
           (!f->cache || pdl_cache_finish(f->cache, err));
}

bool pdl_session_fail(pdl_session *s, const pdl_err *why, pdl_err *err) {
    return !s->files.durable || pdl_durable_finish(s->files.durable, why, err);
}

pdl_step pdl_session_run(pdl_session *s) {
    pdl_session_start(s);
    return pdl_session_step(s, -1);
}

/* libuv registers a new descriptor with the kernel only when the loop runs next, so the returned
 * time is limited. */
int pdl_session_deadline_ms(const pdl_session *s) {
    enum { MAX_WAIT_MS = 50 };
    if (!s->running.run || any_ready(s) || hooks_are_ready(s)) return 0;
    if (pdl_open_files_are_ready(&s->files)) return 0;
    int ms = pdl_loop_deadline_ms(s->around.loop);
    return ms < 0 || ms > MAX_WAIT_MS ? MAX_WAIT_MS : ms;
}

bool pdl_session_is_ready(const pdl_session *s) {
    return pdl_run_is_ready(s->running.run) || hooks_are_ready(s) ||
           pdl_open_files_are_ready(&s->files);
}

/* Steps without waiting. The answers of hooks, caches and recordings are delivered when their world
 * is polled. */
pdl_step pdl_session_turn(pdl_session *s) {
    pdl_step done = pdl_run_step(s->running.run);
    bool polls = s->opt.files.replay.n || s->files.durable || hooks_are_ready(s) ||
                 pdl_open_files_are_ready(&s->files);
    if (done == PDL_STEP_WAIT && polls) (void)s->chain.first->ops->poll(s->chain.first, 0);
    return done;
}

/* Steps the programs that run inside the programs of the members. Returns true when one of the
 * inner programs ended. */
bool pdl_session_turn_inner(pdl_session *s) {
    if (s->group.jobs) pdl_jobs_launch(s->group.jobs);
    return pdl_subruns_step(s->running.subs);
}

bool pdl_session_send_waiting(pdl_session *s) {
    pdl_world *merge = s->chain.rows[PDL_CHAIN_merge];
    return merge && pdl_merge_send(merge);
}

bool pdl_session_inner_is_ready(const pdl_session *s) {
    return pdl_subruns_are_ready(s->running.subs) ||
           (s->group.jobs && pdl_jobs_are_ready(s->group.jobs));
}

void pdl_session_cancel(pdl_session *s, pdl_err *err) {
    if (s->files.durable) pdl_durable_ends(s->files.durable);
    if (s->running.run)
        pdl_run_cancel(s->running.run, err);
    else
        pdl_err_fini(err);
}

bool pdl_session_set_variable(pdl_session *s, uint32_t fiber, pdl_str name, pdl_vref old,
                              pdl_vref v) {
    return s->running.run && pdl_run_set_variable(s->running.run, fiber, name, old, v);
}

pdl_code *pdl_session_compile(pdl_session *s, pdl_program *program) {
    pdl_api_note_program(s->around.secrets, program);
    pdl_code *code = pdl_compile_program(program, s->loaded.names, false);
    pdl_api_debug_code(s->opt.reports.debug, code);
    return code;
}

bool pdl_session_poll(pdl_session *s, int timeout_ms) {
    if (s->group.jobs) pdl_jobs_launch(s->group.jobs);
    bool any = pdl_subruns_step(s->running.subs) || pdl_subruns_are_ready(s->running.subs);
    pdl_cancel scope = {.flag = s->opt.run.cancel};
    const pdl_cancel *outer = pdl_cancel_enter(&scope);
    pdl_world *first = pdl_session_chain(s)->first;
    bool open = first->ops->poll(first, any ? 0 : timeout_ms);
    (void)pdl_cancel_enter(outer);
    return any || open;
}

bool pdl_session_answer_input(pdl_session *s, uint32_t effect, pdl_str text) {
    pdl_world *answer = s->chain.rows[PDL_CHAIN_answer];
    return answer && pdl_compose_answer_input(answer, effect, text);
}

const pdl_run *pdl_session_get(const pdl_session *s) { return s->running.run; }
pdl_loop *pdl_session_loop(const pdl_session *s) { return s->around.loop; }
const char *pdl_session_env(pdl_session *s, const char *name) {
    return pdl_environ_get(s->around.env, name);
}

const pdl_str *pdl_session_path(const pdl_session *s, size_t *n) {
    *n = s->around.folders.n;
    return s->around.folders.path;
}

/* --- explaining ------------------------------------------------------------------------------- */

pdl_val pdl_session_explained(pdl_session *s) {
    pdl_world *explain = s->chain.rows[PDL_CHAIN_explain];
    pdl_val notes =
        pdl_explain_waits(explain, s->running.run, s->reports.reached, pdl_explain_notes(explain));
    if (s->files.cache) notes = pdl_explain_cached(notes, pdl_cache_answered(s->files.cache));
    if (s->opt.run.budget) notes = pdl_explain_budget(notes, s->opt.run.budget);
    return pdl_redact_val(s->around.secrets, notes);
}

void pdl_session_redact(const pdl_session *s, pdl_str text, pdl_buf *out) {
    pdl_redact_cut(s->around.secrets, text, out);
}

pdl_val pdl_session_redact_val(const pdl_session *s, pdl_val v) {
    return pdl_redact_val(s->around.secrets, v);
}
void pdl_session_note(const pdl_session *s, const pdl_program *program) {
    pdl_api_note_program(s->around.secrets, program);
}
