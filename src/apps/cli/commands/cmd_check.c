/* cmd_check.c -- pdl check FILE...: reports everything about programs that can be known without
 * running them. The settings, policies and profiles of a program are those of the folder that
 * contains it. With --fix the offered corrections are written.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/import_search.h"
#include "api/policy.h"
#include "api/policy_check.h"
#include "base/plural.h"
#include "check/report.h"
#include "cli/cli.h"
#include "cli/run/python_check.h"
#include "io/file.h"
#include "lang/load.h"

#include "base/banned.h"

typedef struct checker {
    const arguments *a;
    pdl_session *session;
    pdl_str file, folder; /* the file that is being checked */
    PDL_VEC(pdl_str) names;
    pdl_check_report report;
    pdl_check_config config;
    pdl_check_models models;
    pdl_python_checker python;
    pdl_check_library library; /* all files share the library, and the names of its variables */
    bool failed;
    size_t fixed; /* number of problems that were fixed */
    int code;     /* exit code after a failed write */
} checker;

/* --- the report ------------------------------------------------------------------------------- */

/* Writes a report. Text is for people and goes to standard error; other forms are for programs and
 * go to standard output. */
static void put(checker *c, pdl_str text) {
    pdl_buf shown = PDL_BUF;
    if (c->report.form == PDL_REPORT_TEXT) {
        pdl_cli_put_stderr(text, c->session);
    } else {
        if (c->session)
            pdl_session_redact(c->session, text, &shown);
        else
            pdl_buf_put(&shown, text);
        if (!c->code && shown.len) c->code = pdl_cli_put_stdout(pdl_buf_str(&shown));
    }
    pdl_buf_fini(&shown);
}

static void put_diag(checker *c, const pdl_diag *d) {
    pdl_buf out = PDL_BUF;
    pdl_report_add(&c->report, d, c->file, &out);
    put(c, pdl_buf_str(&out));
    pdl_buf_fini(&out);
}

static void report(checker *c, const pdl_program *p) {
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (d->reference_only && !c->a->given[OPT_strict]) continue;
        c->failed = c->failed || d->severity == PDL_DIAG_ERROR;
        put_diag(c, d);
    }
}

static bool is_missing(pdl_str file) {
    pdl_err err = {0};
    bool there = pdl_cli_program_is_there(file, &err);
    pdl_err_fini(&err);
    return !there;
}

static void cannot_read(checker *c, pdl_err *err) {
    c->failed = true;
    bool missing = is_missing(c->file);
    if (missing) c->code = 2;
    if (c->report.form == PDL_REPORT_TEXT && missing)
        pdl_cli_note("pdl: error: %s", err->msg);
    else if (c->report.form == PDL_REPORT_TEXT)
        pdl_cli_print_error(err, c->session);
    else
        put_diag(c, &(pdl_diag){.code = "file-unreadable", .text = pdl_str_of(err->msg)});
    pdl_err_fini(err);
}

/* --- one file --------------------------------------------------------------------------------- */

static pdl_program *checked(checker *c, pdl_str text) {
    bool ok;
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, c->file, text, &ok);
    pdl_session_note(c->session, p);
    pdl_finder finder = {.file = c->file};
    finder.path = pdl_session_path(c->session, &finder.n_path);
    pdl_program_check(p, &(pdl_check_options){
                             .open = pdl_find_open,
                             .user = &finder,
                             .names = c->names.p,
                             .n_names = c->names.n,
                             .levels = c->config.levels,
                             .stdlib = pdl_session_library_text(),
                             .library = &c->library,
                             .models = &c->models,
                             .python = pdl_python_check,
                             .python_user = &c->python,
                             .closed = c->a->given[OPT_data] || c->a->given[OPT_data_file],
                         });
    return p;
}

/* Writes the fixed text to the file. Returns false when there was nothing to fix, or after an
 * error, which is in err. */
static bool fix_file(checker *c, const pdl_program *p, pdl_buf *text, pdl_err *err) {
    pdl_buf fixed = PDL_BUF;
    size_t n = pdl_program_fix(p, pdl_buf_str(text), &fixed);
    if (n && pdl_str_is(c->file, "-")) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "--fix writes files; - is standard input");
        n = 0;
    } else if (n) {
        char *path = pdl_str_dup(c->file);
        if (!pdl_file_write(path, pdl_buf_str(&fixed), PDL_FILE_ATOMIC, err)) n = 0;
        pdl_free(path);
    }
    if (n) {
        pdl_buf_clear(text);
        pdl_buf_put(text, pdl_buf_str(&fixed));
        c->fixed += n;
    }
    pdl_buf_fini(&fixed);
    return n > 0;
}

static void report_profile(void *user, pdl_loc loc, pdl_err_kind kind, pdl_str text) {
    pdl_program *p = user;
    size_t n;
    const pdl_rule *r = &pdl_rules(&n)[PDL_RULE_sandbox_profile];
    /* the profile may be enforceable on another machine, so this is no error */
    pdl_severity severity = kind == PDL_E_policy ? PDL_DIAG_WARNING : r->severity;
    pdl_program_diag(p, PDL_DIAG_OF(severity, r->name, loc, loc), "%.*s", PDL_FMT(text));
}

