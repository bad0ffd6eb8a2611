/* durable_command.c -- makes and resumes durable runs for `pdl`: chooses the journal, stores and
 * restores options, and prints messages. The options that shape a run are kept in its journal, and
 * a resume takes them from there. Keys, prices and addresses come from the command line and the
 * environment of the resume.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/run_output.h"
#include "cli/search_again.h"
#include "io/file.h"
#include "journal/runs.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

/* --- options in the journal ------------------------------------------------------------------- */

/* Keeps a text from the journal, for use as an argument. */
static pdl_str keep_text(durable_command *l, pdl_str s) {
    char *copy = pdl_str_dup(s);
    *pdl_vec_push(&l->texts) = copy;
    return (pdl_str){copy, s.n};
}

/* Returns the policies and the sandbox of this command line. All are borrowed, so nothing needs to
 * be freed. */
static pdl_run_guards guards_of(const arguments *a) {
    pdl_run_guards g = {.sandbox = pdl_cli_sandbox_profile(a),
                        .names_sandbox = a->given[OPT_sandbox] || a->given[OPT_no_sandbox]};
    g.policies.p = a->policies.p;
    g.policies.n = a->policies.n;
    if (a->given[OPT_sandbox_min]) g.sandbox_min = a->value[OPT_sandbox_min];
    return g;
}

/* Combines the policies and the sandbox that the run had with those of the command line, in
 * l->guards and the arguments. */
static bool take_guards(durable_command *l, arguments *a, pdl_vref options, pdl_err *err) {
    pdl_run_guards given = guards_of(a);
    if (!pdl_run_guards_resume(&given, options, &l->guards, err)) return false;
    if (l->guards.sandbox.n) {
        a->given[OPT_sandbox] = true;
        a->given[OPT_no_sandbox] = false;
        a->value[OPT_sandbox] = l->guards.sandbox;
    }
    if (l->guards.sandbox_min.n) {
        a->given[OPT_sandbox_min] = true;
        a->value[OPT_sandbox_min] = l->guards.sandbox_min;
    }
    return true;
}

/* Returns the part of the command line that a resume needs. Owned. */
static pdl_val options_of(const arguments *a, uint64_t seed) {
    const pdl_run_guards guards = guards_of(a);
    pdl_val d = pdl_run_guards_put(pdl_dict_new(8), &guards, getenv("PDL_POLICY"));
    for (opt_id id = 0; id < OPT_COUNT; id++) {
        if (!a->given[id] || !pdl_cli_resume_has(id, KEPT_RUN)) continue;
        pdl_str v = a->value[id];
        d = pdl_dict_putz(d, pdl_cli_option_of(id)->name, v.p ? pdl_text(v) : pdl_bool(true));
    }
    if (a->command->run == pdl_cli_cmd_infer) d = pdl_cli_infer_put_words(d, a, seed);
    return d;
}

/* Takes from the journal the options that the arguments `a` do not give. */
static bool take_options(durable_command *l, arguments *a, pdl_str json, pdl_err *err) {
    pdl_val v;
    if (!pdl_json_read(json, 0, &v, NULL, err)) return false;
    for (opt_id id = 0; pdl_is_dict(v) && id < OPT_COUNT; id++) {
        if (!pdl_cli_resume_has(id, KEPT_RUN)) continue;
        pdl_vref x = pdl_dict_getz(v, pdl_cli_option_of(id)->name);
        if (id == OPT_output && a->given[OPT_output])
            l->fresh_output = pdl_is_absent(x) || !pdl_is_str(x) ||
                              !pdl_run_guards_same_file(pdl_str_get(x), a->value[OPT_output]);
        if (pdl_is_absent(x) || a->given[id]) continue;
        a->given[id] = true;
        if (pdl_is_str(x)) a->value[id] = keep_text(l, pdl_str_get(x));
    }
    bool ok = !pdl_is_dict(v) || take_guards(l, a, v, err);
    pdl_drop(v);
    return ok;
}

