/* check_policy.h -- what a policy will do to a program: pdl check --policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_CHECK_POLICY_H
#define PDL_CLI_CHECK_POLICY_H

#include "lang/program.h"
#include "policy/policy.h"

/* Adds to the diagnostics of p: sinks that the policies always refuse, rules that fit nothing,
 * endorsements, tools without a rule. folder: of the program. */
void pdl_cli_check_policy(pdl_program *p, const pdl_policies *policies, pdl_str folder);

#endif
