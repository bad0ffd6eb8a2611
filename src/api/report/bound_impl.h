/* bound_impl.h -- the types and functions that the files of the bound share. Private to api.
 *
 *   bound_report.c  walks blocks and adds their bounds
 *   bound_values.c  lengths of values and of lists, numbers, and functions that expressions call
 *   unpriced.c      models that have no price
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_BOUND_IMPL_H
#define PDL_API_BOUND_IMPL_H

#include <math.h>

#include "api/bound.h"
#include "base/vec.h"

/* A variable, and the facts about it that the program text shows. */
typedef struct bound_name {
    pdl_str name;
    const pdl_tree *tree;      /* its value, or NULL when the text does not show it */
    const pdl_block *function; /* its function, or NULL */
    pdl_vref given;            /* its value, when the command line gives one; else absent */
    double words;              /* maximum number of words in its value; INFINITY: unknown */
    size_t times;              /* how many times the program sets it */
} bound_name;

typedef struct bound_names {
    PDL_VEC(bound_name) all;
} bound_names;

/* Collects the names that a program sets. */
void pdl_bound_collect(bound_names *names, const pdl_program *p, pdl_vref variables);
bound_name *pdl_bound_find(const bound_names *names, pdl_str name);

/* Returns the number of words of a value or of a text; INFINITY when it has no bound. */
double pdl_bound_words(const bound_names *names, const pdl_tree *t);
double pdl_bound_count_words(pdl_str text);
/* Returns the length of a list, or the value of a number; negative when it is not known. */
double pdl_bound_length(const bound_names *names, const pdl_tree *t);
/* Returns the value that a tree has in every run; absent when the text does not show it. */
pdl_vref pdl_bound_value(const bound_names *names, const pdl_tree *t);
/* Returns the number of words in the longest item of a list. */
double pdl_bound_item_words(const bound_names *names, const pdl_tree *t);
double pdl_bound_number(const bound_names *names, const pdl_tree *t);
/* Returns the function that an expression names; NULL when it is not known. */
const pdl_block *pdl_bound_function(const bound_names *names, const pdl_tree *t);

/* Calls fn for each call in the expressions of a tree, except calls of built-in functions and
 * methods. function: the called function of the program; NULL when it is not known. */
void pdl_bound_each_call(const bound_names *names, const pdl_tree *t,
                         void (*fn)(void *user, const pdl_block *function, pdl_loc loc),
                         void *user);

#endif