/* Checks the sandbox profiles of blocks whose file names are known. */
static void check_profiles(checker *c, pdl_program *p) {
    size_t before = p->diags.n;
    pdl_session_check_profiles(c->session, p, true, report_profile, p);
    for (size_t i = 0; i < p->others.n; i++)
        pdl_session_check_profiles(c->session, p->others.p[i], true, report_profile, p);
    if (p->diags.n == before) return;
    pdl_program_sort_diags(p);
    pdl_program_settle(p, c->config.levels);
}

/* Checks what the policies of a run would do to the program. */
static void check_policy(checker *c, pdl_program *p) {
    pdl_policies *policies = NULL;
    pdl_err err = {0};
    if (!pdl_session_policies(c->session, p, &policies, &err)) {
        c->failed = true;
        pdl_cli_print_option_error(c->a, &err, c->session);
        pdl_err_fini(&err);
    } else if (policies) {
        pdl_policies_check_program(p, policies, pdl_file_folder(c->file));
        pdl_program_settle(p, c->config.levels);
    }
    pdl_policies_free(policies);
}

/* A fix may uncover another problem that has a fix, so fixes are applied in rounds. When problems
 * remain after the last round, fixes probably undo each other. */
enum { MAX_ROUNDS = 20 };

static void check_file(checker *c) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    if (!pdl_cli_read_program(c->file, &text, &err)) {
        cannot_read(c, &err);
        pdl_buf_fini(&text);
        return;
    }
    pdl_program *p = checked(c, pdl_buf_str(&text));
    bool fixes = c->a->given[OPT_fix];
    for (unsigned i = 0; fixes && i < MAX_ROUNDS && fix_file(c, p, &text, &err); i++) {
        pdl_program_drop(p);
        p = checked(c, pdl_buf_str(&text));
    }
    if (err.kind) cannot_read(c, &err);
    check_policy(c, p);
    check_profiles(c, p);
    report(c, p);
    pdl_program_drop(p);
    pdl_buf_fini(&text);
}

/* --- folders ---------------------------------------------------------------------------------- */

static void leave_folder(checker *c) {
    pdl_session_free(c->session);
    pdl_config_fini(&c->config);
    c->session = NULL;
    c->config = (pdl_check_config){0};
}

/* Opens the session of a folder. pdl.toml and the paths of policies and profiles are relative to
 * the file's folder, so the files of one folder share a session. */
static bool enter_folder(checker *c, pdl_err *err) {
    pdl_str folder = pdl_file_folder(c->file);
    if (c->session && pdl_str_eq(folder, c->folder)) return true;
    leave_folder(c);
    c->folder = folder;
    c->config.arena = pdl_arena_make();
    bool ok = pdl_cli_read_config(c->a, c->file, &c->config, err) &&
              pdl_session_new(
                  &(pdl_session_options){
                      .program = {.file = c->file,
                                  .dir = folder,
                                  .path = c->config.import.p,
                                  .n_path = c->config.import.n},
                      .run.purpose = PDL_FOR_CHECKS,
                      .guards = {.policies = c->a->policies.p, .n_policies = c->a->policies.n},
                  },
                  &c->session, err);
    if (ok) c->models = pdl_session_models(c->session, c->a->given[OPT_check_env]);
    return ok;
}

static bool check_files(checker *c, pdl_err *err) {
    for (size_t i = 0; i < c->a->files.n; i++) {
        c->file = c->a->files.p[i];
        if (!enter_folder(c, err)) return false;
        check_file(c);
    }
    return true;
}

static void add_names(checker *c, pdl_val vars) {
    *pdl_vec_push(&c->names) = PDL_STR("pdl_args"); /* every run has this variable */
    for (size_t i = 0; i < pdl_dict_len(vars); i++)
        if (pdl_is_str(pdl_dict_key_at(vars, i)))
            *pdl_vec_push(&c->names) = pdl_str_get(pdl_dict_key_at(vars, i));
}

/* --- the command ------------------------------------------------------------------------------ */

int pdl_cli_cmd_check(const arguments *a) {
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    checker c = {.a = a, .file = a->files.p[0]};
    if (a->given[OPT_json]) c.report.form = PDL_REPORT_JSON;
    if (a->given[OPT_check_form]) /* the value is one of the choices */
        pdl_report_form_find(a->value[OPT_check_form], &c.report.form);
    pdl_val vars = pdl_absent();
    pdl_err err = {0};
    bool begun = enter_folder(&c, &err) && pdl_cli_read_data(a, &vars, &err);
    if (begun) add_names(&c, vars);
    bool ok = begun && check_files(&c, &err);
    if (begun) {
        pdl_buf rest = PDL_BUF;
        pdl_report_end(&c.report, &rest);
        put(&c, pdl_buf_str(&rest));
        pdl_buf_fini(&rest);
        if (c.fixed) pdl_cli_note("%zu problem%s fixed", c.fixed, PDL_PLURAL(c.fixed));
    }
    if (!ok) c.code = pdl_cli_fail_option(a, &err, c.session);
    pdl_vec_fini(&c.names);
    pdl_python_checker_fini(&c.python);
    pdl_check_library_fini(&c.library);
    leave_folder(&c);
    if (!pdl_is_absent(vars)) pdl_drop(vars);
    return c.code ? c.code : c.failed ? 1 : 0;
}
