/* variables.h -- the variables that a block sets, whatever sets them: one walk for all checks that
 * must know every place where a variable gets a value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_VARIABLES_H
#define PDL_LANG_VARIABLES_H

#include "lang/program.h"

typedef enum {
    PDL_SETS_DEF,       /* `def`: the result of the block itself */
    PDL_SETS_DEFS,      /* an entry of `defs` */
    PDL_SETS_ITEM,      /* a variable of `for` */
    PDL_SETS_INDEX,     /* `index` of a loop */
    PDL_SETS_RESPONSE,  /* `modelResponse` */
    PDL_SETS_PARAMETER, /* a parameter of a function */
    PDL_SETS_CASE       /* a variable in a pattern of `case` */
} pdl_sets;

typedef struct pdl_variable {
    pdl_sets by;
    pdl_str name;
    const pdl_block *value; /* used by DEF and DEFS: the block whose result the variable gets */
    const pdl_type *type;   /* used by PARAMETER; NULL without a type */
} pdl_variable;

/* Calls fn for each variable that b sets itself, in the order of pdl_sets. Names in `for` that are
 * expressions are left out. The blocks inside of b are not visited. */
void pdl_block_each_variable(const pdl_block *b, void (*fn)(void *user, const pdl_variable *v),
                             void *user);

#endif
