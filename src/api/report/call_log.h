/* call_log.h -- reports on error output when model calls begin and end: PDL_VERBOSE_ASYNC. Private
 * to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_CALL_LOG_H
#define PDL_API_CALL_LOG_H

#include "trace/sink.h"

/* Returns a sink that writes to the given one (borrowed). The lines are error output and have the
 * reference's wording. Only calls whose answers do not stream are reported. */
pdl_sink pdl_calls_sink(pdl_sink *to);

#endif
