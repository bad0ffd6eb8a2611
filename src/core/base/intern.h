/* intern.h -- names as small integers: scope keys, field names, attribute names.
 *
 * Ids start at 1 and are dense, so a scope can be a radix trie over them (value/scope.h). An engine
 * and all its runs have one interner, because functions of one run may reach another. Code keeps a
 * reference to it, since functions outlive their run. Names live as long as the interner.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_INTERN_H
#define PDL_BASE_INTERN_H

#include "base/str.h"

typedef struct pdl_interner pdl_interner;
typedef uint32_t pdl_name; /* 0: no name */

pdl_interner *pdl_interner_new(void);
pdl_interner *pdl_interner_keep(pdl_interner *in);
void pdl_interner_drop(pdl_interner *in); /* NULL is fine */

/* Returns the id of s, and makes it when s is new (s is copied). */
pdl_name pdl_intern(pdl_interner *in, pdl_str s);

/* Returns the id of s, or 0 when it was never interned. */
pdl_name pdl_intern_find(const pdl_interner *in, pdl_str s);

/* Returns the text of an id, NUL-terminated and borrowed from in. */
pdl_str pdl_name_str(const pdl_interner *in, pdl_name id);

#endif
