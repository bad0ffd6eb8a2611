/* val.h -- pdl_val: data as PDL sees it. Immutable, reference counted, labelled.
 *
 * A value is a 16-byte handle: tag, flags, label set, and a scalar or a pointer to a counted
 * object. A pdl_val is owned (drop it or pass it on), a pdl_vref is borrowed. In a normal build
 * both are the same struct; under PDL_CHECK_OWNERSHIP they are different pointer types, so that the
 * compiler finds an error in passing ownership (make check-own). Therefore only this room touches
 * members; others use the accessors.
 *
 * Values never change once shared. An operation that "changes" a container takes its handle and
 * returns the new one: in place when refs == 1, on a copy otherwise. So fibers share values without
 * locks, and a captured value stays as it was. Values cannot form cycles, so reference counts
 * suffice and no collector is needed. Cells of Jinja's namespace() could form cycles, but refuse to
 * hold themselves.
 *
 * Labels are a bit set of origins (label.h): joining is an OR. Containers carry the join of their
 * items' labels; operators join those of their operands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_VAL_H
#define PDL_VALUE_VAL_H

#include <assert.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"

/* The order matters: tags up to PDL_V_FLOAT have no object. */
typedef enum {
    PDL_V_ABSENT, /* "no argument was given" or "no value"; programs never see it */
    PDL_V_NULL,
    PDL_V_BOOL,
    PDL_V_INT, /* fits int64 */
    PDL_V_FLOAT,
    PDL_V_BIGINT, /* an integer that does not fit int64 (int.c) */
    PDL_V_STR,
    PDL_V_LIST,
    PDL_V_DICT,
    PDL_V_TUPLE,
    PDL_V_SET,
    PDL_V_BYTES,
    PDL_V_DATE,
    PDL_V_DATETIME,
    PDL_V_RANGE,
    PDL_V_VIEW,       /* dict_keys, dict_values, dict_items */
    PDL_V_CONTEXT,    /* background messages (context.h) */
    PDL_V_UNDEFINED,  /* Jinja's undefined with its explanation */
    PDL_V_FUNC,       /* a closure of PDL (func.h); only vm knows its body */
    PDL_V_PROMISE,    /* a value that will arrive (promise.h) */
    PDL_V_HANDLE,     /* an object of Python or of the host program (handle.h) */
    PDL_V_NATIVE,     /* a bound method or a global function of templates */
    PDL_V_CELL,       /* namespace, cycler, joiner, loop, macro: objects of templates */
    PDL_V_AGGREGATOR, /* the target of `contribute: [NAME]` */
    PDL_V_RECORD,     /* an object with fixed attributes, such as pdl_usage */
    PDL_V_COUNT
} pdl_tag;

enum {
    PDL_F_PROMISE = 1, /* the value is, or may contain, an unfilled promise */
    PDL_F_SAFE = 2,    /* a text that is marked safe (Markup) */
    PDL_F_HANDLE = 4,  /* the value is, or may contain, a PDL_V_HANDLE */
    /* a container in which each part has all its labels itself; see pdl_label_of_part */
    PDL_F_PARTS = 8,
    PDL_F_MODULE = 16, /* the dict of an import; see pdl_dict_first_shown */
};

typedef uint64_t pdl_label; /* a set of origins (label.h); 48 bits */

/* The head of every counted object. */
typedef struct pdl_obj {
    uint32_t refs;
    uint8_t tag;
    uint8_t bits; /* each kind of object may use these bits in its own way */
    uint16_t aux; /* each kind of object may use this number in its own way */
} pdl_obj;

