/* policy.h -- policies without a run, for the command: built-in ones, and those of a program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_POLICY_H
#define PDL_API_POLICY_H

#include "api/session.h"
#include "policy/policy.h"

/* The text of default, careful or strict, as a run of this session would ask it. Errors: usage (no
 * such policy), io. */
PDL_MUST bool pdl_session_built_in_policy(const pdl_session *s, pdl_str name, pdl_buf *text,
                                          pdl_err *err);

/* One that `--policy` would take, and its lock file; *out (NULL at first) is freed by the caller,
 * also after an error. Errors: usage, io, syntax, schema. */
PDL_MUST bool pdl_session_check_policy(const pdl_session *s, pdl_str name, pdl_policies **out,
                                       pdl_err *err);

/* The policies that a run of the program (borrowed; NULL: none) in this session would ask: those of
 * the session's options and of the environment, and its own. NULL in *out: none. Errors: io,
 * syntax, schema. */
PDL_MUST bool pdl_session_policies(const pdl_session *s, const pdl_program *p, pdl_policies **out,
                                   pdl_err *err);

/* What tells the policies of this session from others: a list of texts. Owned. */
pdl_val pdl_session_policy_digests(const pdl_session *s);

/* Calls report for each `sandbox` of a block of p that cannot be kept, by the machine or by the
 * profile around it. all: also where a fallback would run. */
typedef void pdl_profile_problem_fn(void *user, pdl_loc loc, pdl_err_kind kind, pdl_str text);
void pdl_session_check_profiles(pdl_session *s, const pdl_program *p, bool all,
                                pdl_profile_problem_fn *report, void *user);

/* The hashes of the definitions of the servers' tools, asked of the servers: adds to *locked, a
 * dict as pdl_lock_read gives it, and the definitions themselves to *definitions, a dict of the
 * same form. servers: n names; none: all that are configured. Errors: those of the configuration
 * and of the servers. */
PDL_MUST bool pdl_session_lock_tools(pdl_session *s, const pdl_str *servers, size_t n,
                                     pdl_val *locked, pdl_val *definitions, pdl_err *err);

#endif
