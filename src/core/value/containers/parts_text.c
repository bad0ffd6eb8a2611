/* parts_text.c -- see parts_text.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/parts_text.h"

#include "base/buf.h"
#include "value/member.h"

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
