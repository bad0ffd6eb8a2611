/* fuzz_trace.c -- traces of any origin that `pdl view` shows. Properties: a text with a JSON object
 * is shown. The boxes are an ordered tree, and each names its place in the source. The document is
 * in order, covers the printed text, and is text in each of its forms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"
#include "value/json_read.h"
#include "viewer/boxes.h"
#include "viewer/reading/reading_json.h"

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

static void check_document(const pdl_doc *d) {
    const pdl_view_program none = {0};
    pdl_view_source *source = pdl_view_source_new(d, &none);
    pdl_reading *r = pdl_reading_new(d);
    pdl_buf text = PDL_BUF, json = PDL_BUF;
    pdl_val back = pdl_absent();
    pdl_err err = {0};
    FUZZ_MUST(pdl_reading_ok(r));
    pdl_reading_markdown(r, source, true, &text);
    FUZZ_MUST(fuzz_is_text(pdl_buf_str(&text)));
    pdl_reading_json_all(r, source, &json);
    FUZZ_MUST(pdl_json_read(pdl_buf_str(&json), 0, &back, NULL, &err));
    FUZZ_MUST(pdl_is_list(back) && pdl_list_len(back) == r->items.n);
    for (uint32_t i = 1; i <= r->n_calls; i++) {
        pdl_buf_clear(&json);
        pdl_reading_json_call(r, source, i, i % 2 == 0, &json);
        FUZZ_MUST(fuzz_is_text(pdl_buf_str(&json)));
    }
    pdl_drop(back);
    pdl_buf_fini(&text);
    pdl_buf_fini(&json);
    pdl_reading_free(r);
    pdl_view_source_free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_err err = {0};
    pdl_doc *d = NULL;
    pdl_buf text = fuzz_text(data, size);
    if (pdl_doc_read(pdl_buf_str(&text), size & 1, &d, &err)) {
        check_boxes(d);
        check_document(d);
        pdl_doc_free(d);
    } else {
        FUZZ_MUST(err.msg && err.msg[0]);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&text);
    return 0;
}
