/* policies.h -- reads the policies of a session: files, built-in policies, and the policy of the
 * program. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_POLICIES_H
#define PDL_API_POLICIES_H

#include "effect/secret.h"
#include "policy/policy.h"

typedef struct pdl_policy_source {
    const pdl_str *path; /* folders of the installation that may contain lib/policies */
    size_t n_path;
    pdl_secrets *secrets;
    pdl_str folder; /* folder of the program, to which the name of its policy is relative */
    /* names of labels, shared with other runs; when it is NULL, they are private */
    pdl_label_names *names;
    /* Called for each file that is read; may be NULL. */
    void (*on_file)(void *user, pdl_str path);
    void *user;
    /* dict: path of a file -> its text, which is used in place of the file; or absent */
    pdl_vref kept;
    pdl_val *read; /* gets the texts of the files that are read, in the form of `kept`; or NULL */
} pdl_policy_source;

/* Appends the text of a built-in policy: lib/policies/NAME.yaml in the first of the folders that
 * has it. Errors: usage (no such policy), io. */
PDL_MUST bool pdl_policies_built_in(const pdl_policy_source *from, pdl_str name, pdl_buf *text,
                                    pdl_err *err);
/* Adds a policy from a file, or a built-in one, to *all. The first call makes *all. Errors: io,
 * syntax, schema. */
PDL_MUST bool pdl_policies_read_file(pdl_policies **all, const pdl_policy_source *from,
                                     pdl_str name, pdl_err *err);
/* Adds the `policy:` of a program, which is the policy itself, or a name relative to the folder of
 * the program. file is the program's name in messages. */
PDL_MUST bool pdl_policies_read_node(pdl_policies **all, const pdl_policy_source *from,
                                     pdl_str file, const pdl_node *n, pdl_err *err);

#endif
