/* bound_impl.h -- the types and functions that the files of the bound share. Private to api.
 *
 *   bound_report.c  walks blocks and adds their bounds
 *   bound_values.c  names, lengths of texts, and functions that expressions call
 *   bound_lists.c   lengths of lists, and numbers
 *   bound_types.c   lengths of values that fit a type
 *   unpriced.c      models that have no price
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_BOUND_IMPL_H
#define PDL_API_BOUND_IMPL_H

#include <math.h>

#include "api/bound.h"
#include "base/map.h"
#include "base/vec.h"

/* A variable, and the facts about it that the program text shows. */
typedef struct bound_name {
    pdl_str name;
    const pdl_tree *tree;      /* its value, or NULL when the text does not show it */
    const pdl_block *block;    /* the block whose result it gets, or NULL */
    const pdl_type *type;      /* the type that its value fits, or NULL */
    const pdl_block *function; /* its function, or NULL */
    pdl_vref given;            /* its value, when the command line gives one; else absent */
    double words;              /* maximum number of words in its value; INFINITY: unknown */
    size_t times;              /* how many times the program sets it */
    size_t indexes;            /* how many of these times it is the index of a loop */
} bound_name;

typedef struct bound_names {
    PDL_VEC(bound_name) all;
    pdl_map index; /* name -> position in all, from 1 */
} bound_names;

/* Collects the names that a program sets. */
void pdl_bound_collect(bound_names *names, const pdl_program *p, pdl_vref variables);
void pdl_bound_names_fini(bound_names *names);
bound_name *pdl_bound_find(const bound_names *names, pdl_str name);
/* Returns the variable when the program sets it at exactly one place; otherwise NULL. */
const bound_name *pdl_bound_once(const bound_names *names, pdl_str name);

/* Returns the number of words of a value or of a text; INFINITY when it has no bound. */
double pdl_bound_words(const bound_names *names, const pdl_tree *t);
double pdl_bound_count_words(pdl_str text);
/* Returns the number of words of a value that is written as JSON, or of all texts inside it
 * together, whichever is larger. */
double pdl_bound_value_words(pdl_vref v);
/* The three functions below return the maximum number of words of a value that fits a type, of a
 * field of such a value, and of an item of such a value. They return INFINITY when there is no
 * bound. */
double pdl_bound_type_words(const pdl_type *t);
double pdl_bound_field_words(const pdl_type *t, pdl_str field);
double pdl_bound_type_item_words(const pdl_type *t);
/* Returns the maximum length of a list that fits a type; negative when it is not known. */
double pdl_bound_type_length(const pdl_type *t);
/* Returns the maximum length of the list that a tree makes; negative when it is not known. */
double pdl_bound_length(const bound_names *names, const pdl_tree *t);
/* Returns the maximum number of rounds of a loop; negative when it is not known. max may be
 * NULL. */
double pdl_bound_rounds(const bound_names *names, const pdl_fors *fors, const pdl_tree *max);
/* Returns the value that a tree has in every run; absent when the text does not show it. */
pdl_vref pdl_bound_value(const bound_names *names, const pdl_tree *t);
/* Returns the number of words in the longest item of a list; INFINITY when it is not known. */
double pdl_bound_item_words(const bound_names *names, const pdl_tree *t);
double pdl_bound_number(const bound_names *names, const pdl_tree *t);
/* Returns the function that an expression names; NULL when it is not known. */
const pdl_block *pdl_bound_function(const bound_names *names, const pdl_tree *t);

/* Calls fn for each call in the expressions of a tree, except calls of built-in functions and
 * methods. `function` is the called function of the program; NULL when it is not known. */
void pdl_bound_each_call(const bound_names *names, const pdl_tree *t,
                         void (*fn)(void *user, const pdl_block *function, pdl_loc loc),
                         void *user);

#endif
