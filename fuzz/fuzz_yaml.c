/* fuzz_yaml.c -- a JSON value is written as YAML. Property: it is read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include <math.h>

#include "value/json_write.h"
#include "yaml/yaml.h"

/* Returns true for a value that JSON can express. NaN is left out, because it does not equal the
 * value that is read again. A value that shares parts can be exponentially larger than its memory,
 * so at most *left parts are examined. */
static bool is_json(pdl_vref v, unsigned depth, unsigned *left) {
    if (depth > 100 || !*left) return false;
    --*left;
    if (pdl_is_list(v)) {
        for (size_t i = 0; i < pdl_list_len(v); i++)
            if (!is_json(pdl_list_at(v, i), depth + 1, left)) return false;
        return true;
    }
    if (!pdl_is_dict(v))
        return pdl_is(v, PDL_V_NULL) || pdl_is_bool(v) || pdl_is_str(v) || pdl_is(v, PDL_V_INT) ||
               (pdl_is(v, PDL_V_FLOAT) && !isnan(pdl_float_of(v)));
    for (size_t i = 0; i < pdl_dict_len(v); i++)
        if (!pdl_is_str(pdl_dict_key_at(v, i)) || !is_json(pdl_dict_val_at(v, i), depth + 1, left))
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size), b = PDL_BUF;
    pdl_val v, again;
    pdl_err err = {0};
    uint32_t line, column;
    unsigned left = 100000;
    if (pdl_yaml_read(pdl_buf_str(&text), &v, &line, &column, &err)) {
        if (is_json(v, 0, &left) && pdl_yaml_write(v, &b, &err)) {
            FUZZ_MUST(pdl_yaml_read(pdl_buf_str(&b), &again, NULL, NULL, &err));
            FUZZ_MUST(pdl_val_eq(v, again));
            pdl_drop(again);
        }
        pdl_drop(v);
    } else {
        FUZZ_MUST(err.kind && err.msg);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_buf_fini(&text);
    return 0;
}
