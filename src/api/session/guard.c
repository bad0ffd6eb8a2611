/* guard.c -- the policies of a session: reads them, opens the world that asks them, and fills in
 * the redactions of recordings, traces and output.
 *
 * Redactions are parts of the session. So every writer can borrow one before the last policy is
 * read, which is that of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/policy.h"
#include "api/report/explain.h"
#include "api/session/policies.h"
#include "api/session/session_impl.h"

#include <assert.h>
#include <unistd.h>

#include "api/setup/env.h"
#include "base/termsafe.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/tty.h"
#include "journal/durable.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/member.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* Keeps confined code from changing a policy, or a file that a policy names. */
static void keep_file(void *user, pdl_str path) {
    pdl_confined *c = pdl_session_confined(user);
    if (c) pdl_confined_keep(c, path);
}

static pdl_policy_source source_of(const pdl_session *session) {
    pdl_session *s = (pdl_session *)(uintptr_t)session;
    bool records = s->opt.files.record.n != 0;
    if (records && pdl_is_absent(s->rules.policy_texts)) s->rules.policy_texts = pdl_dict_new(2);
    return (pdl_policy_source){
        .path = s->around.folders.path + s->around.folders.n_chosen,
        .n_path = s->around.folders.n - s->around.folders.n_chosen,
        .secrets = s->around.secrets,
        .folder = s->opt.program.dir,
        .names = s->opt.program.label_names,
        .on_file = keep_file,
        .user = s,
        .kept = pdl_member(s->opt.guards.recorded, "texts"),
        .read = records ? &s->rules.policy_texts : NULL,
    };
}

/* Returns the names of the policies that the user gave, with that of PDL_POLICY. */
static pdl_val given_names(const pdl_session *s) {
    const char *named = pdl_session_setting(s, PDL_FOR_CHECKS, "PDL_POLICY");
    pdl_val names = pdl_list_new(s->opt.guards.n_policies);
    for (size_t i = 0; i < s->opt.guards.n_policies; i++)
        names = pdl_list_push(names, pdl_text(s->opt.guards.policies[i]));
    return named && *named ? pdl_list_push(names, pdl_textz(named)) : names;
}

void pdl_session_record_policies(pdl_session *s) {
    bool records = s->files.journal && s->opt.files.record.n;
    if (!records || !s->rules.policies) return;
    pdl_vref texts = s->rules.policy_texts;
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "names", given_names(s));
    d = pdl_dict_putz(d, "texts", pdl_is_dict(texts) ? pdl_keep(texts) : pdl_dict_new(0));
    pdl_journal_put_policies(s->files.journal, d);
    pdl_drop(d);
}

/* Reads the policies that the user gave to a run that was recorded. */
static bool read_recorded(const pdl_session *s, pdl_policies **out, pdl_err *err) {
    pdl_policy_source from = source_of(s);
    pdl_vref names = pdl_member(s->opt.guards.recorded, "names");
    bool ok = true;
    for (size_t i = 0; ok && pdl_is_list(names) && i < pdl_list_len(names); i++)
        if (pdl_is_str(pdl_list_at(names, i)))
            ok = pdl_policies_read_file(out, &from, pdl_str_get(pdl_list_at(names, i)), err);
    return ok;
}

static void put_names(const void *user, pdl_label labels, pdl_buf *out) {
    pdl_policies_put_label(user, labels, out);
}

/* Returns false for code in a sandbox that may write nothing. A replay has no sandboxes, so there
 * this returns true even if it returned false in the recorded run. */
static bool leaves_files(void *user, const pdl_effect *e) {
    const pdl_session *s = user;
    const pdl_sandbox *box = NULL;
    pdl_err ignored = {0};
    pdl_confined *c = pdl_session_confined(s);
    bool found = c && pdl_confined_find(c, e->sandbox, &box, &ignored);
    pdl_err_fini(&ignored);
    return !found || !box || !pdl_sandbox_is_sealed(box);
}

/* Notes for `pdl explain` what the policies would refuse. */
static bool foresee(void *user, const pdl_effect *e, const pdl_err *refusal) {
    const pdl_session *s = user;
    return pdl_explain_foresee(s->chain.rows[PDL_CHAIN_explain], e, refusal);
}

