/* each_run.h -- code shared by the commands that run a program many times: batch, eval, infer and
 * optimize. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_EACH_RUN_H
#define PDL_CLI_EACH_RUN_H

#include "cli/cli.h"

typedef struct each_run {
    const arguments *a;
    pdl_session_options *session; /* the options of each run; they borrow the other members */
    shared_options limits;
    pdl_check_config config;
    /* limits all runs together, so `session` has no limits; NULL means no limits */
    const double *budget;
    pdl_val variables; /* absent until they are read */
    /* the option that gave the variables, for messages; static */
    const char *giver;
} each_run;

/* Reads the options that all runs have. Returns 0, or the exit code of a wrong command line; the
 * caller then has nothing to release. */
int pdl_cli_each_begin(each_run *m, const arguments *a, pdl_session_options *session);
/* Reads the variables of the command line, and the configuration beside the program. */
PDL_MUST bool pdl_cli_each_read(each_run *m, pdl_str program, pdl_err *err);
void pdl_cli_each_end(each_run *m);
/* Returns the exit code of an error: 2 when the command line or a file that it names is wrong. */
int pdl_cli_each_code(const pdl_err *err);

#endif
