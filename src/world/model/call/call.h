/* call.h -- one model call in flight: route, request, attempts, stream, reply. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_CALL_H
#define PDL_MODEL_CALL_H

#include "base/idmap.h"
#include "base/vec.h"
#include "effect/effect.h"
#include "io/http.h"
#include "io/sse.h"
#include "model/call/access_token.h"
#include "model/call/attempts.h"
#include "model/call/fault.h"
#include "model/call/rates.h"
#include "model/call/time_limits.h"
#include "model/model.h"
#include "model/wire/dialect.h"
#include "model/wire/eventstream.h"
#include "value/json_read.h"

typedef struct pdl_call pdl_call;

typedef struct pdl_embedding pdl_embedding;

/* The embeddings of a world (embedding_calls.h). */
typedef struct pdl_embeddings {
    pdl_embedding *first; /* embeddings in flight */
    pdl_val known;        /* dict: hash of model and parameters, text -> vector */
    size_t n_numbers;     /* numbers in known */
} pdl_embeddings;

/* State that all calls share. */
typedef struct pdl_calls {
    pdl_world world;
    pdl_loop *loop;
    pdl_http *http;
    pdl_model_options opt;
    pdl_env env;
    pdl_rand rng;             /* random numbers for the jitter of waits only */
    pdl_secrets *own_secrets; /* owned register of secrets, used when the options have none */
    char *ca_file, *ca_fallback;
    pdl_tokens tokens;
    pdl_rates *rates;
    size_t n_cancelling;    /* how many requests in flight ask services to cancel jobs */
    pdl_call *first, **end; /* open calls, oldest first */
    size_t n_open;
    uint64_t n_made;
    pdl_embeddings embeddings;
    pdl_idmap beginnings; /* hash of the beginning of a request -> its record (prefix_first.c) */
    /* the keys that occur in replies; a service sends the same keys each time */
    pdl_json_keys keys;
    /* The bucket of the last request, and the three parts from which its name was made
     * (bucket_of). */
    const pdl_provider *limited_by;
    pdl_buf limited_host, limited_key, bucket;
    pdl_buf noted; /* the last note; a note that equals it is not repeated */
} pdl_calls;

/* The state of a call; the table at the top of call.c has the allowed transitions. */
typedef enum pdl_call_state {
    PDL_CALL_NEW,
    PDL_CALL_WRITING,      /* the request is written: route, parameters, headers, body */
    PDL_CALL_MOCKING,      /* mock_response answers, or mock_timeout waits */
    PDL_CALL_AWAITS_FIRST, /* waits for the answer to a call whose request begins alike */
    PDL_CALL_AWAITS_TOKEN, /* the key is exchanged for a token */
    PDL_CALL_AWAITS_SLOT,  /* waits for a rate slot */
    PDL_CALL_SENT,         /* a transfer is open; no part of the answer was interpreted yet */
    PDL_CALL_STREAMING,    /* a transfer is open; events are received */
    /* a transfer is open; one object is received although a stream was requested */
    PDL_CALL_ONE_BODY,
    PDL_CALL_READING,      /* the transfer is over; its reply is read */
    PDL_CALL_AWAITS_JOB,   /* waits until the next poll for a job */
    PDL_CALL_FAILED,       /* the next step is being decided */
    PDL_CALL_AWAITS_RETRY, /* waits until the request is sent again */
    /* the answer is not needed; the call is released when no callback of it is running */
    PDL_CALL_CANCELLED,
    PDL_CALL_ENDED, /* the effect is about to be answered, refused or freed */
    PDL_CALL_STATES
} pdl_call_state;

/* Steps that a call does at most once. */
enum {
    PDL_TRIED_LONG_MODEL = 1, /* the model for longer prompts was tried */
    PDL_TRIED_FALLBACK = 2,   /* a model other than the first was tried */
    PDL_TRIED_NEW_TOKEN = 4,  /* a new token replaced a refused one */
};

/* The state of reading a stream. This state is larger than the rest of a call, and most open calls
 * have received nothing yet, so it is allocated with the first bytes. */
typedef struct pdl_call_stream {
    pdl_reply_builder builder;
    pdl_sse sse;
    pdl_eventstream frames;
    pdl_buf one_body;  /* the object that is received in the state ONE_BODY */
    uint64_t moved_ns; /* when the latest part of the answer was received; 0 before the first */
} pdl_call_stream;