pdl_policy_memory *pdl_session_memory(pdl_session *s) {
    pdl_session *root = s->group.shared ? s->group.shared : s;
    if (!root->rules.memories) root->rules.memories = pdl_policy_memories_new(s->opt.guards.files);
    return pdl_policy_memory_join(root->rules.memories, s->rules.policies);
}

void pdl_session_fill_redactions(pdl_session *s) {
    pdl_session_rules *r = &s->rules;
    pdl_policies *all = r->policies;
    if (!all) return;
    for (int i = 0; i < PDL_SINK_COUNT; i++)
        r->redactions[i] = (pdl_redaction){
            .labels = pdl_policies_redacted(all, (pdl_sink_id)i), .user = all, .name = put_names};
    r->collected = r->redactions[PDL_SINK_trace];
    r->collected.labels |= r->redactions[PDL_SINK_output].labels;
}

/* Returns the number just below the ids of the effects that the policy world makes. These ids are
 * above the ids of all runs; each run beside the main run has a part of the range. */
static uint32_t first_id(const pdl_spawn *run) {
    enum { IDS = 0x40000000 / PDL_SPAWN_SLOTS };
    return 0xC0000000u + (run ? run->slot * IDS : 0);
}

pdl_world *pdl_session_policy_world(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    bool resumes = run || (s->files.durable && pdl_durable_asks(s->files.durable));
    pdl_policy_options opt = {.policies = s->rules.policies,
                              .memory = pdl_session_memory(s),
                              .folder = run ? run->dir : s->opt.program.dir,
                              .first_id = first_id(run),
                              .leaves_files = run ? NULL : leaves_files,
                              .foresee = s->opt.run.explain ? foresee : NULL,
                              .user = s,
                              .is_durable = resumes || s->files.server,
                              .began_earlier = resumes,
                              .replays = s->opt.files.replay.n != 0};
    return pdl_policy_world_new(&opt, next);
}

/* Reads the policies that the command line and the environment name. */
static bool read_given(const pdl_session *s, pdl_policies **out, pdl_err *err) {
    const char *named = pdl_session_setting(s, PDL_FOR_CHECKS, "PDL_POLICY");
    pdl_policy_source from = source_of(s);
    bool ok = read_recorded(s, out, err);
    for (size_t i = 0; ok && i < s->opt.guards.n_policies; i++)
        ok = pdl_policies_read_file(out, &from, s->opt.guards.policies[i], err);
    if (!ok || !named || !*named) return ok;
    ok = pdl_policies_read_file(out, &from, pdl_str_of(named), err);
    if (!ok) pdl_session_name_setting(err, "PDL_POLICY");
    return ok;
}

/* Reads the policy of the program. */
static bool read_own(const pdl_session *s, const pdl_program *p, pdl_str file, pdl_policies **out,
                     pdl_err *err) {
    const pdl_block *b = p ? p->main : NULL;
    pdl_policy_source from = source_of(s);
    if (!b || !b->rare->policy) return true;
    if (p != s->loaded.program) from.folder = pdl_file_folder(file);
    return pdl_policies_read_node(out, &from, file, b->rare->policy, err);
}

bool pdl_session_read_policies(pdl_session *s, pdl_err *err) {
    return read_given(s, &s->rules.policies, err);
}

static bool take_policy(pdl_session *s, const pdl_program *p, pdl_str file, pdl_err *err) {
    assert(!s->chain.first);
    size_t before = s->rules.policies ? pdl_policies_count(s->rules.policies) : 0;
    if (!read_own(s, p, file, &s->rules.policies, err)) return false;
    if (!pdl_session_add_profile(s, before, err)) return false;
    if (!pdl_session_keep_profiles(s, p, err)) return false;
    pdl_session_fill_redactions(s);
    return true;
}

bool pdl_session_take_policy(pdl_session *s, const pdl_program *p, pdl_err *err) {
    return take_policy(s, p, p->source ? p->source->name : s->opt.program.file, err);
}

bool pdl_session_read_own_policy(pdl_session *s, pdl_err *err) {
    return take_policy(s, s->loaded.program, s->opt.program.file, err);
}

