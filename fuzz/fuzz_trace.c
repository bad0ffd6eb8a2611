/* fuzz_trace.c -- traces that `pdl view` shows, of anybody. Properties: what holds a JSON object is
 * shown; boxes are a tree in order, and each says where it is in the source.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"
#include "viewer/doc.h"

static void check_boxes(const pdl_doc *d) {
    FUZZ_MUST(d->boxes.n > 0 && d->boxes.p[0].depth == 0);
    for (uint32_t i = 0; i < d->boxes.n; i++) {
        const pdl_box *b = &d->boxes.p[i];
        pdl_buf path = PDL_BUF;
        FUZZ_MUST(i == 0 || (b->depth > 0 && b->depth <= d->boxes.p[i - 1].depth + 1));
        FUZZ_MUST(fuzz_is_text(b->kind) && fuzz_is_text(b->place));
        pdl_doc_source_path(d, i, &path);
        FUZZ_MUST(fuzz_is_text(pdl_buf_str(&path)));
        pdl_buf_fini(&path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_err err = {0};
    pdl_doc *d = NULL;
    pdl_buf text = fuzz_text(data, size);
    if (pdl_doc_read(pdl_buf_str(&text), &d, &err)) {
        check_boxes(d);
        pdl_doc_free(d);
    } else {
        FUZZ_MUST(err.msg && err.msg[0]);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&text);
    return 0;
}
