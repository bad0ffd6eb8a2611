/* error_status.h -- reports the failure of a run to a client, in the form of the client's request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_ERROR_STATUS_H
#define PDL_SERVE_ERROR_STATUS_H

#include "serve/form.h"

/* Ends the exchange with an error. The error is its answer, or the last piece when pieces were sent
 * already. */
void pdl_serve_failure_report(work *w, const pdl_err *why);

#endif
