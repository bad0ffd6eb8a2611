/* halves.h -- joins characters whose two escapes (\ud83d\ude00) a service has sent in two events;
 * otherwise both would become replacement characters. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_HALVES_H
#define PDL_MODEL_HALVES_H

#include "base/buf.h"

/* The first half with which a text of the last event ended; 0 when it ended otherwise. */
typedef unsigned pdl_half;

/* Edits the JSON of an event: a first half at the end of a text is removed and kept in *half; a
 * kept half is put before a second one at the beginning of a text. Returns text, or the edited text
 * in out. */
pdl_str pdl_halves_join(pdl_half *half, pdl_str text, pdl_buf *out);

#endif