/* Invariants: pdl_call_is_ok in call.c. */
struct pdl_call {
    pdl_calls *calls;
    pdl_call *next, **prev;
    pdl_effect *e;
    /* number of the call in the log; calls are numbered from 1 in the order in which they begin */
    uint64_t number;
    uint64_t start_ns;
    pdl_call_state state; /* set only by pdl_call_enter */
    /* a sink of the effect runs or may run, so the call must not be released */
    bool in_callback;
    unsigned tried; /* PDL_TRIED_... */
    /* --- the question --- */
    pdl_val model; /* str: the model as the program wrote it, or the fallback that is tried now */
    pdl_val given; /* dict: the parameters of the program, changed by those of the fallback */
    pdl_val clean; /* dict: parameters that remain to be sent */
    /* list: the messages of the request, with ids of calls that the service accepts, and with a
     * description of the schema where no field can carry it; absent before the request is built */
    pdl_val messages;
    size_t n_fallback; /* how many entries of `fallbacks` were tried */
    pdl_route route;
    pdl_env env; /* the environment of the world, without keys that may not go to the address */
    pdl_ask ask;
    /* --- the request --- */
    pdl_buf url, body;
    pdl_headers headers;
    bool is_named;  /* the headers have an Idempotency-Key that we made */
    bool is_traced; /* the headers have a traceparent that we made */
    pdl_buf token_url, token_request, token_id;
    pdl_timing timing;
    unsigned attempt; /* counted retries since the request was written for the current model */
    pdl_attempts_made attempts; /* the failed requests, and what followed each of them */
    /* --- what the call waits for; the state says which of the members is in use --- */
    uint64_t http_id;
    pdl_timer *timer;
    pdl_token_wait token;
    pdl_rate_slot rate_slot;
    /* hash of the beginning of the request; 0 when the call has no part in --prefix-first */
    uintptr_t beginning;
    pdl_call *leader; /* the call for which this one waits in the state AWAITS_FIRST */
    /* the next and the previous call that wait for the same call */
    pdl_call *next_follower, **prev_follower;
    pdl_call *followers, **followers_end; /* the calls that wait for this one; may be NULL */
    bool has_followed; /* this call has waited for another one, which a call does only once */
    bool leads;        /* calls whose requests begin alike wait for this call */
    pdl_buf wire_text; /* text of a stream, for the log of --wire */
    /* --- the answer --- */
    pdl_call_stream *stream; /* NULL until a part of a stream was received */
    pdl_fault fault;         /* a fault that was found inside the reply */
    pdl_job job;             /* while the call polls for a job, this member has the address */
    uint64_t job_progress_ns;
    unsigned n_polls;
    size_t job_shown;   /* bytes of the job's text that were shown */
    bool has_shown;     /* the sink got a piece, so a restart of the answer would be visible */
    pdl_buf shown_text; /* with retry_after_output: text that the sink got */
    size_t replay_left; /* bytes of shown_text that a restarted stream still has to repeat */
};

/* Takes e and answers it, at once or later. */
void pdl_call_start(pdl_calls *calls, pdl_effect *e);
/* Cancels the call: its sink is not called any more. Releases it, at once or when a running
 * callback returns. */
void pdl_call_cancel(pdl_call *c);

/* --- failure_advice.c ------------------------------------------------------------------------- */

/* Adds advice to the error of a call. model: as the program wrote it. */
void pdl_call_advise(const pdl_call *c, pdl_str model, pdl_err *err);

/* --- request.c -------------------------------------------------------------------------------- */

/* Fills route, parameters, URL, headers and body of the call. Errors: the kinds that need no
 * request (spec providers 9); their message has no prefix yet. */
PDL_MUST bool pdl_call_build(pdl_call *c, pdl_err *err);
void pdl_call_reset(pdl_call *c);

/* --- fallback.c ------------------------------------------------------------------------------- */

/* Makes c the call of the next model in `fallbacks`, or of the model for longer prompts. Returns
 * false when there is no further model. */
bool pdl_call_fall_back(pdl_call *c, const pdl_fault *f);

/* --- mock_response.c: mock_response and mock_timeout (spec providers 13.7) -------------------- */

bool pdl_mock_is(const pdl_ask *a);
/* Makes the response in OpenAI's form. Returns false and sets the fault when mock_response asks for
 * a failure. */
bool pdl_mock_read(const pdl_ask *a, pdl_val *raw, pdl_fault *f);

#endif
