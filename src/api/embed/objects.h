/* objects.h -- functions and objects of the host program as values: what they are, and how an
 * operation on one becomes a request to the host. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_OBJECTS_H
#define PDL_API_OBJECTS_H

#include "effect/effect.h"
#include "pdl.h"

/* Is this an operation of a program on something of the host program? */
bool pdl_objects_own(const pdl_effect *e);

/* The content of its request: {args, kwargs} for a function, {op, ...} for an object. Owned.
 * Returns false with err set when the operation makes no sense. */
PDL_MUST bool pdl_objects_data(const pdl_effect *e, pdl_val *out, pdl_err *err);

/* Hands r to the host program, which answers it now or later. e may be freed when this returns. */
void pdl_objects_ask(const pdl_effect *e, pdl_request *r);

/* After a look-up that found nothing: tries the item instead of the attribute, or the other way
 * round. Returns false when there is no such look-up. */
bool pdl_objects_look_again(const pdl_effect *e, pdl_request *r);

/* The answer "not found" to a look-up in e. Owned. */
pdl_val pdl_objects_missing(const pdl_effect *e);

/* Of a value that is something of the host program: is it a function? */
bool pdl_objects_is_function(pdl_vref v);

/* Returns true when v holds an object of the host program. */
bool pdl_objects_in(pdl_vref v);

#endif
