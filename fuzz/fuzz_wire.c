/* fuzz_wire.c -- values of the worker protocol, as JSON from a process that may send anything.
 * Properties: the result is a value, or an error with a text. A value that was read is written in a
 * form that is read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "value/json_read.h"
#include "worker/worker_impl.h"

static bool read_value(worker *w, pdl_str text, pdl_val *out) {
    pdl_val json;
    pdl_err err = {0};
    bool ok = pdl_json_read(text, PDL_JSON_PYTHON, &json, NULL, &err);
    if (ok) {
        ok = pdl_worker_wire_get(w, json, out, &err);
        FUZZ_MUST(ok || (err.kind && err.msg));
        pdl_drop(json);
    }
    pdl_err_fini(&err);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    worker w = {.generation = 1};
    lease own = {.refs = 1 << 30, .w = &w};
    w.lease = &own;
    pdl_buf text = fuzz_text(data, size);
    pdl_err err = {0};
    pdl_val v, again;
    if (read_value(&w, pdl_buf_str(&text), &v)) {
        wire_out o = {.w = &w, .body = PDL_BUF, .refs = PDL_BUF, .err = &err};
        if (pdl_worker_wire_put(&o, v)) {
            FUZZ_MUST(read_value(&w, pdl_buf_str(&o.body), &again));
            wire_out p = {.w = &w, .body = PDL_BUF, .refs = PDL_BUF, .err = &err};
            FUZZ_MUST(pdl_worker_wire_put(&p, again) &&
                      pdl_str_eq(pdl_buf_str(&o.body), pdl_buf_str(&p.body)));
            pdl_worker_wire_fini(&p);
            pdl_drop(again);
        }
        pdl_worker_wire_fini(&o);
        pdl_drop(v);
    }
    pdl_err_fini(&err);
    pdl_worker_wire_forget(&w);
    pdl_vec_fini(&w.held);
    pdl_vec_fini(&w.drops);
    pdl_buf_fini(&text);
    return 0;
}
