/* response.c -- the form of a response: /v1/responses. An answer is a list of items: a message,
 * thoughts, function calls. In a stream, numbered events report each item's begin, growth and end,
 * and the last event repeats the whole response.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/response.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/conversation.h"

#include "base/banned.h"

enum { PREFIX = 5 }; /* of ids, "resp_" */

/* --- the object ------------------------------------------------------------------------------- */

/* Fields that repeat the request, with their values when absent. */
static const struct {
    const char *name;
    enum { AS_NULL, AS_TEXT, AS_LIST, AS_DICT, AS_TRUE } other;
    const char *text;
} echoed[] = {
    {"instructions", AS_NULL, NULL},
    {"max_output_tokens", AS_NULL, NULL},
    {"metadata", AS_DICT, NULL},
    {"parallel_tool_calls", AS_TRUE, NULL},
    {"previous_response_id", AS_NULL, NULL},
    {"reasoning", AS_NULL, NULL},
    {"store", AS_TRUE, NULL},
    {"temperature", AS_NULL, NULL},
    {"text", AS_NULL, NULL},
    {"tool_choice", AS_TEXT, "auto"},
    {"tools", AS_LIST, NULL},
    {"top_p", AS_NULL, NULL},
    {"truncation", AS_TEXT, "disabled"},
    {"user", AS_NULL, NULL},
};

static pdl_val echo_of(pdl_vref body, size_t i) {
    pdl_vref v = pdl_dict_getz(body, echoed[i].name);
    if (!pdl_is_absent(v) && !pdl_is_null(v)) return pdl_keep(v);
    switch (echoed[i].other) {
    case AS_NULL: return pdl_null();
    case AS_TEXT: return pdl_textz(echoed[i].text);
    case AS_LIST: return pdl_list_new(0);
    case AS_DICT: return pdl_dict_new(0);
    case AS_TRUE: return pdl_bool(true);
    }
    PDL_BUG("echo %zu", i);
}

static pdl_val usage_of(const work *w) {
    pdl_val d = pdl_serve_form_usage(w, "input_tokens", "output_tokens");
    d = pdl_dict_putz(d, "input_tokens_details",
                      pdl_dict_putz(pdl_dict_new(1), "cached_tokens", pdl_int(0)));
    return pdl_dict_putz(d, "output_tokens_details",
                         pdl_dict_putz(pdl_dict_new(1), "reasoning_tokens", pdl_int(0)));
}

/* Why it is incomplete; NULL: it is not. */
static const char *reason_of(const work *w) {
    if (!w->finish) return NULL;
    if (pdl_str_is(pdl_str_of(w->finish), "length")) return "max_output_tokens";
    return pdl_str_is(pdl_str_of(w->finish), "content_filter") ? "content_filter" : NULL;
}

static const char *status_of(const work *w) {
    if (!w->finish) return "in_progress";
    return reason_of(w) ? "incomplete" : "completed";
}

/* error: {code, message}, taken; absent: none. */
static pdl_val response_of(const work *w, const char *status, pdl_val error) {
    const char *reason = reason_of(w);
    pdl_val d = pdl_dict_putz(pdl_dict_new(24), "id", pdl_textz(w->id));
    d = pdl_dict_putz(d, "object", pdl_textz("response"));
    d = pdl_dict_putz(d, "created_at", pdl_int(w->created));
    d = pdl_dict_putz(d, "status", pdl_textz(status));
    d = pdl_dict_putz(d, "error", pdl_is_absent(error) ? pdl_null() : error);
    d = pdl_dict_putz(d, "incomplete_details",
                      reason ? pdl_dict_putz(pdl_dict_new(1), "reason", pdl_textz(reason))
                             : pdl_null());
    d = pdl_dict_putz(d, "model", pdl_text(w->model->name));
    d = pdl_dict_putz(d, "output", pdl_is_list(w->output) ? pdl_keep(w->output) : pdl_list_new(0));
    for (size_t i = 0; i < sizeof echoed / sizeof echoed[0]; i++)
        d = pdl_dict_putz(d, echoed[i].name, echo_of(w->body, i));
    return pdl_dict_putz(d, "usage", w->finish ? usage_of(w) : pdl_null());
}

/* --- items ------------------------------------------------------------------------------------ */

static pdl_val typed(const char *type) {
    return pdl_dict_putz(pdl_dict_new(6), "type", pdl_textz(type));
}

/* Ids of items are made of that of the response. */
static pdl_val item_id(const work *w, const char *prefix, size_t i) {
    char id[64];
    snprintf(id, sizeof id, "%s_%s_%zu", prefix, w->id + PREFIX, i);
    return pdl_textz(id);
}

