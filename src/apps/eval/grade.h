/* grade.h -- reads the score in the result of a judge. Evaluations and searches accept the same
 * results.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_GRADE_H
#define PDL_EVAL_GRADE_H

#include "value/val.h"

/* Returns the score, from 0 to 1; -1 when the result has none. The result is a boolean, a number or
 * the text of one of these, or a dict {score, feedback} with such a score. *feedback is set to the
 * feedback (borrowed) when the result has it. */
double pdl_eval_grade(pdl_vref v, pdl_str *feedback);

#endif
