/* func.h -- function value: the part of a PDL closure that other rooms may know. The closure is
 * opaque outside of vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_FUNC_H
#define PDL_VALUE_FUNC_H

#include "value/val.h"

/* The first member of every object with the tag PDL_V_FUNC. */
typedef struct pdl_func {
    pdl_ext ext;
    pdl_val name; /* str or null */
    /* The next three members are absent until pdl_func_about makes them. Only a function of a tool
     * server has its signature from the start. */
    pdl_val signature; /* dict (tool declaration), or null when it cannot be made */
    pdl_val params;    /* dict name -> type as written, or null */
    pdl_val spec;      /* type of results as written, or null */
    const void *block; /* the function block that made the function; NULL when no block made it */
    /* sets the absent members; NULL when no members are absent */
    void (*describe)(struct pdl_func *f);
} pdl_func;

/* Returns the function, whose signature and params may still be absent. Code that needs only the
 * label of the signature may use this function: only signatures of tool servers have labels, and
 * these are never absent. */
static inline pdl_func *pdl_func_of(pdl_vref v) { return (pdl_func *)(void *)pdl_obj_of(v); }

/* Returns the function with signature and params. They are made on demand: most functions are only
 * called, and their types are never read as values. */
static inline pdl_func *pdl_func_about(pdl_vref v) {
    pdl_func *f = pdl_func_of(v);
    if (f->describe) f->describe(f);
    f->describe = NULL;
    return f;
}

#endif
