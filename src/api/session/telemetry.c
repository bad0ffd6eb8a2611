/* telemetry.c -- the traces of sessions for a collector. One exporter serves a session and all that
 * share its loop; each run has its own spans.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "telemetry/otlp.h"

#include "api/session/session_impl.h"

#include "base/banned.h"

static const char *env_of(void *user, const char *name) {
    return pdl_environ_get(((pdl_session *)user)->env, name);
}

bool pdl_session_open_telemetry(pdl_session *s, pdl_err *err) {
    const pdl_session_options *o = &s->opt;
    if (s->shared || o->explain || o->offline || !s->env) return true;
    return pdl_otlp_new(&(pdl_otlp_options){.loop = s->loop,
                                            .url = o->otlp,
                                            .content = o->otlp_content,
                                            .all = o->otlp_all,
                                            .env = env_of,
                                            .env_user = s,
                                            .secrets = s->secrets,
                                            .debug = o->debug,
                                            .note = o->otlp_note,
                                            .note_user = o->sink.user},
                        &s->otlp, err);
}

void pdl_session_close_telemetry(pdl_session *s) {
    pdl_otlp_run_free(s->spans);
    for (uint32_t i = 0; s->spawn_spans && i < PDL_SPAWN_SLOTS; i++)
        pdl_otlp_run_free(s->spawn_spans[i]);
    pdl_free(s->spawn_spans);
    pdl_otlp_free(s->otlp);
}

static pdl_otlp *exporter_of(const pdl_session *s) { return s->shared ? s->shared->otlp : s->otlp; }

void pdl_session_add_spans(pdl_session *s, pdl_sinks *sinks) {
    pdl_otlp *o = exporter_of(s);
    if (!o) return;
    pdl_str id = s->durable ? pdl_durable_get_facts(s->durable)->id : PDL_STR("");
    s->spans = pdl_otlp_run_new(o, &s->collected, s->opt.file, id);
    pdl_sinks_add(sinks, pdl_otlp_run_sink(s->spans));
}

void pdl_session_add_spawn_spans(pdl_session *s, uint32_t slot, pdl_str file, pdl_sinks *sinks) {
    pdl_otlp *o = exporter_of(s);
    if (!o) return;
    if (!s->spawn_spans) s->spawn_spans = PDL_NEW_N(pdl_otlp_run *, PDL_SPAWN_SLOTS);
    pdl_session_end_spawn_spans(s, slot);
    s->spawn_spans[slot] = pdl_otlp_run_new(o, &s->collected, file, PDL_STR(""));
    pdl_sinks_add(sinks, pdl_otlp_run_sink(s->spawn_spans[slot]));
}

void pdl_session_end_spawn_spans(pdl_session *s, uint32_t slot) {
    if (!s->spawn_spans) return;
    pdl_otlp_run_free(s->spawn_spans[slot]);
    s->spawn_spans[slot] = NULL;
}

bool pdl_session_traceparent(void *user, uint32_t effect, char out[56]) {
    const pdl_session *s = user;
    return s->otlp && pdl_otlp_traceparent(s->otlp, effect, out);
}

const char *pdl_session_tracestate(const pdl_session *s) {
    return s->otlp ? pdl_otlp_tracestate(s->otlp) : NULL;
}