#ifdef PDL_CHECK_OWNERSHIP /* used only with -fsyntax-only, and never linked */
typedef struct pdl_val_ *pdl_val;
typedef const struct pdl_val_ *pdl_vref;
pdl_tag pdl_tag_of(pdl_vref v);
unsigned pdl_flags_of(pdl_vref v);
pdl_label pdl_label_of(pdl_vref v);
int64_t pdl_int_of(pdl_vref v);
double pdl_float_of(pdl_vref v);
bool pdl_bool_of(pdl_vref v);
pdl_obj *pdl_obj_of(pdl_vref v);
pdl_val pdl_null(void);
pdl_val pdl_absent(void);
pdl_val pdl_bool(bool b);
pdl_val pdl_int(int64_t i);
pdl_val pdl_float(double d);
pdl_val pdl_from_obj(pdl_tag tag, pdl_obj *o, unsigned flags);
pdl_val pdl_with_label(pdl_val v, pdl_label l);
pdl_val pdl_with_part_label(pdl_val v, pdl_label l);
pdl_val pdl_relabelled(pdl_val v, pdl_label l);
pdl_val pdl_with_flags(pdl_val v, unsigned flags);
pdl_val pdl_keep(pdl_vref v);
pdl_val pdl_lent(pdl_vref v);
void pdl_drop(pdl_val v);
void pdl_leak_on_exit(void);
#else
typedef struct pdl_val {
    uint8_t tag;
    uint8_t flags;
    uint16_t label_high;
    uint32_t label_low;
    union {
        bool b;
        int64_t i;
        double d;
        pdl_obj *o;
    } u;
} pdl_val;
typedef pdl_val pdl_vref;
static_assert(sizeof(pdl_val) == 16, "a handle is 16 bytes");

static inline pdl_tag pdl_tag_of(pdl_vref v) { return (pdl_tag)v.tag; }
static inline unsigned pdl_flags_of(pdl_vref v) { return v.flags; }
static inline pdl_label pdl_label_of(pdl_vref v) {
    return (pdl_label)v.label_high << 32 | v.label_low;
}
static inline int64_t pdl_int_of(pdl_vref v) {
    assert(v.tag == PDL_V_INT);
    return v.u.i;
}
static inline double pdl_float_of(pdl_vref v) {
    assert(v.tag == PDL_V_FLOAT);
    return v.u.d;
}
static inline bool pdl_bool_of(pdl_vref v) {
    assert(v.tag == PDL_V_BOOL);
    return v.u.b;
}
static inline pdl_obj *pdl_obj_of(pdl_vref v) {
    assert(v.tag > PDL_V_FLOAT && v.u.o->refs > 0);
    return v.u.o;
}

static inline pdl_val pdl_null(void) { return (pdl_val){.tag = PDL_V_NULL}; }
static inline pdl_val pdl_absent(void) { return (pdl_val){.tag = PDL_V_ABSENT}; }
static inline pdl_val pdl_bool(bool b) { return (pdl_val){.tag = PDL_V_BOOL, .u.b = b}; }
static inline pdl_val pdl_int(int64_t i) { return (pdl_val){.tag = PDL_V_INT, .u.i = i}; }
static inline pdl_val pdl_float(double d) { return (pdl_val){.tag = PDL_V_FLOAT, .u.d = d}; }

/* Makes a handle for a counted object; takes one reference of o. */
static inline pdl_val pdl_from_obj(pdl_tag tag, pdl_obj *o, unsigned flags) {
    assert(tag > PDL_V_FLOAT && o->tag == tag && o->refs > 0);
    return (pdl_val){.tag = (uint8_t)tag, .flags = (uint8_t)flags, .u.o = o};
}
/* Returns the same value with further labels. Takes v. A label of a container applies to all of its
 * parts. */
static inline pdl_val pdl_with_label(pdl_val v, pdl_label l) {
    v.label_low |= (uint32_t)l;
    v.label_high |= (uint16_t)(l >> 32);
    if (l) v.flags &= (uint8_t)~PDL_F_PARTS;
    return v;
}
/* Adds to v the labels of a part that was put into v. The other parts do not get these labels. */
static inline pdl_val pdl_with_part_label(pdl_val v, pdl_label l) {
    v.label_low |= (uint32_t)l;
    v.label_high |= (uint16_t)(l >> 32);
    return v;
}
/* Replaces the labels of v. Takes v. Unlike the two functions above, this function can remove
 * labels, for example for `endorse` or for a value whose form was checked. */
static inline pdl_val pdl_relabelled(pdl_val v, pdl_label l) {
    v.label_low = (uint32_t)l;
    v.label_high = (uint16_t)(l >> 32);
    v.flags &= (uint8_t)~PDL_F_PARTS;
    return v;
}
static inline pdl_val pdl_with_flags(pdl_val v, unsigned flags) {
    v.flags = (uint8_t)(v.flags | flags);
    return v;
}

