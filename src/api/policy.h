/* policy.h -- reads policies without a run, for the pdl command: built-in policies, and the
 * policies of a program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_POLICY_H
#define PDL_API_POLICY_H

#include "api/session.h"
#include "policy/policy.h"

/* Appends the text of a built-in policy (default, careful or strict), in the form in which a run of
 * this session would use it. Errors: usage (no such policy), io. */
PDL_MUST bool pdl_session_built_in_policy(const pdl_session *s, pdl_str name, pdl_buf *text,
                                          pdl_err *err);

/* Reads a policy, which is named as in `--policy`, and its lock file. *out is NULL before the call,
 * and the caller frees it, also after an error. Errors: usage, io, syntax, schema. */
PDL_MUST bool pdl_session_check_policy(const pdl_session *s, pdl_str name, pdl_policies **out,
                                       pdl_err *err);

/* Reads the policies that a run of the program (borrowed; may be NULL) in this session would have:
 * the policies of the session's options, of the environment, and of the program itself. *out is
 * NULL when there are none. Errors: io, syntax, schema. */
PDL_MUST bool pdl_session_policies(const pdl_session *s, const pdl_program *p, pdl_policies **out,
                                   pdl_err *err);

/* Returns a list of texts that identifies the policies of this session. Owned. */
pdl_val pdl_session_policy_digests(const pdl_session *s);

/* pdl_session_check_profiles calls this function for each block of p whose `sandbox` cannot be
 * enforced, because of the machine or of the surrounding profile. With `all`, blocks that have a
 * fallback are reported, too. */
typedef void pdl_profile_problem_fn(void *user, pdl_loc loc, pdl_err_kind kind, pdl_str text);
void pdl_session_check_profiles(pdl_session *s, const pdl_program *p, bool all,
                                pdl_profile_problem_fn *report, void *user);

/* Requests the definitions of tools from the servers. Adds their hashes to *locked, a dict in the
 * form of pdl_lock_read, and the definitions to *definitions, a dict of the same form. `servers`
 * has n names; when n is 0 all configured servers are asked. Errors: the errors of reading the
 * configuration, and the errors of the servers. */
PDL_MUST bool pdl_session_lock_tools(pdl_session *s, const pdl_str *servers, size_t n,
                                     pdl_val *locked, pdl_val *definitions, pdl_err *err);

#endif
