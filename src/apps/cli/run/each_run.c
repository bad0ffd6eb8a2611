/* each_run.c -- begins and ends a command that runs a program many times; see each_run.h. The
 * limits of such a command apply to all runs together, so the budget is taken out of the options of
 * the single run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/each_run.h"

#include "base/banned.h"

int pdl_cli_each_begin(each_run *m, const arguments *a, pdl_session_options *session) {
    *m = (each_run){.a = a, .session = session, .variables = pdl_absent()};
    int code = pdl_cli_shared_options_read(a, &m->limits, session);
    if (code) return code;
    m->giver = pdl_cli_data_giver(a);
    m->budget = session->run.budget;
    session->run.budget = NULL;
    m->config.arena = pdl_arena_make();
    return 0;
}

bool pdl_cli_each_read(each_run *m, pdl_str program, pdl_err *err) {
    bool ok =
        pdl_cli_read_data(m->a, &m->variables, err) && pdl_config_read(program, &m->config, err);
    pdl_config_use(&m->config, m->session);
    return ok;
}

void pdl_cli_each_end(each_run *m) {
    pdl_config_fini(&m->config);
    if (!pdl_is_absent(m->variables)) pdl_drop(m->variables);
    pdl_cli_shared_options_fini(&m->limits);
}

int pdl_cli_each_code(const pdl_err *err) {
    return err->kind == PDL_E_usage ? 2 : pdl_err_exit_code(err);
}
