/* serve.h -- serves programs as models, with an OpenAI-compatible interface over HTTP (spec
 * providers 20), and as tools (MCP).
 *
 * Every request for a completion is a run of the program on the one loop of a session (n runs for n
 * choices); `messages` of the request are its first context. No client can delay another: runs take
 * turns, a run is paused while its client reads nothing, and it is ended when its client
 * disconnects. When all slots are in use, requests wait in a queue. When the queue is full,
 * requests are refused.
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
    pdl_program *program; /* the program was loaded without errors */
    int64_t created;      /* creation time in seconds since the epoch */
} pdl_served;

/* The options of a server. All but session, models and host may be zero. Borrowed for the life of
 * the server. */
typedef struct pdl_serve_options {
    pdl_session *session;
    const pdl_served *models; /* the n_models programs, whose names differ */
    size_t n_models;
    const char *host; /* address to listen on */
    uint16_t port;    /* 0 means any free port */
    /* The token that requests must have. When it is empty, only clients of this machine are
     * served. */
    pdl_str token;
    pdl_vref variables; /* variables that every run gets; dict or absent */
    /* maximum number of runs at a time, at most PDL_SERVE_MAX_RUNS; 0 means PDL_SERVE_MAX_RUNS */
    uint32_t max_runs;
    /* maximum number of requests that wait for a slot; with 0 a request without a slot is
     * refused */
    uint32_t max_waiting;
    /* journal in which requests with an Idempotency-Key are durable runs; may be NULL */
    pdl_durable *journal;
    bool provisional; /* pieces of durable runs are sent before they are stored */
    uint64_t run_ms;  /* time limit for answering a request; 0 means 10 minutes */
    /* Origins of pages that may send requests and read answers, separated by commas. * is any
     * origin. When the list is empty, only pages of this server may send requests. */
    pdl_str origins;
    /* Called with one line of JSON per request; may be NULL. */
    void (*log)(void *user, pdl_str line);
    void *log_user;
    /* Descriptors on which a client speaks MCP. Programs are then its tools, and there is no HTTP.
     * When both are 0, MCP is served over HTTP. */
    int mcp_in, mcp_out;
    const pdl_debug *debug;
} pdl_serve_options;

/* Starts the server. Errors: io (cannot listen), runtime (default parameters of models), those of
 * policies. */
PDL_MUST bool pdl_serve_start(const pdl_serve_options *opt, pdl_serve **out, pdl_err *err);
uint16_t pdl_serve_port(const pdl_serve *s);
/* Serves until pdl_serve_stop is called (from a callback of the loop). */
void pdl_serve_run(pdl_serve *s);
void pdl_serve_stop(pdl_serve *s);
/* Ends all requests. s may be NULL. */
void pdl_serve_free(pdl_serve *s);

/* Returns true for a name or address of the machine itself. */
bool pdl_serve_is_loopback(pdl_str host);

#endif
