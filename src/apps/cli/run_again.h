/* run_again.h -- serves pdl view ID --run PROGRAM: runs the user's program again, as it was changed
 * in the page, with the answers of a durable run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_RUN_AGAIN_H
#define PDL_CLI_RUN_AGAIN_H

#include "cli/cli.h"
#include "viewer/viewer.h"

typedef struct run_again run_again;

/* The run that is shown: the journal of a durable run, and its program. All is borrowed. */
typedef struct run_again_source {
    pdl_str journal, file, text;
    /* the policies of the recording from which the durable run was made; absent when it was not */
    pdl_vref recorded;
} run_again_source;

/* Opens the run that is shown. Enters the folder of the run. Errors: usage, io, those of the
 * journal. */
PDL_MUST bool pdl_cli_run_again_open(const arguments *a, const run_again_source *from,
                                     run_again **out, pdl_err *err);
/* Returns the loop that the page's server has to use. */
pdl_loop *pdl_cli_run_again_loop(run_again *r);
/* Fills in the members of the page server's options by which runs are started. */
void pdl_cli_run_again_offer(run_again *r, pdl_viewer_options *o);
/* Sets the server; borrowed until close. */
void pdl_cli_run_again_serve(run_again *r, pdl_viewer *v);
/* Lets the run continue, if one was started. Sets *ready when it can continue without waiting for
 * the loop. Returns true when the run has just ended; *run is then the view of it (owned; NULL when
 * it cannot be shown). The caller reports the end to the server, then calls
 * pdl_cli_run_again_over. */
bool pdl_cli_run_again_turn(run_again *r, bool *ready, pdl_view_run **run);
void pdl_cli_run_again_over(run_again *r);
bool pdl_cli_run_again_is_running(const run_again *r);
/* Called after the server of the page was freed; r may be NULL. */
void pdl_cli_run_again_close(run_again *r);

#endif
