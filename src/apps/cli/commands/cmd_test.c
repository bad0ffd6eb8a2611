/* cmd_test.c -- pdl test [FILE or folder]...: runs the tests that are beside programs. It finds the
 * files of tests, runs them by apps/eval/tests.c, and prints one line for each test. The exit code
 * is 1 when a test fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/json_rows.h"
#include "eval/junit.h"
#include "eval/tests.h"
#include "io/file.h"

#include "base/banned.h"

typedef struct tester {
    size_t passed, failed, files;
    bool broken; /* some file of tests has an error */
    bool json;
    pdl_buf list; /* with --json: the tests, as a list of JSON */
    pdl_junit junit;
    pdl_session_options session; /* the options of the session, from the command line */
} tester;

static void put_json(tester *t, pdl_str program, pdl_str name, pdl_str problem) {
    pdl_buf_put(&t->list, pdl_str_of(t->list.len ? ",\n  " : "\n  "));
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "program", pdl_text(program));
    d = pdl_dict_putz(d, "name", pdl_text(name));
    d = pdl_dict_putz(d, "passed", pdl_bool(!problem.n));
    d = pdl_dict_putz(d, "problem", problem.n ? pdl_text(problem) : pdl_null());
    pdl_cli_put_json(d, &t->list);
}

static void put_line(pdl_str program, pdl_str name, pdl_str problem) {
    pdl_buf line = PDL_BUF;
    pdl_buf_putf(&line, "%s %.*s: %.*s", problem.n ? "FAIL" : "ok  ", PDL_FMT(program),
                 PDL_FMT(name));
    if (problem.n) pdl_buf_putf(&line, ": %.*s", PDL_FMT(problem));
    for (size_t i = 0; i < line.len; i++)
        if (line.p[i] == '\n') line.p[i] = ' '; /* each test is reported on one line */
    pdl_buf_putc(&line, '\n');
    (void)pdl_cli_put_stdout(pdl_buf_str(&line));
    pdl_buf_fini(&line);
}

static void on_report(void *user, pdl_str program, pdl_str name, pdl_str problem) {
    tester *t = user;
    if (t->json)
        put_json(t, program, name, problem);
    else
        put_line(program, name, problem);
    pdl_junit_add(&t->junit, program, name, problem);
    t->passed += problem.n == 0;
    t->failed += problem.n > 0;
}

static bool run_file(void *user, pdl_str file) {
    tester *t = user;
    pdl_err err = {0};
    if (pdl_file_kind_named(file) == PDL_FILE_NONE) {
        pdl_cli_note("pdl: error: there is no file %.*s", PDL_FMT(file));
        t->broken = true;
        return true;
    }
    t->files++;
    if (!pdl_tests_run(file, &t->session, on_report, t, &err)) {
        pdl_cli_print_error(&err, NULL);
        t->broken = true;
    }
    pdl_err_fini(&err);
    return !*pdl_cli_signal_received();
}

/* Runs the tests for a name: NAME.pdl means the tests beside that program. */
static void run_named(tester *t, pdl_str name) {
    pdl_err err = {0};
    pdl_buf file = PDL_BUF;
    pdl_file_kind kind = pdl_file_kind_named(name);
    if (kind == PDL_FILE_DIR) {
        if (!pdl_tests_find(name, run_file, t, &err)) {
            pdl_cli_print_error(&err, NULL);
            t->broken = true;
        }
    } else if (pdl_str_ends(name, PDL_STR(".pdl")) && kind != PDL_FILE_NONE) {
        pdl_buf_putf(&file, "%.*s.test.yaml", (int)(name.n - 4), name.p);
        (void)run_file(t, pdl_buf_str(&file));
    } else if (pdl_str_ends(name, PDL_STR(".test.yaml"))) {
        (void)run_file(t, name);
    } else if (kind == PDL_FILE_NONE) {
        pdl_cli_note("pdl: error: there is no file %.*s", PDL_FMT(name));
        t->broken = true;
    } else {
        pdl_cli_note("pdl: error: %.*s: expected NAME.test.yaml, NAME.pdl or a folder",
                     PDL_FMT(name));
        t->broken = true;
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&file);
}

/* Checks whether the file can be written. Called before the first test, so that the user does not
 * learn of the problem only after the last one. */
static bool can_write_junit(const arguments *a) {
    pdl_err err = {0};
    if (!a->given[OPT_junit]) return true;
    char *path = pdl_str_dup(a->value[OPT_junit]);
    bool ok = pdl_file_check_writable(path, &err);
    if (!ok) pdl_cli_print_option_error(a, &err, NULL);
    pdl_err_fini(&err);
    pdl_free(path);
    return ok;
}

static int write_junit(const arguments *a, const tester *t) {
    pdl_err err = {0};
    if (!a->given[OPT_junit]) return 0;
    if (pdl_junit_write(&t->junit, PDL_STR("pdl test"), a->value[OPT_junit], &err)) return 0;
    return pdl_cli_fail_option(a, &err, NULL);
}

static int put_end(const tester *t) {
    pdl_buf out = PDL_BUF;
    if (t->json) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(3), "passed", pdl_int((int64_t)t->passed));
        pdl_cli_open_rows(pdl_dict_putz(d, "failed", pdl_int((int64_t)t->failed)), "tests", &out);
        pdl_buf_put(&out, pdl_buf_str(&t->list));
        pdl_cli_close_rows(&out);
    } else {
        pdl_buf_putf(&out, "%zu passed, %zu failed\n", t->passed, t->failed);
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

static bool read_variables(const arguments *a, pdl_val *out) {
    pdl_err err = {0};
    bool ok = pdl_cli_read_data(a, out, &err);
    if (!ok) pdl_cli_print_option_error(a, &err, NULL);
    pdl_err_fini(&err);
    return ok;
}

/* Runs all tests and reports them. Returns the exit status. */
static int run_tests(tester *t, const arguments *a) {
    if (!a->files.n) run_named(t, PDL_STR("."));
    for (size_t i = 0; i < a->files.n; i++) run_named(t, a->files.p[i]);
    int code = write_junit(a, t);
    if (!t->files && !t->broken) pdl_cli_note("pdl: error: there are no files NAME.test.yaml");
    if (t->json || t->files) {
        int unwritten = put_end(t);
        if (!code) code = unwritten;
    }
    if (*pdl_cli_signal_received()) return pdl_signal_exit_status(*pdl_cli_signal_received());
    if (t->broken || !t->files || code == 2) return 2;
    return t->failed ? 1 : code;
}

int pdl_cli_cmd_test(const arguments *a) {
    tester t = {.json = a->given[OPT_json], .list = PDL_BUF};
    shared_options limits = {0};
    pdl_val variables = pdl_absent();
    int code = pdl_cli_shared_options_read(a, &limits, &t.session);
    if (code) return code;
    bool ok = read_variables(a, &variables);
    t.session.program.variables = variables;
    code = ok && pdl_cli_can_open(a, &t.session) && can_write_junit(a) ? run_tests(&t, a) : 2;
    pdl_buf_fini(&t.list);
    pdl_junit_fini(&t.junit);
    pdl_cli_shared_options_fini(&limits);
    if (!pdl_is_absent(variables)) pdl_drop(variables);
    return code;
}
