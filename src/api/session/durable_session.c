/* durable_session.c -- connects a session with the journal that keeps its effects, and reports back
 * to the run. Output waits here until the journal has written the effects before it, so the journal
 * need not know terminals and host programs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <unistd.h>

#include "api/session/policies.h"
#include "api/session/session_impl.h"
#include "api/setup/written_keys.h"
#include "base/version.h"
#include "journal/durable/secret_references.h"
#include "lang/load.h"
#include "value/text.h"

#include "base/banned.h"

static void name_key(void *user, pdl_str name, pdl_str value) {
    pdl_durable_key(user, name, value);
}

/* Registers the keys of the environment with a journal. */
static void name_keys(const pdl_session *s, pdl_durable *d) {
    pdl_environ_each_key(s->around.env, name_key, d);
}

/* Connects the session with the journal. When `variables` is not absent, it replaces the variables
 * of the options. */
static void attach(pdl_session *s, pdl_durable *d, const pdl_durable_options *how,
                   pdl_vref variables) {
    pdl_durable_options full = *how;
    full.dir = s->opt.program.dir;
    full.debug = s->opt.reports.debug;
    full.secrets = s->around.secrets;
    pdl_durable_note_secrets(d, s->around.secrets);
    full.approvals_park = true;
    if (!pdl_is_absent(variables)) s->opt.program.variables = variables;
    s->files.durable = d;
    pdl_durable_attach(d, &full);
    if (s->running.budget) pdl_budget_set_earlier(s->running.budget, pdl_durable_earlier_ns(d));
}

bool pdl_session_begin_durable(pdl_session *s, const pdl_new_durable *n, pdl_durable **out,
                               pdl_buf *note, pdl_err *err) {
    char cwd[4096] = "";
    if (!pdl_durable_create(n->path, n->full, out, note, err)) return false;
    (void)!getcwd(cwd, sizeof cwd);
    name_keys(s, *out);
    pdl_durable_facts f = {.id = n->id,
                           .file = n->file,
                           .text = n->text,
                           .folder = pdl_str_of(cwd),
                           .options = n->options,
                           .version = PDL_STR(PDL_VERSION)};
    if (!pdl_durable_begin(*out, &f, n->inputs, err)) return false;
    attach(s, *out, &n->how, pdl_absent());
    return true;
}

bool pdl_session_resume_durable(pdl_session *s, pdl_durable *d, const pdl_durable_options *how,
                                pdl_vref given, pdl_val *inputs, pdl_err *err) {
    bool replaces = pdl_durable_asks(d) && !pdl_is_absent(given);
    name_keys(s, d);
    if (!pdl_durable_resume_inputs(d, given, inputs, err)) return false;
    attach(s, d, how, *inputs);
    return pdl_durable_prepare(d, err) &&
           (!replaces || pdl_durable_replace_inputs(d, *inputs, err));
}

bool pdl_session_end_parked(pdl_session *s) {
    pdl_err err = {0};
    if (!s->files.durable || !pdl_durable_is_parked(s->files.durable)) return false;
    pdl_err_set(&err, PDL_E_parked, (pdl_loc){0}, "the run waits for an answer");
    pdl_run_cancel(s->running.run, &err);
    return true;
}

/* Adds the keys that the text of a program contains. */
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

static void add_key(void *user, pdl_str name, pdl_str value) {
    pdl_secret_refs_add(user, name, value);
}

static void read_keys(secret_refs *k) {
    pdl_environ *env = pdl_environ_load(NULL, NULL);
    pdl_environ_each_key(env, add_key, k);
    pdl_environ_free(env);
}

void pdl_session_refer_keys(pdl_str json, pdl_buf *out) {
    secret_refs k = {0};
    read_keys(&k);
    pdl_secret_refs_refer(&k, json, out);
    pdl_secret_refs_fini(&k);
}

bool pdl_session_fill_keys(pdl_str json, pdl_buf *out, pdl_err *err) {
    secret_refs k = {.of_search = true};
    read_keys(&k);
    bool ok = pdl_secret_refs_fill(&k, json, out, err);
    pdl_secret_refs_fini(&k);
    return ok;
}

/* --- output that waits ------------------------------------------------------------------------ */

/* The world of the row `output`. The journal, which is an earlier row of the chain, writes its
 * waiting rows of effects. Then it asks the later worlds to write the output that they hold. So the
 * journal needs to know nothing about terminals and host programs. */
typedef struct output_world {
    pdl_world world;
    pdl_held_output held;
} output_world;

static output_world *of(pdl_world *w) { return (output_world *)(void *)w; }

static void start(pdl_world *w, pdl_effect *e) { w->next->ops->start(w->next, e); }

static void cancel(pdl_world *w, uint32_t id) { w->next->ops->cancel(w->next, id); }

static bool poll(pdl_world *w, int timeout_ms) { return w->next->ops->poll(w->next, timeout_ms); }

static bool has_output(pdl_world *w) { return of(w)->held.waits(of(w)->held.user); }

static uint64_t put_output(pdl_world *w) { return of(w)->held.write(of(w)->held.user); }

static void close_world(pdl_world *w) { pdl_free(of(w)); }

static const pdl_world_ops output_ops = {.start = start,
                                         .cancel = cancel,
                                         .poll = poll,
                                         .close = close_world,
                                         .has_output = has_output,
                                         .put_output = put_output};

pdl_world *pdl_session_output_world(const pdl_session *s, pdl_world *next) {
    output_world *o = PDL_NEW(output_world);
    *o = (output_world){.world = {&output_ops, next}, .held = s->reports.held};
    return &o->world;
}

void pdl_session_hold_output(pdl_session *s, const pdl_held_output *held) {
    s->reports.held = *held;
}

/* --- runs of a server ------------------------------------------------------------------------- */

void pdl_session_attach_server(pdl_session *s, pdl_durable *server) {
    name_keys(s, server);
    pdl_durable_note_secrets(server, s->around.secrets);
    s->files.server = server;
}

/* Notes that a run has output, which the next poll of the server sends. */
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
                             .provisional = spawn->provisional};
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
    name_keys(s, s->files.owned);
    attach(s, s->files.owned, &(pdl_durable_options){0}, pdl_absent());
    return true;
}
