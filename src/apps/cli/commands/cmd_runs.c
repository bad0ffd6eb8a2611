/* cmd_runs.c -- pdl runs: lists, shows, removes and copies durable runs. All of this is read from
 * the journals in the folder of runs. A run that a process still has is never removed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/nanos.h"
#include "cli/check_runs.h"
#include "cli/cli.h"
#include "cli/json_rows.h"
#include "journal/runs.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct runs_list {
    bool json, any;
    double before; /* for prune: runs that ended before this time are removed */
    size_t removed;
    pdl_buf out;
    pdl_err *err;
    bool ok;
} listing;

static void put_time(double seconds, pdl_buf *out) {
    char text[32] = "";
    struct tm tm;
    time_t t = pdl_time_of(seconds);
    if (seconds > 0 && localtime_r(&t, &tm))
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    pdl_buf_putf(out, "%-19s", text);
}

/* Returns a time, rounded to milliseconds; null when it is 0. */
static pdl_val json_time(double seconds) {
    return seconds > 0 ? pdl_float(round(seconds * 1e3) / 1e3) : pdl_null();
}

static bool put_json(void *user, pdl_str path, const pdl_durable_summary *s) {
    listing *l = user;
    (void)path;
    pdl_buf_put(&l->out, pdl_str_of(l->any ? ",\n " : "["));
    l->any = true;
    pdl_val d = pdl_dict_putz(pdl_runs_summary(s), "started", json_time(s->started));
    d = pdl_dict_putz(d, "ended", json_time(s->ended));
    d = pdl_dict_putz(d, "cost", pdl_cli_json_number(s->cost));
    pdl_cli_put_json(d, &l->out);
    return true;
}

static bool put_line(void *user, pdl_str path, const pdl_durable_summary *s) {
    listing *l = user;
    (void)path;
    if (!l->any)
        PDL_PUT(&l->out, "ID                      STATE    STARTED              ENDED              "
                         "  CALLS   TOKENS  PROGRAM\n");
    l->any = true;
    pdl_buf_putf(&l->out, "%-23s %-8s ", s->id, pdl_run_state_name(s->state));
    put_time(s->started, &l->out);
    PDL_PUT(&l->out, "  ");
    put_time(s->ended, &l->out);
    pdl_buf_putf(&l->out, "  %5lld %8lld  %s", (long long)s->calls, (long long)s->tokens, s->file);
    if (s->place && s->state != PDL_RUN_ENDED) pdl_buf_putf(&l->out, "  at %s", s->place);
    pdl_buf_putc(&l->out, '\n');
    return true;
}

/* Reports a journal that cannot be read, and does not just skip it: a newer version may have made
 * it, and its run may wait for an answer. */
static void note_unreadable(void *user, pdl_str path, const char *why) {
    (void)user;
    pdl_str name = pdl_file_name(path);
    pdl_cli_note("pdl: note: %.*s is left out: %s; pdl runs rm %.*s removes it", PDL_FMT(name), why,
                 (int)(name.n - (sizeof ".journal" - 1)), name.p);
}

static bool prune_one(void *user, pdl_str path, const pdl_durable_summary *s) {
    listing *l = user;
    bool over =
        s->state == PDL_RUN_ENDED || s->state == PDL_RUN_FAILED || s->state == PDL_RUN_KILLED;
    double last = s->ended > 0 ? s->ended : s->started;
    if (!over || last >= l->before) return true;
    l->ok = pdl_durable_remove(path, l->err);
    l->removed += l->ok;
    return l->ok;
}

/* --- actions ---------------------------------------------------------------------------------- */

static int list(const arguments *a, pdl_err *err) {
    char *folder;
    listing l = {.out = PDL_BUF, .err = err, .ok = true};
    bool json = a->given[OPT_json];
    if (!pdl_runs_folder(&folder, err)) return 1;
    pdl_runs_use use = {json ? put_json : put_line, note_unreadable, &l};
    bool ok = pdl_runs_each(folder, &use, err);
    pdl_free(folder);
    if (json) pdl_buf_put(&l.out, pdl_str_of(l.any ? "]\n" : "[]\n"));
    int code = ok ? pdl_cli_put_stdout(pdl_buf_str(&l.out)) : 1;
    pdl_buf_fini(&l.out);
    return code;
}

static bool show_row(void *user, const pdl_durable_row *row) {
    pdl_buf *out = user;
    put_time(row->start, out);
    const char *state = row->end <= 0 ? "open" : row->error.p ? "failed" : "answered";
    pdl_buf_putf(out, "  %-8s %-8.*s %.*s", state, PDL_FMT(row->kind), PDL_FMT(row->place));
    if (row->attempt > 1) pdl_buf_putf(out, "  %lld answers", (long long)row->attempt);
    pdl_buf_putc(out, '\n');
    return true;
}

