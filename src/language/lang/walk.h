/* walk.h -- visits every block, expression and type of a program, in the order of the fields.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_WALK_H
#define PDL_LANG_WALK_H

#include "lang/program.h"

/* Each function may be NULL. key is the field's key, or "" inside of lists whose items have no
 * keys. */
typedef struct pdl_walk {
    void *user;
    /* t is a PDL_TREE_EXPR. */
    void (*expr)(void *user, const pdl_block *b, const char *key, const pdl_tree *t);
    void (*type)(void *user, const pdl_block *b, const char *key, const pdl_type *t, pdl_loc loc);
} pdl_walk;

/* Visits p->main and all its parts. */
void pdl_program_walk(const pdl_program *p, const pdl_walk *w);

/* Calls fn for each sub-block in the order of the fields (the kind's fields, then the common
 * fields). */
void pdl_block_each_child(const pdl_block *b, void (*fn)(void *user, const pdl_block *child),
                          void *user);

/* Calls fn for each block of one field. */
void pdl_field_each_block(const pdl_block *b, const pdl_field *f,
                          void (*fn)(void *user, const pdl_block *child), void *user);

/* Calls fn once for each deprecated type word ("str", "string") in a spec or function of the
 * program, with its first place. */
void pdl_program_each_deprecated(const pdl_program *p,
                                 void (*fn)(void *user, pdl_loc loc, const char *old,
                                            const char *now),
                                 void *user);

/* Returns the tree whose value is the result of the block, when the block is a scalar, or `data`
 * without `raw`. Returns NULL for other blocks, and when a parser, a spec or a fallback may change
 * the value. */
const pdl_tree *pdl_block_plain_tree(const pdl_block *b);

/* Returns true when a condition is a text that cannot be empty, whatever its variables hold. "x"
 * and "${ x } > 3" are such texts; ${ x > 3 } is not. Such a condition is always true. *text is
 * what is written. */
bool pdl_tree_is_text(const pdl_tree *t, pdl_str *text);
#define PDL_CONDITION_ADVICE(t)                                                                    \
    ((t)->kind == PDL_TREE_CONST ? "write an expression: ${ ... }"                                 \
                                 : "write one expression around all of it: ${ x > 3 }")

/* Returns true when a name that is undefined at `at` is set further down, and sets *where to the
 * place of the later definition. A name that a function sets counts only inside of the function.
 * Walks through the whole program. */
bool pdl_program_sets_later(const pdl_program *p, pdl_str name, pdl_loc at, pdl_loc *where);
#define PDL_CALL_NAMES "`call` names the function, `args` what it is given: call: ${ f }"
#define PDL_CALL_TEXT  "a function is the value of an expression: call: ${ f }"
#define PDL_NO_LIST    "a number of times is `maxIterations`, or ${ range(N) }"
#define PDL_DASH       "%.*s is a subtraction here: names in expressions have no -"
#define PDL_SETS_LATER "'%.*s' gets its value later, in line %u: that belongs before what reads it"

#endif
