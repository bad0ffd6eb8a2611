/* parts_text.c -- makes one text of the content of a message; see parts_text.h.
 *
 * A part without a text is left out of a message. In the result of a tool it is named in brackets,
 * so that the model knows of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/parts_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

bool pdl_put_parts_text(pdl_vref content, pdl_buf *out) {
    size_t before = out->len;
    if (pdl_is_str(content)) {
        pdl_buf_put(out, pdl_str_get(content));
        return true;
    }
    for (size_t i = 0; pdl_is_list(content) && i < pdl_list_len(content); i++)
        pdl_buf_put(out, pdl_member_str(pdl_list_at(content, i), "text"));
    return out->len > before;
}

/* Appends one part of a result. A part that is not text is named, so that the model knows of it. */
static void put_part(pdl_vref part, pdl_buf *out) {
    pdl_vref resource = pdl_member(part, "resource"),
             about = pdl_is_dict(resource) ? resource : part;
    pdl_vref other = pdl_member(about, "text");
    pdl_err err = {0};
    pdl_str text = pdl_is_str(part) ? pdl_str_get(part) : pdl_member_str(about, "text");
    if (out->len) pdl_buf_putc(out, '\n');
    if (text.p) {
        pdl_buf_put(out, text);
        return;
    }
    if (!pdl_is_absent(other) && !pdl_is_null(other)) {
        /* some servers send a number or an object as a text */
        if (!pdl_stringify(other, out, &err)) pdl_err_fini(&err);
        return;
    }
    pdl_str type = pdl_member_str(part, "type"), mime = pdl_member_str(about, "mimeType"),
            uri = pdl_member_str(about, "uri");
    pdl_buf_putf(out, "[%.*s%s%.*s%s%.*s]", PDL_FMT(type), mime.n ? " " : "", PDL_FMT(mime),
                 uri.n ? " " : "", PDL_FMT(uri));
}

void pdl_put_tool_parts(pdl_vref content, pdl_buf *out) {
    for (size_t i = 0, n = pdl_is_list(content) ? pdl_list_len(content) : 0; i < n; i++)
        put_part(pdl_list_at(content, i), out);
}
