/* serve.h -- programs as models: an OpenAI-compatible interface over HTTP (spec providers 20); and
 * as tools (MCP).
 *
 * Every request for a completion is a run of the program on the one loop of a session (n runs for n
 * choices); `messages` of the request are its first context. No client can delay another: runs take
 * turns, a run is paused while its client reads nothing, and is ended when its client disconnects.
 * When all slots are in use, requests wait in a queue, and when that is full they are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_SERVE_H
#define PDL_SERVE_SERVE_H

#include "api/session.h"
#include "io/loop.h"

typedef struct pdl_serve pdl_serve;
enum { PDL_SERVE_MAX_RUNS = 1024 };

/* A program that is offered. Borrowed for the life of the server. */
typedef struct pdl_served {
    pdl_str name;         /* the name that clients use for the model */
    pdl_str dir;          /* directory of the program */
    pdl_program *program; /* loaded without errors */
    int64_t created;      /* seconds since the epoch */
} pdl_served;

/* All-zero apart from session, models and host is the default. Borrowed for the life of the
 * server. */
typedef struct pdl_serve_options {
    pdl_session *session;
    const pdl_served *models; /* n_models, names differ */
    size_t n_models;
    const char *host; /* where to listen */
    uint16_t port;    /* 0: any that is free */
    /* token that requests must carry; empty: none, and only clients of this machine are served */
    pdl_str token;
    pdl_vref variables;   /* of every run; dict or absent */
    uint32_t max_runs;    /* at a time, at most PDL_SERVE_MAX_RUNS; 0: that many */
    uint32_t max_waiting; /* requests that may wait for a slot; 0: none, they are refused */
    pdl_durable *journal; /* requests with an Idempotency-Key are durable runs; NULL: none is */
    bool provisional; /* their pieces are sent before they are kept */
    uint64_t run_ms;      /* for a request to be answered; 0: 10 minutes */
    /* Origins of pages that may send requests and read answers, separated by commas; * is any;
     * empty: only those of this server. */
    pdl_str origins;
    /* called with one line of JSON per request; NULL: not called */
    void (*log)(void *user, pdl_str line);
    void *log_user;
    /* Programs are tools of a client that speaks MCP on these descriptors, and there is no HTTP. 0:
     * over HTTP */
    int mcp_in, mcp_out;
    const pdl_debug *debug;
} pdl_serve_options;

/* Error: io (cannot listen), runtime (default parameters of models). */
PDL_MUST bool pdl_serve_start(const pdl_serve_options *opt, pdl_serve **out, pdl_err *err);
uint16_t pdl_serve_port(const pdl_serve *s);
/* Serves until pdl_serve_stop is called (from a callback of the loop). */
void pdl_serve_run(pdl_serve *s);
void pdl_serve_stop(pdl_serve *s);
/* Ends all requests. NULL is fine. */
void pdl_serve_free(pdl_serve *s);

/* Is this a name or address of the machine itself? */
bool pdl_serve_is_loopback(pdl_str host);

#endif