static size_t n_items(const work *w) {
    return pdl_is_list(w->output) ? pdl_list_len(w->output) : 0;
}

static pdl_val text_part(pdl_str text, pdl_vref logprobs) {
    pdl_val d = pdl_dict_putz(typed("output_text"), "text", pdl_text(text));
    d = pdl_dict_putz(d, "annotations", pdl_list_new(0));
    pdl_vref list = pdl_is_dict(logprobs) ? pdl_dict_getz(logprobs, "content") : pdl_absent();
    return pdl_dict_putz(d, "logprobs", pdl_is_list(list) ? pdl_keep(list) : pdl_list_new(0));
}

static pdl_val refusal_part(pdl_vref refusal) {
    return pdl_dict_putz(typed("refusal"), "refusal", pdl_keep(refusal));
}

/* part: its only part, taken; absent: none yet. */
static pdl_val message_item(const work *w, const char *status, pdl_val part) {
    pdl_val parts = pdl_is_absent(part) ? pdl_list_new(0) : pdl_list_push(pdl_list_new(1), part);
    pdl_val d = pdl_dict_putz(typed("message"), "id", item_id(w, "msg", n_items(w)));
    d = pdl_dict_putz(d, "status", pdl_textz(status));
    d = pdl_dict_putz(d, "role", pdl_textz("assistant"));
    return pdl_dict_putz(d, "content", parts);
}

static pdl_val reasoning_item(const work *w, pdl_vref text) {
    pdl_val part = pdl_dict_putz(typed("reasoning_text"), "text", pdl_keep(text));
    pdl_val d = pdl_dict_putz(typed("reasoning"), "id", item_id(w, "rs", n_items(w)));
    d = pdl_dict_putz(d, "summary", pdl_list_new(0));
    return pdl_dict_putz(d, "content", pdl_list_push(pdl_list_new(1), part));
}

static pdl_val call_item(const work *w, pdl_vref call, const char *status, bool arguments) {
    pdl_vref f = pdl_dict_getz(call, "function");
    pdl_val d = pdl_dict_putz(typed("function_call"), "id", item_id(w, "fc", n_items(w)));
    d = pdl_dict_putz(d, "call_id", pdl_keep(pdl_dict_getz(call, "id")));
    d = pdl_dict_putz(d, "name", pdl_keep(pdl_dict_getz(f, "name")));
    d = pdl_dict_putz(d, "arguments",
                      arguments ? pdl_keep(pdl_dict_getz(f, "arguments")) : pdl_textz(""));
    return pdl_dict_putz(d, "status", pdl_textz(status));
}

/* Takes item. */
static void add_item(work *w, pdl_val item) {
    w->output = pdl_list_push(pdl_is_list(w->output) ? w->output : pdl_list_new(2), item);
}

/* --- the conversation ------------------------------------------------------------------------- */

static bool is_kept(const work *w) {
    pdl_vref store = pdl_dict_getz(w->body, "store");
    return !pdl_is_bool(store) || pdl_bool_of(store);
}

/* The whole response, and the messages without the instructions, which apply to one request only.
 */
static void keep_conversation(const work *w, const answer *a, pdl_str text) {
    if (!is_kept(w)) return;
    pdl_vref all = pdl_dict_getz(w->asked, "messages");
    bool instructed = pdl_is_str(pdl_dict_getz(w->body, "instructions"));
    pdl_val messages = instructed ? pdl_list_remove(pdl_keep(all), 0) : pdl_keep(all);
    pdl_val m = pdl_dict_putz(pdl_dict_new(3), "role", pdl_textz("assistant"));
    m = pdl_dict_putz(m, "content", pdl_text(text));
    if (pdl_is_list(a->calls)) m = pdl_dict_putz(m, "tool_calls", pdl_keep(a->calls));
    pdl_serve_conversations_put(w->s->conversations, pdl_str_of(w->id), pdl_list_push(messages, m),
                                response_of(w, status_of(w), pdl_absent()));
}

/* --- in pieces -------------------------------------------------------------------------------- */

/* Takes d, the fields besides type and number. */
static void put(work *w, const char *type, pdl_val d, pdl_buf *out) {
    pdl_val e = pdl_dict_putz(typed(type), "sequence_number", pdl_int(w->n_events++));
    e = pdl_dict_merge(e, d);
    pdl_drop(d);
    pdl_serve_form_put_event(pdl_str_of(type), e, out);
}

