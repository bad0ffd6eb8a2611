/* template_objects.h -- makes `namespace`, `cycler` and `joiner`, the objects of templates that
 * have state. Private to native.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_NATIVE_TEMPLATE_OBJECTS_H
#define PDL_NATIVE_TEMPLATE_OBJECTS_H

#include "native/native.h"

PDL_MUST bool pdl_namespace_new(pdl_val dict, pdl_val *out, pdl_err *err); /* takes dict */
pdl_val pdl_cycler_new(pdl_val items); /* takes a list that is not empty */
pdl_val pdl_joiner_new(pdl_val sep);   /* takes sep */

#endif
