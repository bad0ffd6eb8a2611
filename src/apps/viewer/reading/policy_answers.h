/* policy_answers.h -- private to viewer: the questions of policies that a person has answered.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_POLICY_ANSWERS_H
#define PDL_VIEWER_POLICY_ANSWERS_H

#include "base/buf.h"
#include "viewer/boxes.h"

/* Returns true when a person was asked whether the action of the box may happen, and answered. */
bool pdl_box_was_approved(const pdl_box *b);
/* Appends the question and the answer, such as "May this be done? command echo: yes". */
void pdl_put_approval(const pdl_box *b, pdl_buf *out);
/* Appends one line for each value that the person saw, such as `0: "echo"`, and the time of the
 * answer. */
void pdl_put_approval_text(const pdl_box *b, pdl_buf *out);

#endif
