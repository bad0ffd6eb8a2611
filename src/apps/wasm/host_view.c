/* host_view.c -- answers the questions of a page about a run of the module; see host_view.h. These
 * are the questions that a page sends to the server of the viewer. In the module, the host passes
 * these questions on, and needs no address, no cookie and no connection.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wasm/host_view.h"

#include "base/limits.h"
#include "io/clock.h"
#include "trace/delayed_events.h"
#include "trace/fold.h"
#include "viewer/live.h"
#include "viewer/viewer.h"
#include "wasm/wasm.h"

#include "base/banned.h"

enum { CHANGES_AT_ONCE = 500 };

struct pdl_wasm_shown {
    pdl_program *program; /* a reference to the program is kept */
    const pdl_secrets *secrets;
    pdl_str name;
    pdl_fold *fold;
    pdl_later *later;
    pdl_live *live;
    bool over, failed; /* failed: the whole trace cannot be shown */
    pdl_view_run *run; /* the view made from the trace; NULL when none was made yet */
    size_t events;     /* number of events that the view shows */
    uint64_t until;    /* while the run continues, no other view is made before this time (ns) */
};

pdl_wasm_shown *pdl_wasm_shown_new(pdl_program *program, const pdl_secrets *secrets, pdl_str name) {
    pdl_wasm_shown *v = PDL_NEW(pdl_wasm_shown);
    *v = (pdl_wasm_shown){.program = pdl_program_keep(program), .secrets = secrets, .name = name};
    v->fold = pdl_fold_new(program, secrets, NULL);
    v->later = pdl_later_new(pdl_fold_sink(v->fold));
    v->live = pdl_live_new(NULL, NULL);
    return v;
}

void pdl_wasm_shown_free(pdl_wasm_shown *v) {
    if (!v) return;
    pdl_view_run_free(v->run);
    pdl_later_free(v->later);
    pdl_fold_free(v->fold);
    pdl_live_free(v->live);
    pdl_program_drop(v->program);
    pdl_free(v);
}

static int64_t wall(void *user, const pdl_event *e) {
    (void)user, (void)e;
    return pdl_clock_wall_ns();
}

void pdl_wasm_shown_listen(pdl_wasm_shown *v, pdl_sinks *sinks) {
    pdl_sink live;
    sinks->now = wall;
    pdl_live_listen(v->live, &live);
    pdl_sinks_add(sinks, pdl_later_sink(v->later));
    pdl_sinks_add(sinks, live);
}

void pdl_wasm_shown_over(pdl_wasm_shown *v) {
    if (v->over) return;
    v->over = true;
    pdl_view_run_free(v->run);
    v->run = NULL;
}

/* --- the trace -------------------------------------------------------------------------------- */

/* Appends the trace of a run in progress, up to the present moment. */
static bool trace_so_far(pdl_wasm_shown *v, pdl_buf *out, pdl_err *err) {
    pdl_fold *f = pdl_fold_new(v->program, v->secrets, NULL);
    bool ok = pdl_later_repeat(v->later, pdl_fold_sink(f));
    if (ok) pdl_fold_write_rest(f);
    ok = ok && pdl_fold_json(f, out, err);
    pdl_fold_free(f);
    return ok;
}

static bool whole_trace(pdl_wasm_shown *v, pdl_buf *out, pdl_err *err) {
    pdl_later_flush(v->later);
    pdl_fold_write_rest(v->fold);
    return pdl_fold_json(v->fold, out, err);
}

