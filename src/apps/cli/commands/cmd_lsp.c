/* cmd_lsp.c -- pdl lsp: the language server. It gives the server what only a command has: the
 * environment, the prices, the manual, a Python that compiles code, and the last run of a program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/last_run.h"
#include "cli/run/python_check.h"
#include "io/file.h"
#include "lsp/lsp.h"

#include "base/banned.h"

static void redact(void *user, pdl_str text, pdl_buf *out) { pdl_session_redact(user, text, out); }

/* Returns the folder of the manual, owned. The manual is beside the library of a build tree, of a
 * Python extension or of an installation. Returns NULL when there is no manual. */
static char *find_manual(const pdl_session *s) {
    static const char *const places[] = {"docs/manual", "../doc/libpdl/manual"};
    size_t n;
    const pdl_str *path = pdl_session_path(s, &n);
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
            pdl_buf_clear(&b);
            pdl_buf_putf(&b, "%.*s/%s/rules.md", PDL_FMT(path[i]), places[k]);
            if (b.p[0] != '/' || pdl_file_kind_of(pdl_buf_z(&b)) != PDL_FILE_REGULAR) continue;
            pdl_buf_cut(&b, b.len - (sizeof "/rules.md" - 1));
            char *found = pdl_str_dup(pdl_buf_str(&b));
            pdl_buf_fini(&b);
            return found;
        }
    pdl_buf_fini(&b);
    return NULL;
}

int pdl_cli_cmd_lsp(const arguments *a) {
    pdl_session *s = NULL;
    pdl_err err = {0};
    if (a->files.n) return pdl_cli_refuse(a, "pdl lsp takes no operands");
    pdl_session_options text = {.program.file = PDL_STR(""), .run.purpose = PDL_FOR_TEXT};
    if (!pdl_session_new(&text, &s, &err)) {
        pdl_cli_print_error(&err, NULL);
        int code = pdl_err_exit_code(&err);
        pdl_err_fini(&err);
        return code;
    }
    pdl_lsp_options o = {.redact = redact, .redact_user = s};
    char *prices = a->given[OPT_prices] ? pdl_str_dup(a->value[OPT_prices]) : NULL;
    last_run last = {0};
    o.last_run = pdl_cli_last_run;
    o.last_run_user = &last;
    o.prices = prices ? prices : pdl_session_env(s, "PDL_PRICES");
    o.path = pdl_session_path(s, &o.n_path);
    const pdl_check_models models = pdl_session_models(s, a->given[OPT_check_env]);
    pdl_python_checker python = {0};
    char *manual = find_manual(s);
    o.manual = manual;
    o.models = &models;
    o.python = pdl_python_check;
    o.python_user = &python;
    o.library = pdl_session_library_text();
    int code = pdl_lsp_serve(&o);
    pdl_python_checker_fini(&python);
    pdl_cli_last_run_fini(&last);
    pdl_session_free(s);
    pdl_free(manual);
    pdl_free(prices);
    return code;
}
