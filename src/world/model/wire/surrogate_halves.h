/* surrogate_halves.h -- joins the two escapes (\ud83d\ude00) of one character when a service sends
 * them in two events. Without this, each escape would become a replacement character. Private to
 * model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_SURROGATE_HALVES_H
#define PDL_MODEL_SURROGATE_HALVES_H

#include "base/buf.h"

/* The first half of a pair of surrogates. A string of an event ended with this half, and the second
 * half has not arrived yet. The value is 0 when there is no such half. */
typedef unsigned pdl_half;

/* Edits the JSON of an event: when a string ends with a first half, the half is removed and kept in
 * *half; when a string begins with a second half, the half that an earlier event left in *half is
 * put before it. Returns text, or the edited text in out. */
pdl_str pdl_halves_join(pdl_half *half, pdl_str text, pdl_buf *out);

#endif
