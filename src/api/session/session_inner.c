/* session_inner.c -- starts further runs in a session; see session_impl.h. Such runs belong to
 * programs that code of the session builds, or to servers and batches, which have many runs. Each
 * run has a separate range of effect ids, so that one loop and one set of worlds serve all of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include "api/import_search.h"
#include "api/loading.h"
#include "api/report/stage_dump.h"
#include "api/session/compose.h"
#include "api/setup/written_keys.h"
#include "compile/compile.h"
#include "lang/load.h"
#include "model/model.h"
#include "value/label.h"
#include "value/text.h"

#include "base/banned.h"

/* Returns the session to which a code effect belongs, directly or through a program inside its
 * run. */
static pdl_session *member_of(pdl_session *s, const pdl_effect *code) {
    uint32_t range = pdl_subruns_root(s->running.subs, code->id);
    pdl_session **all = s->group.members,
                *m = all && range >= PDL_SUB_RANGES ? all[range - PDL_SUB_RANGES] : NULL;
    return m ? m : s;
}

/* --- programs met while running --------------------------------------------------------------- */

/* Returns a module. It was loaded by the check, or is loaded now. Owned. */
static pdl_program *load(pdl_session *s, pdl_str name, pdl_str text, bool *ok) {
    pdl_program *p =
        s->loaded.checked ? pdl_program_checked_module(s->loaded.checked, name, text) : NULL;
    *ok = p != NULL;
    if (p) return pdl_program_keep(p);
    p = pdl_program_new();
    pdl_program_load(p, name, text, ok);
    return p;
}

static bool build(void *user, const pdl_build_source *source, pdl_code **out, pdl_val *errors,
                  pdl_err *err) {
    pdl_session *s = user;
    bool ok;
    pdl_program *p = load(s, source->name, source->text, &ok);
    pdl_api_note_program(s->around.secrets, p);
    pdl_api_debug_program(s->opt.reports.debug, p);
    if (ok) {
        *out = pdl_compile_module(p, s->loaded.names, source->trace);
        pdl_api_debug_code(s->opt.reports.debug, *out);
        ok = pdl_session_take_module(s, p, source->name, *out, err);
        if (!ok) pdl_code_drop(*out);
        if (!ok) *out = NULL;
    } else {
        pdl_program_failed(s->loaded.arena, p, errors, err);
    }
    pdl_program_drop(p);
    return ok;
}

/* --- requests of code to the run -------------------------------------------------------------- */

typedef struct input_asker {
    pdl_worker_answer_fn *answer;
    void *user;
} input_asker;

static void no_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    (void)text;
}

static void input_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    input_asker *a = user;
    (void)e;
    bool eof = r->err.kind || !pdl_is_str(r->value);
    a->answer(a->user, eof ? (pdl_str){0} : pdl_str_get(r->value), eof);
    pdl_free(a);
}

/* Makes an INPUT effect when Python code calls input(). It is recorded and replayed like any other
 * input. */
void pdl_session_ask_input(void *user, const pdl_effect *code, pdl_worker_answer_fn *answer,
                           void *answer_user) {
    pdl_session *s = user;
    input_asker *a = PDL_NEW(input_asker);
    if (code->call_in) pdl_run_reads_input(code->call_in->user, code->id);
    *a = (input_asker){answer, answer_user};
    pdl_val request = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "prompt", pdl_textz("")),
                                    "multiline", pdl_bool(false));
    uint32_t n = ++s->running.next_input;
    pdl_effect *e = pdl_effect_new(
        PDL_EFFECT_input, (pdl_effect_at){0x80000000u | n, code->place, n, code->loc}, request,
        (pdl_effect_sink){.user = a, .piece = no_piece, .reply = input_reply});
    pdl_world *world = member_of(s, code)->chain.first;
    world->ops->start(world, e);
}

