/* host_runs.c -- answers the host's questions about runs, by which a run is started, stepped,
 * answered and freed; see wasm.h. Each run has a number.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wasm/host_runs.h"

#include <signal.h>

#include "api/loading.h"
#include "api/report/explain.h"
#include "api/session.h"
#include "base/limits.h"
#include "base/nanos.h"
#include "budget/budget_world.h"
#include "compile/compile.h"
#include "io/clock.h"
#include "io/loop.h"
#include "lang/load.h"
#include "lang/walk.h"
#include "model/model.h"
#include "model/preview.h"
#include "value/context.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/label.h"
#include "value/promise.h"
#include "value/text.h"
#include "wasm/host_events.h"
#include "wasm/host_view.h"
#include "wasm/wasm.h"

#include "base/banned.h"

enum {
    /* number of loop turns between two readings of the clock; they take less than a millisecond */
    TURNS = 500,
    MAX_RUNS = 1000,
};

typedef struct wasm_run {
    uint32_t number;
    pdl_wasm_world world;
    pdl_loop *loop;    /* this loop has the deadlines of budgets */
    pdl_world *budget; /* the world before `world`, which enforces budgets; NULL before the start */
    pdl_budget *own;   /* the budget of the whole run; NULL when the host gave none */
    pdl_val question;  /* owns the files and texts that the run borrows */
    pdl_arena *arena;
    pdl_interner *names;
    pdl_secrets *secrets;
    pdl_program *program;
    pdl_code *code;
    pdl_run *run;
    pdl_step state;
    pdl_wasm_events events;
    pdl_wasm_shown *shown; /* NULL when the run was started without `view` */
} wasm_run;

static pdl_idmap runs; /* number -> run */
static uint32_t n_runs, last_number;

static void run_free(wasm_run *r) {
    pdl_run_free(r->run);
    if (r->budget) r->budget->ops->close(r->budget);
    pdl_budget_drop(r->own);
    pdl_wasm_world_close(&r->world);
    pdl_loop_free(r->loop);
    pdl_wasm_events_fini(&r->events);
    pdl_wasm_shown_free(r->shown);
    pdl_code_drop(r->code);
    pdl_program_drop(r->program);
    pdl_interner_drop(r->names);
    pdl_secrets_free(r->secrets);
    pdl_arena_free(r->arena);
    pdl_drop(r->question);
    pdl_free(r);
}

static wasm_run *run_of(pdl_vref question, pdl_err *err) {
    int64_t n = 0;
    pdl_vref v = pdl_dict_getz(question, "run");
    if (pdl_is(v, PDL_V_INT)) n = pdl_int_of(v);
    wasm_run *r = n > 0 && n <= UINT32_MAX ? pdl_idmap_find(&runs, (uintptr_t)n) : NULL;
    if (!r) pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "there is no run of this number");
    return r;
}

/* --- programs --------------------------------------------------------------------------------- */

/* Returns false for a program that demands a policy or a sandbox. The module has neither, and would
 * run the program without them. */
static bool may_run(const pdl_program *p, pdl_err *err) {
    const pdl_block *main = p->main;
    if (main->rare && main->rare->policy)
        return pdl_err_set(err, PDL_E_policy, pdl_node_loc(main->rare->policy),
                           "the policy of a program cannot be enforced in WebAssembly");
    if (p->has_profiles)
        return pdl_err_set(err, PDL_E_policy, main->loc,
                           "the sandbox of a block cannot be enforced in WebAssembly");
    return true;
}

/* Lets the place of an error outlive its program. */
static void keep_place(wasm_run *r, pdl_err *err) {
    const pdl_source *s = err->loc.src;
    if (s) err->loc.src = pdl_source_new(r->arena, s->name, s->text);
}

