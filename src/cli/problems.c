/* problems.c -- what a check finds in a program that is about to run, for a person who watches.
 *
 * On a terminal a run shows it before it begins; elsewhere standard error is often a log, and only
 * --check=warn asks for it. The check takes less time than drawing the lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/report.h"
#include "cli/cli.h"

#include "base/banned.h"

void pdl_cli_show_problems(const arguments *a, const pdl_session *s, const pdl_program *p,
                           bool always) {
    bool asked = a->given[OPT_check_run];
    bool warn = asked && pdl_str_is(a->value[OPT_check_run], "warn");
    bool off = asked && pdl_str_is(a->value[OPT_check_run], "off");
    if (off || (!warn && !always && !pdl_tty_is(2))) return;
    pdl_program *checked = pdl_session_check(s, p);
    pdl_check_report r = {.form = PDL_REPORT_TEXT};
    pdl_buf out = PDL_BUF;
    for (size_t i = 0; checked && i < checked->diags.n; i++)
        if (!checked->diags.p[i].reference_only)
            pdl_report_add(&r, &checked->diags.p[i], a->files.p[0], &out);
    if (out.len) pdl_cli_put_stderr(pdl_buf_str(&out), s);
    pdl_buf_fini(&out);
    pdl_program_drop(checked);
}

bool pdl_cli_is_unchecked(const arguments *a) {
    return a->given[OPT_check_run] && !pdl_str_is(a->value[OPT_check_run], "stop");
}
