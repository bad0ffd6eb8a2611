/* handle.h -- opaque object that lives in a code worker (architecture D7).
 *
 * What natives may see came with it: class name, str, repr, truth, length. Dropping the last
 * reference tells the worker through the release function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_HANDLE_H
#define PDL_VALUE_HANDLE_H

#include "value/val.h"

typedef struct pdl_handle {
    pdl_ext ext;
    uint64_t id;                  /* in the worker */
    pdl_val type_name, str, repr; /* strings */
    bool truth;
    bool callable, number, iterable, sequence, mapping; /* what it is to the tests of templates */
    int64_t len;                                        /* -1: has none */
    pdl_val json;                                       /* JSON form when it has one, else absent */
    /* while a filter looks at it: promises of its attributes by name; else absent */
    pdl_val fetched;
    void (*gone)(void *user, uint64_t id); /* may be NULL */
    void *user;
} pdl_handle;

/* Takes the three strings. */
pdl_val pdl_handle_new(uint64_t id, pdl_val type_name, pdl_val str, pdl_val repr, bool truth,
                       int64_t len);
static inline pdl_handle *pdl_handle_of(pdl_vref v) { return (pdl_handle *)(void *)pdl_obj_of(v); }

#endif
