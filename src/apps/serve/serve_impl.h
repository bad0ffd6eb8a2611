/* serve_impl.h -- the requests of a server while they are handled. Private to serve.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_SERVE_IMPL_H
#define PDL_SERVE_SERVE_IMPL_H

#include "base/buf.h"
#include "base/vec.h"
#include "io/httpd.h"
#include "serve/cutoff.h"
#include "serve/serve.h"

struct form;
struct keyed;

/* Counts of the parts of an answer, besides its text, that were sent while it arrived; see
 * sent_parts.h. */
typedef struct sent {
    size_t reasoning, refusal; /* number of bytes of reasoning, and of the refusal */
    size_t logprobs[2];        /* number of tokens of the content, and of the refusal */
    PDL_VEC(size_t) calls;     /* for each call, the bytes of its arguments */
    /* text that is not the model's was sent, so the offsets of tokens are unknown */
    bool has_other_text;
} sent;

/* An item of a response that is streamed; see response_stream.c. */
typedef enum { ITEM_MESSAGE, ITEM_REFUSAL, ITEM_REASONING, ITEM_CALL } response_item_kind;
typedef struct response_item {
    response_item_kind kind;
    pdl_buf text;     /* the text so far; for a call, its arguments */
    pdl_val logprobs; /* the list of the logprobs of the tokens */
    pdl_val id, name; /* id and name of a call */
    pdl_val done;     /* the complete item; absent while it grows */
} response_item;

/* One of the answers to a request: one run of the program. */
typedef struct choice {
    struct work *work;
    pdl_run *run; /* NULL while the choice waits for a slot */
    uint32_t index, slot;
    bool fresh; /* the run was not stepped yet */
    bool over;  /* the run has its result */
    cutoff cut; /* decides where the text of the answer ends */
    sent sent;
    int64_t n_characters; /* number of characters of the tokens that were sent; see completion.c */
} choice;

/* A request that runs a program. It first waits in the queue of the server, where no choice has a
 * run; then all its choices run concurrently. */
typedef struct work {
    struct pdl_serve *s;
    /* NULL when the request is a line of MCP, or when no client waits for a request with a key */
    pdl_exchange *x;
    const pdl_served *model;
    const struct form *form;
    pdl_val body;  /* the request as it was received */
    pdl_val asked; /* the request in the form of a chat; see form.h */
    /* response*.c */
    pdl_val output;     /* list of items, absent until the end */
    const char *finish; /* finish_reason; NULL while the response continues */
    uint32_t n_events;
    PDL_VEC(response_item) items; /* items of a stream, in the order of the output */
    PDL_VEC(size_t) call_places;
    bool waits;     /* the work is in the queue */
    size_t n_bytes; /* size of the request's body, while the work is in the queue */
    choice *choices;
    uint32_t n, n_over;
    struct keyed *keyed; /* set for a durable request with an Idempotency-Key (idempotency.h) */
    pdl_timer *limit;    /* time limit of the whole request */
    /* fires when an answer in pieces should begin although it has no text yet */
    pdl_timer *silence;
    char id[40];
    int64_t created;
    bool stream, wants_usage;
    bool begun;    /* the answer in pieces has begun */
    bool late;     /* the time limit of the request has passed */
    bool computes; /* the last turn ended although a run could continue */
    struct work *prev, *next;
} work;

typedef struct works {
    work *first, *last;
} works;

struct pdl_serve {
    pdl_serve_options opt;
    pdl_loop *loop;
    pdl_httpd *httpd;
    pdl_code **codes; /* code of the models, by their index */
    /* how slow each model is, by its index; 0 when the turns of its runs are short */
    uint8_t *slowness;
    bool was_slow;       /* a turn was slow since the sockets were last polled */
    struct tool *tools;  /* the models in their form as tools */
    struct stdio *stdio; /* a client that speaks MCP in lines; NULL when there is none */
    pdl_val variables;   /* variables with which every run begins */
    struct conversations *conversations;
    works going, waiting;
    uint32_t n_waiting;
    size_t bytes_waiting; /* size of the bodies of waiting requests */
    uint32_t *slots;      /* numbers of the n_slots free slots */
    uint32_t n_slots;
    uint64_t ids; /* generator of ids */
    struct metrics *metrics;
    struct keyed *keyed; /* list of all durable requests */
    bool stopping;
};

