/* model.c -- the functions of the world that model.h declares: it starts a call for each effect,
 * cancels calls and waits at its end for the requests that cancel jobs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/model.h"

#include "base/os.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "model/call/embedding_calls.h"
#include "model/call/life.h"
#include "model/wire/reply_builder.h"

#include "base/banned.h"

#define CANCELLING_NS                                                                              \
    UINT64_C(1000000000) /* how long closing the world waits for jobs to be cancelled */

static pdl_calls *calls_of(pdl_world *w) {
    return (pdl_calls *)(void *)w; /* world is the first member */
}

static void start(pdl_world *w, pdl_effect *e) {
    if (e->kind == PDL_EFFECT_model) {
        pdl_call_start(calls_of(w), e);
        return;
    }
    if (e->kind == PDL_EFFECT_embed) {
        pdl_embed_start(calls_of(w), e);
        return;
    }
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_runtime, e->loc, "models do not answer effects of kind %s",
                pdl_effect_kind_name(e->kind));
    pdl_effect_refuse(e, &err);
}

static void cancel(pdl_world *w, uint32_t id) {
    if (pdl_embed_cancel(calls_of(w), id)) return;
    for (pdl_call *c = calls_of(w)->first; c; c = c->next)
        if (c->e->id == id && c->state != PDL_CALL_CANCELLED) {
            pdl_call_cancel(c);
            return;
        }
}

static bool poll(pdl_world *w, int timeout_ms) {
    pdl_calls *calls = calls_of(w);
    pdl_loop_run(calls->loop, calls->n_open ? timeout_ms : 0);
    return calls->n_open > 0;
}

static void close(pdl_world *w) {
    pdl_calls *calls = calls_of(w);
    pdl_embed_close(calls);
    while (calls->first) pdl_call_cancel(calls->first);
    for (uint64_t start = pdl_clock_ns();
         calls->n_cancelling && pdl_clock_ns() - start < CANCELLING_NS;)
        pdl_loop_run(calls->loop, 50);
    pdl_follow_close(calls);
    pdl_rates_free(calls->rates);
    pdl_tokens_fini(&calls->tokens);
    pdl_http_free(calls->http);
    pdl_json_keys_fini(&calls->keys);
    if (calls->limited_key.p) pdl_os_wipe(calls->limited_key.p, calls->limited_key.cap);
    pdl_buf_fini(&calls->limited_host);
    pdl_buf_fini(&calls->limited_key);
    pdl_buf_fini(&calls->bucket);
    pdl_buf_fini(&calls->noted);
    pdl_free(calls->ca_file);
    pdl_free(calls->ca_fallback);
    pdl_secrets_free(calls->own_secrets);
    pdl_free(calls);
}

static const pdl_world_ops ops = {.start = start, .cancel = cancel, .poll = poll, .close = close};

pdl_world *pdl_model_world_new(pdl_loop *loop, const pdl_model_options *opt) {
    pdl_calls *calls = PDL_NEW(pdl_calls);
    calls->world.ops = &ops;
    calls->loop = loop;
    if (opt) calls->opt = *opt;
    if (!calls->opt.secrets) calls->opt.secrets = calls->own_secrets = pdl_secrets_new();
    calls->env = (pdl_env){
        .get = calls->opt.env, .user = calls->opt.user, .of_file = calls->opt.env_of_file};
    calls->end = &calls->first;
    calls->limited_host = calls->limited_key = calls->bucket = PDL_BUF;
    calls->embeddings.known = pdl_dict_new(0);
    pdl_rand_seed(&calls->rng, pdl_rand_fresh_seed());
    const char *ca = pdl_env_get(&calls->env, "SSL_CERT_FILE");
    if (ca) calls->ca_file = pdl_str_dup(pdl_str_of(ca));
    ca = pdl_env_get(&calls->env, "PDL_CA_FILE");
    if (ca) calls->ca_fallback = pdl_str_dup(pdl_str_of(ca));
    pdl_http_options http = {
        .ca_file = calls->ca_file, .ca_fallback = calls->ca_fallback, .debug = calls->opt.debug};
    calls->http = pdl_http_new(loop, &http);
    calls->tokens.http = calls->http;
    calls->rates = pdl_rates_new(loop, calls->opt.rates);
    return &calls->world;
}

size_t pdl_model_world_open(const pdl_world *w) {
    return ((const pdl_calls *)(const void *)w)->n_open;
}

bool pdl_model_reply(pdl_val completion, pdl_val *out, pdl_err *err) {
    return pdl_reply_finish(completion, PDL_REPLY_PLAIN, pdl_absent(), out, err);
}
