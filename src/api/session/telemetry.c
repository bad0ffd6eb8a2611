/* telemetry.c -- sends the traces of sessions to a collector. One exporter serves a session and all
 * sessions that share its loop. Each run has separate spans.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "telemetry/otlp.h"

#include "api/session/session_impl.h"

#include "base/banned.h"

static const char *env_of(void *user, const char *name) {
    return pdl_environ_get(((pdl_session *)user)->around.env, name);
}

bool pdl_session_open_telemetry(pdl_session *s, pdl_err *err) {
    const pdl_session_options *o = &s->opt;
    /* the environment requests spans of runs, but a session that only explains has no run */
    bool is_silent = o->telemetry.is_off || (o->run.explain && !o->telemetry.collector.n);
    if (s->group.shared || is_silent || o->files.offline || !s->around.env) return true;
    return pdl_otlp_new(&(pdl_otlp_options){.loop = s->around.loop,
                                            .url = o->telemetry.collector,
                                            .content = o->telemetry.content,
                                            .all = o->telemetry.all,
                                            .env = env_of,
                                            .env_user = s,
                                            .secrets = s->around.secrets,
                                            .debug = o->reports.debug,
                                            .note = o->telemetry.note,
                                            .note_user = o->reports.sink.user},
                        &s->around.otlp, err);
}

void pdl_session_close_telemetry(pdl_session *s) {
    pdl_otlp_run_free(s->reports.spans);
    for (uint32_t i = 0; s->running.beside.spans && i < PDL_SPAWN_SLOTS; i++)
        pdl_otlp_run_free(s->running.beside.spans[i]);
    pdl_free(s->running.beside.spans);
    pdl_otlp_free(s->around.otlp);
}

static pdl_otlp *exporter_of(const pdl_session *s) {
    if (s->opt.telemetry.is_off) return NULL;
    return (s->group.shared ? s->group.shared : s)->around.otlp;
}

void pdl_session_add_spans(pdl_session *s, pdl_sinks *sinks) {
    pdl_otlp *o = exporter_of(s);
    if (!o) return;
    pdl_str id = s->files.durable ? pdl_durable_get_facts(s->files.durable)->id : PDL_STR("");
    s->reports.spans = pdl_otlp_run_new(o, &s->rules.collected, s->opt.program.file, id);
    pdl_sinks_add(sinks, pdl_otlp_run_sink(s->reports.spans));
}

void pdl_session_add_spawn_spans(pdl_session *s, uint32_t slot, pdl_str file, pdl_sinks *sinks) {
    pdl_otlp *o = exporter_of(s);
    if (!o) return;
    pdl_beside *beside = &s->running.beside;
    if (!beside->spans) beside->spans = PDL_NEW_N(pdl_otlp_run *, PDL_SPAWN_SLOTS);
    pdl_session_end_spawn_spans(s, slot);
    if (!file.n) file = s->opt.program.file;
    s->running.beside.spans[slot] = pdl_otlp_run_new(o, &s->rules.collected, file, PDL_STR(""));
    pdl_sinks_add(sinks, pdl_otlp_run_sink(s->running.beside.spans[slot]));
}

void pdl_session_end_spawn_spans(pdl_session *s, uint32_t slot) {
    if (!s->running.beside.spans) return;
    pdl_otlp_run_free(s->running.beside.spans[slot]);
    s->running.beside.spans[slot] = NULL;
}

bool pdl_session_traceparent(void *user, uint32_t effect, char out[56]) {
    const pdl_session *s = user;
    return s->around.otlp && pdl_otlp_traceparent(s->around.otlp, effect, out);
}

const char *pdl_session_tracestate(const pdl_session *s) {
    return s->around.otlp ? pdl_otlp_tracestate(s->around.otlp) : NULL;
}
