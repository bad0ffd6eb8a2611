/* call_log.h -- reports on error output when calls of models begin and end: PDL_VERBOSE_ASYNC.
 * Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_CALLS_H
#define PDL_API_CALLS_H

#include "trace/sink.h"

/* Writes to the given sink (borrowed), as error output, in the reference's words; only for answers
 * that do not stream. */
pdl_sink pdl_calls_sink(pdl_sink *to);

#endif
