/* member.h -- members of data from outside: messages of protocols, requests and replies. A member
 * may be missing, or may have another kind than expected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_MEMBER_H
#define PDL_VALUE_MEMBER_H

#include "value/val.h"

/* Returns the value of a key, borrowed. Returns absent when d is no dict or has no such key. */
pdl_vref pdl_member(pdl_vref d, const char *key);
/* These read a value of one kind. They return the empty text, dflt or false when the key is missing
 * or its value has another kind. */
pdl_str pdl_member_str(pdl_vref d, const char *key);
int64_t pdl_member_int(pdl_vref d, const char *key, int64_t dflt);
bool pdl_member_bool(pdl_vref d, const char *key);

#endif
