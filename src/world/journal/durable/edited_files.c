/* edited_files.c -- texts of included files that the user has changed for this run alone. The file
 * on the disk is not changed. The changed text is used only while the file still has the text that
 * the user saw, because the change was made to that text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"
#include "value/text.h"

#include "base/banned.h"

/* Appends a text with its line ends changed to "\n", as a reader of programs sees them. */
static void put_lines(pdl_str text, pdl_buf *out) {
    for (size_t i = 0; i < text.n; i++) {
        bool cr = text.p[i] == '\r', crlf = cr && i + 1 < text.n && text.p[i + 1] == '\n';
        if (!crlf) pdl_buf_putc(out, cr ? '\n' : text.p[i]);
    }
}

static const pdl_durable_edit *edit_of(const pdl_durable_options *o, pdl_str lines) {
    for (size_t i = 0; i < o->n_edits; i++)
        if (pdl_str_eq(lines, o->edits[i].before)) return &o->edits[i];
    return NULL;
}

void pdl_durable_edit_source(const pdl_durable *d, const pdl_effect *e, pdl_val *reply) {
    if (e->kind != PDL_EFFECT_source || !d->setup.opt.n_edits || pdl_is_absent(*reply)) return;
    bool is_dict = pdl_is_dict(*reply);
    pdl_vref text = is_dict ? pdl_dict_getz(*reply, "text") : *reply;
    if (!pdl_is_str(text)) return;
    pdl_buf lines = PDL_BUF;
    put_lines(pdl_str_get(text), &lines);
    const pdl_durable_edit *edit = edit_of(&d->setup.opt, pdl_buf_str(&lines));
    pdl_buf_fini(&lines);
    if (!edit) return;
    pdl_val after = pdl_text(edit->after);
    if (is_dict) {
        *reply = pdl_dict_putz(*reply, "text", after);
    } else {
        pdl_drop(*reply);
        *reply = after;
    }
}
