/* member.c -- reads members of data from outside; see member.h. A member that is missing and a
 * member of another kind give the same result, so a caller needs one check for both.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/member.h"

#include "base/banned.h"

pdl_vref pdl_member(pdl_vref d, const char *key) {
    return pdl_is_dict(d) ? pdl_dict_getz(d, key) : pdl_absent();
}

pdl_str pdl_member_str(pdl_vref d, const char *key) {
    pdl_vref v = pdl_member(d, key);
    return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0};
}

int64_t pdl_member_int(pdl_vref d, const char *key, int64_t dflt) {
    pdl_vref v = pdl_member(d, key);
    return pdl_is(v, PDL_V_INT) ? pdl_int_of(v) : dflt;
}

bool pdl_member_bool(pdl_vref d, const char *key) {
    pdl_vref v = pdl_member(d, key);
    return pdl_is_bool(v) && pdl_bool_of(v);
}
