/* type_inside.h -- the members of a pdl_type, and the problems of a value that does not have that
 * type. Private to types.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TYPES_TYPE_INSIDE_H
#define PDL_TYPES_TYPE_INSIDE_H

#include "base/vec.h"
#include "types/checking.h"

typedef struct pdl_type_entry {
    pdl_val name;         /* str */
    const pdl_type *type; /* NULL means any type; the {optional: } around the type is left out */
    bool optional;
} pdl_type_entry;

struct pdl_type {
    pdl_type_kind kind;
    pdl_base_type base;
    /* for the form `base`: the deprecated word that was written; NULL for other words */
    const char *old;
    bool wrapped; /* for the form `object`: the type is written as {object: ..} */
    /* The type of a function's arguments: the extra argument pdl_context is allowed, and functions
     * count as objects. */
    bool params;
    bool plain;           /* no part is a JSON Schema, so none is built for a check */
    const pdl_node *node; /* NULL when the type was made from a value */
    const pdl_type *item; /* for a list or an optional type; NULL means any type */
    pdl_type_entry *fields;
    size_t n_fields;
    pdl_val schema; /* used by the form `schema`: the schema as it is written */
    /* the compiled JSON Schema; set in the outermost type alone, and only when `plain` is not set
     */
    pdl_schema *ready;
    pdl_str bad; /* the reason why the schema could not be made ready */
};

extern const char *const pdl_base_names[PDL_BASE_COUNT];

/* pdl_analyze appends the problems of v against schema, in the reference's words
 * (value_problems.c). */
typedef PDL_VEC(pdl_problem) pdl_problem_vec;
typedef struct pdl_analysis {
    pdl_check *c;
    pdl_arena *arena;
    const pdl_node *places; /* tree that is walked along with the value, or NULL */
    pdl_problem_vec *out;
} pdl_analysis;
void pdl_analyze(pdl_analysis *an, pdl_vref schema, pdl_vref v);
/* Appends one problem at a step. */
void pdl_problem_add(pdl_analysis *an, const pdl_step *at, pdl_buf *text);

/* These add a hint to err (type_advice.c). pdl_type_advise_word is for a word that is not a type,
 * and pdl_type_advise_list for a list that does not have one item. pdl_type_advise_rest is for any
 * other error; it adds the list of the types when err has no hint yet. With `is_default`, it says
 * how a parameter gets a default value instead. */
void pdl_type_advise_word(pdl_err *err, pdl_str word);
void pdl_type_advise_rest(pdl_err *err, bool is_default);
void pdl_type_advise_list(pdl_err *err, pdl_vref list);

#endif
