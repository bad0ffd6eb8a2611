/* durable_session.c -- connects a session with the journal that keeps its effects, and reports back
 * to the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/confined.h"
#include "api/session/policies.h"
#include "api/session/session_impl.h"
#include "api/setup/keys.h"
#include "lang/load.h"
#include "value/text.h"

#include "base/banned.h"

static void name_key(void *user, pdl_str name, pdl_str value) {
    pdl_durable_key(user, name, value);
}

void pdl_session_name_keys(const pdl_session *s, pdl_durable *d) {
    pdl_environ_each_key(s->around.env, name_key, d);
}

static bool is_read_only_tool(const pdl_session *s, const pdl_effect *e) {
    pdl_vref op = pdl_dict_getz(e->request, "op"), server = pdl_dict_getz(e->request, "server"),
             name = pdl_dict_getz(e->request, "name");
    pdl_buf tool = PDL_BUF;
    if (pdl_text_is(op, "list")) return true;
    if (!pdl_text_is(op, "call") || !pdl_is_str(server) || !pdl_is_str(name)) return false;
    pdl_buf_putf(&tool, "%.*s/%.*s", PDL_FMT(pdl_str_get(server)), PDL_FMT(pdl_str_get(name)));
    const pdl_policies *p = s->rules.policies;
    bool looks = p && pdl_policy_is_read_only(p, pdl_buf_str(&tool));
    pdl_buf_fini(&tool);
    return looks;
}

static void on_spent(void *user, const pdl_effect *e, const pdl_reply *reply) {
    const pdl_session *s = user;
    pdl_world *budget = s->chain.rows[PDL_CHAIN_budget];
    if (budget) pdl_budget_world_spent(budget, e, reply);
}

/* Returns true for effects that may be repeated: code and commands in a sandbox without folders
 * to write and without network; tools that the user declares read-only; the list of a server's
 * tools. */
static bool may_repeat(void *user, const pdl_effect *e) {
    const pdl_session *s = user;
    const pdl_sandbox *box = NULL;
    pdl_err ignored = {0};
    if (e->kind == PDL_EFFECT_tool) return is_read_only_tool(s, e);
    if (e->kind != PDL_EFFECT_code && e->kind != PDL_EFFECT_command && e->kind != PDL_EFFECT_object)
        return false;
    pdl_confined *c = pdl_session_confined(s);
    if (!c || !pdl_confined_find(c, e->sandbox, &box, &ignored)) box = NULL;
    pdl_err_fini(&ignored);
    return box && pdl_sandbox_is_closed(box);
}

bool pdl_session_end_parked(pdl_session *s) {
    pdl_err err = {0};
    if (!s->files.durable || !pdl_durable_is_parked(s->files.durable)) return false;
    pdl_err_set(&err, PDL_E_parked, (pdl_loc){0}, "the run waits for an answer");
    pdl_run_cancel(s->running.run, &err);
    return true;
}

/* Adds the keys in the text of a program. */
static void add_keys_of(pdl_secrets *s, pdl_str text) {
    bool ok;
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, PDL_STR(""), text, &ok);
    pdl_api_note_program(s, p);
    pdl_program_drop(p);
}

void pdl_session_redact_program(pdl_str text, pdl_buf *out) {
    pdl_secrets *s = pdl_secrets_new();
    pdl_environ_free(pdl_environ_load(s, NULL));
    add_keys_of(s, text);
    pdl_redact_text(s, text, out);
    pdl_secrets_free(s);
}

pdl_secrets *pdl_session_secrets_of(pdl_str journal) {
    pdl_secrets *s = pdl_secrets_new();
    pdl_err ignored = {0};
    pdl_durable *d = NULL;
    pdl_environ_free(pdl_environ_load(s, NULL));
    if (pdl_durable_open(journal, PDL_DURABLE_SHOW, false, false, &d, &ignored)) {
        add_keys_of(s, pdl_durable_get_facts(d)->text);
        pdl_durable_note_secrets(d, s);
    }
    pdl_durable_close(d);
    pdl_err_fini(&ignored);
    return s;
}

void pdl_session_attach(pdl_session *s, pdl_durable *d, const pdl_durable_options *o,
                        pdl_vref variables) {
    pdl_durable_options full = *o;
    full.dir = s->opt.program.dir;
    full.debug = s->opt.reports.debug;
    full.secrets = s->around.secrets;
    pdl_durable_note_secrets(d, s->around.secrets);
    full.spent = on_spent;
    full.may_repeat = may_repeat;
    full.approvals_park = true;
    full.owner = s;
    if (!pdl_is_absent(variables)) s->opt.program.variables = variables;
    s->files.durable = d;
    pdl_durable_attach(d, &full);
    if (s->running.budget) pdl_budget_set_earlier(s->running.budget, pdl_durable_earlier_ns(d));
}

/* --- runs of a server ------------------------------------------------------------------------- */

void pdl_session_attach_server(pdl_session *s, pdl_durable *server) {
    pdl_durable_note_secrets(server, s->around.secrets);
    s->files.server = server;
}

/* Collects the output of a run, which the next poll of the server sends. */
static void on_output(void *user, const pdl_event *e) {
    if (e->kind == PDL_EVENT_text || e->kind == PDL_EVENT_out || e->kind == PDL_EVENT_run_end)
        pdl_durable_note_output(user);
}

pdl_sink pdl_session_output_sink(const pdl_session *s) {
    return (pdl_sink){s->files.server, on_output, false};
}

pdl_world *pdl_session_spawn_durable(pdl_session *s, const pdl_spawn *spawn) {
    pdl_durable_options o = {.dir = spawn->dir,
                             .debug = s->opt.reports.debug,
                             .secrets = s->around.secrets,
                             .provisional = spawn->provisional,
                             .spent = on_spent,
                             .may_repeat = may_repeat,
                             .owner = s};
    pdl_durable_attach(spawn->durable, &o);
    pdl_beside *beside = &s->running.beside;
    if (!beside->chains) beside->chains = PDL_NEW_N(pdl_chain *, PDL_SPAWN_SLOTS);
    pdl_session_end_durable(s, spawn->slot);
    pdl_chain *c = beside->chains[spawn->slot] = PDL_NEW(pdl_chain);
    pdl_chain_open_run(s, spawn, c);
    return c->first;
}

void pdl_session_end_durable(pdl_session *s, uint32_t slot) {
    if (!s->running.beside.chains || !s->running.beside.chains[slot]) return;
    pdl_chain_close(s->running.beside.chains[slot]);
    pdl_free(s->running.beside.chains[slot]);
    s->running.beside.chains[slot] = NULL;
}

/* --- the end ---------------------------------------------------------------------------------- */

void pdl_session_stop(pdl_session *s) {
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_interrupt, (pdl_loc){0}, "the run had not come further");
    pdl_session_cancel(s, &err);
}

void pdl_session_flush(pdl_session *s) {
    if (s->files.durable) pdl_durable_flush(s->files.durable);
}

bool pdl_session_open_replay(pdl_session *s, pdl_err *err) {
    if (!pdl_durable_open(s->opt.files.replay, PDL_DURABLE_REPLAY, false, false, &s->files.owned,
                          err))
        return false;
    pdl_session_name_keys(s, s->files.owned);
    pdl_session_attach(s, s->files.owned, &(pdl_durable_options){0}, pdl_absent());
    return true;
}
