/* fuzz_template.c -- a Jinja template, the line "---", and its variables as YAML. The properties
 * are those of fuzz_expr.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define FUZZ_JINJA true
#include "fuzz_expr.c"
