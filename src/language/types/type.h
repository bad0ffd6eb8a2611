/* type.h -- pdl_type: what a `spec` denotes; read, check, show (spec syntax 3).
 *
 * Types live in an arena and are immutable. A type read from a program has the source place of each
 * part.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TYPES_TYPE_H
#define PDL_TYPES_TYPE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"
#include "yaml/node.h"

typedef struct pdl_type pdl_type;

/* Reads a spec node (short forms, JSON Schema). *out is NULL ("any value") for null. Error:
 * PDL_E_schema at the part that is wrong, with a hint; PDL_E_limit. The check, not this function,
 * reports an invalid JSON Schema inside. */
PDL_MUST bool pdl_type_read(pdl_arena *a, const pdl_node *n, const pdl_type **out, pdl_err *err);
/* The same from a value (parameters of tools, tests). */
PDL_MUST bool pdl_type_from_val(pdl_arena *a, pdl_vref v, const pdl_type **out, pdl_err *err);

/* The type of a function's arguments: an object with these fields, closed. `params` is the node of
 * `function:` (mapping name -> type). */
PDL_MUST bool pdl_type_read_params(pdl_arena *a, const pdl_node *params, const pdl_type **out,
                                   pdl_err *err);

/* Calls back for each deprecated type word ("str", "string") in t, in order: the command warns. */
void pdl_type_deprecated(const pdl_type *t,
                         void (*fn)(void *user, const char *old, const char *now), void *user);

/* How a type is made, for a check that has no value yet. */
typedef enum {
    PDL_TYPE_any,
    PDL_TYPE_base,
    PDL_TYPE_list,
    PDL_TYPE_optional,
    PDL_TYPE_object,
    PDL_TYPE_schema
} pdl_type_kind;
typedef enum {
    PDL_BASE_null,
    PDL_BASE_boolean,
    PDL_BASE_string,
    PDL_BASE_number,
    PDL_BASE_integer,
    PDL_BASE_array,
    PDL_BASE_object,
    PDL_BASE_COUNT
} pdl_base_type;

pdl_type_kind pdl_type_kind_of(const pdl_type *t);
pdl_base_type pdl_type_base_of(const pdl_type *t);   /* of a base type */
const pdl_type *pdl_type_item_of(const pdl_type *t); /* of a list or optional; NULL: any */
pdl_vref pdl_type_schema_of(const pdl_type *t);      /* of the form schema: the JSON Schema */

bool pdl_type_is_any(const pdl_type *t);    /* NULL or null: everything fits */
bool pdl_type_is_object(const pdl_type *t); /* in PDL form: for parser regex groups */
size_t pdl_type_fields(const pdl_type *t);  /* of an object in PDL form */
pdl_str pdl_type_field_name(const pdl_type *t, size_t i);
const pdl_type *pdl_type_field(const pdl_type *t, size_t i);
bool pdl_type_field_optional(const pdl_type *t, size_t i);
/* true when checking never needs the value's content */
bool pdl_type_is_promise_safe(const pdl_type *t);

/* JSON Schema (spec syntax 3.2) as an owned dict. closed: additionalProperties false on objects. */
pdl_val pdl_type_schema(const pdl_type *t, bool closed);
/* As written in the program, deprecated words in the new spelling (traces, `f.function`). Owned. */
pdl_val pdl_type_as_written(const pdl_type *t);

/* One problem of a check. Path segments name where in the value (".a", "[2]"). */
typedef struct pdl_problem {
    /* where to print it: the part of the type node for the path, else the type's place */
    pdl_loc loc;
    pdl_str path; /* ".a[2].b", "" at the top */
    pdl_str text; /* "3 should be of type <class 'str'>" */
    /* the same for people, without the place: "is 3, should be a string"; empty: text says all */
    pdl_str help;
    pdl_str near; /* the field that a field that is not allowed was meant to be, or empty */
    /* neither the type's tree nor args_node has a step of the path: print it at the place of the
     * header line (the key `spec`, `args`, `return`), as the reference does; loc is then that of
     * the value node */
    bool at_header;
} pdl_problem;

typedef struct pdl_problems {
    pdl_problem *p; /* in the arena given to the check */
    size_t n;
} pdl_problems;

/* Checks v, which holds no promises. When *ok is false, problems lists them (spec syntax 3.5), made
 * in scratch. `args_node` (may be NULL): node whose tree mirrors the value, for places; without it
 * the places are those of the type. Error (PDL_E_schema, "Invalid type in spec: ..."): the schema
 * itself is invalid. PDL_E_limit: too deep. */
PDL_MUST bool pdl_type_check(const pdl_type *t, pdl_vref v, const pdl_node *args_node,
                             pdl_arena *scratch, bool *ok, pdl_problems *problems, pdl_err *err);
/* v is a single value (no list, dict, promise or object) that fits, or t takes everything. False
 * also when only pdl_type_check knows. */
bool pdl_type_fits_single(const pdl_type *t, pdl_vref v);

/* Validate v against a raw JSON Schema value (draft 2020-12 or as $schema says): the validator
 * alone, for the public suite and tool arguments. `remote` (may be NULL) resolves absolute URIs to
 * schemas (borrowed) or absent. */
PDL_MUST bool pdl_schema_validate(pdl_vref schema, pdl_vref v,
                                  pdl_vref (*remote)(void *user, pdl_str uri), void *user, bool *ok,
                                  pdl_problems *problems, pdl_arena *scratch, pdl_err *err);

/* v, which fits t, with the labels of what it can be: values that are one of at most `capacity`,
 * and those of a known form, lose the bits of label.h that say that they may be anything. Takes v.
 */
pdl_val pdl_type_bound(const pdl_type *t, pdl_val v, uint32_t capacity);
/* Does every value that fits t keep its labels? False also where that depends on the value. */
bool pdl_type_bounds_nothing(const pdl_type *t);

/* Short text for messages and hover: "[integer]", "{a: string, b?: number}". */
void pdl_type_show(const pdl_type *t, pdl_buf *out);

#endif
