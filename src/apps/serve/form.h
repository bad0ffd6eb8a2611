/* form.h -- an interface for requests and answers: chat, completion, response, ... Each is a row of
 * functions. Private to serve.
 *
 * Every request is turned into a chat first, so that programs need not know the form of the
 * request. Streamed answers are events; a form without begin does not stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_FORM_H
#define PDL_SERVE_FORM_H

#include "serve/answer.h"

typedef struct form {
    const char *id; /* prefix of the ids of its answers */
    /* The request as a chat: a dict with messages and the other fields, owned; body is borrowed.
     * False: it was refused. NULL: the body is a chat. */
    bool (*read)(pdl_serve *s, pdl_exchange *x, pdl_vref body, pdl_val *asked);
    /* The messages of choice i, owned. NULL: those of the request. */
    pdl_val (*messages)(const work *w, uint32_t i);
    /* What runs see instead of a chat's variables, owned, and the code that runs instead of the
     * program's. NULL: as in a chat. */
    pdl_val (*variables)(const work *w);
    pdl_code *(*code)(const work *w);
    /* In pieces: before the first text, more text, more of what is no text (a sink's extra,
     * effect.h; NULL: the form has no place for it), a choice is over, all are. At the end of a
     * choice what was not sent yet has come as an extra before. */
    void (*begin)(work *w, pdl_buf *out);
    void (*text)(choice *c, pdl_str text, pdl_buf *out);
    void (*extra)(choice *c, pdl_vref extra, pdl_buf *out);
    void (*end)(choice *c, const answer *a, pdl_buf *out);
    void (*finish)(work *w, pdl_buf *out);
    /* ... or it failed. */
    void (*fail)(work *w, pdl_str message, const char *type, const char *code, pdl_buf *out);
    /* The whole answer; all choices have ended. Error: the form cannot carry a result. */
    bool (*whole)(work *w, pdl_val *out, pdl_err *err);
    /* Sends the answer (v is taken) or a failure. NULL: as the answer of an exchange, with its
     * status. */
    void (*put_whole)(work *w, pdl_val v);
    void (*refuse)(work *w, pdl_str message);
} form;

/* The forms, as rows of route.c: POST to /v1/chat/completions, ... */
void pdl_serve_answer_chat(pdl_serve *s, pdl_exchange *x);
void pdl_serve_answer_completion(pdl_serve *s, pdl_exchange *x);
void pdl_serve_answer_response(pdl_serve *s, pdl_exchange *x);
void pdl_serve_answer_embeddings(pdl_serve *s, pdl_exchange *x);
/* GET and DELETE of /v1/responses/ID. */
void pdl_serve_show_response(pdl_serve *s, pdl_exchange *x);
void pdl_serve_delete_response(pdl_serve *s, pdl_exchange *x);

/* Appends one event with v (taken) as its data; name: of the event, empty: none. */
void pdl_serve_form_put_event(pdl_str name, pdl_val v, pdl_buf *out);
/* A failure as a piece {error: ...}. */
void pdl_serve_form_fail(work *w, pdl_str message, const char *type, const char *code,
                         pdl_buf *out);
/* {prompt_tokens, completion_tokens, total_tokens} of the calls of models that all choices made;
 * their names are the form's. */
pdl_val pdl_serve_form_usage(const work *w, const char *prompt, const char *completion);
/* The whole answer of a form with `choices`: head (taken), a choice of each of the work's, made of
 * its answer by `one`, and the usage. Error: a choice has no answer. */
PDL_MUST bool pdl_serve_form_whole(work *w, pdl_val head,
                                   pdl_val (*one)(choice *c, const answer *a), pdl_val *out,
                                   pdl_err *err);
/* The last chunk of a stream that asked for its usage: no choices, and the counts. Takes chunk. */
void pdl_serve_form_put_usage(const work *w, pdl_val chunk, pdl_buf *out);

#endif
