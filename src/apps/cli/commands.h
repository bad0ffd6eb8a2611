/* commands.h -- the functions of the commands. Each command has one function, which returns the
 * exit code. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_COMMANDS_H
#define PDL_CLI_COMMANDS_H

#include "cli/options.h"

int pdl_cli_cmd_run(const arguments *a);
int pdl_cli_cmd_check(const arguments *a);
int pdl_cli_cmd_pack(const arguments *a);
int pdl_cli_cmd_dump(const arguments *a);
int pdl_cli_cmd_fmt(const arguments *a);
int pdl_cli_cmd_explain(const arguments *a);
int pdl_cli_cmd_cache(const arguments *a);
int pdl_cli_cmd_resume(const arguments *a);
int pdl_cli_cmd_runs(const arguments *a);
int pdl_cli_cmd_answer(const arguments *a);
int pdl_cli_cmd_trace(const arguments *a);
int pdl_cli_cmd_policy(const arguments *a);
int pdl_cli_cmd_sandbox(const arguments *a);
int pdl_cli_cmd_serve(const arguments *a);
int pdl_cli_cmd_view(const arguments *a);
int pdl_cli_cmd_new(const arguments *a);
int pdl_cli_cmd_batch(const arguments *a);
int pdl_cli_cmd_doctor(const arguments *a);
int pdl_cli_cmd_test(const arguments *a);
int pdl_cli_cmd_infer(const arguments *a);
int pdl_cli_cmd_eval(const arguments *a);
int pdl_cli_cmd_optimize(const arguments *a);
int pdl_cli_cmd_repl(const arguments *a);
int pdl_cli_cmd_mock(const arguments *a);
int pdl_cli_cmd_lsp(const arguments *a);
int pdl_cli_cmd_dap(const arguments *a);
int pdl_cli_cmd_schema(const arguments *a);
int pdl_cli_cmd_builtins(const arguments *a);
int pdl_cli_cmd_docs(const arguments *a);
/* cmd_docs.c. Shows the section of the manual that fits a word best. *code gets the exit status.
 * Returns false when no section has the word. */
bool pdl_cli_docs_show(pdl_str word, int *code);
/* Reports that the manual does not show a message, and lists the sections that have the most of its
 * words. Returns the exit status. */
int pdl_cli_docs_nearest(pdl_str message);
int pdl_cli_cmd_help(const arguments *a);
int pdl_cli_cmd_version(const arguments *a);
/* the help does not show commands whose names begin with _, such as __man and __complete */
int pdl_cli_cmd_man(const arguments *a);
int pdl_cli_cmd_complete(const arguments *a);

#endif
