/* room.h -- private to the room: what a request became. */
#ifndef PDL_SERVE_ROOM_H
#define PDL_SERVE_ROOM_H

#include "base/buf.h"
#include "io/httpd.h"
#include "serve/serve.h"

/* A request for a completion that is being answered: one run of one program. */
typedef struct work {
    struct pdl_serve *s;
    pdl_exchange *x;      /* NULL: answered, or the client has gone */
    const pdl_served *model;
    pdl_run *run;
    uint32_t slot;
    pdl_timer *limit;     /* of the whole run */
    pdl_timer *silence;   /* of an answer in pieces */
    char id[40];
    int64_t created;
    bool stream, wants_usage;
    bool begun;           /* the answer in pieces has begun */
    bool fresh;           /* not stepped yet */
    bool late;            /* its time is up */
    struct work *prev, *next;
} work;

struct pdl_serve {
    pdl_serve_options opt;
    pdl_loop *loop;
    pdl_httpd *httpd;
    pdl_code **codes;     /* of the models */
    pdl_val variables;    /* what every run begins with */
    work *first;          /* under way */
    uint32_t *slots;      /* that are free; n_slots of them */
    uint32_t n_slots;
    uint64_t ids;         /* generator of ids */
    bool stopping;
};

/* route.c: who may ask, and what for. */
void serve_route(void *user, pdl_exchange *x);
/* {"error": {message, type, param, code}}; code NULL: null. */
void answer_error(pdl_exchange *x, int status, const char *type, const char *code, pdl_str message);
void put_error(pdl_str message, const char *type, const char *code, pdl_buf *out);
void answer_json(pdl_exchange *x, pdl_val v); /* takes v */

/* chat.c: a completion as a run. */
void chat_begin(pdl_serve *s, pdl_exchange *x);
void chat_step(work *w);  /* w may be gone afterwards */
bool chat_is_ready(const work *w);
void chat_over(void *user, pdl_exchange *x);
void chat_free(work *w);

/* reply.c: completions as they are written. */
pdl_val reply_whole(const work *w, pdl_str content, pdl_vref tool_calls);
/* As events. Takes delta. */
void reply_piece(const work *w, pdl_val delta, const char *finish, pdl_buf *out);
void reply_usage(const work *w, pdl_buf *out);

#endif
