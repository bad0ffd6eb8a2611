/* policy_check.h -- finds out what a policy will do to a program, for pdl check --policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_POLICY_CHECK_H
#define PDL_API_POLICY_CHECK_H

#include "lang/program.h"
#include "policy/policy.h"

/* Adds warnings to the diagnostics of p: sinks that the policies always refuse, rules that fit
 * nothing, endorsements without effect, and tools without a rule. folder is the folder of the
 * program. */
void pdl_policies_check_program(pdl_program *p, const pdl_policies *policies, pdl_str folder);

#endif
