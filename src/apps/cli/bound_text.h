/* bound_text.h -- writes the maximum cost of a run as text. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_BOUND_TEXT_H
#define PDL_CLI_BOUND_TEXT_H

#include "base/buf.h"
#include "value/val.h"

/* Appends a result of pdl_program_bound. */
void pdl_cli_put_bound(pdl_vref bound, pdl_buf *out);

#endif