int pdl_cli_refuse_undurable(const arguments *a, const opt_id *own) {
    while (*own != OPT_COUNT && !a->given[*own]) own++;
    if (*own == OPT_COUNT || a->given[OPT_durable]) return -1;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "--%s", pdl_cli_option_of(*own)->name);
    if (a->value[*own].p) pdl_buf_putf(&b, " '%.*s'", PDL_FMT(pdl_utf8_cut(a->value[*own], 60)));
    PDL_PUT(&b, " is for durable runs: give --durable");
    int code = pdl_cli_refuse(a, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return code;
}

/* --- names ------------------------------------------------------------------------------------ */

bool pdl_cli_durable_path(pdl_str name, char **out, pdl_err *err) {
    return pdl_runs_find(name, out, err);
}

bool pdl_cli_journal_path(const arguments *a, pdl_str id, char **out, pdl_err *err) {
    char *folder;
    if (!pdl_runs_is_id(id))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "argument --id: expected at most 100 letters, digits and . _ -, and "
                           "not . or - at the beginning, not '%.*s'",
                           PDL_FMT(pdl_utf8_cut(id, 120)));
    if (a->given[OPT_record]) {
        *out = pdl_str_dup(a->value[OPT_record]);
        return true;
    }
    if (!pdl_runs_folder(&folder, err)) return false;
    *out = pdl_runs_path(folder, id);
    pdl_free(folder);
    return true;
}

char *pdl_cli_journal_hidden(const arguments *a) {
    char *folder = NULL;
    pdl_err ignored = {0};
    if (a->given[OPT_record]) return pdl_str_dup(a->value[OPT_record]);
    if (!pdl_runs_folder(&folder, &ignored)) folder = NULL;
    pdl_err_fini(&ignored);
    return folder;
}

/* Chooses the path of a new journal: the path of --record, or a file in the folder of runs. */
static bool choose_path(durable_command *l, const arguments *a, pdl_err *err) {
    char made[40];
    pdl_str id = a->value[OPT_id];
    if (!a->given[OPT_id]) {
        pdl_runs_make_id(made);
        id = pdl_str_of(made);
    }
    l->id = pdl_str_dup(id);
    l->is_listed = !a->given[OPT_record];
    return pdl_cli_journal_path(a, id, &l->path, err);
}

/* Rewords the error for a name that is in use: the command line is correct, but the run cannot
 * begin. */
static void reword_taken(const durable_command *l, const arguments *a, pdl_err *err) {
    bool in_use = err->kind == PDL_E_runtime;
    if (err->kind != PDL_E_usage && !in_use) return;
    err->kind = PDL_E_io;
    if (a->given[OPT_record]) return;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "there is a run %s already: ", l->id);
    if (in_use)
        pdl_buf_put(&b, pdl_str_of(err->msg));
    else
        pdl_buf_putf(&b, "pdl resume %s continues it, pdl runs rm %s removes it", l->id, l->id);
    pdl_err_reword(err, &b);
}

bool pdl_cli_syncs_fully(const arguments *a) {
    return !a->given[OPT_sync] || pdl_str_is(a->value[OPT_sync], "full");
}

static void release(void *user) { pdl_session_flush(user); }

/* Returns the options of the durable run. From now on, the terminal holds output back until the
 * rows on which it depends are in the journal. */
static pdl_durable_options join_terminal(const arguments *a, pdl_session *s, term *t) {
    if (!t) return (pdl_durable_options){0};
    const pdl_held_output held = {t, pdl_cli_term_has_held, pdl_cli_term_write};
    t->holds = true;
    t->held = PDL_BUF;
    t->provisional = t->tty || a->given[OPT_provisional];
    t->release = release;
    t->release_user = s;
    if (!a->given[OPT_dry_run]) pdl_session_hold_output(s, &held);
    return (pdl_durable_options){
        .provisional = t->provisional,
        .park = a->given[OPT_park],
        .changed_fails = a->given[OPT_changed] && pdl_str_is(a->value[OPT_changed], "fail"),
        .rebuild = a->given[OPT_rebuild],
    };
}

