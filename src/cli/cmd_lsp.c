/* cmd_lsp.c -- pdl lsp: the language server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/python.h"
#include "lsp/lsp.h"

#include "base/banned.h"

static void redact(void *user, pdl_str text, pdl_buf *out) { pdl_session_redact(user, text, out); }

int pdl_cli_cmd_lsp(const arguments *a) {
    pdl_session *s = NULL;
    pdl_err err = {0};
    if (a->files.n) return pdl_cli_refuse(a, "pdl lsp takes no operands");
    if (!pdl_session_new(&(pdl_session_options){.file = PDL_STR("")}, &s, &err)) {
        pdl_cli_print_error(&err, NULL);
        int code = pdl_err_exit_code(&err);
        pdl_err_fini(&err);
        return code;
    }
    pdl_lsp_options o = {.redact = redact, .redact_user = s};
    char *prices = a->given[OPT_prices] ? pdl_str_dup(a->value[OPT_prices]) : NULL;
    o.prices = prices ? prices : pdl_session_env(s, "PDL_PRICES");
    o.path = pdl_session_path(s, &o.n_path);
    const pdl_check_models models = pdl_session_models(s, false);
    pdl_python_checker python = {0};
    o.models = &models;
    o.python = pdl_python_check;
    o.python_user = &python;
    int code = pdl_lsp_serve(&o);
    pdl_python_checker_fini(&python);
    pdl_session_free(s);
    pdl_free(prices);
    return code;
}
