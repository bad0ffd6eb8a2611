/* prefix_report.h -- reports how long the beginnings are that model calls have in common, for the
 * commands trace and explain. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_PREFIX_REPORT_H
#define PDL_CLI_PREFIX_REPORT_H

#include "api/prefix_report.h"
#include "cli/cli.h"

/* Appends the report of pdl_prefix_report as text. */
void pdl_cli_put_prefixes(pdl_vref report, pdl_buf *out);
/* Replays a recording, or the journal of a durable run, and replaces *out by the report about its
 * calls. */
PDL_MUST bool pdl_cli_prefix_report(const arguments *a, pdl_str name, pdl_prefix *p, pdl_val *out,
                                    pdl_err *err);
/* Executes pdl trace --prefix RUN [OTHER]. Returns the exit code. */
int pdl_cli_trace_prefix(const arguments *a);

#endif
