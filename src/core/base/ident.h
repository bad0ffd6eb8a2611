/* ident.h -- finds names in the text of code, and judges names of variables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_IDENT_H
#define PDL_BASE_IDENT_H

#include "base/str.h"

/* Returns true when name occurs in code, with no letter, digit, underscore or byte beyond ASCII on
 * either side. Returns false for the empty name. */
bool pdl_ident_is_in(pdl_str code, pdl_str name);
/* Returns true when the name of a variable or a field says that its value is a secret: a key, a
 * token, a password. Ignores case. */
bool pdl_ident_says_secret(pdl_str name);

#endif
