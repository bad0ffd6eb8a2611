/* row_docs.c -- writes documentation of table rows for completion and hover; see row_docs.h. The
 * tables of the language have one sentence for each field, kind and function. Completion and hover
 * show this sentence with the same layout.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/show/row_docs.h"

#include "value/json_write.h"

#include "base/banned.h"

static void put_default(const pdl_field *f, pdl_buf *out) {
    pdl_err err = {0};
    pdl_val v = f->kind >= 0 ? pdl_field_default((pdl_block_kind)f->kind, f->key) : pdl_absent();
    if (pdl_is_absent(v)) return;
    PDL_PUT(out, " Default: `");
    if (!pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, out, &err)) pdl_err_fini(&err);
    PDL_PUT(out, "`.");
    pdl_drop(v);
}

void pdl_lsp_document_field(const pdl_field *f, pdl_buf *out) {
    static const char *const needs[] = {
        [PDL_NEED_REQ] = "Required.",
        [PDL_NEED_OPT] = "",
        [PDL_NEED_DEF] = "",
        [PDL_NEED_NUL] = "Required, may be null.",
        [PDL_NEED_OLD] = "Deprecated.",
    };
    pdl_buf_putf(out, "**%s** -- %s\n\nValue: %s.", f->key, f->doc, pdl_field_forms[f->type].doc);
    if (needs[f->need][0]) pdl_buf_putf(out, " %s", needs[f->need]);
    put_default(f, out);
    if (f->kind >= 0)
        pdl_buf_putf(out, "\n\nOf `%s` blocks. %s", pdl_block_name((pdl_block_kind)f->kind),
                     pdl_block_doc((pdl_block_kind)f->kind));
    else
        PDL_PUT(out, "\n\nOf every block.");
}

void pdl_lsp_document_kind(pdl_block_kind kind, pdl_buf *out) {
    pdl_buf_putf(out, "**%s** block -- %s", pdl_block_name(kind), pdl_block_doc(kind));
}

void pdl_lsp_document_native(const char *title, const pdl_native *row, pdl_buf *out) {
    pdl_buf_putf(out, "```\n%s(%s)\n```\n%s\n\n*%s*", row->name, row->params ? row->params : "",
                 row->doc ? row->doc : "", title);
}
