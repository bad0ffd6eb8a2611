/* json_partial.h -- what is certain of a JSON text that is still coming.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_JSON_PARTIAL_H
#define PDL_VALUE_JSON_PARTIAL_H

#include "base/err.h"
#include "value/val.h"

/* The value of a beginning of JSON text: containers that are open are closed, a text that is a
 * value ends where the beginning ends, keys without a value and numbers or words that may go on are
 * left out. So what comes later extends it and never contradicts it: lists and texts grow, dicts
 * get keys. Nothing counts behind what is no JSON, or behind a second key of the same name. A fence
 * of Markdown in front is skipped. Absent: nothing is certain yet, or it is no object and no array.
 * Linear in the text. */
pdl_val pdl_json_partial(pdl_str text);

#endif