static int show(const arguments *a, const char *path, pdl_err *err) {
    pdl_durable_summary s;
    listing l = {.out = PDL_BUF, .err = err, .ok = true};
    if (!pdl_durable_summary_read(pdl_str_of(path), &s, err)) return 1;
    if (a->given[OPT_json])
        put_json(&l, pdl_str_of(path), &s);
    else
        put_line(&l, pdl_str_of(path), &s);
    bool ok = a->given[OPT_json] || pdl_durable_each(pdl_str_of(path), show_row, &l.out, err);
    if (a->given[OPT_json]) PDL_PUT(&l.out, "]\n");
    pdl_durable_summary_fini(&s);
    int code = ok ? pdl_cli_put_stdout(pdl_buf_str(&l.out)) : 1;
    pdl_buf_fini(&l.out);
    return code;
}

static int prune(const arguments *a, pdl_err *err) {
    char *folder;
    int64_t age = 0;
    if (a->given[OPT_older_than] == a->given[OPT_all])
        return pdl_cli_refuse(a, "prune needs --older-than AGE, or --all by itself");
    if (a->given[OPT_older_than] && !pdl_cli_read_age(a->value[OPT_older_than], &age))
        return pdl_cli_refuse(a, PDL_AGE_WANTED);
    if (!pdl_runs_folder(&folder, err)) return 1;
    double before = a->given[OPT_all] ? INFINITY : (double)(time(NULL) - age);
    listing l = {.before = before, .out = PDL_BUF, .err = err, .ok = true};
    pdl_runs_use use = {prune_one, note_unreadable, &l};
    bool ok = pdl_runs_each(folder, &use, err) && l.ok;
    pdl_free(folder);
    pdl_buf_putf(&l.out, "%zu %s removed\n", l.removed, l.removed == 1 ? "run" : "runs");
    int code = ok ? pdl_cli_put_stdout(pdl_buf_str(&l.out)) : 1;
    pdl_buf_fini(&l.out);
    return code;
}

static int export(const arguments *a, const char *path, pdl_err *err) {
    pdl_secrets *secrets = a->given[OPT_redact] ? pdl_session_secrets_of(pdl_str_of(path)) : NULL;
    bool ok = pdl_durable_export(pdl_str_of(path), a->files.p[2], secrets, err);
    pdl_secrets_free(secrets);
    return ok ? 0 : 1;
}

/* Returns the message about an option that the action does not accept; NULL when all are
 * accepted. */
static const char *stray(const arguments *a) {
    pdl_str action = a->files.n ? a->files.p[0] : PDL_STR("");
    bool prunes = a->given[OPT_older_than] || a->given[OPT_all];
    if (prunes && !pdl_str_is(action, "prune")) return "--older-than and --all belong to prune";
    if (a->given[OPT_redact] && !pdl_str_is(action, "export")) return "--redact is for export";
    bool lists = !action.n || pdl_str_is(action, "list") || pdl_str_is(action, "show");
    if (a->given[OPT_runs_check] && a->files.n) return "--check takes no action";
    if (a->given[OPT_json] && !lists) return "--json is for the list and for show";
    return NULL;
}

/* Returns the mistake in the command line; NULL when it has none. */
static const char *misuse(const arguments *a) {
    static const struct {
        const char *name;
        size_t n;
        const char *wrong;
    } actions[] = {{"list", 1, "list takes no ID"},
                   {"show", 2, "show needs an ID, and nothing else"},
                   {"rm", 2, "rm needs an ID, and nothing else"},
                   {"prune", 1, "prune takes no ID: --older-than AGE or --all says what goes"},
                   {"export", 3, "export needs an ID and the name of a new file"}};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (pdl_str_is(a->files.p[0], actions[i].name))
            return a->files.n == actions[i].n ? NULL : actions[i].wrong;
    return "argument ACTION: choose from list, show, rm, prune, export";
}

static int act(const arguments *a, pdl_err *err) {
    char *path = NULL;
    pdl_str action = a->files.p[0];
    if (pdl_str_is(action, "prune")) return prune(a, err);
    if (pdl_str_is(action, "list")) return list(a, err);
    if (!pdl_cli_durable_path(a->files.p[1], &path, err)) return 1;
    int code = pdl_str_is(action, "show")                  ? show(a, path, err)
               : pdl_str_is(action, "export")              ? export(a, path, err)
               : pdl_durable_remove(pdl_str_of(path), err) ? 0
                                                           : 1;
    pdl_free(path);
    return code;
}

int pdl_cli_cmd_runs(const arguments *a) {
    pdl_err err = {0};
    const char *wrong = a->files.n ? misuse(a) : NULL;
    if (!wrong) wrong = stray(a);
    if (wrong) return pdl_cli_refuse(a, wrong);
    int code = a->given[OPT_runs_check] ? pdl_cli_check_runs(a, note_unreadable, &err)
               : a->files.n             ? act(a, &err)
                                        : list(a, &err);
    return err.kind ? pdl_cli_fail(&err) : code;
}
