/* ty.h -- pdl_ty: the facts that are known of a value before the program runs.
 *
 * A type is a set of kinds, refined where more is known: the value itself, the type of items, the
 * fields of an object, the function. It has all kinds that the value may have, so "unknown" is the
 * set of all kinds. A problem is reported only when no kind of the set works.
 *
 * Types are immutable, live in the arena of a check (or are static) and share parts. The type of a
 * literal is its value, whose parts are examined on demand, so that a large literal costs nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_TY_H
#define PDL_CHECK_TY_H

#include "base/buf.h"
#include "lang/program.h"

/* The kinds have one bit each, so that a set of them is a number. Values that a program cannot
 * distinguish (dates, bytes, objects of Python) are one kind, and nothing is known of them. */
enum {
    PDL_TY_NULL = 1,
    PDL_TY_BOOL = 2,
    PDL_TY_INT = 4,
    PDL_TY_FLOAT = 8,
    PDL_TY_STR = 16,
    PDL_TY_LIST = 32,
    PDL_TY_TUPLE = 64,
    PDL_TY_DICT = 128,
    PDL_TY_FUNC = 256,
    PDL_TY_CONTEXT = 512,
    PDL_TY_RANGE = 1024,
    PDL_TY_UNDEFINED = 2048,
    PDL_TY_AGGREGATOR = 4096,
    PDL_TY_NATIVE = 8192, /* a method or global function as a value */
    PDL_TY_OTHER = 16384, /* dates, bytes, objects of Python, cells, ... */
    PDL_TY_NUMBER = PDL_TY_BOOL | PDL_TY_INT | PDL_TY_FLOAT,
    PDL_TY_ANY = 32767,
};

typedef struct pdl_ty pdl_ty;

/* A field of an object type, as in a spec, a literal or an imported file. */
typedef struct pdl_ty_field {
    pdl_str name;
    const pdl_ty *type;
    bool optional; /* the field may be absent */
} pdl_ty_field;

/* Why a value is undefined. */
typedef struct pdl_ty_missing {
    pdl_str why;  /* Python's message for the value; empty when it is unknown */
    pdl_str hint; /* the name that may be meant */
} pdl_ty_missing;

/* The type of a value. All members besides kinds refine one kind, and are zero when nothing more is
 * known. Each literal and call makes a pdl_ty, so it has 64 bytes, one line of a cache. */
struct pdl_ty {
    uint32_t kinds;    /* never empty */
    bool has_value;    /* the value is known; borrowed from the program */
    bool closed;       /* for DICT: the object has no other fields */
    bool sized;        /* for LIST: the list has exactly `least` items */
    bool is_choice;    /* the value is null, or one of the values of the list `choices`: an enum */
    uint32_t n_fields; /* used by DICT */
    /* for LIST: the list has at least this many items; unset when the value is known */
    uint32_t least;
    pdl_vref value;
    pdl_vref choices;   /* borrowed from the program */
    const pdl_ty *item; /* for LIST and TUPLE: the type of items; NULL when it is unknown */
    const pdl_ty_field *fields;
    /* Set when the type has this kind alone, and NULL otherwise. Read through the functions
     * below. */
    union {
        const struct pdl_ty_function *function; /* for FUNC: the function, when it is known */
        const struct pdl_native *native;        /* used by NATIVE */
        const pdl_ty_missing *missing;          /* used by UNDEFINED */
    } one;
    const pdl_ty *receiver; /* for NATIVE: the receiver of a method */
};

/* A function of the program. */
typedef struct pdl_ty_function {
    pdl_str name; /* may be empty */
    const pdl_b_function *block;
    const pdl_ty *result;
    bool is_assumed; /* the result's type depends on the types of parameters */
} pdl_ty_function;

extern const pdl_ty pdl_ty_any, pdl_ty_str, pdl_ty_int, pdl_ty_float, pdl_ty_bool, pdl_ty_null,
    pdl_ty_list, pdl_ty_dict, pdl_ty_number, pdl_ty_context;

static inline const pdl_ty_function *pdl_ty_function_of(const pdl_ty *t) {
    return t->kinds == PDL_TY_FUNC ? t->one.function : NULL;
}
static inline const struct pdl_native *pdl_ty_native_of(const pdl_ty *t) {
    return t->kinds == PDL_TY_NATIVE ? t->one.native : NULL;
}
static inline pdl_ty_missing pdl_ty_missing_of(const pdl_ty *t) {
    return t->kinds == PDL_TY_UNDEFINED && t->one.missing ? *t->one.missing : (pdl_ty_missing){0};
}

/* Copies t to the arena. */
static inline pdl_ty *pdl_ty_new(pdl_arena *a, pdl_ty t) {
    pdl_ty *x = pdl_arena_raw(a, sizeof *x);
    *x = t;
    return x;
}

/* The next functions make types. */
const pdl_ty *pdl_ty_of_kinds(pdl_arena *a, uint32_t kinds);
const pdl_ty *pdl_ty_of_value(pdl_arena *a, pdl_vref v);
const pdl_ty *pdl_ty_of_spec(pdl_arena *a, const pdl_type *t);
const pdl_ty *pdl_ty_list_of(pdl_arena *a, const pdl_ty *item);
/* Makes the type of a list with at least n items. When exact is set, the list has n items. */
const pdl_ty *pdl_ty_list_sized(pdl_arena *a, const pdl_ty *item, uint32_t n, bool exact);
const pdl_ty *pdl_ty_undefined(pdl_arena *a, pdl_str why, pdl_str hint);
/* Returns the type of values that are of type x or of type y. */
const pdl_ty *pdl_ty_join(pdl_arena *a, const pdl_ty *x, const pdl_ty *y);
/* Returns the type of those values of t that have this kind. kind is one of the kinds of t. */
const pdl_ty *pdl_ty_part(pdl_arena *a, const pdl_ty *t, uint32_t kind);
/* Returns the type with its kinds alone, after something may have changed the value. */
const pdl_ty *pdl_ty_loosen(pdl_arena *a, const pdl_ty *t);

static inline bool pdl_ty_is_unknown(const pdl_ty *t) { return t->kinds == PDL_TY_ANY; }
/* Returns true when all kinds of t are in `kinds`. */
static inline bool pdl_ty_is_only(const pdl_ty *t, uint32_t kinds) { return !(t->kinds & ~kinds); }

/* Returns the type of the items of a loop over a value of type t. */
const pdl_ty *pdl_ty_items(pdl_arena *a, const pdl_ty *t);
/* Returns false when t is an enum that does not contain v. */
bool pdl_ty_may_be(const pdl_ty *t, pdl_vref v);
/* Returns the type of a field of an object type, or NULL. When *known is false, the object may have
 * such a field, of an unknown type. */
const pdl_ty *pdl_ty_field_of(pdl_arena *a, const pdl_ty *t, pdl_str name, bool *known);

/* Appends a text such as "integer", "string or null" or "{a: string}", for messages and hover. */
void pdl_ty_show(const pdl_ty *t, pdl_buf *out);

/* Returns true when a value of the type could fit the spec. Otherwise sets *problem to the reason
 * why it never fits. problem may be NULL. */
bool pdl_ty_may_fit(pdl_arena *a, const pdl_ty *t, const pdl_type *spec, pdl_buf *problem);

#endif