/* A path and the function that answers it; route.c. */
typedef struct route {
    const char *method, *path; /* a path that ends with a slash is followed by a name */
    /* any client may use it; otherwise a client needs the token, or must be a program on this
     * machine */
    bool open;
    void (*answer)(pdl_serve *s, pdl_exchange *x);
    const char *doc;
} route;
/* Callbacks of the HTTP server: when the headers have arrived, when the whole request has arrived,
 * and when the exchange has ended. */
void pdl_serve_head(void *user, pdl_exchange *x);
void pdl_serve_route(void *user, pdl_exchange *x);
void pdl_serve_over(void *user, pdl_exchange *x);
/* Answers {"error": {message, type, param, code}}. When code is NULL, it becomes null. */
void pdl_serve_answer_error(pdl_exchange *x, int status, const char *type, const char *code,
                            pdl_str message);
#define SERVE_INVALID "invalid_request_error" /* type of most errors */
/* Answers 400 for a field of the request. */
void pdl_serve_answer_wrong(pdl_exchange *x, const char *param, const char *code, pdl_str message);
void pdl_serve_put_error(pdl_str message, const char *type, const char *code, pdl_buf *out);
void pdl_serve_answer_json(pdl_exchange *x, pdl_val v); /* takes v */

/* Returns the name after the beginning of the path of a route, without a slash at its end. */
pdl_str pdl_serve_name_after(const pdl_exchange *x, const char *before);

/* The content of a request (completion_request.c). */
typedef struct request {
    pdl_val body, chat; /* the request, and the request as a chat; owned */
    const pdl_served *model;
    uint32_t n;          /* number of choices */
    struct keyed *keyed; /* NULL when the request has no key */
} request;
/* Returns false when the request is wrong; it was then answered. */
bool pdl_serve_ask_read(pdl_serve *s, pdl_exchange *x, const struct form *form, request *out);
/* Returns the model with this name. When there is none, answers the request and returns NULL. */
const pdl_served *pdl_serve_ask_model(const pdl_serve *s, pdl_exchange *x, pdl_str name);
/* request_fields.c. Checks types and ranges of the fields. When a field is wrong, answers the
 * request and returns false. */
bool pdl_serve_ask_fields(pdl_exchange *x, pdl_vref body);
bool pdl_serve_ask_messages(pdl_exchange *x, pdl_vref list);
bool pdl_serve_ask_is_true(pdl_vref d, const char *key);
/* Returns the variables of a run for the request: an owned dict. */
pdl_val pdl_serve_ask_variables(const pdl_serve *s, pdl_vref chat, pdl_vref messages);

/* chat.c. Reads a request, and starts its runs. */
void pdl_serve_chat_begin(pdl_serve *s, pdl_exchange *x, const struct form *form);
/* Starts the runs of a request that was read before. Takes the content of r. x may be NULL; the
 * form then sends the answer elsewhere. */
void pdl_serve_chat_start(pdl_serve *s, pdl_exchange *x, const struct form *form, const request *r);
void pdl_serve_chat_step(work *w); /* may free w */
bool pdl_serve_chat_is_ready(const work *w);
/* Returns true when one of the last turns of the program of w was long. For example, an expression
 * over a large text is one turn. */
bool pdl_serve_chat_is_slow(const work *w);
/* Starts the waiting requests for which there are slots. */
void pdl_serve_chat_admit(pdl_serve *s);
void pdl_serve_chat_over(pdl_exchange *x);
void pdl_serve_chat_free(work *w);
void pdl_serve_works_move_last(works *l, work *w);
/* Returns true when the invariants hold: the counts of the queue are those of its requests, none of
 * which has a run; each slot is free, or belongs to a choice of a request whose runs were
 * started. */
bool pdl_serve_ok(const pdl_serve *s);
/* Writes the prefix and sixteen hex digits. No other id of this server has these digits. */
void pdl_serve_make_id(pdl_serve *s, const char *prefix, char *out, size_t size);

#endif