static bool build(void *user, const pdl_build_source *source, pdl_code **out, pdl_val *errors,
                  pdl_err *err) {
    wasm_run *r = user;
    bool ok;
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, source->name, source->text, &ok);
    if (!ok) {
        pdl_program_failed(r->arena, p, errors, err);
    } else if (may_run(p, err)) {
        *out = pdl_compile_module(p, r->names, source->trace);
    } else {
        keep_place(r, err);
        ok = false;
    }
    pdl_program_drop(p);
    return ok;
}

static pdl_stream stream_of(pdl_vref question) {
    pdl_str word = pdl_wasm_text(question, "stream");
    return pdl_str_is(word, "none")      ? PDL_STREAM_NONE
           : pdl_str_is(word, "context") ? PDL_STREAM_CONTEXT
                                         : PDL_STREAM_RESULT;
}

static pdl_run_options options_of(wasm_run *r) {
    return (pdl_run_options){
        .names = r->names,
        .world = &r->world.world,
        .stream = stream_of(r->question),
        .dir = pdl_file_folder(pdl_wasm_text(r->question, "name")),
        .build = build,
        .build_user = r,
        .defaults = pdl_model_defaults_apply,
        .secrets = r->secrets,
        .stdlib = pdl_session_library_text(),
        .sandbox = pdl_absent(),
        .turns = TURNS,
    };
}

