/* response.h -- the form of a response: /v1/responses. Private to response*.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_RESPONSE_H
#define PDL_SERVE_RESPONSE_H

#include "serve/form.h"

/* response_input.c: the request as a chat. */
bool pdl_serve_response_read(pdl_serve *s, pdl_exchange *x, pdl_vref body, pdl_val *asked);

#endif
