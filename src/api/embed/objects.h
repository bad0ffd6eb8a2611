/* objects.h -- turns functions and objects of the host program into values, and operations on these
 * values into requests to the host program. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_OBJECTS_H
#define PDL_API_OBJECTS_H

#include "effect/effect.h"
#include "pdl.h"

/* Returns true for an operation on a function or object of the host program. */
bool pdl_objects_own(const pdl_effect *e);

/* Makes the data of the request for such an operation: {args, kwargs} for a function, {op, ...} for
 * an object. Owned. Returns false with err set when the operation is impossible. */
PDL_MUST bool pdl_objects_data(const pdl_effect *e, pdl_val *out, pdl_err *err);

/* Passes r to the host program, which answers it now or later. e may be freed when this returns. */
void pdl_objects_ask(const pdl_effect *e, pdl_request *r);

/* Called when a look-up found nothing: asks for an item instead of the attribute, or for an
 * attribute instead of the item. Returns false when the object has no function for that. */
bool pdl_objects_look_again(const pdl_effect *e, pdl_request *r);

/* Returns the answer "not found" to the look-up that e requests. Owned. */
pdl_val pdl_objects_missing(const pdl_effect *e);

/* Returns true when v is a function of the host program. */
bool pdl_objects_is_function(pdl_vref v);

/* Returns true when v is or contains an object or a function of the host program. */
bool pdl_objects_in(pdl_vref v);

#endif
