/* failure.h -- how the failure of a run is reported to a client.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_FAILURE_H
#define PDL_SERVE_FAILURE_H

#include "serve/form.h"

/* Ends the exchange with an answer, or with a piece when pieces were sent already. */
void pdl_serve_failure_report(work *w, const pdl_err *why);

#endif