/* --- policies of modules ---------------------------------------------------------------------- */

enum { MAX_MODULES = 64 }; /* each module that has a policy has a bit */

/* Puts the policy in force from now on, also for everything that is printed. */
static void guard_modules(pdl_session *s) {
    bool continues = s->chain.first && !s->chain.rows[PDL_CHAIN_policy];
    pdl_session_fill_redactions(s);
    if (!continues) return;
    pdl_chain_open_policy(s);
    pdl_policy_world_continues(s->chain.first);
}

static bool add_module(pdl_session *s, const pdl_program *p, pdl_str file, pdl_vref key,
                       uint64_t *bit, pdl_err *err) {
    size_t before = s->rules.policies ? pdl_policies_count(s->rules.policies) : 0,
           n = pdl_dict_len(s->rules.modules);
    pdl_policy_source from = source_of(s);
    if (file.n) from.folder = pdl_file_folder(file);
    if (n == MAX_MODULES)
        return pdl_err_set(err, PDL_E_limit, pdl_node_loc(p->main->rare->policy),
                           "more than %d programs of a run have their own policy", MAX_MODULES);
    *bit = (uint64_t)1 << n;
    bool ok = pdl_policies_read_node(&s->rules.policies, &from, file, p->main->rare->policy, err);
    if (s->rules.policies) pdl_policies_scope(s->rules.policies, before, *bit, from.folder);
    if (!ok) return false;
    s->rules.modules = pdl_dict_put(s->rules.modules, pdl_keep(key), pdl_int((int64_t)n));
    if (pdl_policies_count(s->rules.policies) > before) guard_modules(s);
    pdl_session_record_policies(s);
    return true;
}

/* Stores the sandbox profile in the policies of the module, owned; absent when they have none. */
static bool profile_of_module(const pdl_session *s, uint64_t bit, pdl_val *out, pdl_err *err) {
    const pdl_node *n = s->rules.policies ? pdl_policies_sandbox_of(s->rules.policies, bit) : NULL;
    *out = pdl_absent();
    if (n && !pdl_yaml_to_val(n, out, err)) return false;
    if (pdl_is_bool(*out) && pdl_bool_of(*out)) *out = pdl_dict_new(0);
    return true;
}

bool pdl_session_take_module(pdl_session *s, const pdl_program *p, pdl_str file, pdl_code *code,
                             pdl_err *err) {
    if (!p->main || !p->main->rare->policy) return true;
    int64_t n;
    uint64_t bit = 0;
    pdl_buf name = PDL_BUF;
    pdl_buf_put(&name, file);
    pdl_buf_putc(&name, '\n');
    pdl_buf_put(&name, p->source->text);
    pdl_val key = pdl_text_of_buf(&name);
    if (pdl_is_absent(s->rules.modules)) s->rules.modules = pdl_dict_new(1);
    pdl_vref known = pdl_dict_find(s->rules.modules, key);
    bool ok = true;
    if (pdl_int_get(known, &n))
        bit = (uint64_t)1 << n;
    else
        ok = add_module(s, p, file, key, &bit, err);
    pdl_drop(key);
    if (!ok || !profile_of_module(s, bit, &code->sandbox, err)) return false;
    code->modules = bit;
    return true;
}

/* Sets the policy of a run. A spawned durable run has a separate policy world, because a separate
 * journal follows it. */
bool pdl_session_guard_run(void *session, pdl_run_options *o, pdl_err *err) {
    pdl_session *s = session;
    pdl_world *policy = s->chain.rows[PDL_CHAIN_policy];
    if (!policy) return true;
    if (o->world == pdl_chain_after(&s->chain, PDL_CHAIN_policy)) o->world = policy;
    if (!o->guarded && o->world != policy)
        return pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                           "the policy of an included or imported program cannot be in force in a "
                           "durable run of a server; give it to the server with --policy");
    o->guarded = true;
    o->capacity = pdl_policies_capacity(s->rules.policies);
    o->redaction = pdl_session_redaction(s, PDL_SINK_output);
    pdl_control control = pdl_policies_control(s->rules.policies);
    o->strict_control = o->strict_control || control == PDL_CONTROL_STRICT;
    o->strict_plans = o->strict_plans || control == PDL_CONTROL_PLANS;
    return true;
}