static void advise_source(void *user, pdl_str from, pdl_str path, bool import, pdl_err *err) {
    const pdl_session *s = user;
    pdl_finder finder = {.file = s->opt.program.file};
    finder.path = pdl_session_path(s, &finder.n_path);
    pdl_find_advise(&finder, from, path, import, err);
}

/* number of loop turns, which take some milliseconds, after which a run lets other runs run */
enum { SPAWN_TURNS = 500 };

pdl_run_options pdl_session_machine_options(pdl_session *s) {
    const pdl_policies *policies = s->rules.policies;
    pdl_run_options o = {
        .names = s->loaded.names,
        .world = s->chain.first,
        .dir = s->opt.program.dir,
        .path = s->around.folders.path,
        .n_path = s->around.folders.n,
        .jobs = s->opt.run.jobs,
        .build = build,
        .guard = pdl_session_guard_run,
        .build_user = s,
        .source_advice = advise_source,
        .defaults = pdl_model_defaults_apply,
        .debug = s->opt.reports.debug,
        .secrets = s->around.secrets,
        .budget = s->running.budget,
        .sandbox = s->rules.profiles,
        .cancel = s->opt.run.cancel,
        .guarded = s->chain.rows[PDL_CHAIN_policy] != NULL,
        .capacity = policies ? pdl_policies_capacity(policies) : 0,
        .redaction = pdl_session_redaction(s, PDL_SINK_output),
        .strict_control = policies && pdl_policies_control(policies) == PDL_CONTROL_STRICT,
        .strict_plans = policies && pdl_policies_control(policies) == PDL_CONTROL_PLANS,
        .stdlib = pdl_session_library_text(),
        .earlier_ns = s->files.durable ? pdl_durable_earlier_ns(s->files.durable) : NULL,
        .reserve = s->running.reserve,
        .prints_nothing = s->opt.run.explain,
        .unanswered = s->opt.run.explain,
        .holds_refusable = s->opt.run.holds_refusable,
        .reports_tools = s->opt.run.reports_tools,
    };
    if (s->opt.run.shares_loop) o.turns = SPAWN_TURNS;
    o.n_ids = PDL_RANGE_IDS - 1;
    if (!s->group.shared) return o;
    o.first_id = (PDL_SUB_RANGES + s->group.slot) * PDL_RANGE_IDS;
    o.turns = SPAWN_TURNS;
    return o;
}

/* Returns the variables of a run, each with its origin. A value that has an origin keeps it. */
pdl_val pdl_session_with_defaults(pdl_vref vars, pdl_label origin) {
    pdl_val d =
        pdl_dict_putz(pdl_dict_new(4), "pdl_model_default_parameters", pdl_model_defaults());
    return pdl_session_with_variables(d, vars, origin);
}

/* Returns the variables that code passes to a program. The variables may contain parts of
 * everything that the code got, so they have all labels of the code. Owned. */
static pdl_val scope_of(pdl_vref request, pdl_label label) {
    pdl_vref given = pdl_dict_getz(request, "scope");
    pdl_val d = pdl_dict_new(4);
    for (size_t i = 0, n = pdl_is_dict(given) ? pdl_dict_len(given) : 0; i < n; i++)
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(given, i)),
                         pdl_with_label(pdl_keep(pdl_dict_val_at(given, i)), label));
    return d;
}

