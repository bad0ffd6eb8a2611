/* fuzz_yaml.c -- property: a JSON value that was read is written so that it is read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "value/json_write.h"
#include "yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size), b = PDL_BUF;
    pdl_val v, again;
    pdl_err err = {0};
    uint32_t line, column;
    if (pdl_yaml_read(pdl_buf_str(&text), &v, &line, &column, &err)) {
        if (pdl_is_json(v) && pdl_yaml_write(v, &b, &err) && pdl_val_eq(v, v)) {
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