/* --- durable runs ----------------------------------------------------------------------------- */

/* Returns the policies and the sandbox as {policies: [[name, digest]], sandbox, process}. */
static pdl_val guards_of(const pdl_session *s) {
    size_t n = s->rules.policies ? pdl_policies_count(s->rules.policies) : 0;
    pdl_val list = pdl_list_new(n), d = pdl_dict_new(3);
    for (size_t i = 0; i < n; i++) {
        pdl_str name = pdl_policies_name(s->rules.policies, i);
        pdl_val one = pdl_list_push(pdl_list_new(2), pdl_text(name));
        one = pdl_list_push(one, pdl_text(pdl_policies_digest(s->rules.policies, i)));
        list = pdl_list_push(list, one);
    }
    d = pdl_dict_putz(d, "policies", list);
    d = pdl_dict_putz(d, "sandbox",
                      pdl_text(s->opt.guards.sandbox.p ? s->opt.guards.sandbox : PDL_STR("")));
    return pdl_dict_putz(d, "process", pdl_bool(s->opt.guards.sandbox_process));
}

static bool has_policy(pdl_vref guards, pdl_vref digest) {
    pdl_vref list = pdl_dict_getz(guards, "policies");
    for (size_t i = 0; i < pdl_list_len(list); i++)
        if (pdl_val_eq(pdl_list_at(pdl_list_at(list, i), 1), digest)) return true;
    return false;
}

static bool check_policies(pdl_vref was, pdl_vref now, pdl_err *err) {
    pdl_vref list = pdl_dict_getz(was, "policies");
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref one = pdl_list_at(list, i);
        bool pair = pdl_is_list(one) && pdl_list_len(one) == 2 && pdl_is_str(pdl_list_at(one, 0));
        if (pair && !has_policy(now, pdl_list_at(one, 1)))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "the run began with the policy of %.*s, which is not there as it "
                               "was: a resume needs it; others may be added",
                               PDL_FMT(pdl_str_get(pdl_list_at(one, 0))));
    }
    return true;
}

static bool check_sandbox(pdl_vref was, pdl_vref now, pdl_err *err) {
    pdl_vref box = pdl_dict_getz(was, "sandbox"), process = pdl_dict_getz(was, "process");
    if (!pdl_is_str(box) || !pdl_str_get(box).n) return true;
    if (!pdl_val_eq(box, pdl_dict_getz(now, "sandbox")))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "the run began in the sandbox %.*s: a resume has the same",
                           PDL_FMT(pdl_str_get(box)));
    bool weaker =
        pdl_bool_of(pdl_dict_getz(now, "process")) && pdl_is_bool(process) && !pdl_bool_of(process);
    return !weaker || pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                                  "the run began in a full sandbox: a resume has no weaker one");
}

static bool compare(pdl_str text, pdl_vref now, pdl_err *err) {
    pdl_val was;
    if (!pdl_json_read(text, 0, &was, NULL, err)) return false;
    bool ok = !pdl_is_dict(was) || (check_policies(was, now, err) && check_sandbox(was, now, err));
    pdl_drop(was);
    return ok;
}

bool pdl_session_keep_guards(pdl_session *s, pdl_err *err) {
    pdl_buf was = PDL_BUF, text = PDL_BUF;
    if (!s->files.durable || !pdl_durable_asks(s->files.durable)) return true;
    pdl_val now = guards_of(s);
    bool ok = pdl_durable_guards(s->files.durable, &was, err);
    if (ok && was.len)
        ok = compare(pdl_buf_str(&was), now, err);
    else if (ok)
        ok = pdl_json_write(now, 0, 0, &text, err) &&
             pdl_durable_put_guards(s->files.durable, pdl_buf_str(&text), err);
    pdl_drop(now);
    pdl_buf_fini(&was);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_session_built_in_policy(const pdl_session *s, pdl_str name, pdl_buf *text, pdl_err *err) {
    pdl_policy_source from = source_of(s);
    return pdl_policies_built_in(&from, name, text, err);
}

bool pdl_session_check_policy(const pdl_session *s, pdl_str name, pdl_policies **out,
                              pdl_err *err) {
    pdl_policy_source from = source_of(s);
    return pdl_policies_read_file(out, &from, name, err);
}

bool pdl_session_policies(const pdl_session *s, const pdl_program *p, pdl_policies **out,
                          pdl_err *err) {
    pdl_policies *all = NULL;
    bool ok = read_given(s, &all, err) && read_own(s, p, s->opt.program.file, &all, err);
    if (ok)
        *out = all;
    else
        pdl_policies_free(all);
    return ok;
}

pdl_val pdl_session_policy_digests(const pdl_session *s) {
    size_t n = s->rules.policies ? pdl_policies_count(s->rules.policies) : 0;
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++)
        list = pdl_list_push(list, pdl_text(pdl_policies_digest(s->rules.policies, i)));
    return list;
}

