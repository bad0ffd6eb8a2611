/* resolve.h -- tags of scalars and their values. Private to yaml.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_RESOLVE_H
#define PDL_YAML_RESOLVE_H

#include "base/err.h"
#include "value/val.h"
#include "yaml/node.h"

/* X(id, name). The tags of YAML 1.1 that the safe reader knows. name follows
 * "tag:yaml.org,2002:". */
/* clang-format off */
#define PDL_YAML_TAGS(X) \
    X(str, "str") \
    X(null, "null") \
    X(bool, "bool") \
    X(int, "int") \
    X(float, "float") \
    X(binary, "binary") \
    X(timestamp, "timestamp") \
    X(omap, "omap") \
    X(pairs, "pairs") \
    X(set, "set") \
    X(seq, "seq") \
    X(map, "map") \
    X(merge, "merge") \
    X(value, "value")
/* clang-format on */

typedef enum {
#define X(id, name) PDL_YTAG_##id,
    PDL_YAML_TAGS(X)
#undef X
        PDL_YTAG_OTHER
} pdl_ytag;

/* Returns the tag of a plain scalar that has no explicit tag. A word of more than five bytes is
 * text, unless it begins with a digit, a sign or a point, because only numbers and dates are
 * longer. */
pdl_ytag pdl_ytag_of_short(pdl_str text);
static inline pdl_ytag pdl_ytag_of_plain(pdl_str text) {
    return text.n > 5 && text.p[0] > '9' ? PDL_YTAG_str : pdl_ytag_of_short(text);
}
/* Returns the tag that an explicit full name means. */
pdl_ytag pdl_ytag_find(pdl_str name);
const char *pdl_ytag_name(pdl_ytag t);
pdl_node_type pdl_ytag_type(pdl_ytag t);

/* Makes the value of a scalar with a tag from null to timestamp (not str). The error has the class
 * and text of the constructor in the reference, and no place. */
PDL_MUST bool pdl_yaml_scalar(pdl_ytag t, pdl_str text, pdl_val *out, pdl_err *err);

#endif
