/* failed_attempts.h -- private to viewer: finds failed attempts of a block. After a failed attempt,
 * the block was executed again, or its fallback was executed. The results of failed attempts are
 * not a part of the document.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_FAILED_ATTEMPTS_H
#define PDL_VIEWER_FAILED_ATTEMPTS_H

#include "base/buf.h"
#include "viewer/boxes.h"

/* Returns true when the box is a failed attempt of the block around it. */
bool pdl_box_is_attempt(const pdl_box *b);
/* Returns how many of the first children of the box are failed attempts. */
uint32_t pdl_box_attempts(const pdl_doc *d, uint32_t i);
/* Returns true when the box is a call of a model. Returns false for a model block whose calls are
 * all in failed attempts. */
bool pdl_box_is_model_call(const pdl_doc *d, uint32_t i);
/* Appends what followed the attempt: "Attempt 1 failed and was repeated". */
void pdl_attempt_put_title(const pdl_doc *d, uint32_t i, pdl_buf *out);
/* Appends the text that the attempt had made. */
void pdl_attempt_put_text(const pdl_doc *d, uint32_t i, pdl_buf *out);

#endif
