/* type_inside.h -- private to types: what a pdl_type is made of, and the problems of a value that
 * has not that type.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TYPES_TYPE_INSIDE_H
#define PDL_TYPES_TYPE_INSIDE_H

#include "base/vec.h"
#include "types/checking.h"

typedef struct pdl_type_entry {
    pdl_val name;         /* str */
    const pdl_type *type; /* NULL: any; without the {optional: } around */
    bool optional;
} pdl_type_entry;

struct pdl_type {
    pdl_type_kind kind;
    pdl_base_type base;
    const char *old; /* base: deprecated word as written, or NULL */
    bool wrapped;    /* object: written as {object: ..} */
    /* Functions: the extra argument pdl_context passes, and functions count as objects. */
    bool params;
    bool plain;           /* nothing below is a JSON Schema: checked without building one */
    const pdl_node *node; /* NULL: made from a value */
    const pdl_type *item; /* list, optional; NULL: any */
    pdl_type_entry *fields;
    size_t n_fields;
    pdl_val schema;    /* schema form as written */
    pdl_schema *ready; /* of the outermost type when it is not plain: its closed schema */
    pdl_str bad;       /* why it could not be made ready */
};

extern const char *const pdl_base_names[PDL_BASE_COUNT];

/* analyze.c: the problems of v against the schema of c, in the reference's words. */
typedef PDL_VEC(pdl_problem) pdl_problem_vec;
typedef struct pdl_analysis {
    pdl_check *c;
    pdl_arena *arena;
    const pdl_node *places; /* tree walked along with the value, or NULL */
    pdl_problem_vec *out;
} pdl_analysis;
void pdl_analyze(pdl_analysis *an, pdl_vref schema, pdl_vref v);
/* Append one problem at a step. */
void pdl_problem_add(pdl_analysis *an, const pdl_step *at, pdl_buf *text);

/* type_advice.c: a hint for a word, or a list without one item, that is no type. err is set. rest:
 * when there is none, which types there are. */
void pdl_type_advise_word(pdl_err *err, pdl_str word);
void pdl_type_advise_rest(pdl_err *err);
void pdl_type_advise_list(pdl_err *err, pdl_vref list);

#endif
