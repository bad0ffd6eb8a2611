/* control.h -- the meaning of a parameter of a model call in control.def. Private to effect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EFFECT_CONTROL_H
#define PDL_EFFECT_CONTROL_H

#include "base/str.h"

/* The meanings; control.def explains each. */
typedef enum {
    PDL_CONTROL_STEERS,
    PDL_CONTROL_SHAPES,
    PDL_CONTROL_SECRET,
    PDL_CONTROL_PLACE,
    PDL_CONTROL_FORM
} pdl_control;

/* Returns false when name is not a parameter of control.def. Letter case does not matter, because a
 * secret is secret in any spelling. */
bool pdl_control_find(pdl_str name, pdl_control *what);

#endif
