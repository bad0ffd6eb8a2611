/* run_surroundings.h -- what a command sets up to execute a durable run again without effects, in
 * order to show it. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_RUN_SURROUNDINGS_H
#define PDL_CLI_RUN_SURROUNDINGS_H

#include "api/run_guards.h"
#include "api/session.h"
#include "journal/durable.h"

typedef struct run_surroundings {
    pdl_run_guards guards; /* policies of the run */
    int here;              /* the working folder of the command; -1 when it was not left */
} run_surroundings;

/* Reads the policies of the run, and enters the folder in which the run was started: the names of
 * its program, files and policies are relative to that folder. When the folder does not exist, the
 * working folder stays. Adds the policies to o, which borrows *out. pdl_cli_leave_run follows in
 * every case. */
PDL_MUST bool pdl_cli_enter_run(const pdl_durable_facts *f, run_surroundings *out,
                                pdl_session_options *o, pdl_err *err);
/* Changes back to the working folder of the command. */
void pdl_cli_leave_run(run_surroundings *r);

#endif
