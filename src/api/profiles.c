/* profiles.c -- the sandbox of a session: what the options ask for, and the `sandbox:` of policies.
 *
 * A policy of the user adds to the profile of the command line. That of the program confines the
 * program, as the field of a block does: a program cannot give itself more than the user gave.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "api/session_impl.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* The profile of the policies that were added as number `from` and later; absent: none has one.
 * Owned. name: of that policy. */
static bool read_profile(const pdl_session *s, size_t from, pdl_val *out, pdl_str *name,
                         pdl_err *err) {
    const pdl_node *n = s->policies ? pdl_policies_sandbox(s->policies, from, name) : NULL;
    *out = pdl_absent();
    if (!n) return true;
    if (!pdl_yaml_to_val(n, out, err)) return false;
    if (pdl_is_bool(*out) && pdl_bool_of(*out)) *out = pdl_dict_new(0);
    return true;
}

bool pdl_session_open_sandbox(pdl_session *s, pdl_err *err) {
    pdl_val profile;
    pdl_str name = {0};
    s->confined = pdl_confined_new(&s->opt, pdl_session_env_of, s, s->arena);
    if (!read_profile(s, 0, &profile, &name, err)) return false;
    bool ok = pdl_confined_begin(s->confined, profile, name, err);
    pdl_drop(profile);
    return ok;
}

bool pdl_session_add_profile(pdl_session *s, size_t from, pdl_err *err) {
    const pdl_sandbox *unused;
    pdl_val profile;
    pdl_str name = {0};
    if (!read_profile(s, from, &profile, &name, err)) return false;
    if (pdl_is_absent(profile)) return true;
    s->profiles = pdl_list_push(pdl_list_new(1), profile);
    return s->opt.replay.n || s->explain ||
           pdl_confined_find(s->shared ? s->shared->confined : s->confined, s->profiles, &unused,
                             err);
}

bool pdl_session_check_path(const pdl_session *s, const char *path, pdl_err *err) {
    bool other = true;
    int fd = s->confined ? pdl_confined_open(s->confined, path, O_PATH | O_CLOEXEC, 0, &other) : -1;
    bool leads_out = !other && fd < 0 && errno == EXDEV;
    if (fd >= 0) close(fd);
    return !leads_out || pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                                     "%s: a link leads out of the folder that confined code may "
                                     "write",
                                     path);
}
