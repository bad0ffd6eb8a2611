/* show_live.h -- pdl --view: shows a run in a browser while the run continues, and after its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_SHOW_LIVE_H
#define PDL_CLI_SHOW_LIVE_H

#include "api/session.h"
#include "viewer/viewer.h"

typedef struct show_live {
    pdl_session **session; /* borrowed; *session is NULL until the session is made */
    pdl_sink sinks[2];     /* sinks of the terminal, and of the page */
    pdl_live *live;
    pdl_viewer *viewer;
    pdl_str name, program; /* borrowed */
    pdl_view_run *run;     /* the shown run; set after the end */
    bool stopped;
} show_live;

/* Sets the sinks of the run: the sink in o, which prints on the terminal, and the sink of the
 * page. */
void pdl_cli_show_live_init(show_live *s, pdl_session **session, pdl_session_report_options *o);
/* Starts the server before the run, and prints the address on standard error. name, program and
 * frames (of --view-frame) are borrowed until fini. Error: io. */
PDL_MUST bool pdl_cli_show_live_start(show_live *s, pdl_str name, pdl_str program, pdl_str frames,
                                      pdl_err *err);
/* Notifies the pages that the run was interrupted. */
void pdl_cli_show_live_leave(show_live *s);
/* Shows the trace after the run, until the user presses Ctrl-C. */
void pdl_cli_show_live_end(show_live *s);
void pdl_cli_show_live_fini(show_live *s); /* Releases s, which may not have been started. */

#endif
