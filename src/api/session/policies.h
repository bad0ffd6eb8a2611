/* policies.h -- where the policies of a session come from: files, built-in ones, the program.
 * Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_POLICIES_H
#define PDL_API_POLICIES_H

#include "effect/secret.h"
#include "policy/policy.h"

typedef struct pdl_policy_source {
    const pdl_str *path; /* where the installation may be: these hold lib/policies */
    size_t n_path;
    pdl_secrets *secrets;
    pdl_str folder; /* of the program: where a name in it begins */
    pdl_label_names *names; /* of labels, with those of other runs; NULL: their own */
} pdl_policy_source;

/* The text of a built-in policy: lib/policies/NAME.yaml in the first of the folders that has it.
 * Errors: usage (no such policy), io. */
PDL_MUST bool pdl_policies_built_in(const pdl_policy_source *from, pdl_str name, pdl_buf *text,
                                    pdl_err *err);
/* A file, or the name of a built-in policy, into *all, which is made at the first one. Errors: io,
 * syntax, schema. */
PDL_MUST bool pdl_policies_read_file(pdl_policies **all, const pdl_policy_source *from,
                                     pdl_str name, pdl_err *err);
/* The `policy:` of a program (file names messages): a name as above, from the folder of the
 * program, or the policy itself. */
PDL_MUST bool pdl_policies_read_node(pdl_policies **all, const pdl_policy_source *from,
                                     pdl_str file, const pdl_node *n, pdl_err *err);

#endif
