/* obj.h -- private to the room: making and releasing the memory of counted objects. */
#ifndef PDL_VALUE_OBJ_H
#define PDL_VALUE_OBJ_H

#include "value/val.h"

/* New object of size bytes with refs 1; contents behind the head undefined. */
void *pdl_obj_new(pdl_tag tag, size_t size);
/* Give back the memory of an object made by pdl_obj_new; its parts are released already. */
void pdl_obj_free(pdl_obj *o);

/* set, dict view, undefined: one value inside, nothing else. */
typedef struct pdl_boxobj {
    pdl_obj head; /* bits: the kind of a view */
    pdl_val in;
} pdl_boxobj;

/* One more entry of a dict; hash 0: not a free slot's (hashes are never 0). */
typedef struct pdl_dictent {
    pdl_val key, val;
    uint32_t hash;
} pdl_dictent;

/* Invariants: n <= cap; slots is NULL while n is small, else mask + 1 indices into ents plus one, 0 free. */
typedef struct pdl_dictobj {
    pdl_obj head;
    uint32_t n, cap;
    uint32_t mask;
    uint32_t *slots;
    pdl_dictent *ents;
} pdl_dictobj;

typedef struct pdl_bytesobj {
    pdl_obj head;
    size_t n;
    char p[];
} pdl_bytesobj;

static inline pdl_listobj *pdl_listobj_of(pdl_vref v) { return (pdl_listobj *)(void *)v.u.o; }
static inline pdl_dictobj *pdl_dictobj_of(pdl_vref v) { return (pdl_dictobj *)(void *)v.u.o; }
static inline pdl_strobj *pdl_strobj_of(pdl_vref v) { return (pdl_strobj *)(void *)v.u.o; }
static inline pdl_boxobj *pdl_boxobj_of(pdl_vref v) { return (pdl_boxobj *)(void *)v.u.o; }

/* Flags that a container takes over from what is put in. */
enum { PDL_F_INHERITED = PDL_F_PROMISE | PDL_F_HANDLE };

/* Container handle c after x was put in. */
static inline pdl_val pdl_joined(pdl_val c, pdl_vref x) {
    c.flags = (uint8_t)(c.flags | (x.flags & PDL_F_INHERITED));
    c.label |= x.label;
    return c;
}

/* Dates and datetimes as instants (time.c). Both of one kind, both with or both without a zone. */
bool pdl_time_is_zoned(pdl_vref v);
int pdl_time_cmp(pdl_vref a, pdl_vref b);
uint32_t pdl_time_hash(pdl_vref v);

/* Class name as Python's operators print it: "datetime.date" where type(x).__name__ is "date". */
const char *pdl_type_full(pdl_vref v);

#endif
