/* fuzz_schema.c -- a spec or a JSON Schema (YAML), the line "---", and a value. Property: a check
 * that fails names a problem.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "types/type.h"
#include "value/label.h"
#include "yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size);
    pdl_str spec, subject;
    fuzz_split(pdl_buf_str(&text), &spec, &subject);
    pdl_arena *a = pdl_arena_make();
    pdl_val s = pdl_null(), v = pdl_null();
    pdl_err err = {0};
    const pdl_type *t;
    if (pdl_yaml_read(spec, &s, NULL, NULL, &err) && pdl_yaml_read(subject, &v, NULL, NULL, &err) &&
        pdl_type_from_val(a, s, &t, &err)) {
        pdl_type_verdict found;
        if (pdl_type_check(t, v, NULL, a, &found, &err)) FUZZ_MUST(found.fits || found.problems.n);
        if (found.fits && !err.kind) { /* a check of the form does not change the origins in the
                                        * label of a value */
            pdl_val l = pdl_with_label(pdl_keep(v), pdl_label_built(PDL_LABEL_model));
            l = pdl_type_bound(t, l, 1 << 16);
            FUZZ_MUST(pdl_label_origins(pdl_label_of(l)) == PDL_LABEL_model);
            FUZZ_MUST(fuzz_same_json(l, v) || !fuzz_same_json(v, v));
            pdl_drop(l);
        }
        pdl_drop(pdl_type_schema(t, true));
        pdl_drop(pdl_type_as_written(t));
    }
    FUZZ_MUST(!err.kind || err.msg);
    pdl_err_fini(&err);
    pdl_drop(s);
    pdl_drop(v);
    pdl_arena_free(a);
    pdl_buf_fini(&text);
    return 0;
}
