/* form.h -- the forms of requests and answers that clients use (chat, completion, response, ...).
 * Each form is a struct of functions. Private to serve.
 *
 * Every request is turned into a chat first, so that programs need not know its form. Streamed
 * answers are events; a form without begin does not stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_FORM_H
#define PDL_SERVE_FORM_H

#include "serve/answer.h"

typedef struct form {
    const char *id; /* prefix of the ids of answers in this form */
    /* Stores the request as a chat in *asked: a dict with messages and the other fields, owned;
     * body is borrowed. Returns false when the request was refused. The function is NULL when the
     * body is a chat already. */
    bool (*read)(pdl_serve *s, pdl_exchange *x, pdl_vref body, pdl_val *asked);
    /* Returns the messages of choice i, owned. The function is NULL when the messages are those of
     * the request. */
    pdl_val (*messages)(const work *w, uint32_t i);
    /* variables returns the variables that the run gets in place of the usual ones, owned. code
     * returns the code that runs in place of the program's. When both are NULL, a run is like that
     * of a chat. */
    pdl_val (*variables)(const work *w);
    pdl_code *(*code)(const work *w);
    /* The functions for an answer in pieces. `begin` is called before the first text, `text` for
     * each text, `end` when a choice has ended, and `finish` when all choices have ended. `extra`
     * is called for parts that are not text (`extra` of a sink in effect.h). It is also called
     * before the end of a choice, for all such parts that were not sent yet. extra is NULL when the
     * form has no place for such parts. */
    void (*begin)(work *w, pdl_buf *out);
    void (*text)(choice *c, pdl_str text, pdl_buf *out);
    void (*extra)(choice *c, pdl_vref extra, pdl_buf *out);
    void (*end)(choice *c, const answer *a, pdl_buf *out);
    void (*finish)(work *w, pdl_buf *out);
    /* Called when the run failed after pieces were sent. */
    void (*fail)(work *w, pdl_str message, const char *type, const char *code, pdl_buf *out);
    /* Makes the whole answer after all choices have ended. Error: the form cannot express a
     * result. */
    bool (*whole)(work *w, pdl_val *out, pdl_err *err);
    /* put_whole sends the answer (v is taken), and refuse sends a failure. When they are NULL, the
     * answer or the failure is sent as the answer of the exchange, with its status. */
    void (*put_whole)(work *w, pdl_val v);
    void (*refuse)(work *w, pdl_str message);
} form;

/* The forms, as functions for rows of route.c: POST to /v1/chat/completions, ... */
void pdl_serve_answer_chat(pdl_serve *s, pdl_exchange *x);
void pdl_serve_answer_completion(pdl_serve *s, pdl_exchange *x);
void pdl_serve_answer_response(pdl_serve *s, pdl_exchange *x);
void pdl_serve_answer_embeddings(pdl_serve *s, pdl_exchange *x);
/* GET and DELETE of /v1/responses/ID. */
void pdl_serve_show_response(pdl_serve *s, pdl_exchange *x);
void pdl_serve_delete_response(pdl_serve *s, pdl_exchange *x);

/* Appends one event of a stream. The data of the event is v (taken), and its name is `name`, which
 * may be empty. */
void pdl_serve_form_put_event(pdl_str name, pdl_val v, pdl_buf *out);
/* Appends a failure as a piece {error: ...}. */
void pdl_serve_form_fail(work *w, pdl_str message, const char *type, const char *code,
                         pdl_buf *out);
/* Returns the use of the model calls that all choices made: {prompt_tokens, completion_tokens,
 * total_tokens}. prompt and completion are the names of the first two. */
pdl_val pdl_serve_form_usage(const work *w, const char *prompt, const char *completion);
/* Makes the whole answer of a form with `choices`. It has the members of head (taken), a list of
 * choices, and the usage. `one` makes each choice from an answer. Error: a choice has no answer. */
PDL_MUST bool pdl_serve_form_whole(work *w, pdl_val head,
                                   pdl_val (*one)(choice *c, const answer *a), pdl_val *out,
                                   pdl_err *err);
/* Appends the last chunk of a stream whose request asked for the usage. That chunk has the counts
 * and no choices. Takes chunk. */
void pdl_serve_form_put_usage(const work *w, pdl_val chunk, pdl_buf *out);

#endif
