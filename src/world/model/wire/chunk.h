/* chunk.h -- reads the commonest event of a chat stream without making values. The speed of this
 * reader decides how many streams a run can read at a time. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_CHUNK_H
#define PDL_MODEL_CHUNK_H

#include "model/wire/reply_builder.h"

/* Reads an event that only adds text: it has one choice with index 0 and a delta of content (and
 * role); all other members are null or were in the first event. Returns false for any other text
 * (also when it is not JSON) and then has added nothing, so that the caller reads the event as a
 * value. */
bool pdl_chunk_read(pdl_str text, pdl_reply_builder *d);

#endif
