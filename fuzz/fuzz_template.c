/* fuzz_template.c -- a Jinja template, line "---", YAML of its variables: as fuzz_expr.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define FUZZ_JINJA true
#include "fuzz_expr.c"