bool pdl_cli_durable_begin(durable_command *l, const arguments *a, pdl_session *s, pdl_str text,
                           pdl_vref inputs, pdl_err *err) {
    pdl_buf note = PDL_BUF, options = PDL_BUF;
    pdl_val kept_options = options_of(a, l->seed);
    bool ok = choose_path(l, a, err) && pdl_json_write(kept_options, 0, 0, &options, err);
    pdl_drop(kept_options);
    pdl_new_durable n = {.path = pdl_str_of(l->path ? l->path : ""),
                         .full = pdl_cli_syncs_fully(a),
                         .id = pdl_str_of(l->id),
                         .file = a->files.p[0],
                         .text = text,
                         .options = pdl_buf_str(&options),
                         .inputs = inputs,
                         .how = join_terminal(a, s, l->term)};
    if (ok && !pdl_session_begin_durable(s, &n, &l->run, &note, err)) {
        if (!l->run) /* when the file was made, no other run had the name */
            reword_taken(l, a, err);
        ok = false;
    }
    if (note.len) pdl_cli_note("pdl: note: %s", pdl_buf_z(&note));
    if (ok && pdl_tty_is(STDERR_FILENO)) pdl_cli_note("pdl: run %s", l->id);
    pdl_buf_fini(&note);
    pdl_buf_fini(&options);
    return ok;
}

/* --- an existing run -------------------------------------------------------------------------- */

static bool take_ways(durable_command *l, const arguments *a, pdl_err *err) {
    for (size_t i = 0; i < a->values.n; i++) {
        pdl_str v = a->values.p[i].value;
        if (a->values.p[i].id == OPT_again) pdl_durable_again(l->run, v);
        if (a->values.p[i].id == OPT_skip && !pdl_durable_skip(l->run, "--skip", v, err))
            return false;
    }
    return true;
}

/* Returns a name on this command line as a path that starts at the folder in which the command was
 * typed. */
