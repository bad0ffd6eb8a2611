/* session.c -- see session.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include "api/report/call_log.h"
#include "api/report/explain.h"
#include "api/report/stage_dump.h"
#include "api/session/compose.h"
#include "api/session/confined.h"
#include "api/session/jobs.h"
#include "api/session/subruns.h"
#include "api/setup/env.h"
#include "api/setup/folders.h"
#include "api/setup/keys.h"
#include "base/limits.h"
#include "base/version.h"
#include "budget/world.h"
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

extern const unsigned char pdl_stdlib_text[]; /* lib/stdlib.pdl, embedded at build time */
extern const size_t pdl_stdlib_text_len;

pdl_str pdl_session_library_text(void) {
    return (pdl_str){(const char *)pdl_stdlib_text, pdl_stdlib_text_len};
}

const char *pdl_session_env_of(void *user, const char *name) {
    return pdl_environ_get(((pdl_session *)user)->env, name);
}

static void find_path(pdl_session *s) {
    s->folders =
        pdl_api_folders(s->arena, pdl_environ_get(s->env, "PDL_PATH"), s->opt.path, s->opt.n_path);
}

int64_t pdl_session_wall(void *user, const pdl_event *e) {
    (void)user;
    (void)e;
    return pdl_clock_wall_ns();
}

/* A table that cannot be read is an error before anything runs. */
static bool read_prices(pdl_session *s, pdl_err *err) {
    const char *named = pdl_environ_get(s->env, "PDL_PRICES");
    pdl_str path = s->opt.prices.n ? s->opt.prices : pdl_str_of(named ? named : "");
    if (!path.n || s->opt.replay.n) return true;
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    char *name = pdl_str_dup(path);
    bool ok = pdl_file_read(name, &text, err) &&
              pdl_prices_read(pdl_buf_str(&text), name, &s->prices, err);
    pdl_free(name);
    pdl_buf_fini(&text);
    return ok;
}

/* The session does not last until the error is printed: its secrets are hidden here. */
static bool read_policies(pdl_session *s, pdl_err *err) {
    pdl_err why = {0};
    pdl_buf b = PDL_BUF;
    if (pdl_session_read_policies(s, &why)) return true;
    pdl_hide_text(s->secrets, pdl_str_of(why.msg), &b);
    pdl_err_set(err, why.kind, why.loc, "%s", pdl_buf_z(&b));
    err->preformatted = why.preformatted;
    pdl_buf_clear(&b);
    if (why.hint) pdl_hide_text(s->secrets, pdl_str_of(why.hint), &b);
    if (why.hint) pdl_err_hint(err, "%s", pdl_buf_z(&b));
    pdl_err_fini(&why);
    pdl_buf_fini(&b);
    return false;
}

/* Files and rules that worlds of the chain need: an error comes before anything is read. */
static bool open_files(pdl_session *s, pdl_err *err) {
    const pdl_session_options *o = &s->opt;
    if ((!o->explain && !read_policies(s, err)) || !pdl_session_open_sandbox(s, err))
        return false;
    if (!s->shared)
        pdl_mcp_secrets(&(pdl_mcp_options){.env = pdl_session_env_of, .user = s}, s->secrets);
    if (o->explain) {
        s->reached = pdl_reached_new();
        return !o->allow.n || pdl_allow_read(o->allow, &s->allowed, err);
    }
    if (o->cache.n && !o->replay.n) {
        if (!pdl_cache_open(o->cache, s->secrets, &s->cache, err)) return false;
        pdl_cache_mask(s->cache, pdl_session_mask(s, PDL_SINK_journal));
    }
    if ((o->record.n || o->replay.n) && !pdl_session_open_journal(s, err)) return false;
    pdl_session_fill_masks(s);
    return true;
}

pdl_chain *pdl_session_chain(pdl_session *s) {
    if (!s->chain.first) pdl_chain_open(s);
    return &s->chain;
}

/* --- debug lines ------------------------------------------------------------------------------ */

static void hide_line(void *user, pdl_str line, pdl_buf *out) {
    pdl_session *s = user;
    pdl_hider_feed_lines(&s->debug_hider, line, out);
}

