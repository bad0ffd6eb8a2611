/* func.h -- function value: what other rooms may know of a PDL closure, which is opaque outside of
 * vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_FUNC_H
#define PDL_VALUE_FUNC_H

#include "value/val.h"

/* First part of every object with tag PDL_V_FUNC. */
typedef struct pdl_func {
    pdl_ext ext;
    pdl_val name;      /* str or null */
    pdl_val signature; /* dict (tool declaration), or null when it cannot be made */
    pdl_val params;    /* dict name -> type as written, or null */
    const void *block; /* the function block that made it; NULL: not made by one */
} pdl_func;

static inline pdl_func *pdl_func_of(pdl_vref v) { return (pdl_func *)(void *)pdl_obj_of(v); }

#endif
