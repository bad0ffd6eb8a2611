/* answerers.c -- opens the last row of the chain: the worlds that answer effects (compose.h), with
 * the parts of the session that they need. A task that shares the loop of its engine uses the
 * worlds of the shared session for everything that its own hooks do not answer. So connections and
 * workers are shared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/compose.h"
#include "api/session/session_impl.h"

#include "base/banned.h"

static void on_wire(void *user, pdl_str text) {
    pdl_session *s = user;
    s->opt.models.wire(s->opt.models.wire_user, text);
}

static void on_note(void *user, pdl_str text) {
    pdl_session *s = user;
    s->opt.reports.note(s->opt.reports.sink.user, text);
}

/* Returns the number of the spawned run that requested an effect. Returns 0 when the main run or a
 * member (a task of an engine) requested it. */
static uint32_t owner_of(void *user, uint32_t effect) {
    const pdl_session *s = user;
    uint32_t root = pdl_subruns_root(s->running.subs, effect);
    bool spawned = root >= PDL_SUB_RANGES && root < PDL_SUB_RANGES + PDL_SPAWN_SLOTS;
    bool member = spawned && s->group.members && s->group.members[root - PDL_SUB_RANGES];
    return spawned && !member ? root : 0;
}

/* Returns the world of the engine's session that answers the effects of a member, except the
 * effects that the member's own hooks answer. */
static pdl_world *answerers_of(pdl_session *shared) {
    return pdl_session_chain(shared)->rows[PDL_CHAIN_answer];
}

pdl_world *pdl_session_answer_world(pdl_session *s) {
    const pdl_session_options *o = &s->opt;
    pdl_compose_options c = {
        .loop = s->around.loop,
        .env = pdl_session_env_of,
        .env_user = s,
        .env_of_file = pdl_session_env_of_file,
        .dir = o->program.dir,
        .debug = o->reports.debug,
        .terminal = o->host.terminal,
        .ask_input = pdl_session_ask_input,
        .errors = pdl_session_show_errors,
        .takes_errors = pdl_session_takes_errors,
        .run_program = pdl_session_run_program,
        .owner = owner_of,
        .user = s,
        .prices = s->around.prices,
        .hooks = o->host.hooks,
        .n_hooks = o->host.n_hooks,
        .task = o->host.task,
        .code_seed = o->run.code_seed,
        .timeouts = o->models.timeouts,
        .rates = o->models.rates,
        .prefix = o->models.prefix,
        .patience_ms = o->models.patience_ms,
        .wire = o->models.wire ? on_wire : NULL,
        .redaction = &s->rules.collected,
        .note = o->reports.note ? on_note : NULL,
        .carrier = o->models.carrier,
        .traceparent = s->around.otlp ? pdl_session_traceparent : NULL,
        .tracestate = pdl_session_tracestate(s),
        .secrets = s->around.secrets,
        .confined = pdl_session_confined(s),
    };
    if (s->group.shared) c.engine = answerers_of(s->group.shared);
    return pdl_compose(&c);
}
