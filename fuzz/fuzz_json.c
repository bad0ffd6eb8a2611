/* fuzz_json.c -- a JSON value is read and written. Property: reading the written text gives the
 * same value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "value/json_read.h"
#include "value/json_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size), b = PDL_BUF;
    pdl_val v, again;
    pdl_err err = {0};
    if (pdl_json_read(pdl_buf_str(&text), 0, &v, NULL, &err)) {
        FUZZ_MUST(pdl_json_write(v, PDL_JSON_NAN, 0, &b, &err));
        FUZZ_MUST(pdl_json_read(pdl_buf_str(&b), PDL_JSON_PYTHON, &again, NULL, &err));
        FUZZ_MUST(pdl_val_eq(v, again));
        pdl_drop(again);
        pdl_drop(v);
    } else {
        FUZZ_MUST(err.kind && err.msg);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_buf_fini(&text);
    return 0;
}