static void note_deprecated(void *user, pdl_loc loc, const char *old, const char *now) {
    pdl_buf b = PDL_BUF;
    pdl_loc_put(loc, &b);
    pdl_buf_putf(&b, "Deprecated type syntax: use %s instead of %s.\n", now, old);
    pdl_wasm_events_note(user, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* Reads the table of prices in a question. A question need not have one. */
static bool read_prices(wasm_run *r, pdl_err *err) {
    pdl_str table = pdl_wasm_text(r->question, "prices");
    return !table.n || pdl_prices_read(table, "in \"prices\"", &r->world.prices, err);
}

/* Reads the budget in a question, such as "calls=10,seconds=60". A question need not have one. */
static bool read_budget(wasm_run *r, pdl_err *err) {
    double limit[PDL_BUDGET_COUNT];
    pdl_str text = pdl_wasm_text(r->question, "budget");
    if (!text.n) return true;
    if (!pdl_budget_read(text, limit, err)) return false;
    r->own = pdl_budget_new(limit, NULL, (pdl_loc){0});
    return true;
}

/* Frees a run that cannot begin. Its error goes into out before that, because the place of the
 * error is in the program. */
static void refuse_start(wasm_run *r, pdl_buf *out, pdl_err *err) {
    if (err->kind) {
        pdl_json_put_key(out, "error");
        pdl_wasm_put_error(err, out);
        pdl_err_fini(err);
    }
    run_free(r);
}

/* Makes a run of the program in a question. The run has not begun. Returns NULL on failure: then
 * out has the error. The caller drops *variables. */
static wasm_run *run_new(pdl_vref question, bool all, pdl_val *variables, pdl_buf *out,
                         pdl_err *err) {
    bool ok;
    wasm_run *r = PDL_NEW(wasm_run);
    r->question = pdl_keep(question);
    r->arena = pdl_arena_make();
    r->names = pdl_interner_new();
    r->secrets = pdl_secrets_new();
    r->loop = pdl_loop_new();
    r->program = pdl_program_new();
    pdl_wasm_world_open(&r->world, pdl_dict_getz(r->question, "files"), r->loop, r->secrets);
    pdl_wasm_events_init(&r->events);
    pdl_program_load(r->program, pdl_wasm_text(r->question, "name"),
                     pdl_wasm_text(r->question, "text"), &ok);
    if (!ok) {
        pdl_json_put_key(out, "error");
        pdl_wasm_put_refusal(r->program, out);
    }
    pdl_vref given = pdl_dict_getz(r->question, "variables");
    if (!ok || !may_run(r->program, err) || !read_prices(r, err) || !read_budget(r, err) ||
        !pdl_session_variables(given, variables, err)) {
        refuse_start(r, out, err);
        return NULL;
    }
    pdl_program_each_deprecated(r->program, note_deprecated, &r->events);
    r->code = pdl_compile_program(r->program, r->names, all);
    r->state = PDL_STEP_WAIT;
    return r;
}

bool pdl_wasm_start(pdl_vref question, pdl_buf *out, pdl_err *err) {
    pdl_val variables = pdl_absent();
    if (n_runs >= MAX_RUNS)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "more than %d runs are open", MAX_RUNS);
    bool is_shown = pdl_val_truth(pdl_dict_getz(question, "view"));
    wasm_run *r = run_new(question, is_shown, &variables, out, err);
    if (!r) return true;
    const pdl_budget_world_options limits = {r->loop, r->world.prices};
    r->budget = pdl_budget_world_new(&limits, &r->world.world);
    pdl_run_options o = options_of(r);
    o.world = r->budget;
    o.budget = r->own;
    pdl_sinks_add(&o.sinks, pdl_wasm_events_sink(&r->events));
    if (is_shown) {
        pdl_str name = pdl_wasm_text(r->question, "name");
        r->shown = pdl_wasm_shown_new(r->program, r->secrets, name);
        pdl_wasm_shown_listen(r->shown, &o.sinks);
    }
    r->run = pdl_run_new(&o);
    pdl_run_start(r->run, r->code, variables);
    pdl_drop(variables);
    r->number = ++last_number;
    pdl_idmap_put(&runs, r->number, r);
    n_runs++;
    pdl_json_put_int(out, "run", r->number);
    return true;
}

bool pdl_wasm_free_run(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = run_of(question, err);
    (void)out;
    if (!r) return false;
    pdl_idmap_del(&runs, r->number);
    n_runs--;
    run_free(r);
    return true;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Steps the run for about ms milliseconds, or until it waits for the host. */
static void advance(wasm_run *r, double ms) {
    uint64_t end = pdl_clock_ns() + (uint64_t)pdl_nanos_of(ms > 0 ? ms / 1e3 : 0);
    while (r->state == PDL_STEP_WAIT) {
        pdl_loop_run(r->loop, 0);
        r->state = pdl_run_step(r->run);
        if (r->state != PDL_STEP_WAIT) return;
        bool ready = pdl_run_is_ready(r->run);
        if (!ready && !pdl_wasm_world_waits(&r->world)) {
            pdl_err err = {0};
            pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                        "the run waits for an answer that cannot come");
            pdl_run_cancel(r->run, &err);
        } else if (!ready || pdl_clock_ns() >= end) {
            return;
        }
    }
}

static const char *state_of(const wasm_run *r) {
    switch (r->state) {
    case PDL_STEP_DONE: return "done";
    case PDL_STEP_FAIL: return "failed";
    case PDL_STEP_WAIT: break;
    }
    return pdl_run_is_ready(r->run) ? "running" : "waiting";
}

/* Moves a list of JSON into the answer. */
static void put_list(pdl_buf *out, const char *key, pdl_buf *items) {
    if (!items->len) return;
    pdl_json_put_key(out, key);
    pdl_buf_putc(out, '[');
    pdl_buf_put(out, pdl_buf_str(items));
    pdl_buf_putc(out, ']');
    pdl_buf_clear(items);
}

bool pdl_wasm_step(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = run_of(question, err);
    if (!r) return false;
    pdl_vref ms = pdl_dict_getz(question, "ms");
    advance(r, pdl_is_int(ms) || pdl_is(ms, PDL_V_FLOAT) ? pdl_num_to_double(ms) : 0);
    if (r->shown && r->state != PDL_STEP_WAIT) pdl_wasm_shown_over(r->shown);
    pdl_json_put_text(out, "state", pdl_str_of(state_of(r)));
    if (pdl_loop_is_open(r->loop)) {
        pdl_json_put_int(out, "wait", pdl_loop_deadline_ms(r->loop));
    }
    pdl_wasm_events_flush(&r->events);
    put_list(out, "events", &r->events.json);
    put_list(out, "effects", &r->world.asked);
    put_list(out, "cancelled", &r->world.cancelled);
    if (r->state == PDL_STEP_FAIL) {
        pdl_json_put_key(out, "error");
        pdl_wasm_put_error(pdl_run_error(r->run), out);
    }
    return true;
}

bool pdl_wasm_cancel(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = run_of(question, err);
    pdl_err why = {0};
    (void)out;
    if (!r) return false;
    (void)pdl_err_signal(&why, SIGINT);
    pdl_run_cancel(r->run, &why);
    return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Reads the value of an answer: `value`, or the text `json`, which can be exact where numbers of
 * JavaScript are not. */
static bool read_value(pdl_vref question, pdl_val *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(question, "value"), json = pdl_dict_getz(question, "json");
    if (pdl_is_str(json)) return pdl_json_read(pdl_str_get(json), PDL_JSON_PYTHON, out, NULL, err);
    *out = pdl_is_absent(v) ? pdl_null() : pdl_keep(v);
    return true;
}

static uint32_t effect_of(pdl_vref question) {
    pdl_vref v = pdl_dict_getz(question, "effect");
    int64_t n = pdl_is(v, PDL_V_INT) ? pdl_int_of(v) : 0;
    return n > 0 && n <= UINT32_MAX ? (uint32_t)n : 0;
}

bool pdl_wasm_reply(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = run_of(question, err);
    (void)out;
    if (!r) return false;
    pdl_vref s = pdl_dict_getz(question, "seconds");
    double seconds = pdl_is_int(s) || pdl_is(s, PDL_V_FLOAT) ? pdl_num_to_double(s) : 0;
    pdl_val given;
    if (!read_value(question, &given, err)) return false;
    (void)pdl_wasm_world_answer(&r->world, effect_of(question), given, seconds);
    pdl_drop(given);
    return true;
}

bool pdl_wasm_refuse(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = run_of(question, err);
    (void)out;
    if (!r) return false;
    (void)pdl_wasm_world_refuse(&r->world, effect_of(question), pdl_wasm_text(question, "kind"),
                                pdl_wasm_text(question, "message"));
    return true;
}

bool pdl_wasm_piece(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = run_of(question, err);
    (void)out;
    if (!r) return false;
    (void)pdl_wasm_world_piece(&r->world, effect_of(question), pdl_wasm_text(question, "text"));
    return true;
}

/* --- the result ------------------------------------------------------------------------------- */

/* Replaces the promises in v by their values. When a promise is not filled, returns v unchanged.
 * Takes v. */
static pdl_val settled(pdl_val v) {
    pdl_val out;
    pdl_err err = {0};
    if (pdl_may_hold_promise(v) && pdl_is_absent(pdl_promise_blocking(v)) &&
        pdl_promise_resolve(v, &out, &err)) {
        pdl_drop(v);
        return out;
    }
    pdl_err_fini(&err);
    return v;
}

static void put_val(pdl_buf *out, const char *key, pdl_val v) {
    pdl_json_put_key(out, key);
    pdl_wasm_put(v, out);
    pdl_drop(v);
}

static bool put_text_of(pdl_vref v, pdl_buf *out, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = pdl_stringify(v, &text, err);
    if (ok) {
        pdl_json_put_key(out, "text");
        ok = pdl_json_quote_long(pdl_buf_str(&text), 0, out, err);
    }
    pdl_buf_fini(&text);
    return ok;
}

static pdl_val messages_of(const pdl_run *run) {
    pdl_vref context = pdl_run_context(run);
    return settled(pdl_is(context, PDL_V_CONTEXT) ? pdl_context_to_list(context) : pdl_list_new(0));
}

static pdl_val usage_of(const wasm_run *r) {
    int64_t calls, completion, prompt;
    pdl_run_usage(r->run, &calls, &completion, &prompt);
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "model_calls", pdl_int(calls));
    if (r->events.cost > 0) d = pdl_dict_putz(d, "cost", pdl_float(r->events.cost));
    d = pdl_dict_putz(d, "completion_tokens", pdl_int(completion));
    return pdl_dict_putz(d, "prompt_tokens", pdl_int(prompt));
}

bool pdl_wasm_result(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = run_of(question, err);
    if (!r) return false;
    if (r->state != PDL_STEP_DONE)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the run has no result yet");
    pdl_val value = settled(pdl_keep(pdl_run_result(r->run)));
    bool ok = put_text_of(value, out, err);
    put_val(out, "value", value);
    put_val(out, "usage", usage_of(r));
    put_val(out, "messages", messages_of(r->run));
    return ok;
}

/* --- the document ----------------------------------------------------------------------------- */

static wasm_run *shown_run_of(pdl_vref question, pdl_err *err) {
    wasm_run *r = run_of(question, err);
    if (!r || r->shown) return r;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the run was not started with `view`");
    return NULL;
}

bool pdl_wasm_view(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = shown_run_of(question, err);
    if (r) pdl_wasm_shown_answer(r->shown, question, out);
    return r != NULL;
}

bool pdl_wasm_changes(pdl_vref question, pdl_buf *out, pdl_err *err) {
    wasm_run *r = shown_run_of(question, err);
    if (r) pdl_wasm_shown_changes(r->shown, question, out);
    return r != NULL;
}

/* --- explain ---------------------------------------------------------------------------------- */

static void put_notes(pdl_buf *out, pdl_vref notes) {
    static const char *const members[][2] = {
        {"calls", "calls"},        {"totals", "total"},           {"not_done", "notDone"},
        {"not_known", "notKnown"}, {"not_reached", "notReached"},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        pdl_vref v = pdl_dict_getz(notes, members[i][0]);
        if (pdl_is_absent(v)) continue;
        pdl_json_put_key(out, members[i][1]);
        pdl_wasm_put(v, out);
    }
}

/* Shows the request that a service would get. The host has the keys, so a missing key is not
 * reported. */
static void preview(pdl_world *outside, const pdl_effect *e, pdl_val *request, pdl_val *problem) {
    pdl_world *models = pdl_wasm_world_models((pdl_wasm_world *)(void *)outside);
    pdl_err err = {0};
    if (pdl_model_preview(models, e, request, &err)) {
        if (!pdl_is_absent(pdl_dict_getz(*request, "problem")))
            *request = pdl_dict_putz(*request, "problem", pdl_null());
        return;
    }
    *problem = pdl_textf("%s: %s", pdl_err_kind_name(err.kind), err.msg);
    pdl_err_fini(&err);
}

/* Runs the program until every fiber waits for an answer. Effects get no answers. */
static void explore(wasm_run *r, pdl_vref variables, pdl_buf *out) {
    pdl_world *notes = pdl_explain_world_new(&r->world.world, 0, r->world.prices, preview, NULL);
    pdl_reached *reached = pdl_reached_new();
    pdl_run_options o = options_of(r);
    o.world = notes;
    o.prints_nothing = o.unanswered = true;
    pdl_sinks_add(&o.sinks, pdl_reached_sink(reached));
    r->run = pdl_run_new(&o);
    pdl_run_start(r->run, r->code, variables);
    do r->state = pdl_run_step(r->run);
    while (r->state == PDL_STEP_WAIT && pdl_run_is_ready(r->run));
    if (r->state == PDL_STEP_FAIL) {
        pdl_json_put_key(out, "error");
        pdl_wasm_put_error(pdl_run_error(r->run), out);
    } else {
        pdl_val all = pdl_explain_waits(notes, r->run, reached, pdl_explain_notes(notes));
        put_notes(out, all);
        pdl_drop(all);
    }
    pdl_run_free(r->run);
    r->run = NULL;
    notes->ops->close(notes);
    pdl_reached_free(reached);
}

bool pdl_wasm_explain(pdl_vref question, pdl_buf *out, pdl_err *err) {
    pdl_val variables = pdl_absent();
    wasm_run *r = run_new(question, true, &variables, out, err);
    if (!r) return true;
    explore(r, variables, out);
    pdl_drop(variables);
    run_free(r);
    return true;
}
