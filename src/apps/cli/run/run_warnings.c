/* run_warnings.c -- prints problems of a program before it runs.
 *
 * On a terminal, runs and servers print them before they begin. When standard error is no terminal,
 * it is often a log. A log only gets the errors that the run is certain to meet, and the mistakes
 * with which a run succeeds with a wrong result. --check=warn prints the other problems there, too.
 * The check takes less time than printing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "check/report.h"
#include "cli/cli.h"

#include "base/banned.h"

static bool is_off(const arguments *a) {
    return a->given[OPT_check_run] && pdl_str_is(a->value[OPT_check_run], "off");
}

/* Returns true when standard error is a terminal, or warnings were requested. */
static bool wants_warnings(const arguments *a) {
    return pdl_tty_is(2) ||
           (a->given[OPT_check_run] && pdl_str_is(a->value[OPT_check_run], "warn"));
}

/* Returns true for problems that no message of the run can show. Either a text is where an
 * expression was meant, and the run takes a wrong branch or prints a wrong value, without an error.
 * Or a failing part is tried again without end. */
static bool is_silent_mistake(const pdl_diag *d) {
    static const char *const rules[] = {"literal-condition", "loop-text", "case-text",
                                        "function-text", "retry-type"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(d->code, rules[i]) == 0) return true;
    return false;
}

/* Prints the problems that a user should see. Problems that only --strict shows are left out, and
 * so is `reported`, which another function prints. An error in a part that may never be executed
 * counts as a warning. */
static void print(const pdl_program *checked, const pdl_session *s, pdl_str file,
                  const pdl_diag *reported, bool warnings) {
    pdl_check_report r = {.form = PDL_REPORT_TEXT};
    pdl_buf out = PDL_BUF;
    for (size_t i = 0; i < checked->diags.n; i++) {
        pdl_diag d = checked->diags.p[i];
        if (d.reference_only || &checked->diags.p[i] == reported) continue;
        bool always = is_silent_mistake(&d) || (d.certain && d.severity == PDL_DIAG_ERROR);
        if (!warnings && !always) continue;
        if (!d.certain) d.severity = PDL_DIAG_WARNING;
        pdl_report_add(&r, &d, file, &out);
    }
    if (out.len) pdl_cli_put_stderr(pdl_buf_str(&out), s);
    pdl_buf_fini(&out);
}

void pdl_cli_show_problems(const arguments *a, const pdl_session *s, const pdl_program *p,
                           bool always) {
    if (is_off(a)) return;
    pdl_program *checked = pdl_session_check(s, p);
    /* a run that is certain to fail ends with the first of these errors, and prints that error at
     * its end */
    const pdl_diag *reported =
        checked && !always && !pdl_cli_is_unchecked(a) ? pdl_program_certain_error(checked) : NULL;
    if (checked) print(checked, s, a->files.p[0], reported, always || wants_warnings(a));
    pdl_program_drop(checked);
}

pdl_val pdl_cli_list_problems(const arguments *a, const pdl_session *s, const pdl_program *p) {
    pdl_val list = pdl_list_new(4);
    pdl_program *checked = is_off(a) ? NULL : pdl_session_check(s, p);
    for (size_t i = 0; checked && i < checked->diags.n; i++)
        if (!checked->diags.p[i].reference_only)
            list = pdl_list_push(list, pdl_report_value(&checked->diags.p[i], a->files.p[0], true));
    pdl_program_drop(checked);
    return list;
}

bool pdl_cli_passes(const arguments *a, const pdl_session *s, const pdl_program *p,
                    const pdl_check_inputs *inputs) {
    if (is_off(a)) return true;
    pdl_program *checked = pdl_session_check_with(s, p, p->source->name, inputs);
    bool passes = !checked || !pdl_program_certain_error(checked) || pdl_cli_is_unchecked(a);
    /* scripts read the address of the server from the first line, so the problems come later */
    if (checked) print(checked, s, p->source->name, NULL, !passes || wants_warnings(a));
    pdl_program_drop(checked);
    return passes;
}

bool pdl_cli_read_config(const arguments *a, pdl_str file, pdl_check_config *c, pdl_err *err) {
    if (!pdl_config_read(file, c, err)) return false;
    for (size_t i = 0; i < a->values.n; i++)
        if (a->values.p[i].id == OPT_rule && !pdl_check_config_rules(c, a->values.p[i].value, err))
            return false;
    return true;
}

bool pdl_cli_is_unchecked(const arguments *a) {
    return a->given[OPT_check_run] && !pdl_str_is(a->value[OPT_check_run], "stop");
}
