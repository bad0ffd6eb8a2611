/* serve_impl.h -- private to the room: what a request became.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_SERVE_IMPL_H
#define PDL_SERVE_SERVE_IMPL_H

#include "base/buf.h"
#include "io/httpd.h"
#include "serve/cutoff.h"
#include "serve/serve.h"

struct form;

/* One of the answers that a request asks for: one run of the program. */
typedef struct choice {
    struct work *work;
    pdl_run *run; /* NULL: its turn has not come */
    uint32_t index, slot;
    bool fresh;    /* not stepped yet */
    bool over;     /* run has its result */
    cutoff cut;    /* where its text ends */
    pdl_buf shown; /* its text so far, for forms that say it again at the end */
} choice;

/* A request that runs a program. It waits in the queue of the server (no choice has a run), then
 * all its choices run beside each other. */
typedef struct work {
    struct pdl_serve *s;
    pdl_exchange *x; /* NULL: answered, or the client has gone */
    const pdl_served *model;
    const struct form *form;
    pdl_val body;  /* the request as it came */
    pdl_val asked; /* the same as a chat: form.h */
    /* response.c: what was said so far */
    pdl_val output;     /* list of items, or absent */
    const char *finish; /* finish_reason; NULL: it goes on */
    uint32_t n_events;
    bool open;  /* its message has begun */
    bool waits; /* for its turn */
    choice *choices;
    uint32_t n, n_over;
    pdl_timer *limit;   /* of the whole request */
    pdl_timer *silence; /* of an answer in pieces */
    char id[40];
    int64_t created;
    bool stream, wants_usage;
    bool begun;    /* the answer in pieces has begun */
    bool late;     /* its time is up */
    bool computes; /* after its last turn it could go on at once */
    struct work *prev, *next;
} work;

typedef struct works {
    work *first, *last;
} works;

struct pdl_serve {
    pdl_serve_options opt;
    pdl_loop *loop;
    pdl_httpd *httpd;
    pdl_code **codes;    /* of the models */
    struct tool *tools;  /* the models as tools */
    struct stdio *stdio; /* a client that speaks MCP in lines; NULL: none does */
    pdl_val variables;   /* what every run begins with */
    struct conversations *conversations;
    works going, waiting;
    uint32_t n_waiting;
    size_t bytes_waiting; /* of their bodies */
    uint32_t *slots;      /* that are free; n_slots of them */
    uint32_t n_slots;
    uint64_t ids; /* generator of ids */
    struct metrics *metrics;
    bool stopping;
};

/* route.c: who may ask, and what for. */
typedef struct route {
    const char *method, *path; /* a path that ends with a slash: with a name behind it */
    bool open; /* for everybody; else with the token, or for programs of this machine */
    void (*answer)(pdl_serve *s, pdl_exchange *x);
    const char *doc;
} route;
/* The headers of a request are there; all of it is; it is over. */
void pdl_serve_head(void *user, pdl_exchange *x);
void pdl_serve_route(void *user, pdl_exchange *x);
void pdl_serve_over(void *user, pdl_exchange *x);
/* {"error": {message, type, param, code}}; code NULL: null. */
void pdl_serve_answer_error(pdl_exchange *x, int status, const char *type, const char *code,
                            pdl_str message);
#define SERVE_INVALID "invalid_request_error" /* type of most errors */
/* 400 for a field of the request. */
void pdl_serve_answer_wrong(pdl_exchange *x, const char *param, const char *code, pdl_str message);
void pdl_serve_put_error(pdl_str message, const char *type, const char *code, pdl_buf *out);
void pdl_serve_answer_json(pdl_exchange *x, pdl_val v); /* takes v */

/* ask.c: what a request asks. */
typedef struct request {
    pdl_val body, chat; /* the request, and the same as a chat; owned */
    const pdl_served *model;
    uint32_t n; /* choices that it wants */
} request;
/* False: it is wrong, and answered. */
bool pdl_serve_ask_read(pdl_serve *s, pdl_exchange *x, const struct form *form, request *out);
/* The model of that name; NULL: there is none, and the client is told so. */
const pdl_served *pdl_serve_ask_model(const pdl_serve *s, pdl_exchange *x, pdl_str name);
/* fields.c: are the fields of the types and in the ranges that they should be? False: not, and the
 * client is told so. */
bool pdl_serve_ask_fields(pdl_exchange *x, pdl_vref body);
bool pdl_serve_ask_messages(pdl_exchange *x, pdl_vref list);
bool pdl_serve_ask_is_true(pdl_vref d, const char *key);
/* What a run sees of it: an owned dict. */
pdl_val pdl_serve_ask_variables(const pdl_serve *s, pdl_vref chat, pdl_vref messages);

/* chat.c: a request as runs. */
void pdl_serve_chat_begin(pdl_serve *s, pdl_exchange *x, const struct form *form);
/* Takes what is in r. x NULL: its answer goes elsewhere, as the form does it. */
void pdl_serve_chat_start(pdl_serve *s, pdl_exchange *x, const struct form *form, const request *r);
void pdl_serve_chat_step(work *w); /* w may be gone afterwards */
bool pdl_serve_chat_is_ready(const work *w);
/* Those whose turn has come begin. */
void pdl_serve_chat_admit(pdl_serve *s);
void pdl_serve_chat_over(pdl_exchange *x);
void pdl_serve_chat_free(work *w);
void pdl_serve_works_move_last(works *l, work *w);
/* The prefix and sixteen hex digits that no other id of this server has. */
void pdl_serve_make_id(pdl_serve *s, const char *prefix, char *out, size_t size);

#endif