const pdl_redaction *pdl_session_redaction(const pdl_session *s, pdl_sink_id sink) {
    return &s->rules.redactions[sink];
}

pdl_val pdl_session_shown(const pdl_session *s, pdl_vref v) {
    return pdl_redact_labelled(&s->rules.redactions[PDL_SINK_output], pdl_keep(v));
}

pdl_val pdl_session_recorded(const pdl_session *s, pdl_vref v) {
    return pdl_redact_labelled(&s->rules.redactions[PDL_SINK_journal], pdl_keep(v));
}

static bool redacts_error(const pdl_session *s, const pdl_err *e, pdl_buf *instead) {
    const pdl_redaction *m = &s->rules.redactions[PDL_SINK_output];
    pdl_label label = e->has_words ? e->words : e->label;
    for (size_t i = 0; i < e->n_frames; i++) label |= e->frames[i].label;
    if (!pdl_redaction_covers(m, label)) return false;
    PDL_PUT(instead, "the message of this error is not shown: it has text from ");
    pdl_redaction_put(m, label, instead);
    return true;
}

void pdl_session_put_error(const pdl_session *s, const pdl_err *e, pdl_buf *out) {
    if (!redacts_error(s, e, out)) pdl_session_redact(s, pdl_str_of(e->msg ? e->msg : ""), out);
}

bool pdl_session_hides_error(const pdl_session *s, const pdl_err *e, pdl_err *instead) {
    pdl_buf text = PDL_BUF;
    bool hides = redacts_error(s, e, &text);
    if (hides) pdl_err_set(instead, e->kind, e->loc, "%s", pdl_buf_z(&text));
    pdl_buf_fini(&text);
    return hides;
}

/* Shows the error output of code. The text has the origins of all values that the code got. */
void pdl_session_show_errors(void *user, pdl_str bytes) {
    const pdl_session *s = user;
    const pdl_redaction *m = pdl_session_redaction(s, PDL_SINK_output);
    const pdl_world *policy = s->chain.rows[PDL_CHAIN_policy];
    pdl_label label = policy ? pdl_policy_world_in_code(policy) : 0;
    pdl_buf hidden = PDL_BUF;
    pdl_err ignored = {0};
    if (pdl_redaction_covers(m, label)) {
        pdl_redaction_put(m, label, &hidden);
        pdl_buf_putc(&hidden, '\n');
        bytes = pdl_buf_str(&hidden);
    }
    pdl_buf shown = PDL_BUF, text = PDL_BUF;
    if (s->opt.reports.show_errors) {
        s->opt.reports.show_errors(s->opt.reports.show_user, bytes);
    } else {
        if (pdl_tty_is(STDERR_FILENO)) {
            pdl_utf8_repair(&text, bytes);
            pdl_buf_put_shown(&shown, pdl_buf_str(&text));
            bytes = pdl_buf_str(&shown);
        }
        if (!pdl_file_write_fd(STDERR_FILENO, bytes, &ignored)) pdl_err_fini(&ignored);
    }
    pdl_buf_fini(&text);
    pdl_buf_fini(&shown);
    pdl_buf_fini(&hidden);
}

bool pdl_session_takes_errors(void *user) {
    const pdl_session *s = user;
    return s->opt.reports.show_errors || pdl_session_redaction(s, PDL_SINK_output)->labels ||
           pdl_tty_is(STDERR_FILENO);
}
