/* json.c -- strict JSON first, the repairing reader when that fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "parse/readers.h"
#include "value/json_read.h"

#include "base/banned.h"

bool pdl_json_repair(pdl_str text, pdl_val *out, pdl_err *err) {
    if (pdl_json_read(text, PDL_JSON_PYTHON, out, NULL, err)) return true;
    if (err->kind == PDL_E_limit || err->uncatchable) return false;
    pdl_err_fini(err);
    return pdl_repair_text(text, out, err);
}

bool pdl_parse_json(pdl_str text, pdl_val *out, pdl_err *err) {
    /* Models that think in Python: only these two words, without blanks around them. */
    if (pdl_str_is(text, "True") || pdl_str_is(text, "False")) {
        *out = pdl_bool(text.n == 4);
        return true;
    }
    return pdl_json_repair(text, out, err);
}
