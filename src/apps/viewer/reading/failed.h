/* failed.h -- private to viewer: finds the values with which a block failed, and the calls through
 * which it was reached.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_FAILED_H
#define PDL_VIEWER_FAILED_H

#include "viewer/reading/reading.h"

/* Appends two members. "values": [{"name", "text"}] has the names in the expressions of a block,
 * with the values that they had there. "way": [{"text", "box"}] has the calls and rounds around the
 * block, innermost first. */
void pdl_put_failure(const pdl_reading *r, const pdl_view_source *s, uint32_t box, pdl_buf *out);
/* Appends the message of a block that has failed. The message of `read` at the end of its input,
 * "EOF", is said in words. */
void pdl_put_failure_text(const pdl_box *b, pdl_buf *out);
/* Appends the member "values" alone. */
void pdl_put_values(const pdl_reading *r, uint32_t box, pdl_buf *out);

#endif
