/* calls.h -- tells on error output when calls of models begin and end: PDL_VERBOSE_ASYNC. Inside of
 * api only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_CALLS_H
#define PDL_API_CALLS_H

#include "trace/sink.h"

/* Writes to the sink it is given (borrowed), as the program's own error output, in the words of the
 * reference; of answers that come whole only. */
pdl_sink pdl_calls_sink(pdl_sink *to);

#endif
