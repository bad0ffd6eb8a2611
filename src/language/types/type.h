/* type.h -- pdl_type: the type that a `spec` denotes, read, checked and shown (spec syntax 3).
 *
 * Types live in an arena and are immutable. A type that was read from a program has the source
 * place of each part.
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
 * PDL_E_schema at the wrong part, with a hint; PDL_E_limit. An invalid JSON Schema inside is
 * reported by the check, not by this function. */
PDL_MUST bool pdl_type_read(pdl_arena *a, const pdl_node *n, const pdl_type **out, pdl_err *err);
/* Reads a type from a value, such as the parameters of tools. */
PDL_MUST bool pdl_type_from_val(pdl_arena *a, pdl_vref v, const pdl_type **out, pdl_err *err);

/* Reads the type of a function's arguments: an object whose fields are the parameters, and which
 * has no other fields. `params` is the node of `function:` (mapping name -> type). */
PDL_MUST bool pdl_type_read_params(pdl_arena *a, const pdl_node *params, const pdl_type **out,
                                   pdl_err *err);

/* Calls fn for each deprecated type word ("str", "string") in t, in order, so that the command can
 * warn. */
void pdl_type_deprecated(const pdl_type *t,
                         void (*fn)(void *user, const char *old, const char *now), void *user);

/* The forms of types, for a check that has no value yet. */
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
pdl_base_type pdl_type_base_of(const pdl_type *t); /* t must be a base type */
/* t must be a list or optional; returns NULL when every item fits */
const pdl_type *pdl_type_item_of(const pdl_type *t);
pdl_vref pdl_type_schema_of(const pdl_type *t); /* t must have the form schema */

/* returns true for NULL and null, which every value fits */
bool pdl_type_is_any(const pdl_type *t);
/* returns true for an object in PDL form: {NAME: TYPE} */
bool pdl_type_is_object(const pdl_type *t);
/* returns the number of fields of an object in PDL form */
size_t pdl_type_fields(const pdl_type *t);
pdl_str pdl_type_field_name(const pdl_type *t, size_t i);
const pdl_type *pdl_type_field(const pdl_type *t, size_t i);
bool pdl_type_field_optional(const pdl_type *t, size_t i);
/* Returns true when a check never needs the content of the value. */
bool pdl_type_is_promise_safe(const pdl_type *t);

/* Returns the JSON Schema (spec syntax 3.2) as an owned dict. With closed, additionalProperties is
 * false on objects. */
pdl_val pdl_type_schema(const pdl_type *t, bool closed);
/* Returns the type as it is written in the program, with deprecated words in the new spelling, for
 * traces and `f.function`. Owned. */
pdl_val pdl_type_as_written(const pdl_type *t);

/* One problem of a check. The path says where it is in the value, by steps such as ".a" and
 * "[2]". */
typedef struct pdl_problem {
    /* The place to print: the part of the type node at the path, otherwise the place of
     * the type. */
    pdl_loc loc;
    pdl_str path; /* ".a[2].b", "" at the top */
    pdl_str text; /* "3 should be of type <class 'str'>" */
    /* text with the words of JSON for types: "3 should be a string" */
    pdl_str plain;
    /* The text for people, without the place: "is 3, should be a string"; empty when `text` is
     * enough. */
    pdl_str help;
    pdl_str near; /* the allowed field that was probably meant, or empty */
    /* The path leads outside of the type's tree and of args_node. The problem is then printed at
     * the place of the header line (the key `spec`, `args`, `return`), as in the reference; loc is
     * the place of the value node. */
    bool at_header;
} pdl_problem;

typedef struct pdl_problems {
    pdl_problem *p; /* in the arena that the check got */
    size_t n;
} pdl_problems;

/* The result of a check. */
typedef struct pdl_type_verdict {
    bool fits;
    pdl_problems problems; /* empty when the value fits */
} pdl_type_verdict;

/* Checks v, which contains no promises. When v does not fit, the problems list the wrong parts
 * (spec syntax 3.5); they are made in scratch. `args_node` (may be NULL) is a node whose tree
 * mirrors the value, and gives problems their places. Without it the places are in the type. Error:
 * PDL_E_schema, "Invalid type in spec: ...", when the schema itself is invalid; PDL_E_limit when it
 * is too deep. */
PDL_MUST bool pdl_type_check(const pdl_type *t, pdl_vref v, const pdl_node *args_node,
                             pdl_arena *scratch, pdl_type_verdict *out, pdl_err *err);
/* Returns true when v is a single value (no list, dict, promise or object) that fits, or when t
 * accepts every value. May also return false for a value that fits; pdl_type_check then decides. */
bool pdl_type_fits_single(const pdl_type *t, pdl_vref v);

/* Validates v against a raw JSON Schema value (draft 2020-12 or the one that $schema names): the
 * validator alone, for the public suite and tool arguments. `remote` (may be NULL) resolves
 * absolute URIs to schemas (borrowed) or absent. */
PDL_MUST bool pdl_schema_validate(pdl_vref schema, pdl_vref v, pdl_vref (*remote)(pdl_str uri),
                                  pdl_arena *scratch, pdl_type_verdict *out, pdl_err *err);

/* Returns v, which fits t. Takes v. When t allows at most `capacity` values, or only values of a
 * known form, the labels of v lose the bits for values that are not bounded (label.h). */
pdl_val pdl_type_bound(const pdl_type *t, pdl_val v, uint32_t capacity);
/* Returns true when every value that fits t keeps its labels. Returns false also when that depends
 * on the value. */
bool pdl_type_bounds_nothing(const pdl_type *t);

/* Appends a short text for messages and hover: "[integer]", "{a: string, b?: number}". */
void pdl_type_show(const pdl_type *t, pdl_buf *out);

#endif