/* Debug lines hold no secrets of the session; lines that are held back are written at its end. */
static void hide_debug(pdl_session *s) {
    s->debug_hider = PDL_HIDER(s->secrets);
    if (!s->opt.debug || s->opt.debug->hide) return;
    s->opt.debug->hide = hide_line;
    s->opt.debug->hide_user = s;
}

static void show_debug(pdl_session *s) {
    pdl_buf rest = PDL_BUF;
    pdl_hider_end_lines(&s->debug_hider, &rest);
    if (s->opt.debug && s->opt.debug->hide_user == s) {
        s->opt.debug->hide = NULL;
        s->opt.debug->hide_user = NULL;
        pdl_debug_put(s->opt.debug, pdl_buf_str(&rest));
    }
    pdl_buf_fini(&rest);
}

/* Takes a slot among the members of another session; what they share is borrowed. */
static bool join(pdl_session *s, pdl_session *shared, pdl_err *err) {
    if (!shared->jobs) shared->jobs = pdl_jobs_new(shared->opt.jobs);
    if (!shared->members) shared->members = PDL_NEW_N(pdl_session *, PDL_MEMBER_SLOTS);
    uint32_t slot = shared->next_slot % PDL_MEMBER_SLOTS, tried = 0;
    while (tried < PDL_MEMBER_SLOTS && shared->members[slot]) {
        slot = (slot + 1) % PDL_MEMBER_SLOTS;
        tried++;
    }
    if (tried == PDL_MEMBER_SLOTS)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "more than %d tasks of an engine at a time", PDL_MEMBER_SLOTS);
    shared->next_slot = slot + 1;
    shared->members[slot] = s;
    s->shared = shared;
    s->slot = slot;
    s->subs = shared->subs;
    s->secrets = shared->secrets;
    s->env = shared->env;
    s->loop = shared->loop;
    s->folders = shared->folders;
    return true;
}

static bool open_own(pdl_session *s, pdl_err *err) {
    s->subs = pdl_subruns_new();
    s->secrets = pdl_secrets_new();
    s->env = pdl_environ_load(s->secrets, &(pdl_environ_notes){s->opt.note, s->opt.sink.user});
    hide_debug(s);
    s->loop = pdl_loop_try();
    find_path(s);
    return s->loop || pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "no event loop: out of descriptors");
}

/* Releases the slot, or what open_own made. */
static void close_own(pdl_session *s) {
    if (s->shared) s->shared->members[s->slot] = NULL;
    if (s->opt.shared) return;
    pdl_loop_free(s->loop);
    pdl_environ_free(s->env);
    show_debug(s);
    pdl_secrets_free(s->secrets);
}

bool pdl_session_new(const pdl_session_options *options, pdl_session **out, pdl_err *err) {
    pdl_session *s = PDL_NEW(pdl_session);
    s->opt = *options;
    s->arena = pdl_arena_make();
    s->names = options->names ? pdl_interner_keep(options->names) : pdl_interner_new();
    s->reserve = options->shared ? pdl_reserve_keep(options->shared->reserve) : pdl_reserve_new();
    bool ok = options->shared ? join(s, options->shared, err) : open_own(s, err);
    if (s->opt.budget) s->budget = pdl_budget_new(s->opt.budget, NULL, (pdl_loc){0});
    if (ok && options->timeouts && !pdl_timing_check(pdl_str_of(options->timeouts), err)) {
        err->kind = PDL_E_usage;
        ok = false;
    }
    if (!ok || !(s->shared || read_prices(s, err)) || !pdl_session_open_telemetry(s, err) ||
        !open_files(s, err)) {
        pdl_session_free(s);
        return false;
    }
    *out = s;
    return true;
}