void pdl_session_run_program(void *user, const pdl_effect *code, pdl_val request,
                             pdl_worker_done_fn *done, void *done_user) {
    pdl_session *s = member_of(user, code);
    pdl_vref text = pdl_dict_getz(request, "text"), name = pdl_dict_getz(request, "name"),
             dir = pdl_dict_getz(request, "dir");
    pdl_build_source source = {pdl_is_str(name) ? pdl_str_get(name) : PDL_STR(""),
                               pdl_str_get(text), false};
    pdl_code *built = NULL;
    pdl_val errors = pdl_absent();
    pdl_err err = {0};
    bool parses = pdl_text_is(pdl_dict_getz(request, "op"), "parse");
    pdl_world *policy = s->chain.rows[PDL_CHAIN_policy];
    bool ok = (parses || !policy || pdl_policy_world_may_run(policy, code, text, &err)) &&
              build(s, &source, &built, &errors, &err);
    pdl_drop(errors);
    if (!ok || parses) {
        done(done_user, ok ? pdl_null() : pdl_absent(), ok ? NULL : &err);
        pdl_err_fini(&err);
        pdl_code_drop(built);
        pdl_drop(request);
        return;
    }
    pdl_run_options o = pdl_session_machine_options(s);
    uint32_t root = pdl_subruns_root(s->running.subs, code->id);
    if (root >= PDL_SUB_RANGES) o.turns = SPAWN_TURNS;
    if (pdl_is_str(dir)) o.dir = pdl_str_get(dir);
    o.budget = code->budget;
    o.sandbox = code->sandbox;
    o.modules = code->modules | built->modules;
    o.by_code = true;
    /* the program was made by code, so it may contain parts of everything that the code got */
    pdl_label label = pdl_policy_label_of_code(code);
    if (label) pdl_code_relabel(built, label);
    o.strict_control = o.strict_control || (label && o.strict_plans);
    pdl_val scope = scope_of(request, pdl_effect_label(code)),
            vars = pdl_session_with_defaults(scope, pdl_effect_label(code));
    pdl_drop(scope);
    bool all = pdl_text_is(pdl_dict_getz(request, "output"), "all");
    const pdl_subrun_start sub = {built, vars, all, done, done_user};
    if (!pdl_subruns_start(s->running.subs, code, &o, &sub, &err))
        done(done_user, pdl_absent(), &err);
    pdl_err_fini(&err);
    pdl_drop(vars);
    pdl_code_drop(built);
    pdl_drop(request);
}

/* --- runs beside that of the session ---------------------------------------------------------- */

/* Returns the view of the cache in which repetitions of an effect are counted. Programs inside a
 * run share the view of that run. */
static pdl_cache_view *view_of(void *user, uint32_t effect) {
    pdl_session *s = user;
    uint32_t root = pdl_subruns_root(s->running.subs, effect);
    bool beside = root >= PDL_SUB_RANGES && root < PDL_SUB_RANGES + PDL_SPAWN_SLOTS;
    return beside ? s->running.beside.views[root - PDL_SUB_RANGES] : NULL;
}

/* Chooses a view of the cache: each group of runs counts its own repetitions. */
static void choose_view(pdl_session *s, const pdl_spawn *spawn) {
    if (!s->files.cache) return;
    if (!s->running.beside.group_views) {
        s->running.beside.group_views = PDL_NEW_N(pdl_cache_view *, PDL_SPAWN_SLOTS);
        s->running.beside.views = PDL_NEW_N(pdl_cache_view *, PDL_SPAWN_SLOTS);
        pdl_cache_split(s->files.cache, view_of, s);
    }
    if (spawn->slot == spawn->group) {
        pdl_cache_view_close(s->running.beside.group_views[spawn->slot]);
        s->running.beside.group_views[spawn->slot] =
            pdl_cache_view_new(s->files.cache, spawn->draw);
    }
    s->running.beside.views[spawn->slot] = s->running.beside.group_views[spawn->group];
}

