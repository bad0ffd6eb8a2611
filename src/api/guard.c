/* guard.c -- the policies of a session: where they are named, the world that asks them, and the
 * masks of the places that leave the run.
 *
 * A mask is a part of the session, so that every writer of recordings, traces and output can
 * hold it before the last policy, that of the program, is read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/policies.h"
#include "api/policy.h"
#include "api/session_impl.h"

#include "api/env.h"
#include "journal/durable.h"

#include "base/banned.h"

static pdl_policy_source source_of(const pdl_session *s) {
    return (pdl_policy_source){
        .path = s->folders.path,
        .n_path = s->folders.n,
        .secrets = s->secrets,
        .folder = s->opt.dir,
    };
}

static void put_names(const void *user, pdl_label labels, pdl_buf *out) {
    pdl_policies_put_label(user, labels, out);
}

/* The policies so far stand in front of everything else. */
void pdl_session_guard(pdl_session *s) {
    if (!s->policies) return;
    for (int i = 0; i < PDL_SINK_COUNT; i++)
        s->masks[i] = (pdl_mask){.labels = pdl_policies_masked(s->policies, (pdl_sink_id)i),
                                 .user = s->policies,
                                 .name = put_names};
    if (s->guard) return;
    pdl_policy_options opt = {
        .policies = s->policies, .folder = s->opt.dir, .first_id = 0xC0000000u};
    s->world = s->guard = pdl_policy_world_new(&opt, s->world);
}

/* Those of the command line and the environment. */
static bool read_given(const pdl_session *s, pdl_policies **out, pdl_err *err) {
    const char *named = pdl_environ_get(s->env, "PDL_POLICY");
    pdl_policy_source from = source_of(s);
    bool ok = true;
    for (size_t i = 0; ok && i < s->opt.n_policies; i++)
        ok = pdl_policies_read_file(out, &from, s->opt.policies[i], err);
    if (ok && named && *named) ok = pdl_policies_read_file(out, &from, pdl_str_of(named), err);
    return ok;
}

/* That of the program. */
static bool read_own(const pdl_session *s, const pdl_program *p, pdl_policies **out, pdl_err *err) {
    const pdl_block *b = p ? p->main : NULL;
    pdl_policy_source from = source_of(s);
    return !b || !b->rare->policy ||
           pdl_policies_read_node(out, &from, s->opt.file, b->rare->policy, err);
}

bool pdl_session_read_policies(pdl_session *s, pdl_err *err) {
    return read_given(s, &s->policies, err);
}

bool pdl_session_read_own_policy(pdl_session *s, pdl_err *err) {
    size_t before = s->policies ? pdl_policies_count(s->policies) : 0;
    if (!s->explain && !read_own(s, s->program, &s->policies, err)) return false;
    if (!pdl_session_add_profile(s, before, err)) return false;
    pdl_session_guard(s);
    if (s->guard && s->durable && pdl_durable_asks(s->durable)) pdl_policy_world_lasts(s->guard);
    return true;
}

bool pdl_session_policies(const pdl_session *s, const pdl_program *p, pdl_policies **out,
                          pdl_err *err) {
    pdl_policies *all = NULL;
    bool ok = read_given(s, &all, err) && read_own(s, p, &all, err);
    if (ok)
        *out = all;
    else
        pdl_policies_free(all);
    return ok;
}

const pdl_mask *pdl_session_mask(const pdl_session *s, pdl_sink_id sink) { return &s->masks[sink]; }

pdl_val pdl_session_shown(const pdl_session *s, pdl_vref v) {
    return pdl_masked(&s->masks[PDL_SINK_output], pdl_keep(v));
}

bool pdl_session_hides_error(const pdl_session *s, const pdl_err *e, pdl_buf *instead) {
    const pdl_mask *m = &s->masks[PDL_SINK_output];
    if (!pdl_mask_hides(m, e->label)) return false;
    PDL_PUT(instead, "the message of this error is not shown: it has text from ");
    pdl_mask_put(m, e->label, instead);
    return true;
}
