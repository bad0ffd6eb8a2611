/* shown_run.c -- makes a run that can be shown from the text of its trace; see viewer.h. The steps
 * are always the same: the trace becomes boxes, the boxes get the lines of the program, and both
 * become a document. Each export writes what was made here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/shown_run.h"

#include "base/utf8.h"
#include "viewer/page.h"

#include "base/banned.h"

/* Returns the text as UTF-8. `repaired` holds the result when the text had to be changed. */
static pdl_str readable(pdl_str text, pdl_buf *repaired) {
    pdl_utf8_fault fault;
    if (!pdl_utf8_find_fault(text, &fault)) return text;
    pdl_utf8_repair(repaired, text);
    return pdl_buf_str(repaired);
}

bool pdl_view_run_new(pdl_str name, pdl_str trace, const pdl_view_program *program,
                      pdl_view_run **out, pdl_err *err) {
    pdl_buf repaired = PDL_BUF, shown = PDL_BUF;
    pdl_doc *doc;
    bool ok = pdl_doc_read(readable(trace, &repaired), program->running, &doc, err);
    if (ok) {
        pdl_utf8_repair(&shown, name);
        *out = PDL_NEW(pdl_view_run);
        **out = (pdl_view_run){
            .name = pdl_str_dup(pdl_buf_str(&shown)),
            .doc = doc,
            .source = pdl_view_source_new(doc, program),
        };
        (*out)->reading = pdl_reading_new(doc);
        (*out)->reading->name = pdl_str_of((*out)->name);
    }
    pdl_buf_fini(&repaired);
    pdl_buf_fini(&shown);
    return ok;
}

void pdl_view_run_free(pdl_view_run *r) {
    if (!r) return;
    pdl_reading_free(r->reading);
    pdl_view_source_free(r->source);
    pdl_doc_free(r->doc);
    pdl_free(r->name);
    pdl_free(r);
}

void pdl_view_run_compare(pdl_view_run *r, pdl_view_compare_fn *fn, void *user) {
    r->reading->comparison->fn = fn;
    r->reading->comparison->user = user;
}

void pdl_view_html(const pdl_view_run *r, pdl_buf *out) {
    pdl_page_export(r->reading, r->source, pdl_str_of(r->name), out);
}

void pdl_view_markdown(const pdl_view_run *r, pdl_buf *out) {
    pdl_reading_markdown(r->reading, r->source, false, out);
}

void pdl_view_markdown_all(const pdl_view_run *r, pdl_buf *out) {
    pdl_reading_markdown(r->reading, r->source, true, out);
}

void pdl_view_text(const pdl_view_run *r, pdl_buf *out) { pdl_reading_text(r->reading, out); }
