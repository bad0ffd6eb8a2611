/* member.h -- members of data that came from outside: messages of protocols, requests, replies,
 * where nothing is certain to be there or to be of the kind that is expected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_MEMBER_H
#define PDL_VALUE_MEMBER_H

#include "value/val.h"

/* The value of a key, borrowed; absent when d is no dict or has no such key. */
pdl_vref pdl_member(pdl_vref d, const char *key);
/* The same of one kind: empty, dflt or false where there is none, or it is of another kind. */
pdl_str pdl_member_str(pdl_vref d, const char *key);
int64_t pdl_member_int(pdl_vref d, const char *key, int64_t dflt);
bool pdl_member_bool(pdl_vref d, const char *key);

#endif
