/* partial_arguments.h -- arguments of a call that arrive value by value. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PARTIAL_ARGUMENTS_H
#define PDL_MODEL_PARTIAL_ARGUMENTS_H

#include "model/wire/reply_builder.h"

/* Returns the arguments with Google's `partialArgs` added: a list of {jsonPath, stringValue,
 * numberValue, boolValue or nullValue}. A text continues the text that is at its path already. An
 * item with a path that cannot be read is skipped. Takes args. */
pdl_val pdl_partial_arguments_add(pdl_val args, pdl_vref list);

/* Continues the last call of a reply with a piece that has no name: the arguments as an object, or
 * a list as above. Either may be absent. */
void pdl_reply_builder_continue(pdl_reply_builder *d, pdl_vref args, pdl_vref partial);

#endif