void pdl_release(pdl_obj *o); /* called when refs reaches 0; iterative, for any depth */

/* Called when the process is about to end. From now on containers of this thread are not released,
 * because walking through millions of values takes longer than leaving them to the system. */
void pdl_leak_on_exit(void);

/* Adds an owner. */
static inline pdl_val pdl_keep(pdl_vref v) {
    assert(v.tag <= PDL_V_FLOAT || v.u.o->refs > 0);
    if (v.tag > PDL_V_FLOAT) v.u.o->refs++;
    return v;
}
/* Returns a borrowed value as an owned one, for a member or an argument that is only read and never
 * dropped. This is the only function that bypasses the types that `make check-own` compares. */
static inline pdl_val pdl_lent(pdl_vref v) { return v; }
/* Releases one reference. */
static inline void pdl_drop(pdl_val v) {
    assert(v.tag <= PDL_V_FLOAT || v.u.o->refs > 0);
    if (v.tag > PDL_V_FLOAT && --v.u.o->refs == 0) pdl_release(v.u.o);
}
#endif

static inline bool pdl_is(pdl_vref v, pdl_tag t) { return pdl_tag_of(v) == t; }
/* Returns the labels that a part gets from its container, besides the part's labels. A container
 * that is made of labelled parts adds no labels. Any other container adds all its labels, because
 * it arrived as a whole (JSON of a model). */
static inline pdl_label pdl_label_of_part(pdl_vref container) {
    return pdl_flags_of(container) & PDL_F_PARTS ? 0 : pdl_label_of(container);
}
static inline bool pdl_is_absent(pdl_vref v) { return pdl_tag_of(v) == PDL_V_ABSENT; }
static inline bool pdl_is_null(pdl_vref v) { return pdl_tag_of(v) == PDL_V_NULL; }
static inline bool pdl_is_str(pdl_vref v) { return pdl_tag_of(v) == PDL_V_STR; }
static inline bool pdl_is_list(pdl_vref v) { return pdl_tag_of(v) == PDL_V_LIST; }
static inline bool pdl_is_dict(pdl_vref v) { return pdl_tag_of(v) == PDL_V_DICT; }
static inline bool pdl_is_bool(pdl_vref v) { return pdl_tag_of(v) == PDL_V_BOOL; }
/* Returns true for an integer of any size, but not for a boolean. */
static inline bool pdl_is_int(pdl_vref v) {
    return pdl_tag_of(v) == PDL_V_INT || pdl_tag_of(v) == PDL_V_BIGINT;
}
static inline bool pdl_may_hold_promise(pdl_vref v) {
    return (pdl_flags_of(v) & PDL_F_PROMISE) != 0;
}

/* The class of extension objects, whose kinds higher rooms define. */
typedef struct pdl_class {
    const char *type_name; /* the NAME in Python's <class 'NAME'>: "function", "Namespace" */
    /* May be NULL. Returns the i-th child value (borrowed), or absent after the last child.
     * Children are released by means of this function, without recursion, so fini must not drop
     * them. */
    pdl_vref (*child)(const pdl_obj *o, size_t i);
    /* May be NULL. Releases everything except the children and the object's memory. */
    void (*fini)(pdl_obj *o);
    /* Appends the output of str() and repr(). NULL means "<NAME object>". */
    void (*text)(const pdl_obj *o, bool repr, struct pdl_buf *out);
} pdl_class;

/* The first member of every object with tag PDL_V_FUNC .. PDL_V_RECORD. */
typedef struct pdl_ext {
    pdl_obj head;
    const pdl_class *cls;
} pdl_ext;

static inline const pdl_class *pdl_class_of(pdl_vref v) {
    assert(pdl_tag_of(v) >= PDL_V_CONTEXT && pdl_tag_of(v) <= PDL_V_RECORD);
    return ((const pdl_ext *)(const void *)pdl_obj_of(v))->cls;
}

/* Makes an extension object of `size` bytes with one reference. All bytes after the head are 0. */
void *pdl_ext_new(pdl_tag tag, const pdl_class *cls, size_t size);

/* Returns the number of live counted objects of this process; tests assert that the number is the
 * same at the end of the test. Only debug builds count; other builds return 0. */
size_t pdl_live_objects(void);