void pdl_session_free(pdl_session *s) {
    if (!s) return;
    if (!s->opt.shared) pdl_subruns_free(s->subs);
    pdl_run_free(s->run);
    if (s->shared) pdl_subruns_cancel(s->subs, PDL_SUB_RANGES + s->slot);
    pdl_later_free(s->later);
    pdl_fold_free(s->fold);
    pdl_times_free(s->times);
    pdl_program_drop(s->program);
    pdl_program_drop(s->checked);
    pdl_drop(s->inputs);
    pdl_code_drop(s->code);
    for (uint32_t i = 0; s->spawn_chains && i < PDL_SPAWN_SLOTS; i++) pdl_session_end_durable(s, i);
    pdl_free(s->spawn_chains);
    pdl_chain_close(&s->chain);
    if (s->journal) pdl_journal_close(s->journal);
    pdl_durable_close(s->owned);
    for (size_t i = 0; s->cache_views && i < PDL_SPAWN_SLOTS; i++)
        pdl_cache_view_close(s->cache_views[i]);
    pdl_free(s->cache_views);
    pdl_free(s->spawn_views);
    pdl_cache_close(s->cache);
    pdl_reached_free(s->reached);
    pdl_session_close_telemetry(s);
    pdl_jobs_free(s->jobs);
    pdl_policies_free(s->policies);
    pdl_policy_memories_free(s->memories);
    pdl_confined_free(s->confined);
    pdl_drop(s->profiles);
    pdl_drop(s->modules);
    pdl_prices_free(s->prices);
    pdl_budget_drop(s->budget);
    close_own(s);
    pdl_free(s->members);
    pdl_reserve_drop(s->reserve);
    pdl_interner_drop(s->names);
    pdl_arena_free(s->arena);
    pdl_free(s);
}

bool pdl_session_load(pdl_session *s, pdl_str bytes, const pdl_program **program) {
    bool ok;
    s->program = pdl_program_new();
    pdl_program_load(s->program, s->opt.file, bytes, &ok);
    pdl_api_note_program(s->secrets, s->program);
    pdl_api_debug_program(s->opt.debug, s->program);
    *program = s->program;
    return ok;
}

void pdl_session_use(pdl_session *s, pdl_program *program) {
    s->program = pdl_program_keep(program);
    pdl_api_note_program(s->secrets, program);
}

void pdl_session_use_code(pdl_session *s, pdl_code *code) { s->code = pdl_code_keep(code); }
pdl_code *pdl_session_code(const pdl_session *s) { return s->code; }

/* The names that policies give to labels are theirs. */
static void put_origin(const void *user, pdl_label origin, pdl_buf *out) {
    const pdl_session *s = user;
    size_t bit = 0;
    while (bit < PDL_LABEL_COUNT && !(origin >> bit & 1)) bit++;
    if (s->policies)
        pdl_policies_put_label(s->policies, origin, out);
    else if (bit < PDL_LABEL_COUNT)
        pdl_buf_put(out, pdl_str_of(pdl_label_name(bit)));
}

static void add_sinks(pdl_session *s, pdl_sinks *sinks) {
    sinks->now = s->times ? pdl_times_of : pdl_session_wall;
    sinks->now_user = s->times;
    if (s->durable && !pdl_durable_asks(s->durable)) {
        sinks->now = pdl_durable_time_of;
        sinks->now_user = s->durable;
    }
    if (s->opt.sink.event) pdl_sinks_add(sinks, s->opt.sink);
    if (s->opt.sink.event && s->opt.report_calls)
        pdl_sinks_add(sinks, pdl_calls_sink(&s->opt.sink));
    if (s->reached) pdl_sinks_add(sinks, pdl_reached_sink(s->reached));
    if (s->journal && s->opt.record.n) pdl_sinks_add(sinks, pdl_journal_sink(s->journal));
    if (s->durable && pdl_durable_asks(s->durable))
        pdl_sinks_add(sinks, pdl_durable_sink(s->durable));
    pdl_session_add_spans(s, sinks);
    if (s->opt.trace) {
        s->fold = pdl_fold_new(s->program, s->secrets, pdl_environ_get(s->env, "TMPDIR"));
        pdl_fold_mask(s->fold, pdl_session_mask(s, PDL_SINK_trace));
        if (s->opt.trace_whole) pdl_fold_whole(s->fold);
        if (s->opt.labels || s->policies) pdl_fold_labels(s->fold, put_origin, s);
        if (s->opt.trace_later) s->later = pdl_later_new(pdl_fold_sink(s->fold));
        pdl_sinks_add(sinks, s->later ? pdl_later_sink(s->later) : pdl_fold_sink(s->fold));
    }
}

static bool hooks_are_ready(const pdl_session *s) {
    const pdl_world *answer = s->chain.rows[PDL_CHAIN_answer];
    return answer && pdl_compose_is_ready(answer);
}

