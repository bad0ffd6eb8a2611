/* response.c -- the form of a response: /v1/responses. An answer is a list of items, such as a
 * message, thoughts, or function calls. This file makes the whole object with its items, and stores
 * responses; response_stream.c has the events of a stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/response.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/stored_responses.h"

#include "base/banned.h"

enum { PREFIX = 5 }; /* length of "resp_", with which each id begins */

/* --- the object ------------------------------------------------------------------------------- */

/* The fields of a response that repeat the request, with the values that they have when the request
 * does not set them. */
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

const char *pdl_serve_response_reason(const work *w) {
    if (!w->finish) return NULL;
    if (pdl_str_is(pdl_str_of(w->finish), "length")) return "max_output_tokens";
    return pdl_str_is(pdl_str_of(w->finish), "content_filter") ? "content_filter" : NULL;
}

const char *pdl_serve_response_status(const work *w) {
    if (!w->finish) return "in_progress";
    return pdl_serve_response_reason(w) ? "incomplete" : "completed";
}

pdl_val pdl_serve_response_of(const work *w, const char *status, pdl_val error) {
    const char *reason = pdl_serve_response_reason(w);
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

pdl_val pdl_serve_typed(const char *type) {
    return pdl_dict_putz(pdl_dict_new(6), "type", pdl_textz(type));
}

pdl_val pdl_serve_item_id(const work *w, const char *prefix, size_t i) {
    char id[64];
    snprintf(id, sizeof id, "%s_%s_%zu", prefix, w->id + PREFIX, i);
    return pdl_textz(id);
}

pdl_val pdl_serve_text_part(pdl_str text, pdl_vref logprobs) {
    pdl_val d = pdl_dict_putz(pdl_serve_typed("output_text"), "text", pdl_text(text));
    d = pdl_dict_putz(d, "annotations", pdl_list_new(0));
    pdl_vref list = pdl_is_dict(logprobs) ? pdl_dict_getz(logprobs, "content") : pdl_absent();
    return pdl_dict_putz(d, "logprobs", pdl_is_list(list) ? pdl_keep(list) : pdl_list_new(0));
}

pdl_val pdl_serve_refusal_part(pdl_vref refusal) {
    return pdl_dict_putz(pdl_serve_typed("refusal"), "refusal", pdl_keep(refusal));
}

pdl_val pdl_serve_message_item(const work *w, size_t i, const char *status, pdl_val part) {
    pdl_val parts = pdl_is_absent(part) ? pdl_list_new(0) : pdl_list_push(pdl_list_new(1), part);
    pdl_val d = pdl_dict_putz(pdl_serve_typed("message"), "id", pdl_serve_item_id(w, "msg", i));
    d = pdl_dict_putz(d, "status", pdl_textz(status));
    d = pdl_dict_putz(d, "role", pdl_textz("assistant"));
    return pdl_dict_putz(d, "content", parts);
}

pdl_val pdl_serve_reasoning_item(const work *w, size_t i, pdl_vref text) {
    pdl_val d = pdl_dict_putz(pdl_serve_typed("reasoning"), "id", pdl_serve_item_id(w, "rs", i));
    d = pdl_dict_putz(d, "summary", pdl_list_new(0));
    if (pdl_is_absent(text)) return pdl_dict_putz(d, "content", pdl_list_new(0));
    pdl_val part = pdl_dict_putz(pdl_serve_typed("reasoning_text"), "text", pdl_keep(text));
    return pdl_dict_putz(d, "content", pdl_list_push(pdl_list_new(1), part));
}

pdl_val pdl_serve_call_item(const work *w, size_t i, const char *status, pdl_vref id, pdl_vref name,
                            pdl_vref arguments) {
    pdl_val d =
        pdl_dict_putz(pdl_serve_typed("function_call"), "id", pdl_serve_item_id(w, "fc", i));
    d = pdl_dict_putz(d, "call_id", pdl_keep(id));
    d = pdl_dict_putz(d, "name", pdl_keep(name));
    d = pdl_dict_putz(d, "arguments", pdl_keep(arguments));
    return pdl_dict_putz(d, "status", pdl_textz(status));
}

/* --- the conversation ------------------------------------------------------------------------- */

static bool is_kept(const work *w) {
    pdl_vref store = pdl_dict_getz(w->body, "store");
    return !pdl_is_bool(store) || pdl_bool_of(store);
}

/* Stores the whole response, and its messages without the instructions, which apply to one request
 * only. */
void pdl_serve_response_keep(const work *w, const answer *a, pdl_str text) {
    if (!is_kept(w)) return;
    pdl_vref all = pdl_dict_getz(w->asked, "messages");
    bool instructed = pdl_is_str(pdl_dict_getz(w->body, "instructions"));
    pdl_val messages = instructed ? pdl_list_remove(pdl_keep(all), 0) : pdl_keep(all);
    pdl_val m = pdl_dict_putz(pdl_dict_new(3), "role", pdl_textz("assistant"));
    /* the origins of the answer are kept, because later requests continue it */
    pdl_label from = pdl_label_of(pdl_run_result(w->choices[0].run));
    pdl_label label = pdl_label_built(pdl_label_origins(from));
    m = pdl_dict_putz(m, "content", pdl_with_label(pdl_text(text), label));
    if (pdl_is_list(a->calls)) m = pdl_dict_putz(m, "tool_calls", pdl_keep(a->calls));
    pdl_serve_conversations_put(
        w->s->conversations, pdl_str_of(w->id), pdl_list_push(messages, m),
        pdl_serve_response_of(w, pdl_serve_response_status(w), pdl_absent()));
}

/* --- the whole -------------------------------------------------------------------------------- */

bool pdl_serve_is_function(pdl_vref call) {
    pdl_vref f = pdl_dict_getz(call, "function");
    return pdl_is_dict(f) && pdl_is_str(pdl_dict_getz(f, "name")) &&
           pdl_is_str(pdl_dict_getz(f, "arguments"));
}

static size_t n_items(const work *w) { return pdl_list_len(w->output); }

/* Adds an item to the output. Takes item. */
static void add_item(work *w, pdl_val item) { w->output = pdl_list_push(w->output, item); }

static void add_calls(work *w, pdl_vref calls) {
    for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++) {
        pdl_vref call = pdl_list_at(calls, i), f = pdl_dict_getz(call, "function");
        if (pdl_serve_is_function(call))
            add_item(w,
                     pdl_serve_call_item(w, n_items(w), "completed", pdl_dict_getz(call, "id"),
                                         pdl_dict_getz(f, "name"), pdl_dict_getz(f, "arguments")));
    }
}