/* Makes a view of the run up to now. When that fails, the previous view stays. */
static void make_view(pdl_wasm_shown *v) {
    enum { SHARE = 10 }; /* making views may take at most a tenth of the time of a run */
    uint64_t start = pdl_clock_ns();
    if (v->failed) return;
    if (v->run && (v->over || v->events == pdl_live_events(v->live) || start < v->until)) return;
    pdl_buf trace = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    pdl_err ignored = {0};
    pdl_view_run *run = NULL;
    pdl_view_program p = {
        v->name, v->program->source->text, pdl_view_files_open, pdl_live_files(v->live), NULL,
        !v->over};
    size_t events = pdl_live_events(v->live);
    bool ok = (v->over ? whole_trace : trace_so_far)(v, &trace, &ignored) &&
              pdl_view_run_new(v->name, pdl_buf_str(&trace), &p, &run, &ignored);
    pdl_buf_fini(&trace);
    pdl_err_fini(&ignored);
    v->failed = !ok && v->over;
    if (!ok) return;
    pdl_view_run_free(v->run);
    v->run = run;
    v->events = events;
    v->until = pdl_clock_ns() + SHARE * (pdl_clock_ns() - start);
}

/* --- questions -------------------------------------------------------------------------------- */

static bool parameter_of(const void *user, const char *name, pdl_buf *out) {
    pdl_vref query = pdl_dict_getz(*(const pdl_vref *)user, "query");
    pdl_vref v = pdl_is_dict(query) ? pdl_dict_getz(query, name) : pdl_absent();
    if (!pdl_is_str(v)) return false;
    pdl_buf_put(out, pdl_str_get(v));
    return true;
}

static void put_runs(const pdl_wasm_shown *v, pdl_buf *out) {
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "runs");
    pdl_json_open(out, '[');
    if (v->over && v->run)
        pdl_view_summary(v->run, out);
    else if (!v->over)
        pdl_view_live_summary(v->name, out);
    PDL_PUT(out, "]}");
}

/* Answers a question of the page. Returns the status. */
static int answer(pdl_wasm_shown *v, pdl_vref question, const char **type, pdl_buf *out) {
    pdl_str path = pdl_wasm_text(question, "path"), run = PDL_STR("0/");
    *type = "application/json";
    if (pdl_str_is(path, "runs")) {
        put_runs(v, out);
        return 200;
    }
    if (!v->over && pdl_str_is(path, "0/source")) {
        pdl_live_put_program(v->live, v->name, v->program->source->text, out);
        return 200;
    }
    bool known = pdl_str_starts(path, run);
    pdl_view_request q = {
        .path = known ? pdl_str_sub(path, run.n, path.n) : path,
        .body = pdl_wasm_text(question, "body"),
        .posted = pdl_val_truth(pdl_dict_getz(question, "posted")),
        .running = !v->over,
        .late = v->events != pdl_live_events(v->live),
        .parameter = parameter_of,
        .user = &question,
    };
    return pdl_view_ask(known ? v->run : NULL, &q, type, out);
}

void pdl_wasm_shown_answer(pdl_wasm_shown *v, pdl_vref question, pdl_buf *out) {
    pdl_buf body = PDL_BUF;
    const char *type;
    make_view(v);
    int status = answer(v, question, &type, &body);
    pdl_json_put_int(out, "status", status);
    pdl_json_put_text(out, "type", pdl_str_of(type));
    pdl_json_put_text(out, "body", pdl_buf_str(&body));
    pdl_buf_fini(&body);
}

void pdl_wasm_shown_changes(pdl_wasm_shown *v, pdl_vref question, pdl_buf *out) {
    pdl_vref given = pdl_dict_getz(question, "from");
    size_t from = 0;
    pdl_buf list = PDL_BUF;
    if (pdl_is(given, PDL_V_INT) && pdl_int_of(given) > 0) from = (size_t)pdl_int_of(given);
    if (from > pdl_live_changes(v->live)) from = 0;
    if (pdl_live_json(v->live, &from, CHANGES_AT_ONCE, &list)) {
        pdl_json_put_key(out, "changes");
        pdl_buf_put(out, pdl_buf_str(&list));
    }
    pdl_buf_fini(&list);
    pdl_json_put_int(out, "from", (int64_t)from);
    pdl_json_put_bool(out, "over", v->over);
}
