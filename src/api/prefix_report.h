/* prefix_report.h -- shows why prompt caches miss. For each call of a model, the report has the
 * earlier call with the longest shared beginning and the first difference between the two calls. It
 * also names the value of the program that made the difference (spec know 1).
 *
 * The report is made for a run that is replayed or explained. An ordinary run computes only how
 * much of each request an earlier call shares; --verbose prints that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_PREFIX_REPORT_H
#define PDL_API_PREFIX_REPORT_H

#include "effect/effect.h"
#include "model/prices.h"
#include "trace/sink.h"

typedef struct pdl_prefix pdl_prefix;

/* Makes an empty report. With `causes`, the texts that blocks make are kept, because
 * pdl_prefix_report will be asked for the causes of differences. */
pdl_prefix *pdl_prefix_new(bool causes);
void pdl_prefix_free(pdl_prefix *p); /* p may be NULL */

/* Returns the sink for the next run. model is a world of pdl_model_world_new, which writes the
 * requests. model and prices are borrowed until pdl_prefix_report; prices may be NULL. */
pdl_sink pdl_prefix_sink(pdl_prefix *p, pdl_world *model, const pdl_prices *prices);

/* Returns how many percent of a call's request an earlier call shares at the beginning; -1 when no
 * earlier call begins in the same way. */
int pdl_prefix_share(const pdl_prefix *p, uint32_t effect);

/* Returns {calls, total}, the report of the last run (docs/manual/calls.md). Called before the
 * session of that run is freed. Calls of earlier runs are not reported, but later calls may share a
 * beginning with them. Owned. */
pdl_val pdl_prefix_report(pdl_prefix *p);

#endif