static bool whole(work *w, pdl_val *out, pdl_err *err) {
    answer a;
    if (!pdl_serve_answer_read(&w->choices[0], &a, err)) return false;
    pdl_vref refusal = pdl_dict_getz(a.said, "refusal"),
             thought = pdl_dict_getz(a.said, "reasoning_content");
    pdl_str said = pdl_buf_str(&a.text);
    w->output = pdl_list_new(2);
    if (pdl_is_str(thought)) add_item(w, pdl_serve_reasoning_item(w, n_items(w), thought));
    if (said.n || (!pdl_is_list(a.calls) && !pdl_is_str(refusal)))
        add_item(w, pdl_serve_message_item(w, n_items(w), "completed",
                                           pdl_serve_text_part(said, a.logprobs)));
    if (pdl_is_str(refusal))
        add_item(
            w, pdl_serve_message_item(w, n_items(w), "completed", pdl_serve_refusal_part(refusal)));
    add_calls(w, a.calls);
    w->finish = a.finish;
    pdl_serve_response_keep(w, &a, said);
    *out = pdl_serve_response_of(w, pdl_serve_response_status(w), pdl_absent());
    pdl_serve_answer_fini(&a);
    return true;
}

static const form response = {
    .id = "resp_",
    .read = pdl_serve_response_read,
    .begin = pdl_serve_response_begin,
    .text = pdl_serve_response_text,
    .extra = pdl_serve_response_extra,
    .end = pdl_serve_response_end,
    .finish = pdl_serve_response_finish,
    .fail = pdl_serve_response_fail,
    .whole = whole,
};

void pdl_serve_answer_response(pdl_serve *s, pdl_exchange *x) {
    pdl_serve_chat_begin(s, x, &response);
}

/* --- responses that were given ---------------------------------------------------------------- */

static pdl_str id_in_path(const pdl_exchange *x) {
    return pdl_serve_name_after(x, "/v1/responses/");
}

static void answer_unknown(pdl_exchange *x) {
    enum { SHOWN = 100 };
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "Response with id '%.*s' not found",
                 PDL_FMT(pdl_utf8_cut(id_in_path(x), SHOWN)));
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
