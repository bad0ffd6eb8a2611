/* check_runs.c -- pdl runs --check and pdl resume --check: a forecast of what resumes would do with
 * the present program (spec know 2).
 *
 * Each run is resumed as `pdl resume` would do it, but its journal is only read and nothing is
 * sent. The verdict follows from what that resume would have to do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/check_runs.h"
#include "cli/json_rows.h"
#include "cli/search_again.h"
#include "io/file.h"

#include "base/banned.h"

/* --- one run ---------------------------------------------------------------------------------- */

/* Drops the options by which a resume would write files or send data besides the run itself. */
static void drop_outputs(arguments *a) {
    static const opt_id outputs[] = {OPT_cache, OPT_output, OPT_trace, OPT_wire, OPT_otlp};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) a->given[outputs[i]] = false;
    a->given[OPT_dry_run] = true;
}

void pdl_cli_forecast(const arguments *given, bool quiet, pdl_forecast *out) {
    arguments a = *given;
    pdl_str file = given->files.p[0];
    durable_command l = {.forecast = out, .quiet = quiet};
    pdl_err err = {0};
    bool ok = pdl_cli_durable_open(&l, &a, PDL_DURABLE_CHECK, &err);
    drop_outputs(&a);
    if (ok && pdl_cli_is_inference(pdl_durable_get_facts(l.run)))
        ok = pdl_cli_infer_forecast(&l, a.files.p[0], out, &err);
    else if (ok && pdl_cli_run_durable(&a, &l) != 0 && out->verdict != PDL_VERDICT_STOPS)
        pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0}, "its options cannot be read any more");
    if (l.id) out->id = pdl_str_dup(pdl_str_of(l.id));
    if (err.kind) pdl_forecast_stop(out, (pdl_str){0}, &err);
    pdl_err_fini(&err);
    pdl_cli_durable_fini(&l);
    given->files.p[0] = file;
}

int pdl_cli_verdict_code(pdl_verdict v) {
    static const int codes[] = {
        [PDL_VERDICT_CONTINUES] = 0, [PDL_VERDICT_ASKS] = 3, [PDL_VERDICT_STOPS] = 4};
    return codes[v];
}

/* --- as JSON ---------------------------------------------------------------------------------- */

void pdl_cli_forecast_json(pdl_str id, const pdl_forecast *f, pdl_buf *out) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(9), "id", pdl_text(id));
    d = pdl_dict_putz(d, "verdict", pdl_textz(pdl_verdict_name(f->verdict)));
    d = pdl_dict_putz(d, "place", pdl_cli_json_text(f->place));
    d = pdl_dict_putz(d, "file", pdl_cli_json_text(f->file));
    d = pdl_dict_putz(d, "line", f->line ? pdl_int(f->line) : pdl_null());
    d = pdl_dict_putz(d, "recorded", pdl_int((int64_t)f->recorded));
    d = pdl_dict_putz(d, "asked", pdl_int((int64_t)f->asked));
    d = pdl_dict_putz(d, "cost", pdl_cli_json_number(f->cost));
    d = pdl_dict_putz(d, "reused", pdl_int((int64_t)f->reused));
    pdl_cli_put_json(d, out);
}

/* --- as text ---------------------------------------------------------------------------------- */

static void put_where(const char *file, uint32_t line, const char *place, pdl_buf *out) {
    if (file) pdl_buf_putf(out, "%s:%u%s", file, line, place ? " " : "");
    if (place) pdl_buf_put(out, pdl_str_of(place));
}

static void put_cost(double cost, pdl_buf *out) {
    if (cost > 0) pdl_buf_putf(out, ", which cost %.6g", cost);
}

/* Appends a text such as "stops: a.pdl:7 text.2.code: why", and the counts on the next line. */
static void put_summary(const pdl_forecast *f, pdl_buf *out) {
    pdl_buf_putf(out, "%s", pdl_verdict_name(f->verdict));
    bool waits = f->verdict == PDL_VERDICT_CONTINUES;
    if (f->place || f->file) pdl_buf_put(out, pdl_str_of(waits ? " at " : ": "));
    put_where(f->file, f->line, f->place, out);
    if (f->why) pdl_buf_putf(out, ": %s", f->why);
    if (f->verdict == PDL_VERDICT_ASKS && f->requests.n)
        pdl_buf_putf(out, ": %s, %s", f->requests.p[0].kind, f->requests.p[0].why);
    pdl_buf_putc(out, '\n');
    if (f->hint) pdl_buf_putf(out, "  %s\n", f->hint);
    pdl_buf_putf(out, "  %zu of %zu recorded answers reused, %zu asked again", f->reused,
                 f->recorded, f->asked);
    put_cost(f->cost, out);
    pdl_buf_putc(out, '\n');
}

