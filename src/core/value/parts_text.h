/* parts_text.h -- the text of a message's content, which is a text or a list of parts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_PARTS_TEXT_H
#define PDL_VALUE_PARTS_TEXT_H

#include "value/val.h"

/* Appends the text, or the texts of the parts one after another; parts without a text are left out.
 * Returns false when the content has no text. */
bool pdl_put_parts_text(pdl_vref content, pdl_buf *out);
/* Appends the result of a tool, a list of parts, as models and programs read it. These are the
 * texts, the texts of embedded resources, and for any other part its type, kind and address in
 * brackets. Each part begins a line. */
void pdl_put_tool_parts(pdl_vref content, pdl_buf *out);

#endif
