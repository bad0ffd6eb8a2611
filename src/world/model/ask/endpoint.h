/* endpoint.h -- appends the path of a service to a base address. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_ENDPOINT_H
#define PDL_MODEL_ENDPOINT_H

#include "base/buf.h"

/* Appends a path such as "/v1/messages" to the base in `url`. Many people write the base with the
 * path, or with its first part when that is /v1 or /api; this part is not written twice. */
void pdl_endpoint_add(pdl_buf *url, const char *path);

/* Returns the length of the base without its query and fragment. */
size_t pdl_endpoint_base(pdl_str base);
/* Appends the query that the base has, after whatever the service put there. A fragment is not
 * sent. */
void pdl_endpoint_query(pdl_buf *url, pdl_str base);

#endif
