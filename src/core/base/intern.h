/* intern.h -- names as small integers: scope keys, field names, attribute names. Ids start at 1 and
 * have no gaps, so a scope can be a radix trie over them (value/scope.h). An engine and all its
 * runs share one interner, because functions of one run may reach another. Code keeps a reference
 * to it, since functions outlive their run. Names live as long as the interner.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_INTERN_H
#define PDL_BASE_INTERN_H

#include "base/str.h"

typedef struct pdl_interner pdl_interner;
typedef uint32_t pdl_name; /* 0 means no name */

pdl_interner *pdl_interner_new(void);
pdl_interner *pdl_interner_keep(pdl_interner *in);
void pdl_interner_drop(pdl_interner *in); /* NULL is allowed */

/* Returns the id of s. When s is new, copies it and makes an id. */
pdl_name pdl_intern(pdl_interner *in, pdl_str s);

/* Returns the id of s, or 0 when it was never interned. */
pdl_name pdl_intern_find(const pdl_interner *in, pdl_str s);

/* Returns the text of an id, NUL-terminated and borrowed from in. */
pdl_str pdl_name_str(const pdl_interner *in, pdl_name id);

#endif
