/* check_runs.h -- verdicts about runs that wait, for the commands runs and resume. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_CHECK_RUNS_H
#define PDL_CLI_CHECK_RUNS_H

#include "cli/cli.h"
#include "journal/forecast.h"
#include "journal/runs.h"

/* Makes the forecast for the run that the command line names. *out is empty before the call. With
 * quiet, no notes are printed to standard error. This call may change the working folder. */
void pdl_cli_forecast(const arguments *given, bool quiet, pdl_forecast *out);
int pdl_cli_verdict_code(pdl_verdict v); /* Returns the exit code for a verdict. */
void pdl_cli_forecast_json(pdl_str id, const pdl_forecast *f, pdl_buf *out);
void pdl_cli_forecast_text(const pdl_forecast *f, pdl_buf *out);
/* Prints the verdicts of all runs that were made from the program of --check and have not ended.
 * Returns the exit code, which is 1 after an error. */
int pdl_cli_check_runs(const arguments *a,
                       void (*unreadable)(void *user, pdl_str path, const char *why), pdl_err *err);

#endif
