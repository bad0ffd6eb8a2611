/* ident.h -- names in the text of code and in environments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_IDENT_H
#define PDL_BASE_IDENT_H

#include "base/str.h"

/* Does name occur in code, with no letter, digit, underscore or byte beyond ASCII at either side?
 * False for the empty name. */
bool pdl_ident_is_in(pdl_str code, pdl_str name);
/* Does the name of a variable or a field say that its value is a key, a token, a password ...?
 * Small and capital letters are the same. */
bool pdl_ident_says_secret(pdl_str name);

#endif
