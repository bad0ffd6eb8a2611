/* halves.h -- characters whose two escapes (\ud83d\ude00) a service has sent in two events. Private
 * to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_HALVES_H
#define PDL_MODEL_HALVES_H

#include "base/buf.h"

/* The first half that a text of the last event ended with; 0: none. */
typedef unsigned pdl_half;

/* The JSON of an event: a first half at the end of a text is taken out of it and kept; a second one
 * at the beginning of a text gets the first one back. Returns text, or what is put into out. */
pdl_str pdl_halves_join(pdl_half *half, pdl_str text, pdl_buf *out);

#endif
