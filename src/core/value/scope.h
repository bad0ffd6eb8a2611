/* scope.h -- persistent map from interned names to values.
 *
 * A closure, a retry and an iteration of a map must see the variables as they were, while the
 * program binds more names: with mutable tables each of them would need a copy. Here an extended
 * scope shares everything with the old scope. A scope with one owner is extended in place, so a
 * loop that rebinds a variable runs in constant memory. A few bindings are in a row, and many are
 * in a radix trie over dense name ids, where a look-up takes a few loads. NULL is the empty scope.
 * Iteration is in order of first definition.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_SCOPE_H
#define PDL_VALUE_SCOPE_H

#include "base/intern.h"
#include "value/val.h"

typedef struct pdl_scope pdl_scope;

pdl_scope *pdl_scope_keep(const pdl_scope *s);
void pdl_scope_drop(pdl_scope *s); /* iterative, for any depth; s may be NULL */

/* Returns a borrowed value, or absent. */
pdl_vref pdl_scope_find(const pdl_scope *s, pdl_name name);

/* Binds name to x in s. Takes s and x. Rebinding keeps the position in the order. */
pdl_scope *pdl_scope_put(pdl_scope *s, pdl_name name, pdl_val x);

/* Binds name to x if it is bound to old: to the same object, or to an equal number or text. Returns
 * true when it has bound the name. */
bool pdl_scope_rebind(pdl_scope **s, pdl_name name, pdl_vref old, pdl_vref x);

/* Removes name from s. Takes s. */
pdl_scope *pdl_scope_del(pdl_scope *s, pdl_name name);

size_t pdl_scope_count(const pdl_scope *s);

/* Calls fn in order of definition until it returns false. */
void pdl_scope_each(const pdl_scope *s, bool (*fn)(void *user, pdl_name name, pdl_vref v),
                    void *user);

/* Makes a dict from names to values, for `pdl_scope` and for the results of imports. */
pdl_val pdl_scope_to_dict(const pdl_scope *s, const pdl_interner *in);

/* An object that owns a scope, such as a closure, drops it in fini. The values that this releases
 * join the walk that is in progress (val.c), so a scope need not be a value itself. */

#endif
