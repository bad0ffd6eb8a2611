/* infer_options.h -- the options of an inference, which `pdl infer` and `pdl eval --infer` take.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_INFER_OPTIONS_H
#define PDL_CLI_INFER_OPTIONS_H

#include "cli/options.h"
#include "infer/infer.h"

/* Reads the options that were given. algo and seed are the options that give the algorithm and the
 * seed. is_parallel is set when the name of the algorithm began with "parallel-". When an option is
 * wrong, prints a message and returns false. */
bool pdl_cli_infer_options_read(const arguments *a, opt_id algo, opt_id seed, pdl_infer_options *o,
                                bool *is_parallel);
/* Returns an option that the user has given and that decides how runs are weighed. Without an
 * inference, such an option has no effect. Returns OPT_COUNT when the user has given no such
 * option. */
opt_id pdl_cli_infer_option_given(const arguments *a);

#endif
