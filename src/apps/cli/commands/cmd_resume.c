/* cmd_resume.c -- pdl resume continues a durable run. A run, an inference and a search are
 * continued in different ways. This file finds out which of them a name means, and continues it
 * with the recorded options.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/check_runs.h"
#include "cli/cli.h"
#include "cli/json_rows.h"
#include "cli/search_again.h"

#include "base/banned.h"

/* Continues an inference. The program, the variables and the way of weighing are those in its
 * journal. given: this command line; a: the same command line with the options of the journal
 * added. */
static int resume_inference(const arguments *given, const arguments *a, durable_command *l) {
    opt_id other;
    if (given->given[OPT_data] || given->given[OPT_data_file])
        return pdl_cli_refuse(a, "an inference is continued with the variables that it has: give "
                                 "none");
    if (!pdl_cli_infer_refuses(given, &other)) return pdl_cli_infer_resume(a, l);
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b,
                 "--%s is not for an inference, which is continued as it began: only limits, logs, "
                 "prices, --cache, --again and --skip may change",
                 pdl_cli_option_of(other)->name);
    int code = pdl_cli_refuse(a, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return code;
}

/* Continues a run, with the command that is recorded in its journal. */
static int resume_run(const arguments *given, pdl_durable_use use) {
    arguments a = *given;
    pdl_str file = given->files.p[0];
    durable_command l = {0};
    pdl_err err = {0};
    bool ok = pdl_cli_durable_open(&l, &a, use, &err);
    bool infers = ok && pdl_cli_is_inference(pdl_durable_get_facts(l.run));
    int code = !ok      ? pdl_cli_fail(&err)
               : infers ? resume_inference(given, &a, &l)
                        : pdl_cli_run_durable(&a, &l);
    pdl_cli_durable_fini(&l);
    given->files.p[0] = file;
    return code;
}

/* Prints what the resume would do, but does not do it. */
static int check_run(const arguments *a) {
    pdl_forecast f = {0};
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    char *path = NULL;
    if (!pdl_cli_durable_path(a->files.p[0], &path, &err)) return pdl_cli_fail(&err);
    pdl_free(path);
    pdl_cli_forecast(a, false, &f);
    if (a->given[OPT_json]) {
        pdl_cli_open_rows(pdl_dict_new(1), "runs", &out);
        pdl_cli_forecast_json(f.id ? pdl_str_of(f.id) : a->files.p[0], &f, &out);
        pdl_cli_close_rows(&out);
    } else {
        pdl_cli_forecast_text(&f, &out);
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    if (!code) code = pdl_cli_verdict_code(f.verdict);
    pdl_buf_fini(&out);
    pdl_forecast_fini(&f);
    return code;
}

int pdl_cli_cmd_resume(const arguments *a) {
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: ID or FILE");
    if (a->given[OPT_resume_check] || a->given[OPT_dry_run])
        pdl_cli_say_at_interrupt(PDL_CLI_ONLY_READS);
    else
        pdl_cli_say_at_interrupt("it continues with: pdl resume %.*s", PDL_FMT(a->files.p[0]));
    char *search = pdl_cli_search_folder(a->files.p[0], PDL_SEARCH_STATE);
    if (search) return pdl_cli_search_resume(a, search);
    if (a->given[OPT_json] && !a->given[OPT_resume_check])
        return pdl_cli_refuse(a, "--json is for --check");
    if (a->given[OPT_resume_check] && a->given[OPT_dry_run])
        return pdl_cli_refuse(a, "--check and --dry-run exclude each other");
    if (a->given[OPT_resume_check]) return check_run(a);
    return resume_run(a, a->given[OPT_dry_run] ? PDL_DURABLE_CHECK : PDL_DURABLE_CONTINUE);
}
