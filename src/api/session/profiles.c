/* profiles.c -- makes the sandbox of a session from the options and from the `sandbox:` of
 * policies.
 *
 * A policy of the user adds to the profile of the command line. The profile of the program's policy
 * confines the program, as the field of a block does: a program cannot give itself more than the
 * user gave.
 *
 * The sandboxes of blocks are made when the run begins. A profile that cannot be enforced ends the
 * run before anything is executed. A block that has a fallback does not end the run; its fallback
 * is used when the block is executed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "api/policy.h"
#include "api/session/session_impl.h"
#include "base/os.h"
#include "io/file.h"
#include "lang/walk.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* Reads the profile of the first policy that has one, among the policies with number `from` and
 * above; absent when none has one. Owned. *name is the name of that policy. */
static bool read_profile(const pdl_session *s, size_t from, pdl_val *out, pdl_str *name,
                         pdl_err *err) {
    const pdl_policies *all = s->rules.policies;
    const pdl_node *n = all ? pdl_policies_sandbox(all, from, name) : NULL;
    *out = pdl_absent();
    if (!n) return true;
    if (!pdl_yaml_to_val(n, out, err)) {
        /* the error must not refer to the policies, which are released when the session cannot be
         * made */
        pdl_err_detach(err);
        return false;
    }
    if (pdl_is_bool(*out) && pdl_bool_of(*out)) *out = pdl_dict_new(0);
    return true;
}

bool pdl_session_open_sandbox(pdl_session *s, pdl_err *err) {
    pdl_val profile;
    pdl_str name = {0};
    pdl_str named = pdl_sandbox_named(pdl_session_setting(s, PDL_FOR_RUNS, "PDL_SANDBOX"));
    if (!s->opt.guards.sandbox.n && !s->opt.guards.no_sandbox) s->opt.guards.sandbox = named;
    if (!read_profile(s, 0, &profile, &name, err)) return false;
    bool ok =
        pdl_confined_begin(s->rules.confined, profile, name, err) || pdl_session_blame_option(err);
    bool says = named.n && pdl_str_eq(named, s->opt.guards.sandbox);
    if (!ok && says) pdl_session_name_setting(err, "PDL_SANDBOX");
    pdl_drop(profile);
    return ok;
}

/* Adds a profile to the list. Takes the profile. */
static bool add_profile(pdl_session *s, pdl_val profile, pdl_err *err) {
    const pdl_sandbox *unused;
    pdl_val *all = &s->rules.profiles;
    *all = pdl_list_push(pdl_is_list(*all) ? *all : pdl_list_new(1), profile);
    return s->opt.files.replay.n || s->opt.run.explain ||
           pdl_confined_find(pdl_session_confined(s), *all, &unused, err);
}

bool pdl_session_add_profile(pdl_session *s, size_t from, pdl_err *err) {
    pdl_val profile;
    pdl_str name = {0};
    if (!read_profile(s, from, &profile, &name, err)) return false;
    return pdl_is_absent(profile) || add_profile(s, profile, err);
}

/* Puts `folder`, the folder of the profile's file, before the relative paths in the list `key`.
 * Takes the profile. */
static pdl_val placed(pdl_val profile, const char *key, pdl_str folder) {
    pdl_vref list = pdl_dict_getz(profile, key);
    if (!pdl_is_list(list) || !folder.n) return profile;
    pdl_val out = pdl_list_new(pdl_list_len(list));
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref item = pdl_list_at(list, i);
        pdl_str path = pdl_is_str(item) ? pdl_str_get(item) : PDL_STR("/");
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%.*s/%.*s", PDL_FMT(folder), PDL_FMT(path));
        out = pdl_list_push(out, path.n && path.p[0] == '/' ? pdl_keep(item)
                                                            : pdl_text(pdl_buf_str(&b)));
        pdl_buf_fini(&b);
    }
    return pdl_dict_putz(profile, key, out);
}

bool pdl_session_confine(pdl_session *s, size_t from, pdl_str name, pdl_err *err) {
    pdl_val profile;
    if (!pdl_session_add_profile(s, from, err)) return false;
    if (!name.n) return true;
    bool ok = pdl_sandbox_profile(name, &profile, err);
    profile = placed(profile, "read", pdl_file_folder(name));
    profile = placed(profile, "write", pdl_file_folder(name));
    if (ok) return add_profile(s, profile, err);
    pdl_drop(profile);
    return false;
}

