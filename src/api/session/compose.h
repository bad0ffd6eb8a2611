/* compose.h -- one world that routes effects to the worlds that answer them. Private to api. Only
 * this file and compose.c know all these worlds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_COMPOSE_H
#define PDL_API_COMPOSE_H

#include "api/hooks.h"
#include "model/prices.h"
#include "model/prompt_cache.h"
#include "value/label.h"
#include "worker/worker.h"

typedef struct pdl_compose_options {
    pdl_loop *loop;
    const char *(*env)(void *user, const char *name);
    void *env_user;
    /* Returns the value of a variable in a file `.env`, see pdl_environ_of_file. */
    const char *(*env_of_file)(void *user, const char *name);
    pdl_str dir;
    const pdl_debug *debug;
    const pdl_prices *prices; /* may be NULL */
    pdl_secrets *secrets;     /* keys are registered here when they are used; may be NULL */
    pdl_rate_limits rates;
    pdl_prefix_options prefix;
    uint64_t patience_ms;
    /* takes requests to models; when it is NULL, the requests are sent */
    const struct pdl_http_carrier *carrier;
    void (*wire)(void *user, pdl_str text); /* called with env_user; may be NULL */
    const pdl_redaction *redaction;         /* for the log of wire; may be NULL */
    void (*note)(void *user, pdl_str text); /* called with env_user; may be NULL */
    /* Writes the trace context of requests to models and tool servers; called with env_user; may be
     * NULL. */
    bool (*traceparent)(void *user, uint32_t effect, char out[56]);
    const char *tracestate; /* the tracestate for the same requests; may be NULL */
    const struct pdl_line_terminal *terminal;
    void (*errors)(void *user, pdl_str bytes); /* receives the standard error of code */
    /* returns false when code writes directly to the standard error of this process */
    bool (*takes_errors)(void *user);
    void (*ask_input)(void *user, const pdl_effect *code, pdl_worker_answer_fn *answer,
                      void *answer_user);
    void (*run_program)(void *user, const pdl_effect *code, pdl_val request,
                        pdl_worker_done_fn *done, void *done_user);
    void *user;
    /* Returns the number of the spawned run (a request of a server, a row of a batch) in which an
     * effect is requested. Returns 0 when no spawned run requested the effect. Confined code of
     * different runs has different processes and a different /tmp, so that one run leaves nothing
     * to another. */
    uint32_t (*owner)(void *user, uint32_t effect);
    /* the sandboxes of code, commands and tool servers; when it is NULL, they are not confined */
    struct pdl_confined *confined;
    const char *timeouts;  /* time limits of model calls, see model.h; NULL means the defaults */
    const pdl_hook *hooks; /* effects that the host program answers itself */
    size_t n_hooks;
    const uint64_t *code_seed; /* see pdl_session_run_options */
    pdl_task *task;            /* the task whose handlers are called; NULL when there is none */
    /* The last row of the session of the engine, for a task of an engine whose tasks share a loop;
     * borrowed. That row answers what the hooks of the task do not answer. When `engine` is NULL,
     * this session opens the worlds that answer. */
    pdl_world *engine;
} pdl_compose_options;

/* Makes the world, which opens each other world when that world is first needed. Borrows the loop,
 * and everything to which options point. */
pdl_world *pdl_compose(const pdl_compose_options *options);

/* Forgets the spawned run with the number `owner`, whose confined code is not used any more. The
 * number may then be used again. */
void pdl_compose_forget(pdl_world *w, uint32_t owner);

/* Returns the world that answers models, for previews. Borrowed. */
pdl_world *pdl_compose_model(pdl_world *w);

/* Answers an input effect that waits for standard input. Returns false when no waiting effect has
 * this id. */
bool pdl_compose_answer_input(pdl_world *w, uint32_t id, pdl_str text);

/* Returns true when the host program has given an answer that poll will deliver. */
bool pdl_compose_is_ready(const pdl_world *w);

/* Returns true when the host program answers this effect. */
bool pdl_compose_is_hooked(const pdl_world *w, const pdl_effect *e);

#endif