static bool any_ready(const pdl_session *s) {
    return pdl_run_is_ready(s->run) || pdl_subruns_are_ready(s->subs);
}

void pdl_session_start(pdl_session *s) {
    pdl_err refused = {0};
    bool allowed = pdl_session_read_own_policy(s, &refused) && pdl_session_keep_guards(s, &refused);
    (void)pdl_session_chain(s);
    pdl_run_options o = pdl_session_run_options(s);
    o.stream = s->opt.stream;
    add_sinks(s, &o.sinks);
    s->run = pdl_run_new(&o);
    bool all = s->opt.trace || s->opt.explain || s->opt.all_blocks || s->spans;
    if (!s->code) s->code = pdl_compile_program(s->program, s->names, all);
    pdl_api_debug_code(s->opt.debug, s->code);
    pdl_val vars = pdl_session_with_defaults(s->opt.variables, PDL_LABEL_data | PDL_LABEL_FREE);
    if (s->journal && s->opt.record.n) pdl_session_record_program(s);
    pdl_drop(s->inputs);
    s->inputs = s->chain.rows[PDL_CHAIN_precheck] ? pdl_keep(vars) : pdl_absent();
    pdl_err err = {0};
    bool ok = pdl_model_defaults_check(pdl_dict_getz(vars, "pdl_model_default_parameters"), &err);
    pdl_run_start(s->run, s->code, vars);
    pdl_drop(vars);
    if (!allowed)
        pdl_run_cancel(s->run, &refused);
    else if (!ok)
        pdl_run_cancel(s->run, &err);
    if (!allowed) pdl_err_fini(&err);
}

bool pdl_session_only_waits(const pdl_session *s) {
    return s->durable && !pdl_session_is_ready(s) && pdl_durable_only_waits(s->durable);
}

bool pdl_session_park(pdl_session *s) {
    return pdl_session_only_waits(s) && pdl_durable_park(s->durable);
}

/* What is left of a time that began at start; -1: no limit. */
static int time_left(uint64_t start, int timeout_ms) {
    uint64_t gone = timeout_ms > 0 ? (pdl_clock_ns() - start) / 1000000 : 0;
    if (timeout_ms <= 0) return timeout_ms;
    return gone >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)gone;
}

static pdl_step step(pdl_session *s, int timeout_ms) {
    uint64_t start = timeout_ms > 0 ? pdl_clock_ns() : 0;
    for (;;) {
        pdl_step step = pdl_run_step(s->run);
        if (step != PDL_STEP_WAIT) return step;
        if (pdl_subruns_step(s->subs)) continue;
        int left = any_ready(s) ? 0 : time_left(start, timeout_ms);
        bool open = s->chain.first->ops->poll(s->chain.first, left);
        if (!left && pdl_session_park(s)) continue;
        bool looks = s->opt.explain || (s->durable && !pdl_durable_asks(s->durable));
        if (!open && !any_ready(s) && looks) return PDL_STEP_WAIT;
        if (!open && !any_ready(s)) {
            pdl_err err = {0};
            pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                        "the run waits for an answer that cannot come");
            pdl_run_cancel(s->run, &err);
        } else if (timeout_ms >= 0 && time_left(start, timeout_ms) == 0) {
            return PDL_STEP_WAIT;
        }
    }
}

/* Work of worlds during a poll (reading a file, parsing a reply) also ends with the session's flag.
 */
pdl_step pdl_session_step(pdl_session *s, int timeout_ms) {
    pdl_cancel scope = {.flag = s->opt.cancel};
    const pdl_cancel *outer = pdl_cancel_enter(&scope);
    pdl_step result = step(s, timeout_ms);
    (void)pdl_cancel_enter(outer);
    return result;
}

bool pdl_session_finish(pdl_session *s, pdl_err *err) {
    const pdl_err *why = s->run ? pdl_run_error(s->run) : NULL;
    return (!s->durable || pdl_durable_finish(s->durable, why && why->kind ? why : NULL, err)) &&
           (!s->journal || pdl_journal_finish(s->journal, err)) &&
           (!s->cache || pdl_cache_finish(s->cache, err));
}

pdl_step pdl_session_run(pdl_session *s) {
    pdl_session_start(s);
    return pdl_session_step(s, -1);
}

