/* data_address.h -- brings the data of images, audio and documents in messages into the one form
 * that all services read. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_DATA_ADDRESS_H
#define PDL_MODEL_DATA_ADDRESS_H

#include "base/err.h"
#include "value/val.h"

/* Rewrites the addresses in the parts of messages. White space around an address is removed. A data
 * address becomes data:TYPE;base64,DATA, with the type in lower case. DATA is in the ordinary
 * alphabet, padded and without line ends. Audio becomes DATA alone. Messages that need no change
 * are shared. Fails for data that is empty, not base64, or of no type. Takes messages, and drops
 * them when it fails. */
PDL_MUST bool pdl_messages_addressed(pdl_val messages, pdl_val *out, pdl_err *err);

#endif
