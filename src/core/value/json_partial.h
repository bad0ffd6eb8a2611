/* json_partial.h -- the certain part of a JSON text that is still arriving.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_JSON_PARTIAL_H
#define PDL_VALUE_JSON_PARTIAL_H

#include "base/err.h"
#include "value/val.h"

/* Returns the value of a prefix of a JSON text. Open containers are closed, a string value ends
 * where the prefix ends, and keys without a value are left out, as are numbers and words that may
 * continue. So later text extends the value and never contradicts it: lists and strings grow, dicts
 * get keys. Text after something that is not JSON, or after a repeated key, is ignored. A Markdown
 * fence before the text is skipped. Returns absent when nothing is certain yet, or when the text is
 * neither an object nor an array. The time is linear in the length of the text. */
pdl_val pdl_json_partial(pdl_str text);

#endif
