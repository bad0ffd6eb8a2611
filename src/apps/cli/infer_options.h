/* infer_options.h -- the options of an inference, which `pdl infer` and `pdl eval --infer` take.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_INFER_OPTIONS_H
#define PDL_CLI_INFER_OPTIONS_H

#include "cli/options.h"
#include "infer/infer.h"

/* Reads what is given: algo and seed are the options that say the algorithm and the seed. Returns
 * false after a message. is_parallel: the name of the algorithm began with "parallel-". */
bool pdl_cli_infer_options_read(const arguments *a, opt_id algo, opt_id seed, pdl_infer_options *o,
                                bool *is_parallel);
/* Returns an option that says how runs are weighed, which is in vain without an inference;
 * OPT_COUNT: none is given. */
opt_id pdl_cli_infer_option_given(const arguments *a);

#endif
