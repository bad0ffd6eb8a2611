/* cmd_sandbox.c -- pdl sandbox: shows what this machine can do, or tries a command in a profile. A
 * user can see what a profile permits before a program depends on it. The command replaces this
 * process, so signals and the exit status are those of the command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "io/file.h"
#include "sandbox/sandbox.h"

#include "base/banned.h"

static const char *env_of(void *user, const char *name) {
    (void)user;
    return getenv(name);
}

static int check(const char *self, bool json) {
    pdl_buf b = PDL_BUF;
    pdl_sandbox_check(self, env_of, NULL, json, &b);
    int code = pdl_cli_put_stdout(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return code;
}

static int try_command(const arguments *a, const char *self) {
    pdl_sandbox *s = NULL;
    pdl_buf note = PDL_BUF;
    pdl_err err = {0};
    pdl_sandbox_options o = {
        .profile = a->value[OPT_sandbox],
        .given = pdl_absent(),
        .process_is_enough =
            a->given[OPT_sandbox_min] && pdl_str_is(a->value[OPT_sandbox_min], "process"),
        .env = env_of,
        .helper = self,
    };
    if (!pdl_sandbox_new(&o, &s, &note, &err)) {
        int code = pdl_err_exit_code(&err);
        pdl_cli_print_option_error(a, &err, NULL);
        pdl_err_fini(&err);
        pdl_buf_fini(&note);
        return code;
    }
    if (note.len) pdl_cli_note("pdl: %.*s", PDL_FMT(pdl_buf_str(&note)));
    pdl_buf_fini(&note);
    const char **words = PDL_NEW_N(const char *, a->files.n + 1);
    for (size_t i = 0; i < a->files.n; i++) words[i] = a->files.p[i].p;
    const char **argv = pdl_sandbox_argv(s, words);
    const char **wrapped = pdl_sandbox_wrap_env(pdl_sandbox_env(s));
    size_t n = 0;
    while (wrapped[n]) n++;
    const char **env = PDL_NEW_N(const char *, n + 2);
    for (size_t i = 0; i < n; i++) env[i] = wrapped[i];
    env[n] = PDL_SANDBOX_AS_SHELL "=1";
    env[n + 1] = NULL;
    execve(argv[0], (char **)(void *)argv, (char **)(void *)env);
    perror("pdl");
    return 1;
}

int pdl_cli_cmd_sandbox(const arguments *a) {
    pdl_buf self = PDL_BUF;
    bool known = pdl_file_put_self(&self);
    int code = a->given[OPT_show_machine] ? check(pdl_buf_z(&self), a->given[OPT_json])
               : a->files.n               ? try_command(a, known ? pdl_buf_z(&self) : NULL)
                            : pdl_cli_refuse(a, "the following arguments are required: COMMAND");
    pdl_buf_fini(&self);
    return code;
}