/* libuv registers a new descriptor with the kernel when the loop runs next, hence the limit. */
int pdl_session_deadline_ms(const pdl_session *s) {
    enum { AT_MOST_MS = 50 };
    if (!s->run || any_ready(s) || hooks_are_ready(s)) return 0;
    if (s->cache && pdl_cache_is_ready(s->cache)) return 0;
    if (s->durable && pdl_durable_is_ready(s->durable)) return 0;
    int ms = pdl_loop_deadline_ms(s->loop);
    return ms < 0 || ms > AT_MOST_MS ? AT_MOST_MS : ms;
}

bool pdl_session_is_ready(const pdl_session *s) {
    return pdl_run_is_ready(s->run) || hooks_are_ready(s) ||
           (s->cache && pdl_cache_is_ready(s->cache)) ||
           (s->durable && pdl_durable_is_ready(s->durable));
}

/* The answers of hooks, caches and recordings wait for the poll of their world. */
pdl_step pdl_session_turn(pdl_session *s) {
    pdl_step done = pdl_run_step(s->run);
    bool polls = s->opt.replay.n || s->durable ||
                 hooks_are_ready(s) ||
                 (s->cache && pdl_cache_is_ready(s->cache));
    if (done == PDL_STEP_WAIT && polls) (void)s->chain.first->ops->poll(s->chain.first, 0);
    return done;
}

/* Programs inside those of the members. True when one of them ended. */
bool pdl_session_turn_inner(pdl_session *s) {
    if (s->jobs) pdl_jobs_launch(s->jobs);
    return pdl_subruns_step(s->subs);
}

bool pdl_session_inner_is_ready(const pdl_session *s) {
    return pdl_subruns_are_ready(s->subs) || (s->jobs && pdl_jobs_are_ready(s->jobs));
}

void pdl_session_cancel(pdl_session *s, pdl_err *err) {
    if (s->durable) pdl_durable_ends(s->durable);
    if (s->run)
        pdl_run_cancel(s->run, err);
    else
        pdl_err_fini(err);
}

bool pdl_session_set_variable(pdl_session *s, uint32_t fiber, pdl_str name, pdl_vref old,
                              pdl_vref v) {
    return s->run && pdl_run_set_variable(s->run, fiber, name, old, v);
}

pdl_code *pdl_session_compile(pdl_session *s, pdl_program *program) {
    pdl_api_note_program(s->secrets, program);
    pdl_code *code = pdl_compile_program(program, s->names, false);
    pdl_api_debug_code(s->opt.debug, code);
    return code;
}

bool pdl_session_poll(pdl_session *s, int timeout_ms) {
    bool any = pdl_subruns_step(s->subs) || pdl_subruns_are_ready(s->subs);
    pdl_cancel scope = {.flag = s->opt.cancel};
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

const pdl_run *pdl_session_get(const pdl_session *s) { return s->run; }
pdl_loop *pdl_session_loop(const pdl_session *s) { return s->loop; }
const char *pdl_session_env(pdl_session *s, const char *name) {
    return pdl_environ_get(s->env, name);
}

const pdl_str *pdl_session_path(const pdl_session *s, size_t *n) {
    *n = s->folders.n;
    return s->folders.path;
}

/* --- explaining ------------------------------------------------------------------------------- */

pdl_val pdl_session_explained(pdl_session *s) {
    pdl_world *explain = s->chain.rows[PDL_CHAIN_explain];
    return pdl_hide_val(s->secrets, pdl_explain_waits(explain, s->run, s->reached,
                                                      pdl_explain_notes(explain)));
}

bool pdl_session_trace(const pdl_session *s, pdl_fold_put_fn *put, void *user, pdl_err *err) {
    if (s->later) pdl_later_flush(s->later); /* of a run that was cancelled, too */
    const pdl_cancel *outer = pdl_cancel_enter(pdl_run_cancel_scope(s->run));
    pdl_fold_write_rest(s->fold);
    (void)pdl_cancel_enter(outer);
    return pdl_fold_write(s->fold, put, user, err);
}

void pdl_session_redact(const pdl_session *s, pdl_str text, pdl_buf *out) {
    pdl_hide_cut(s->secrets, text, out);
}
void pdl_session_note(const pdl_session *s, const pdl_program *program) {
    pdl_api_note_program(s->secrets, program);
}
