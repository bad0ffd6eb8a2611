/* obj.h -- making and releasing the memory of counted objects. Private to value.
 *
 * An object is a head (reference count, tag) and its content in one block of memory. Small
 * containers keep their items in the same block, after the head, because most lists and dicts of
 * programs have few items, and allocation dominates their cost. When a container grows, its items
 * move to separate memory. The head is written here and nowhere else, so that the live-value report
 * of debug builds counts every object.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_OBJ_H
#define PDL_VALUE_OBJ_H

#include "value/label.h"
#include "value/val.h"

/* Counts an object that was made (n is 1) or released (n is -1), for pdl_live_objects. */
#ifdef NDEBUG
static inline void pdl_obj_count(int n) { (void)n; }
#else
void pdl_obj_count(int n);
#endif

/* Makes a new object with one reference in the memory at p, which is from pdl_alloc. Its content is
 * undefined. */
static inline void *pdl_obj_head(pdl_tag tag, void *p) {
    *(pdl_obj *)p = (pdl_obj){.refs = 1, .tag = (uint8_t)tag};
    pdl_obj_count(1);
    return p;
}
static inline void *pdl_obj_new(pdl_tag tag, size_t size) {
    return pdl_obj_head(tag, pdl_alloc(size));
}
/* Releases the memory of an object made by pdl_obj_new, whose parts were released. */
static inline void pdl_obj_free(pdl_obj *o) {
    assert(o->tag > PDL_V_FLOAT && o->tag < PDL_V_COUNT);
    pdl_obj_count(-1);
    pdl_free(o);
}

/* A set, a dict view and an undefined value are objects with one value inside. */
typedef struct pdl_boxobj {
    pdl_obj head; /* head.bits is the kind of a view */
    pdl_val in;
} pdl_boxobj;

/* Containers made with at most this many items keep them in the object's own block. */
enum { PDL_FEW_ITEMS = 12 };

/* Invariants: n <= cap. shape has n keys; NULL is the shape of no keys. vals is `few`, or is
 * separately allocated. */
typedef struct pdl_dictobj {
    pdl_obj head;
    uint32_t n, cap;
    struct pdl_shape *shape;
    pdl_val *vals;
    pdl_val few[];
} pdl_dictobj;

/* The struct is followed by its n bytes, which need not be text. */
typedef struct pdl_bytesobj {
    pdl_obj head;
    size_t n;
    char p[];
} pdl_bytesobj;

/* These return the object of a value; its kind is asserted. */
static inline pdl_listobj *pdl_listobj_of(pdl_vref v) {
    assert(v.tag == PDL_V_LIST || v.tag == PDL_V_TUPLE);
    return (pdl_listobj *)(void *)v.u.o;
}
static inline pdl_dictobj *pdl_dictobj_of(pdl_vref v) {
    assert(v.tag == PDL_V_DICT);
    return (pdl_dictobj *)(void *)v.u.o;
}
static inline pdl_strobj *pdl_strobj_of(pdl_vref v) {
    assert(v.tag == PDL_V_STR);
    return (pdl_strobj *)(void *)v.u.o;
}
static inline pdl_boxobj *pdl_boxobj_of(pdl_vref v) {
    assert(v.tag == PDL_V_SET || v.tag == PDL_V_VIEW || v.tag == PDL_V_UNDEFINED);
    return (pdl_boxobj *)(void *)v.u.o;
}

/* The flags that a container takes over from its items. */
enum { PDL_F_INHERITED = PDL_F_PROMISE | PDL_F_HANDLE };

/* Returns the handle of container c after x was put into it. The handle gets the labels of x, and
 * those flags of x that containers inherit. */
static inline pdl_val pdl_joined(pdl_val c, pdl_vref x) {
    c.flags = (uint8_t)(c.flags | (x.flags & PDL_F_INHERITED));
    return pdl_with_part_label(c, pdl_label_gathered(pdl_label_of(c), pdl_label_of(x)));
}

/* Returns the handle of container c after the items of another container were put into it. */
static inline pdl_val pdl_joined_all(pdl_val c, pdl_vref other) {
    return pdl_with_label(pdl_joined(c, other), pdl_label_of_part(other));
}

/* Grows the array of a container's items, to at least `need`. *items is `few`, or is separately
 * allocated. Returns the new capacity. */
size_t pdl_items_grow(pdl_val **items, const pdl_val *few, size_t cap, size_t need);

/* Starts a dict with the keys of shape. The caller adds the values vals[n++], which must have no
 * labels and no flags. The dict is a valid value when it has as many values as shape has keys.
 * Takes shape. */
pdl_dictobj *pdl_dict_begin(struct pdl_shape *shape);
/* Releases a dict of pdl_dict_begin that is not finished. The caller still owns the values. */
void pdl_dict_abandon(pdl_dictobj *d);
/* Makes a list of n items. Takes the items. */
pdl_val pdl_list_of_items(const pdl_val *items, size_t n);

/* Compares dates and datetimes as instants (time.c). Both must be of one kind, and both with a zone
 * or both without a zone. */
bool pdl_time_is_zoned(pdl_vref v);
int pdl_time_cmp(pdl_vref a, pdl_vref b);
uint32_t pdl_time_hash(pdl_vref v);

#endif
