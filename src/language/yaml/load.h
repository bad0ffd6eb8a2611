/* load.h -- loads a source, reports the place of a failure, and checks the characters of a source.
 * Private to yaml.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_LOAD_H
#define PDL_YAML_LOAD_H

#include "base/err.h"
#include "yaml/node.h"

/* Does the same as pdl_yaml_load, and sets the 1-based place of a failure, which is 0 when it is
 * unknown. */
PDL_MUST bool pdl_yaml_load_at(pdl_arena *a, const pdl_source *src, const pdl_node **out,
                               uint32_t *line, uint32_t *column, pdl_err *err);

/* Checks that YAML allows all characters of text. Error: ReaderError with the position in code
 * points. src may be NULL. */
PDL_MUST bool pdl_yaml_check_chars(pdl_str text, const pdl_source *src, pdl_err *err);

#endif