/* --- strings (string.c) ----------------------------------------------------------------------- */

/* A text object is followed by its bytes. Invariants: p[n] == 0; n_cp is the number of code points,
 * or UINT32_MAX before they were counted. */
typedef struct pdl_strobj {
    pdl_obj head;
    uint32_t n, cap;
    uint32_t n_cp;
    uint32_t hash; /* 0 before it was computed */
    char p[];
} pdl_strobj;

pdl_val pdl_text(pdl_str s); /* copies s, which must be valid UTF-8 of at most PDL_MAX_TEXT bytes */
/* Works as a walk (base/cancel.h): when it is cancelled, the text ends early. */
pdl_val pdl_text_walk(pdl_str s);
pdl_val pdl_textz(const char *z);
PDL_PRINTF(1, 2) pdl_val pdl_textf(const char *fmt, ...);
struct pdl_buf;
pdl_val pdl_text_of_buf(struct pdl_buf *b); /* takes the content of b, which becomes empty */

static inline pdl_str pdl_str_get(pdl_vref v) { /* the result is borrowed, and lives as long as v */
    const pdl_strobj *s = (const pdl_strobj *)(const void *)pdl_obj_of(v);
    assert(s->head.tag == PDL_V_STR && s->p[s->n] == 0);
    return (pdl_str){s->p, s->n};
}
/* Returns the text value whose bytes pdl_str_get returned as p; adds an owner. */
pdl_val pdl_text_around(const char *p);
size_t pdl_text_len_cp(pdl_vref v); /* returns the number of code points, which is cached */
static inline bool pdl_text_is(pdl_vref v, const char *z) {
    return pdl_is_str(v) && pdl_str_is(pdl_str_get(v), z);
}

/* Appends more to v, in place for a sole owner. Takes v. Error: PDL_E_limit (v is then dropped). */
PDL_MUST bool pdl_text_append(pdl_val v, pdl_str more, pdl_val *out, pdl_err *err);

/* Makes a string of the code points [from, to). */
pdl_val pdl_text_slice(pdl_vref v, size_t from_cp, size_t to_cp);

/* --- lists and tuples (list.c) ---------------------------------------------------------------- */

typedef struct pdl_listobj {
    pdl_obj head;
    uint32_t n, cap;
    pdl_val *items; /* points to few, or to separate memory */
    pdl_val few[];  /* used by a list that was made for few items */
} pdl_listobj;

pdl_val pdl_list_new(size_t cap);                      /* makes an empty list */
pdl_val pdl_tuple_new(const pdl_val *items, size_t n); /* takes each item */
/* Checks that there is memory for one more item of a list that a program grows. */
PDL_MUST bool pdl_list_may_grow(pdl_vref list, pdl_err *err);
/* takes list and x, and returns the longer list */
pdl_val pdl_list_push(pdl_val list, pdl_val x);
pdl_val pdl_list_set(pdl_val list, size_t i, pdl_val x); /* i < length; takes list and x */
pdl_val pdl_list_insert(pdl_val list, size_t i, pdl_val x);
pdl_val pdl_list_remove(pdl_val list, size_t i); /* takes list; i < length */
/* takes a; a and b must both be lists, or both tuples */
pdl_val pdl_list_concat(pdl_val a, pdl_vref b);
pdl_val pdl_list_as_tuple(pdl_val list); /* takes list */
/* Returns the i-th item (i < length) with the labels that the list adds to it. Owned. */
pdl_val pdl_list_part(pdl_vref list, size_t i);

#ifndef PDL_CHECK_OWNERSHIP
static inline size_t pdl_list_len(pdl_vref v) {
    assert(v.tag == PDL_V_LIST || v.tag == PDL_V_TUPLE);
    return ((const pdl_listobj *)(const void *)v.u.o)->n;
}
/* Returns an item of a list or tuple, borrowed; i < length. */
static inline pdl_vref pdl_list_at(pdl_vref v, size_t i) {
    assert(i < pdl_list_len(v));
    return ((const pdl_listobj *)(const void *)v.u.o)->items[i];
}
#else
size_t pdl_list_len(pdl_vref v);
pdl_vref pdl_list_at(pdl_vref v, size_t i);
#endif