static pdl_str rooted(durable_command *l, const char *cwd, pdl_str name) {
    bool is_data = pdl_str_starts(name, PDL_STR("@"));
    pdl_str file = is_data ? pdl_str_sub(name, 1, name.n) : name;
    if (!file.n || file.p[0] == '/' || pdl_str_is(name, "-")) return name;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s%s/%.*s", is_data ? "@" : "", cwd, PDL_FMT(file));
    pdl_str whole = keep_text(l, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return whole;
}

/* Returns true when the value names a file. A policy or profile is built in when its name has
 * neither a slash nor a dot. */
static bool names_file(opt_id id, pdl_str value) {
    const option *o = pdl_cli_option_of(id);
    if (id == OPT_data) return pdl_str_starts(value, PDL_STR("@"));
    if (id != OPT_policy && id != OPT_sandbox) return o->value && strcmp(o->value, "FILE") == 0;
    bool is_path = pdl_str_find(value, PDL_STR("/"), 0) != PDL_NOT_FOUND ||
                   pdl_str_find(value, PDL_STR("."), 0) != PDL_NOT_FOUND;
    if (id == OPT_policy || !is_path) return is_path;
    char *path = pdl_str_dup(value);
    bool is_file = pdl_file_kind_of(path) == PDL_FILE_REGULAR;
    pdl_free(path);
    return is_file; /* the name of a profile that is not a file is kept as the user wrote it */
}

/* Makes the names of files on this command line absolute, because the working folder is about to
 * change. */
static void root_names(durable_command *l, arguments *a, const char *cwd) {
    for (size_t i = 0; i < a->values.n; i++) *pdl_vec_push(&l->values) = a->values.p[i];
    for (size_t i = 0; i < l->values.n; i++) {
        struct given_value *v = &l->values.p[i];
        bool is_last = a->value[v->id].p == v->value.p;
        if (names_file(v->id, v->value)) v->value = rooted(l, cwd, v->value);
        if (is_last) a->value[v->id] = v->value;
        if (v->id == OPT_policy) *pdl_vec_push(&l->given_policies) = v->value;
    }
    a->values.p = l->values.p;
    a->policies.p = l->given_policies.p;
}

/* Enters the folder of the run, which may not exist on another machine. */
static void enter_folder(durable_command *l, arguments *a, const pdl_durable_facts *f) {
    char *folder = pdl_str_dup(f->folder), cwd[PATH_MAX];
    if (*folder && getcwd(cwd, sizeof cwd) && strcmp(cwd, folder) != 0) root_names(l, a, cwd);
    if (*folder && chdir(folder) != 0 && !l->quiet)
        pdl_cli_note("pdl: note: the folder of the run, %s, cannot be entered (%s): it continues "
                     "in this one",
                     folder, strerror(errno));
    pdl_free(folder);
}

bool pdl_cli_durable_open(durable_command *l, arguments *a, pdl_durable_use use, pdl_err *err) {
    *l = (durable_command){
        .resumes = true, .inputs = pdl_absent(), .forecast = l->forecast, .quiet = l->quiet};
    if (!pdl_cli_durable_path(a->files.p[0], &l->path, err)) return false;
    char real[PATH_MAX];
    if (realpath(l->path, real)) { /* the working folder may change */
        pdl_free(l->path);
        l->path = pdl_str_dup(pdl_str_of(real));
    }
    if (!pdl_durable_open(pdl_str_of(l->path), use, pdl_cli_syncs_fully(a), a->given[OPT_take_over],
                          &l->run, err))
        return false;
    const pdl_durable_facts *f = pdl_durable_get_facts(l->run);
    l->id = pdl_str_dup(f->id);
    l->is_listed = pdl_runs_is_id(a->files.p[0]) && pdl_str_is(a->files.p[0], l->id);
    bool is_shown = use != PDL_DURABLE_CONTINUE && !l->forecast;
    if (is_shown && pdl_cli_is_inference(f))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "%s is an inference, of many runs: pdl resume %s continues it, and "
                           "pdl resume %s --check says what that would do",
                           l->id, l->id, l->id);
    if (use == PDL_DURABLE_CONTINUE || use == PDL_DURABLE_CHECK) enter_folder(l, a, f);
    a->files.p[0] = f->file;
    return take_options(l, a, f->options, err) && take_ways(l, a, err);
}

/* The lines of input that earlier processes have read. When a regular file begins with them,
 * reading continues after these lines. */
struct input_lines {
    pdl_buf all;
};

static bool on_line(void *user, const pdl_durable_row *row) {
    struct input_lines *x = user;
    pdl_val v;
    pdl_err ignored = {0};
    if (!pdl_str_is(row->kind, "input") || !row->reply.p) return true;
    if (pdl_json_read(row->reply, 0, &v, NULL, &ignored)) {
        if (pdl_is_str(v)) {
            pdl_buf_put(&x->all, pdl_str_get(v));
            pdl_buf_putc(&x->all, '\n');
        }
        pdl_drop(v);
    }
    pdl_err_fini(&ignored);
    return true;
}

static bool begins_with(int fd, pdl_str text) {
    char chunk[4096];
    size_t at = 0;
    while (at < text.n) {
        size_t want = text.n - at < sizeof chunk ? text.n - at : sizeof chunk;
        ssize_t n = pread(fd, chunk, want, (off_t)at);
        if (n <= 0 || memcmp(chunk, text.p + at, (size_t)n) != 0) return false;
        at += (size_t)n;
    }
    return true;
}

