/* chunk.h -- the commonest event of a chat stream, read without making values. Inside of model
 * only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_CHUNK_H
#define PDL_MODEL_CHUNK_H

#include "model/wire/reply_builder.h"

/* Read an event that only adds text: one choice with index 0 and a delta of content (and role),
 * everything else null or known from the first event. False: it is anything else (also: no JSON);
 * nothing was done, and the event is to be read as a value. */
bool pdl_chunk_read(pdl_str text, pdl_reply_builder *d);

#endif