void pdl_cli_forecast_text(const pdl_forecast *f, pdl_buf *out) {
    put_summary(f, out);
    for (size_t i = 0; i < f->requests.n; i++) {
        const pdl_forecast_request *r = &f->requests.p[i];
        PDL_PUT(out, "  asked again: ");
        put_where(r->file, r->line, r->place, out);
        pdl_buf_putf(out, ": %s, %s", r->kind, r->why);
        put_cost(r->cost, out);
        pdl_buf_putc(out, '\n');
    }
    if (f->asked > f->requests.n) pdl_buf_putf(out, "  and %zu more\n", f->asked - f->requests.n);
    for (size_t i = 0; i < f->gone.n; i++)
        pdl_buf_putf(out, "  not reached: the answer recorded at %s\n", f->gone.p[i]);
}

/* --- all runs of a program -------------------------------------------------------------------- */

struct checking {
    const arguments *a;
    const char *program;
    pdl_verdict worst;
    bool json, any;
    pdl_durable *first; /* stays open, so that SQLite is loaded only once */
    pdl_buf out;
};

/* Returns true when the run was started with this program. */
static bool is_of_program(struct checking *c, pdl_str path) {
    pdl_durable *d = NULL;
    pdl_err ignored = {0};
    bool same = false;
    if (pdl_durable_open(path, PDL_DURABLE_SHOW, false, false, &d, &ignored)) {
        const pdl_durable_facts *f = pdl_durable_get_facts(d);
        pdl_buf name = PDL_BUF;
        bool absolute = f->file.n && f->file.p[0] == '/';
        if (!absolute) pdl_buf_putf(&name, "%.*s/", PDL_FMT(f->folder));
        pdl_buf_put(&name, f->file);
        same = pdl_file_is_same(pdl_buf_z(&name), c->program);
        pdl_buf_fini(&name);
    }
    if (same && !c->first)
        c->first = d;
    else
        pdl_durable_close(d);
    pdl_err_fini(&ignored);
    return same;
}

static void check_one(struct checking *c, pdl_str path, pdl_forecast *out) {
    arguments a = {.command = c->a->command};
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *pdl_vec_push(&a.files) = path;
    a.given[OPT_progress] = true;
    a.value[OPT_progress] = PDL_STR("none");
    pdl_cli_forecast(&a, true, out);
    if (here >= 0 && fchdir(here) != 0) pdl_cli_note("pdl: note: the folder cannot be entered");
    if (here >= 0) close(here);
    pdl_vec_fini(&a.files);
}

static bool on_run(void *user, pdl_str path, const pdl_durable_summary *s) {
    struct checking *c = user;
    pdl_forecast f = {0};
    if (s->state == PDL_RUN_ENDED || !is_of_program(c, path)) return true;
    check_one(c, path, &f);
    if (f.verdict > c->worst) c->worst = f.verdict;
    if (c->json) {
        pdl_buf_put(&c->out, pdl_str_of(c->any ? ",\n " : ""));
        pdl_cli_forecast_json(pdl_str_of(s->id), &f, &c->out);
    } else {
        pdl_buf_putf(&c->out, "%s %s ", s->id, pdl_run_state_name(s->state));
        put_summary(&f, &c->out);
    }
    c->any = true;
    pdl_forecast_fini(&f);
    return !*pdl_cli_signal_received();
}

int pdl_cli_check_runs(const arguments *a,
                       void (*unreadable)(void *user, pdl_str path, const char *why),
                       pdl_err *err) {
    char *folder, *program = pdl_str_dup(a->value[OPT_runs_check]), real[PATH_MAX];
    char program_path[PATH_MAX];
    struct checking c = {.a = a, .json = a->given[OPT_json], .out = PDL_BUF};
    if (!pdl_runs_folder(&folder, err)) {
        pdl_free(program);
        return 1;
    }
    /* each run changes the working folder, so the path must be absolute */
    c.program = realpath(program, program_path) ? program_path : program;
    const char *runs = realpath(folder, real) ? real : folder;
    if (c.json) pdl_cli_open_rows(pdl_dict_new(1), "runs", &c.out);
    pdl_runs_use use = {on_run, unreadable, &c};
    bool ok = pdl_runs_each(runs, &use, err);
    if (c.json) pdl_cli_close_rows(&c.out);
    if (!c.json && !c.any) pdl_buf_putf(&c.out, "no run of %s waits to be resumed\n", program);
    int code = ok ? pdl_cli_put_stdout(pdl_buf_str(&c.out)) : 1;
    if (!code) code = pdl_cli_verdict_code(c.worst);
    pdl_durable_close(c.first);
    pdl_buf_fini(&c.out);
    pdl_free(folder);
    pdl_free(program);
    return code;
}
