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
    /* Of pdl_func_about: absent before, but for the declaration of a tool server. */
    pdl_val signature; /* dict (tool declaration), or null when it cannot be made */
    pdl_val params;    /* dict name -> type as written, or null */
    pdl_val spec;      /* type of results as written, or null */
    const void *block; /* the function block that made it; NULL: not made by one */
    void (*describe)(struct pdl_func *f); /* sets what is absent; NULL: nothing is */
} pdl_func;

/* The function without what pdl_func_about adds. Its signature has a label only where a tool server
 * declared it: then it is there. */
static inline pdl_func *pdl_func_of(pdl_vref v) { return (pdl_func *)(void *)pdl_obj_of(v); }

/* The function with signature and params. They are made when somebody asks: most functions are
 * called, and their types are not read as values. */
static inline pdl_func *pdl_func_about(pdl_vref v) {
    pdl_func *f = pdl_func_of(v);
    if (f->describe) f->describe(f);
    f->describe = NULL;
    return f;
}

#endif
