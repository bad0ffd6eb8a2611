/* session_rules.c -- checks and releases the part of a session that holds its rules: policies,
 * redactions, sandboxes. guard.c and profiles.c fill this part in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include "base/banned.h"

pdl_confined *pdl_session_confined(const pdl_session *s) {
    return (s->group.shared ? s->group.shared : s)->rules.confined;
}

void pdl_session_rules_end(pdl_session_rules *r) {
    pdl_policies_free(r->policies);
    pdl_policy_memories_free(r->memories);
    pdl_confined_free(r->confined);
    pdl_drop(r->profiles);
    pdl_drop(r->modules);
    pdl_drop(r->policy_texts);
}

bool pdl_session_rules_ok(const pdl_session_rules *r) {
    bool lists = pdl_is_absent(r->profiles) || pdl_is_list(r->profiles);
    return lists && (pdl_is_absent(r->modules) || pdl_is_dict(r->modules));
}