static void continue_input(const durable_command *l) {
    struct stat st;
    struct input_lines x = {PDL_BUF};
    pdl_err ignored = {0};
    if (fstat(STDIN_FILENO, &st) != 0 || !S_ISREG(st.st_mode)) return;
    if (pdl_durable_each(pdl_str_of(l->path), on_line, &x, &ignored) && x.all.len &&
        begins_with(STDIN_FILENO, pdl_buf_str(&x.all)) &&
        lseek(STDIN_FILENO, (off_t)x.all.len, SEEK_SET) >= 0)
        pdl_cli_note("pdl: note: standard input begins with the lines that the run has had: it is "
                     "read on after them");
    pdl_err_fini(&ignored);
    pdl_buf_fini(&x.all);
}

bool pdl_cli_durable_resume(durable_command *l, const arguments *a, pdl_session *s, pdl_vref given,
                            pdl_err *err) {
    pdl_durable_options how = join_terminal(a, s, l->term);
    if (pdl_durable_asks(l->run)) continue_input(l);
    if (a->given[OPT_only_new] || (a->given[OPT_output] && !l->fresh_output))
        l->term->skip = pdl_durable_printed(l->run);
    return pdl_session_resume_durable(s, l->run, &how, given, &l->inputs, err);
}

/* --- after the run ---------------------------------------------------------------------------- */

struct shown_questions {
    const durable_command *l;
    const pdl_session *s;
};

static void print_question(void *user, pdl_str place, pdl_str text) {
    const struct shown_questions *q = user;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "  %.*s: %.*s\n    pdl answer %s --at %.*s TEXT\n", PDL_FMT(place),
                 PDL_FMT(text), q->l->id, PDL_FMT(place));
    pdl_cli_put_stderr(pdl_buf_str(&b), q->s);
    pdl_buf_fini(&b);
}

void pdl_cli_durable_note(const durable_command *l, const arguments *a, pdl_session *s) {
    const pdl_err *e = pdl_run_error(pdl_session_get(s));
    int sig = *pdl_cli_signal_received();
    bool is_interrupted = sig && pdl_err_exit_code(e) == pdl_signal_exit_status(sig);
    if (pdl_file_kind_of(l->path) != PDL_FILE_REGULAR) return; /* an error was reported before */
    if (e->kind == PDL_E_parked) {
        pdl_cli_note("pdl: run %s waits for an answer:", l->id);
        struct shown_questions q = {l, s};
        pdl_durable_questions(l->run, print_question, &q);
        pdl_cli_note("  then: pdl resume %s", l->id);
    } else if (is_interrupted && !a->given[OPT_dry_run]) {
        pdl_cli_note("pdl: pdl resume %s continues the run", l->is_listed ? l->id : l->path);
    }
    if (l->resumes && !a->given[OPT_dry_run] && pdl_durable_has_changes(l->run)) {
        pdl_buf b = PDL_BUF;
        pdl_durable_report(l->run, &b);
        pdl_cli_note("pdl: note: the program or its files have changed: %s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
    }
}

/* Updates the index of the folder of runs. A journal elsewhere has no index. */
static void note_end(const durable_command *l) {
    pdl_str path = pdl_str_of(l->path), dir = pdl_file_folder(path);
    pdl_buf own = PDL_BUF;
    pdl_buf_putf(&own, "%s.journal", l->id);
    char *folder = pdl_str_dup(dir);
    if (dir.n && pdl_str_eq(pdl_file_name(path), pdl_buf_str(&own)) && l->is_listed)
        pdl_runs_note(folder, path);
    pdl_free(folder);
    pdl_buf_fini(&own);
}

void pdl_cli_durable_fini(durable_command *l) {
    bool writes = l->run && pdl_durable_asks(l->run);
    pdl_durable_close(l->run);
    if (writes) note_end(l);
    pdl_drop(l->inputs);
    pdl_free(l->path);
    pdl_free(l->id);
    pdl_run_guards_fini(&l->guards);
    pdl_vec_fini(&l->values);
    pdl_vec_fini(&l->given_policies);
    for (size_t i = 0; i < l->texts.n; i++) pdl_free(l->texts.p[i]);
    pdl_vec_fini(&l->texts);
    *l = (durable_command){.inputs = pdl_absent()};
}
