/* run_guards.c -- keeps the policies and the sandbox of a durable run in its journal; see
 * run_guards.h.
 *
 * A policy is kept with the hash of its text, because a policy that has become looser under the
 * same name would loosen the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/run_guards.h"

#include "base/hash.h"
#include "base/limits.h"
#include "io/file.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

/* Hashes the content of a policy; the hash is empty for the name of a built-in policy. */
static void policy_hash(pdl_str name, char out[65]) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err ignored = {0};
    char *path = pdl_str_dup(name);
    out[0] = 0;
    if (pdl_file_kind_of(path) == PDL_FILE_REGULAR && pdl_file_read(path, &text, &ignored))
        pdl_hash_hex(pdl_buf_str(&text), out);
    pdl_err_fini(&ignored);
    pdl_free(path);
    pdl_buf_fini(&text);
}

/* Adds [name, hash] to the list, which is taken. */
static pdl_val add_policy(pdl_val list, pdl_str name) {
    char hash[65];
    if (!name.n) return list;
    policy_hash(name, hash);
    pdl_val pair = pdl_list_push(pdl_list_new(2), pdl_text(name));
    return pdl_list_push(list, pdl_list_push(pair, pdl_textz(hash)));
}

pdl_val pdl_run_guards_put(pdl_val options, const pdl_run_guards *g, const char *environment) {
    pdl_val policies = pdl_list_new(g->policies.n);
    for (size_t i = 0; i < g->policies.n; i++) policies = add_policy(policies, g->policies.p[i]);
    policies = add_policy(policies, pdl_str_of(environment ? environment : ""));
    options = pdl_dict_putz(options, "policies", policies);
    options = pdl_dict_putz(options, "sandbox", pdl_text(g->sandbox));
    return pdl_dict_putz(options, "sandbox-min",
                         pdl_text(g->sandbox_min.n ? g->sandbox_min : PDL_STR("full")));
}

static pdl_str keep_text(pdl_run_guards *g, pdl_str s) {
    char *copy = pdl_str_dup(s);
    *pdl_vec_push(&g->texts) = copy;
    return (pdl_str){copy, s.n};
}

bool pdl_run_guards_same_file(pdl_str a, pdl_str b) {
    char *one = pdl_str_dup(a), *other = pdl_str_dup(b);
    bool same = pdl_str_eq(a, b) || pdl_file_is_same(one, other);
    pdl_free(one);
    pdl_free(other);
    return same;
}

static bool take_sandbox(const pdl_run_guards *given, pdl_vref options, pdl_run_guards *out,
                         pdl_err *err) {
    pdl_str was = pdl_member_str(options, "sandbox");
    bool full = pdl_str_is(pdl_member_str(options, "sandbox-min"), "full");
    if (!was.n) return true;
    if (given->names_sandbox && !pdl_run_guards_same_file(was, given->sandbox))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "the run began in the sandbox %.*s: a resume has the same",
                           PDL_FMT(was));
    if (full && pdl_str_is(given->sandbox_min, "process"))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "the run began with --sandbox-min full: a resume has no weaker one");
    out->sandbox = keep_text(out, was);
    if (!full && !given->sandbox_min.n) out->sandbox_min = PDL_STR("process");
    return true;
}

static bool has_policy(const pdl_run_guards *g, pdl_str name) {
    for (size_t i = 0; i < g->policies.n; i++)
        if (pdl_str_eq(g->policies.p[i], name)) return true;
    return false;
}

/* Returns true for [name, hash], an entry of the list of policies. */
static bool is_policy(pdl_vref one) {
    return pdl_is_list(one) && pdl_list_len(one) == 2 && pdl_is_str(pdl_list_at(one, 0)) &&
           pdl_is_str(pdl_list_at(one, 1));
}

void pdl_run_guards_read(pdl_vref options, pdl_run_guards *out) {
    pdl_vref list = pdl_dict_getz(options, "policies");
    size_t n = !pdl_is_absent(list) && pdl_is_list(list) ? pdl_list_len(list) : 0;
    for (size_t i = 0; i < n; i++)
        if (is_policy(pdl_list_at(list, i)))
            *pdl_vec_push(&out->policies) =
                keep_text(out, pdl_str_get(pdl_list_at(pdl_list_at(list, i), 0)));
}

static bool has_changed(pdl_vref list, pdl_str name) {
    char hash[65];
    policy_hash(name, hash);
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref one = pdl_list_at(list, i);
        if (is_policy(one) && pdl_str_eq(pdl_str_get(pdl_list_at(one, 0)), name) &&
            !pdl_str_is(pdl_str_get(pdl_list_at(one, 1)), hash))
            return true;
    }
    return false;
}

static bool take_policies(const pdl_run_guards *given, pdl_vref options, pdl_run_guards *out,
                          pdl_err *err) {
    pdl_run_guards_read(options, out);
    for (size_t i = 0; i < out->policies.n; i++)
        if (has_changed(pdl_dict_getz(options, "policies"), out->policies.p[i]))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "the policy %.*s is not what it was when the run began: a resume "
                               "needs it as it was; --policy adds a stricter one",
                               PDL_FMT(out->policies.p[i]));
    for (size_t i = 0; i < given->policies.n; i++)
        if (!has_policy(out, given->policies.p[i]))
            *pdl_vec_push(&out->policies) = given->policies.p[i];
    return true;
}

bool pdl_run_guards_resume(const pdl_run_guards *given, pdl_vref options, pdl_run_guards *out,
                           pdl_err *err) {
    return take_sandbox(given, options, out, err) && take_policies(given, options, out, err);
}

void pdl_run_guards_fini(pdl_run_guards *g) {
    pdl_vec_fini(&g->policies);
    for (size_t i = 0; i < g->texts.n; i++) pdl_free(g->texts.p[i]);
    pdl_vec_fini(&g->texts);
    *g = (pdl_run_guards){0};
}