/* --- dicts (dict.c): insertion-ordered; keys are scalars, strings or tuples of keys ----------- */

pdl_val pdl_dict_new(size_t cap);
size_t pdl_dict_len(pdl_vref d);
/* Binds key to x. Takes all arguments. An existing key gets the new value and keeps its position.
 * The value gets the labels of the key. */
pdl_val pdl_dict_put(pdl_val d, pdl_val key, pdl_val x);
/* Works as pdl_dict_put, for a value whose parts already have the labels of the key. */
pdl_val pdl_dict_put_known(pdl_val d, pdl_val key, pdl_val x);
pdl_val pdl_dict_puts(pdl_val d, pdl_str key, pdl_val x); /* takes d and x */
static inline pdl_val pdl_dict_putz(pdl_val d, const char *key, pdl_val x) {
    return pdl_dict_puts(d, pdl_str_of(key), x); /* inline: lengths of literals are constants */
}
/* takes d; a d without the key is unchanged; O(n) */
pdl_val pdl_dict_del(pdl_val d, pdl_vref key);
/* Returns a borrowed value, or absent. 1, 1.0 and true are the same key. */
pdl_vref pdl_dict_find(pdl_vref d, pdl_vref key);
pdl_vref pdl_dict_gets(pdl_vref d, pdl_str key);
static inline pdl_vref pdl_dict_getz(pdl_vref d, const char *key) {
    return pdl_dict_gets(d, pdl_str_of(key));
}
/* Returns the i-th entry in order (i < length), borrowed. */
pdl_vref pdl_dict_key_at(pdl_vref d, size_t i);
pdl_vref pdl_dict_val_at(pdl_vref d, size_t i);
/* Returns the entry at which printing begins; 0 for most dicts. The dict of an import is the whole
 * scope of its file. Every scope begins with the names stdlib and pdl_*. Only the definitions of
 * the file, which come after these names, are printed. */
size_t pdl_dict_first_shown(pdl_vref d);
/* Returns the i-th value with the labels that the dict adds to it. Owned. */
pdl_val pdl_dict_part(pdl_vref d, size_t i);
/* Returns the value of a key with the labels that the dict adds to it. Returns absent for a missing
 * key. Values for the program are read this way, because pdl_dict_find leaves out the labels of the
 * dict. */
pdl_val pdl_dict_part_at(pdl_vref d, pdl_vref key);
pdl_val pdl_dict_part_named(pdl_vref d, pdl_str key);
/* Makes the union of a and b. An entry of b replaces the entry of a with the same key. Takes a. */
pdl_val pdl_dict_merge(pdl_val a, pdl_vref b);

/* Equality and hashes of large values check for cancellation; a cancelled walk stops
 * (base/cancel.h). */

/* Returns true when v can be a key (str, numbers, bool, null, bytes, dates, and tuples of
 * these). */
bool pdl_is_hashable(pdl_vref v);
uint32_t pdl_val_hash(pdl_vref v); /* v must be hashable; equal values have equal hashes */

/* --- comparison (eq.c, order.c) --------------------------------------------------------------- */

/* Compares by the rules of Python's == (1 == 1.0 == true). Never fails. Values deeper than
 * PDL_MAX_VALUE_DEPTH compare unequal. The result of a cancelled comparison is arbitrary
 * (base/cancel.h). */
bool pdl_val_eq(pdl_vref a, pdl_vref b);
/* Returns Python's bool(). Undefined is false; promises must have been resolved. */
bool pdl_val_truth(pdl_vref v);
/* Computes Python's a < b. op is '<', '>', 'l' for <= or 'g' for >=. Error: TypeError with Python's
 * text. */
PDL_MUST bool pdl_val_order(pdl_vref a, pdl_vref b, char op, bool *out, pdl_err *err);
/* Computes Python's `x in c`. Error: TypeError with Python's text. */
PDL_MUST bool pdl_val_in(pdl_vref x, pdl_vref c, bool *out, pdl_err *err);
/* Returns Python's class name: "str", "int", "NoneType", "dict", "Undefined" ... (static). */
const char *pdl_type_name(pdl_vref v);
/* Returns the class name as Python's operators print it: "datetime.date" where type(x).__name__ is
 * "date". */
const char *pdl_type_full(pdl_vref v);

#endif
