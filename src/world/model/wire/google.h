/* google.h -- credentials of Google Cloud: the key of a service account, which signs a request for
 * a token, or the refresh token of a user. Private to model (spec providers 13.3).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_GOOGLE_H
#define PDL_MODEL_GOOGLE_H

#include "model/wire/dialect.h"

/* Finds the credentials. They are in the parameter vertex_credentials (an object, its JSON text, or
 * a file), or else in the file of GOOGLE_APPLICATION_CREDENTIALS. Returns an owned dict; absent
 * when there are no credentials. Error: config.
 */
PDL_MUST bool pdl_google_credentials(const pdl_ask *a, pdl_val *out, pdl_err *err);

/* Fills token_url, token_request and token_id of s for these credentials. Errors: auth (incomplete,
 * unknown type, no key), config (address). */
PDL_MUST bool pdl_google_exchange(const pdl_sign *s, pdl_vref credentials, pdl_err *err);

#endif