/* Returns the options for a run beside the main run. The caller releases their budget. */
static pdl_run_options options_beside(pdl_session *s, const pdl_spawn *spawn) {
    static_assert((PDL_SUB_RANGES + PDL_SPAWN_SLOTS) * (uint64_t)PDL_RANGE_IDS <= 0x80000000u,
                  "ids of inputs follow");
    pdl_world *answer = pdl_session_chain(s)->rows[PDL_CHAIN_answer];
    pdl_run_options o = pdl_session_machine_options(s);
    o.dir = spawn->dir;
    o.stream = spawn->stream;
    o.first_id = (PDL_SUB_RANGES + spawn->slot) * PDL_RANGE_IDS;
    if (answer) pdl_compose_forget(answer, PDL_SUB_RANGES + spawn->slot);
    o.n_ids = PDL_RANGE_IDS - 1;
    o.keep_answers = o.result_is_shown = true;
    o.holds_refusable = !spawn->particle.is_one; /* the client of a server cannot take text back */
    o.turns = SPAWN_TURNS;
    o.waker = spawn->waker;
    o.sinks.now = pdl_session_wall;
    choose_view(s, spawn);
    if (spawn->durable) {
        o.world = pdl_session_spawn_durable(s, spawn);
        o.earlier_ns = pdl_durable_earlier_ns(spawn->durable);
        pdl_sinks_add(&o.sinks, pdl_session_output_sink(s));
    }
    o.budget = spawn->budget       ? pdl_budget_keep(spawn->budget)
               : s->opt.run.budget ? pdl_budget_new(s->opt.run.budget, NULL, (pdl_loc){0})
                                   : NULL;
    if (spawn->sink.event) pdl_sinks_add(&o.sinks, spawn->sink);
    pdl_session_add_spawn_spans(s, spawn->slot, spawn->name, &o.sinks);
    if (o.budget && spawn->durable) pdl_budget_set_earlier(o.budget, o.earlier_ns);
    o.place = spawn->place;
    o.particle = spawn->particle;
    return o;
}

pdl_run *pdl_session_spawn(pdl_session *s, const pdl_spawn *spawn) {
    pdl_run_options o = options_beside(s, spawn);
    pdl_run *r = pdl_run_new(&o);
    pdl_budget_drop(o.budget);
    pdl_run_start(r, spawn->code, spawn->variables);
    return r;
}

pdl_run *pdl_session_copy(pdl_session *s, const pdl_spawn *spawn, const pdl_run *of,
                          const char **why, pdl_loc *loc) {
    pdl_run_options o = options_beside(s, spawn);
    pdl_run *r = pdl_run_copy(of, &o, why, loc);
    pdl_budget_drop(o.budget);
    return r;
}

void pdl_session_rename(pdl_session *s, pdl_run *run, const pdl_spawn *spawn) {
    choose_view(s, spawn);
    pdl_run_become(run, &spawn->particle, spawn->place);
}

void pdl_session_release(pdl_session *s, pdl_run *run, uint32_t slot) {
    pdl_run_free(run);
    pdl_subruns_cancel(s->running.subs, PDL_SUB_RANGES + slot);
    pdl_session_end_spawn_spans(s, slot);
    pdl_session_end_durable(s, slot);
}

/* Returns the value of the program `data: ${ stdlib }`, which requests no effect. */
pdl_val pdl_session_library(pdl_session *s) {
    pdl_run_options o = pdl_session_machine_options(s);
    pdl_build_source source = {PDL_STR(""), PDL_STR("data: ${ stdlib }"), false};
    pdl_code *code = NULL;
    pdl_val errors = pdl_absent(), lib = pdl_null();
    pdl_err err = {0};
    o.world = pdl_null_world();
    o.budget = NULL;
    if (build(s, &source, &code, &errors, &err)) {
        pdl_run *r = pdl_run_new(&o);
        pdl_run_start(r, code, pdl_absent());
        if (pdl_run_wait(r) == PDL_STEP_DONE) {
            pdl_drop(lib);
            lib = pdl_keep(pdl_run_result(r));
        }
        pdl_run_free(r);
        pdl_code_drop(code);
    }
    pdl_drop(errors);
    pdl_err_fini(&err);
    return lib;
}

bool pdl_session_variables(pdl_vref variables, pdl_val *out, pdl_err *err) {
    pdl_val vars = pdl_session_with_defaults(variables, PDL_LABEL_data | PDL_LABEL_FREE);
    bool ok = pdl_model_defaults_check(pdl_dict_getz(vars, "pdl_model_default_parameters"), err);
    if (ok)
        *out = vars;
    else
        pdl_drop(vars);
    return ok;
}
