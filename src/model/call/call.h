/* call.h -- one model call on its way: route, request, attempts, stream, reply. Inside of model
 * only. SPDX-License-Identifier: Apache-2.0 */
#ifndef PDL_MODEL_CALL_H
#define PDL_MODEL_CALL_H

#include "base/vec.h"
#include "effect/effect.h"
#include "io/http.h"
#include "io/sse.h"
#include "model/call/attempts.h"
#include "model/call/fault.h"
#include "model/call/rates.h"
#include "model/call/timing.h"
#include "model/call/token.h"
#include "model/model.h"
#include "model/wire/dialect.h"
#include "model/wire/eventstream.h"

typedef struct pdl_call pdl_call;

typedef struct pdl_embedding pdl_embedding;

/* The embeddings of a world (embed.h). */
typedef struct pdl_embeddings {
    pdl_embedding *first; /* on their way */
    pdl_val known;        /* dict: hash of model and parameters, text -> vector */
    size_t n_numbers;     /* in known */
} pdl_embeddings;

/* What all calls share. */
typedef struct pdl_calls {
    pdl_world world;
    pdl_loop *loop;
    pdl_http *http;
    pdl_model_options opt;
    pdl_env env;
    pdl_rand rng;             /* jitter of waits only */
    pdl_secrets *own_secrets; /* the register where the options give none */
    char *ca_file;
    pdl_tokens tokens;
    pdl_rates *rates;
    size_t n_farewell;      /* requests that end jobs, on their way */
    pdl_call *first, **end; /* open calls, oldest first */
    size_t n_open;
    uint64_t n_made;
    pdl_embeddings embeddings;
} pdl_calls;

/* Invariants: at most one of http_id, timer is set; gone: cancelled while busy, released when its
 * own function returns. */
struct pdl_call {
    pdl_calls *calls;
    pdl_call *next, **prev;
    pdl_effect *e;
    uint64_t number; /* from 1, in the order in which calls began; for the log */
    uint64_t start_ns;
    /* what is asked */
    pdl_val model;     /* str: as the program wrote it, or the fallback in turn */
    pdl_val given;     /* dict: parameters of the program, or with those of the fallback */
    pdl_val clean;     /* dict: what is left to be sent */
    pdl_val messages;  /* list: those of the request with what a schema needs; absent: the same */
    size_t n_fallback; /* of `fallbacks` tried */
    bool longer,
        fell_back; /* the model for longer prompts was tried; any other than the first was */
    pdl_route route;
    pdl_ask ask;
    /* the request */
    pdl_buf url, body;
    pdl_headers headers;
    pdl_buf token_url, token_request, token_id;
    pdl_token_wait token;
    pdl_timing timing;
    unsigned attempt;
    pdl_attempts_made made; /* requests that failed, and what came next */
    bool sent;      /* a request went out since the call began: a failure may be tried again */
    bool anew;      /* the next try is written anew */
    bool new_token; /* a refused token was replaced once */
    uint64_t http_id;
    pdl_timer *timer;
    pdl_rate_slot pass; /* at most one of it, http_id, timer waits */
    bool free_retry;    /* the one that comes is not counted */
    pdl_buf wired;      /* of a stream, for the log */
    /* the answer */
    pdl_reply_builder draft;
    pdl_sse sse;
    pdl_eventstream frames;
    pdl_job job;     /* its get is set while one is waited for */
    uint64_t job_ns; /* when it made progress */
    unsigned n_polls;
    size_t n_shown; /* bytes of its text */
    pdl_buf seen;   /* with retry_after_output: the text that was shown */
    size_t
        n_behind;  /* bytes of seen that a stream which was asked for again has not repeated yet */
    pdl_buf whole; /* a stream was asked for, one object came */
    bool is_whole, began, shown, busy, gone;
    pdl_fault fault; /* found inside the stream */
};

/* Take e and answer it, at once or later. */
void pdl_call_start(pdl_calls *calls, pdl_effect *e);
/* Nobody is called any more; releases the call, or marks it when it is busy. */
void pdl_call_cancel(pdl_call *c);

/* --- request.c -------------------------------------------------------------------------------- */

/* Route, parameters, URL, headers and body of the call. Errors: the kinds of spec 9 that need no
 * request; bare message. */
PDL_MUST bool pdl_call_build(pdl_call *c, pdl_err *err);
void pdl_call_reset(pdl_call *c);

/* --- fallback.c ------------------------------------------------------------------------------- */

/* Make c the call of the next of `fallbacks`, or of the model for longer prompts. False: there is
 * none. */
bool pdl_call_fall_back(pdl_call *c, const pdl_fault *f);

/* --- mock.c: mock_response and mock_timeout (spec 13.7) --------------------------------------- */

bool pdl_mock_is(const pdl_ask *a);
/* The response in OpenAI's shape, or false and the fault. */
bool pdl_mock_read(const pdl_ask *a, pdl_val *raw, pdl_fault *f);

#endif
