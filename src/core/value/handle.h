/* handle.h -- opaque object that lives in a code worker or in the host program.
 *
 * A worker's object arrives with what natives may know of it: class name, str, repr, truth, length.
 * An object of the host program is in this process and may change at any time, so each access calls
 * it again, through its ops. Dropping the last reference calls `gone`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_HANDLE_H
#define PDL_VALUE_HANDLE_H

#include "base/buf.h"
#include "value/label.h"
#include "value/val.h"

typedef struct pdl_handle pdl_handle;

/* Accesses to an object of the host program. Errors come from the host program. */
typedef struct pdl_handle_ops {
    bool (*text)(const pdl_handle *h, bool repr, pdl_buf *out, pdl_err *err);
    bool (*truth)(const pdl_handle *h, bool *out, pdl_err *err);
    bool (*len)(const pdl_handle *h, size_t *out); /* returns false when the object has no length */
    bool (*eq)(const pdl_handle *a, const pdl_handle *b);
} pdl_handle_ops;

struct pdl_handle {
    pdl_ext ext;
    uint64_t id;                  /* number of the object in the worker */
    pdl_val type_name, str, repr; /* strings */
    bool truth;
    bool callable, number, iterable, sequence, mapping; /* answers to the tests of templates */
    int64_t len;                                        /* -1 when the object has no length */
    /* Labels with which the object arrived. Further labels of a handle come from the conditions
     * that chose this object among others. */
    pdl_label made;
    pdl_val json; /* the object's JSON form; absent when it has none */
    /* Promises of the object's attributes, by name, while a filter reads the object; otherwise
     * absent. */
    pdl_val fetched;
    void (*gone)(void *user, uint64_t id); /* may be NULL */
    void *user;
    const pdl_handle_ops *ops; /* NULL when only the members above are known */
};

/* Makes a handle. Takes type_name, str and repr. */
pdl_val pdl_handle_new(uint64_t id, pdl_val type_name, pdl_val str, pdl_val repr, bool truth,
                       int64_t len);
static inline pdl_handle *pdl_handle_of(pdl_vref v) { return (pdl_handle *)(void *)pdl_obj_of(v); }

/* Records the label with which every object in v arrived. */
void pdl_handles_made(pdl_vref v, pdl_label label);
/* Returns the labels with which the objects in v arrived. */
pdl_label pdl_handles_making(pdl_vref v);
/* Returns the labels of the conditions that chose this value among others. They count as unbounded,
 * since the number of choices is unknown. */
static inline pdl_label pdl_handle_choice(pdl_vref v) {
    return pdl_label_built(pdl_label_of(v) & ~pdl_handle_of(v)->made);
}

/* Appends str() or repr(), or reads the truth value, as in Python. Errors come from an object of
 * the host program. */
PDL_MUST bool pdl_handle_text(pdl_vref v, bool repr, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_handle_truth(pdl_vref v, bool *out, pdl_err *err);
bool pdl_handle_len(pdl_vref v, size_t *out); /* returns false when the object has no length */
bool pdl_handle_eq(pdl_vref a, pdl_vref b);

#endif
