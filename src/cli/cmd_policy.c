/* cmd_policy.c -- pdl policy ACTION: show a built-in policy, check a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/policy.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "io/file.h"
#include "policy/policy.h"

#include "base/banned.h"

static int failed(pdl_err *err, const pdl_session *s) {
    int code = pdl_err_exit_code(err);
    pdl_cli_print_error(err, s);
    pdl_err_fini(err);
    return code;
}

static int show(const pdl_session *s, pdl_str name) {
    pdl_buf file = PDL_BUF, text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    size_t n;
    const pdl_str *path = pdl_session_path(s, &n);
    int code = pdl_policy_built_in(path, n, name, &file, &text, &err)
                   ? pdl_cli_put_stdout(pdl_buf_str(&text))
                   : failed(&err, s);
    pdl_buf_fini(&text);
    pdl_buf_fini(&file);
    return code;
}

static int check(const pdl_session *s, pdl_str file) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_policies *all = pdl_policies_new();
    pdl_err err = {0};
    char *path = pdl_str_dup(file);
    bool ok = pdl_file_read(path, &text, &err) &&
              pdl_policies_add(all, file, pdl_buf_str(&text), false, &err);
    int code = ok ? 0 : failed(&err, s);
    pdl_free(path);
    pdl_policies_free(all);
    pdl_buf_fini(&text);
    return code;
}

int pdl_cli_cmd_policy(const arguments *a) {
    if (a->files.n < 2)
        return pdl_cli_refuse(a, "the following arguments are required: ACTION NAME");
    pdl_str action = a->files.p[0], name = a->files.p[1];
    pdl_session *s = NULL;
    pdl_err err = {0};
    bool shows = pdl_str_is(action, "show");
    if (!shows && !pdl_str_is(action, "check"))
        return pdl_cli_refuse(a, "the action should be show or check");
    if (!pdl_session_new(&(pdl_session_options){.file = name}, &s, &err)) return failed(&err, NULL);
    int code = shows ? show(s, name) : check(s, name);
    pdl_session_free(s);
    return code;
}
