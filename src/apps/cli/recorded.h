/* recorded.h -- turns a recording of --record into a durable run, which can be run again from the
 * page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_RECORDED_H
#define PDL_CLI_RECORDED_H

#include "cli/cli.h"

typedef struct recorded {
    char *folder, *journal; /* owned, or NULL */
    pdl_val policies;       /* the policies in the recording, as in pdl_journal_program */
} recorded;

/* Makes the journal of a durable run in a private folder. The program of that run is `text`, named
 * as `file`, and its answers are those of the recording. pdl_cli_recorded_fini releases *out and
 * removes the folder, also after an error. Errors: io, replay, those of the program. */
PDL_MUST bool pdl_cli_recorded_open(const arguments *a, pdl_str recording, pdl_str file,
                                    pdl_str text, recorded *out, pdl_err *err);
void pdl_cli_recorded_fini(recorded *r); /* releases r, which may be all-zero */

#endif