/* --- profiles of blocks ----------------------------------------------------------------------- */

typedef struct profile_check {
    pdl_confined *confined;
    /* a list with the profile of the program's policy; absent when the policy has none */
    pdl_val program;
    pdl_val outer; /* the profiles of the blocks around the one that is examined */
    bool caught;   /* a block around the examined one has a fallback */
    bool all;      /* blocks with a fallback are reported, too */
    pdl_profile_problem_fn *report;
    void *user;
} profile_check;

/* Reports each line of the message as a problem. Takes err. */
static void report_lines(const profile_check *c, const pdl_block *b, pdl_err *err) {
    for (pdl_str rest = pdl_str_of(err->msg); rest.n;) {
        size_t end = pdl_str_find(rest, PDL_STR("\n"), 0);
        pdl_str line = pdl_str_sub(rest, 0, end == PDL_NOT_FOUND ? rest.n : end);
        c->report(c->user, pdl_node_loc(b->rare->sandbox), err->kind, line);
        rest = pdl_str_sub(rest, line.n + 1, rest.n);
    }
    pdl_err_fini(err);
}

static void check_block(void *user, const pdl_block *b) {
    profile_check *c = user;
    pdl_val outer = pdl_keep(c->outer), own = pdl_block_sandbox(b);
    bool caught = c->caught;
    const pdl_sandbox *unused;
    pdl_err err = {0};
    /* the body of a function runs in the profiles of its callers */
    if (b->kind == PDL_BLOCK_function) {
        pdl_drop(c->outer);
        c->outer = pdl_keep(c->program);
    }
    c->caught = caught || b->rare->fallback;
    if (!pdl_is_absent(own)) {
        c->outer = pdl_list_push(pdl_is_list(c->outer) ? c->outer : pdl_list_new(1), own);
        if ((c->all || !c->caught) && !pdl_confined_find(c->confined, c->outer, &unused, &err))
            report_lines(c, b, &err);
    }
    pdl_block_each_child(b, check_block, c);
    pdl_drop(c->outer);
    c->outer = outer;
    c->caught = caught;
}

void pdl_session_check_profiles(pdl_session *s, const pdl_program *p, bool all,
                                pdl_profile_problem_fn *report, void *user) {
    if (!p || !p->main || !p->has_profiles || s->opt.files.replay.n || s->opt.run.explain) return;
    profile_check c = {.confined = pdl_session_confined(s),
                       .program = s->rules.profiles,
                       .outer = pdl_keep(s->rules.profiles),
                       .all = all,
                       .report = report,
                       .user = user};
    if (c.confined) check_block(&c, p->main);
    pdl_drop(c.outer);
}

typedef struct profile_problems {
    pdl_buf text; /* the messages of all problems, with their places */
    pdl_err first;
    size_t n;
} profile_problems;

static void note_problem(void *user, pdl_loc loc, pdl_err_kind kind, pdl_str text) {
    profile_problems *to = user;
    if (to->text.len) pdl_buf_putc(&to->text, '\n');
    pdl_loc_put(loc, &to->text);
    pdl_buf_put(&to->text, text);
    if (!to->n++) pdl_err_set(&to->first, kind, loc, "%.*s", PDL_FMT(text));
}

bool pdl_session_keep_profiles(pdl_session *s, const pdl_program *p, pdl_err *err) {
    profile_problems found = {.text = PDL_BUF};
    pdl_session_check_profiles(s, p, false, note_problem, &found);
    if (found.n == 1) {
        pdl_err_move(err, &found.first);
    } else if (found.n) {
        pdl_err_set(err, found.first.kind, (pdl_loc){0}, "%s", pdl_buf_z(&found.text));
        err->preformatted = true;
    }
    pdl_err_fini(&found.first);
    pdl_buf_fini(&found.text);
    return !found.n;
}

bool pdl_session_check_path(const pdl_session *s, const char *path, pdl_err *err) {
    bool other = true;
    int fd = -1;
    if (s->rules.confined)
        fd = pdl_confined_open(s->rules.confined, NULL, path, pdl_os_only_found | O_CLOEXEC, 0,
                               &other);
    bool leads_out = !other && fd < 0 && errno == EXDEV;
    if (fd >= 0) close(fd);
    return !leads_out || pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                                     "%s: a link leads out of the folder that confined code may "
                                     "write",
                                     path);
}
