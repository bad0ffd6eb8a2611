/* chat_reply.c -- the answers of a chat: /v1/chat/completions, whole or in chunks. Other forms that
 * have a list of choices use its functions, too. The members are those of OpenAI's service, because
 * clients are written for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/sse.h"
#include "serve/form.h"
#include "value/json_write.h"

#include "base/banned.h"

static pdl_val head(const work *w, const char *object) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "id", pdl_textz(w->id));
    d = pdl_dict_putz(d, "object", pdl_textz(object));
    d = pdl_dict_putz(d, "created", pdl_int(w->created));
    return pdl_dict_putz(d, "model", pdl_text(w->model->name));
}

/* Returns the sum of the usage of all model calls that the choices of the request made. */
pdl_val pdl_serve_form_usage(const work *w, const char *prompt_name, const char *completion_name) {
    int64_t completion = 0, prompt = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t calls, c, p;
        pdl_run_usage(w->choices[i].run, &calls, &c, &p);
        completion += c;
        prompt += p;
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), prompt_name, pdl_int(prompt));
    d = pdl_dict_putz(d, completion_name, pdl_int(completion));
    return pdl_dict_putz(d, "total_tokens", pdl_int(prompt + completion));
}

void pdl_serve_form_put_usage(const work *w, pdl_val chunk, pdl_buf *out) {
    chunk = pdl_dict_putz(chunk, "choices", pdl_list_new(0));
    chunk = pdl_dict_putz(chunk, "usage",
                          pdl_serve_form_usage(w, "prompt_tokens", "completion_tokens"));
    pdl_serve_form_put_event((pdl_str){0}, chunk, out);
}

/* Makes a choice with the member `what`. Takes v. */
static pdl_val one_choice(const choice *of, const char *what, pdl_val v, pdl_vref logprobs,
                          const char *finish) {
    pdl_val c = pdl_dict_putz(pdl_dict_new(4), "index", pdl_int(of->index));
    c = pdl_dict_putz(c, what, v);
    c = pdl_dict_putz(c, "logprobs", pdl_keep(logprobs));
    return pdl_dict_putz(c, "finish_reason", finish ? pdl_textz(finish) : pdl_null());
}

static pdl_val message_of(choice *c, const answer *a) {
    bool calls = pdl_is_list(a->calls), text = a->text.len || !calls;
    pdl_val m = pdl_dict_putz(pdl_dict_new(4), "role", pdl_textz("assistant"));
    m = pdl_dict_putz(m, "content", text ? pdl_text(pdl_buf_str(&a->text)) : pdl_null());
    m = pdl_dict_putz(m, "refusal", pdl_null());
    m = pdl_dict_merge(m, a->said);
    if (calls) m = pdl_dict_putz(m, "tool_calls", pdl_keep(a->calls));
    return one_choice(c, "message", m, a->logprobs, a->finish);
}

bool pdl_serve_form_whole(work *w, pdl_val head, pdl_val (*one)(choice *c, const answer *a),
                          pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(w->n);
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->n; i++) {
        answer a;
        ok = pdl_serve_answer_read(&w->choices[i], &a, err);
        if (!ok) break;
        list = pdl_list_push(list, one(&w->choices[i], &a));
        pdl_serve_answer_fini(&a);
    }
    pdl_val d = pdl_dict_putz(head, "choices", list);
    d = pdl_dict_putz(d, "usage", pdl_serve_form_usage(w, "prompt_tokens", "completion_tokens"));
    if (ok)
        *out = d;
    else
        pdl_drop(d);
    return ok;
}

static bool whole(work *w, pdl_val *out, pdl_err *err) {
    return pdl_serve_form_whole(w, head(w, "chat.completion"), message_of, out, err);
}

void pdl_serve_form_put_event(pdl_str name, pdl_val v, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_NAN_NULL, 0, &b, &err))
        pdl_sse_write(name, pdl_buf_str(&b), out);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(v);
}

static void put_piece(const choice *c, pdl_val delta, pdl_vref logprobs, const char *finish,
                      pdl_buf *out) {
    pdl_val list = pdl_list_push(pdl_list_new(1), one_choice(c, "delta", delta, logprobs, finish));
    pdl_val d = pdl_dict_putz(head(c->work, "chat.completion.chunk"), "choices", list);
    if (c->work->wants_usage)
        d = pdl_dict_putz(d, "usage", pdl_null()); /* OpenAI sends the usage in the last piece */
    pdl_serve_form_put_event((pdl_str){0}, d, out);
}

static void begin(work *w, pdl_buf *out) {
    for (uint32_t i = 0; i < w->n; i++) {
        pdl_val delta = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
        put_piece(&w->choices[i], pdl_dict_putz(delta, "content", pdl_textz("")), pdl_null(), NULL,
                  out);
    }
}

static void text(choice *c, pdl_str s, pdl_buf *out) {
    put_piece(c, pdl_dict_putz(pdl_dict_new(1), "content", pdl_text(s)), pdl_null(), NULL, out);
}

/* Sends the parts of an answer that are not text: they are in the delta, but the logprobs are
 * beside it. */
static void extra(choice *c, pdl_vref given, pdl_buf *out) {
    pdl_vref logprobs = pdl_dict_getz(given, "logprobs");
    pdl_val delta = pdl_keep(given), key = pdl_textz("logprobs");
    bool some = pdl_is_dict(logprobs);
    if (some) delta = pdl_dict_del(delta, key);
    pdl_drop(key);
    put_piece(c, delta, some ? logprobs : pdl_null(), NULL, out);
}

static void end(choice *c, const answer *a, pdl_buf *out) {
    put_piece(c, pdl_dict_new(0), pdl_null(), a->finish, out);
}

static void finish(work *w, pdl_buf *out) {
    if (w->wants_usage) pdl_serve_form_put_usage(w, head(w, "chat.completion.chunk"), out);
    PDL_PUT(out, "data: [DONE]\n\n");
}

void pdl_serve_form_fail(work *w, pdl_str message, const char *type, const char *code,
                         pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    (void)w;
    pdl_serve_put_error(message, type, code, &b);
    pdl_sse_write((pdl_str){0}, pdl_buf_str(&b), out);
    pdl_buf_fini(&b);
}

static const form chat = {.id = "chatcmpl-",
                          .begin = begin,
                          .text = text,
                          .extra = extra,
                          .end = end,
                          .finish = finish,
                          .fail = pdl_serve_form_fail,
                          .whole = whole};

void pdl_serve_answer_chat(pdl_serve *s, pdl_exchange *x) { pdl_serve_chat_begin(s, x, &chat); }