static void put_item(work *w, const char *type, pdl_vref item, pdl_buf *out) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "output_index", pdl_int((int64_t)n_items(w)));
    put(w, type, pdl_dict_putz(d, "item", pdl_keep(item)), out);
}

/* {item_id, output_index} of the next item, and content_index where it has parts; then one field
 * (taken). */
static pdl_val place(const work *w, const char *prefix, bool part, const char *name, pdl_val v) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), "item_id", item_id(w, prefix, n_items(w)));
    d = pdl_dict_putz(d, "output_index", pdl_int((int64_t)n_items(w)));
    if (part) d = pdl_dict_putz(d, "content_index", pdl_int(0));
    return pdl_dict_putz(d, name, v);
}

static void begin(work *w, pdl_buf *out) {
    static const char *const types[] = {"response.created", "response.in_progress"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        put(w, types[i],
            pdl_dict_putz(pdl_dict_new(1), "response", response_of(w, "in_progress", pdl_absent())),
            out);
}

static void open_message(work *w, pdl_val part, pdl_buf *out) {
    pdl_val item = message_item(w, "in_progress", pdl_absent());
    put_item(w, "response.output_item.added", item, out);
    pdl_drop(item);
    put(w, "response.content_part.added", place(w, "msg", true, "part", part), out);
    w->open = true;
}

/* Takes part, which is complete. */
static void close_message(work *w, pdl_val part, pdl_buf *out) {
    put(w, "response.content_part.done", place(w, "msg", true, "part", pdl_keep(part)), out);
    pdl_val item = message_item(w, "completed", part);
    put_item(w, "response.output_item.done", item, out);
    add_item(w, item);
    w->open = false;
}

static void text(choice *c, pdl_str s, pdl_buf *out) {
    work *w = c->work;
    if (!w->open) open_message(w, text_part((pdl_str){"", 0}, pdl_null()), out);
    pdl_buf_put(&c->shown, s);
    pdl_val d = place(w, "msg", true, "delta", pdl_text(s));
    put(w, "response.output_text.delta", pdl_dict_putz(d, "logprobs", pdl_list_new(0)), out);
}

static void end_text(choice *c, const answer *a, pdl_buf *out) {
    work *w = c->work;
    pdl_val part = text_part(pdl_buf_str(&c->shown), a->logprobs);
    pdl_val d = place(w, "msg", true, "text", pdl_keep(pdl_dict_getz(part, "text")));
    put(w, "response.output_text.done",
        pdl_dict_putz(d, "logprobs", pdl_keep(pdl_dict_getz(part, "logprobs"))), out);
    close_message(w, part, out);
}

static void put_refusal(work *w, pdl_vref refusal, pdl_buf *out) {
    open_message(w, pdl_dict_putz(typed("refusal"), "refusal", pdl_textz("")), out);
    put(w, "response.refusal.delta", place(w, "msg", true, "delta", pdl_keep(refusal)), out);
    put(w, "response.refusal.done", place(w, "msg", true, "refusal", pdl_keep(refusal)), out);
    close_message(w, refusal_part(refusal), out);
}

static void put_reasoning(work *w, pdl_vref thought, pdl_buf *out) {
    pdl_val item = reasoning_item(w, thought);
    put_item(w, "response.output_item.added", item, out);
    put(w, "response.reasoning_text.delta", place(w, "rs", true, "delta", pdl_keep(thought)), out);
    put(w, "response.reasoning_text.done", place(w, "rs", true, "text", pdl_keep(thought)), out);
    put_item(w, "response.output_item.done", item, out);
    add_item(w, item);
}

static void put_call(work *w, pdl_vref call, pdl_buf *out) {
    pdl_val empty = call_item(w, call, "in_progress", false),
            item = call_item(w, call, "completed", true);
    pdl_vref arguments = pdl_dict_getz(item, "arguments");
    put_item(w, "response.output_item.added", empty, out);
    pdl_drop(empty);
    put(w, "response.function_call_arguments.delta",
        place(w, "fc", false, "delta", pdl_keep(arguments)), out);
    pdl_val d = place(w, "fc", false, "arguments", pdl_keep(arguments));
    put(w, "response.function_call_arguments.done",
        pdl_dict_putz(d, "name", pdl_keep(pdl_dict_getz(item, "name"))), out);
    put_item(w, "response.output_item.done", item, out);
    add_item(w, item);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Returns true for a well-formed function call; programs may return anything. */
static bool is_function(pdl_vref call) {
    pdl_vref f = pdl_dict_getz(call, "function");
    return pdl_is_dict(f) && pdl_is_str(pdl_dict_getz(f, "name")) &&
           pdl_is_str(pdl_dict_getz(f, "arguments"));
}

static void end(choice *c, const answer *a, pdl_buf *out) {
    work *w = c->work;
    pdl_vref refusal = pdl_dict_getz(a->said, "refusal"),
             thought = pdl_dict_getz(a->said, "reasoning_content");
    bool else_nothing = !pdl_is_list(a->calls) && !pdl_is_str(refusal);
    if (!w->open && else_nothing) open_message(w, text_part((pdl_str){"", 0}, pdl_null()), out);
    if (w->open) end_text(c, a, out);
    if (pdl_is_str(refusal)) put_refusal(w, refusal, out);
    if (pdl_is_str(thought)) put_reasoning(w, thought, out);
    for (size_t i = 0; pdl_is_list(a->calls) && i < pdl_list_len(a->calls); i++)
        if (is_function(pdl_list_at(a->calls, i))) put_call(w, pdl_list_at(a->calls, i), out);
    w->finish = a->finish;
    keep_conversation(w, a, pdl_buf_str(&c->shown));
}

static void finish(work *w, pdl_buf *out) {
    const char *type = reason_of(w) ? "response.incomplete" : "response.completed";
    put(w, type,
        pdl_dict_putz(pdl_dict_new(1), "response", response_of(w, status_of(w), pdl_absent())),
        out);
}

static void fail(work *w, pdl_str message, const char *type, const char *code, pdl_buf *out) {
    (void)type;
    pdl_val e = pdl_dict_putz(pdl_dict_new(2), "code", pdl_textz(code));
    e = pdl_dict_putz(e, "message", pdl_text(message));
    put(w, "response.failed",
        pdl_dict_putz(pdl_dict_new(1), "response", response_of(w, "failed", e)), out);
}

static bool whole(work *w, pdl_val *out, pdl_err *err) {
    answer a;
    if (!pdl_serve_answer_read(&w->choices[0], &a, err)) return false;
    pdl_vref refusal = pdl_dict_getz(a.said, "refusal"),
             thought = pdl_dict_getz(a.said, "reasoning_content");
    pdl_str said = pdl_buf_str(&a.text);
    if (pdl_is_str(thought)) add_item(w, reasoning_item(w, thought));
    if (said.n || (!pdl_is_list(a.calls) && !pdl_is_str(refusal)))
        add_item(w, message_item(w, "completed", text_part(said, a.logprobs)));
    if (pdl_is_str(refusal)) add_item(w, message_item(w, "completed", refusal_part(refusal)));
    for (size_t i = 0; pdl_is_list(a.calls) && i < pdl_list_len(a.calls); i++)
        if (is_function(pdl_list_at(a.calls, i)))
            add_item(w, call_item(w, pdl_list_at(a.calls, i), "completed", true));
    w->finish = a.finish;
    keep_conversation(w, &a, said);
    *out = response_of(w, status_of(w), pdl_absent());
    pdl_serve_answer_fini(&a);
    return true;
}

static const form response = {
    .id = "resp_",
    .read = pdl_serve_response_read,
    .begin = begin,
    .text = text,
    .end = end,
    .finish = finish,
    .fail = fail,
    .whole = whole,
};

void pdl_serve_answer_response(pdl_serve *s, pdl_exchange *x) {
    pdl_serve_chat_begin(s, x, &response);
}

/* --- responses that were given ---------------------------------------------------------------- */

static pdl_str id_in_path(const pdl_exchange *x) {
    pdl_str path = pdl_exchange_path(x);
    return pdl_str_sub(path, strlen("/v1/responses/"), path.n);
}

static void answer_unknown(pdl_exchange *x) {
    enum { SHOWN = 100 };
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "Response with id '%.*s' not found", PDL_FMT(pdl_utf8_cut(id_in_path(x), SHOWN)));
    pdl_serve_answer_error(x, 404, SERVE_INVALID, "not_found", pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

void pdl_serve_show_response(pdl_serve *s, pdl_exchange *x) {
    pdl_vref r = pdl_serve_conversations_response(s->conversations, id_in_path(x));
    if (pdl_is_absent(r))
        answer_unknown(x);
    else
        pdl_serve_answer_json(x, pdl_keep(r));
}

void pdl_serve_delete_response(pdl_serve *s, pdl_exchange *x) {
    pdl_str id = id_in_path(x);
    if (!pdl_serve_conversations_remove(s->conversations, id)) {
        answer_unknown(x);
        return;
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "id", pdl_text(id));
    d = pdl_dict_putz(d, "object", pdl_textz("response"));
    pdl_serve_answer_json(x, pdl_dict_putz(d, "deleted", pdl_bool(true)));
}
