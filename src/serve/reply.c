/* reply.c -- completions in the form of OpenAI's interface, whole and in pieces. */
#include "base/limits.h"
#include "io/sse.h"
#include "serve/room.h"
#include "value/context.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

static pdl_val head(const work *w, const char *object) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "id", pdl_textz(w->id));
    d = pdl_dict_putz(d, "object", pdl_textz(object));
    d = pdl_dict_putz(d, "created", pdl_int(w->created));
    return pdl_dict_putz(d, "model", pdl_text(w->model->name));
}

/* Of the model calls that all choices made. */
static pdl_val usage_of(const work *w) {
    int64_t completion = 0, prompt = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t calls, c, p;
        pdl_run_usage(w->choices[i].run, &calls, &c, &p);
        completion += c;
        prompt += p;
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "prompt_tokens", pdl_int(prompt));
    d = pdl_dict_putz(d, "completion_tokens", pdl_int(completion));
    return pdl_dict_putz(d, "total_tokens", pdl_int(prompt + completion));
}

static pdl_val one_choice(const choice *of, const char *what, pdl_val v, const char *finish) {
    pdl_val c = pdl_dict_putz(pdl_dict_new(4), "index", pdl_int(of->index));
    c = pdl_dict_putz(c, what, v);
    c = pdl_dict_putz(c, "logprobs", pdl_null());
    return pdl_dict_putz(c, "finish_reason", finish ? pdl_textz(finish) : pdl_null());
}

pdl_val reply_tool_calls(const choice *c) {
    pdl_message m;
    pdl_vref context = pdl_run_context(c->run);
    if (!pdl_is(context, PDL_V_CONTEXT) || !pdl_context_last(context, &m) || !pdl_is_dict(m.extra))
        return pdl_absent();
    pdl_vref calls = pdl_dict_getz(m.extra, "tool_calls");
    return pdl_is_list(calls) && pdl_list_len(calls) ? pdl_keep(calls) : pdl_absent();
}

/* The result; of a message that the program ends with, its content. */
static pdl_vref answer_of(const choice *c) {
    pdl_vref v = pdl_run_result(c->run);
    pdl_message m;
    return pdl_is(v, PDL_V_CONTEXT) && pdl_context_last(v, &m) ? m.content : v;
}

static pdl_val message_of(const choice *c, pdl_str content) {
    pdl_val calls = reply_tool_calls(c);
    bool some = pdl_is_list(calls);
    pdl_val m = pdl_dict_putz(pdl_dict_new(4), "role", pdl_textz("assistant"));
    m = pdl_dict_putz(m, "content", some && !content.n ? pdl_null() : pdl_text(content));
    m = pdl_dict_putz(m, "refusal", pdl_null());
    if (some) m = pdl_dict_putz(m, "tool_calls", calls);
    return one_choice(c, "message", m, some ? "tool_calls" : "stop");
}

bool reply_whole(const work *w, pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(w->n);
    for (uint32_t i = 0; i < w->n; i++) {
        pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
        bool ok = pdl_stringify(answer_of(&w->choices[i]), &text, err);
        if (ok) list = pdl_list_push(list, message_of(&w->choices[i], pdl_buf_str(&text)));
        pdl_buf_fini(&text);
        if (ok) continue;
        pdl_drop(list);
        return false;
    }
    pdl_val d = pdl_dict_putz(head(w, "chat.completion"), "choices", list);
    *out = pdl_dict_putz(d, "usage", usage_of(w));
    return true;
}

static void put_event(pdl_val v, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (pdl_json_write(v, PDL_JSON_LOOSE, 0, &b, &err)) pdl_sse_write((pdl_str){0}, pdl_buf_str(&b), out);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(v);
}

void reply_piece(const choice *c, pdl_val delta, const char *finish, pdl_buf *out) {
    pdl_val list = pdl_list_push(pdl_list_new(1), one_choice(c, "delta", delta, finish));
    pdl_val d = pdl_dict_putz(head(c->work, "chat.completion.chunk"), "choices", list);
    if (c->work->wants_usage) d = pdl_dict_putz(d, "usage", pdl_null()); /* as OpenAI: the last piece has it */
    put_event(d, out);
}

void reply_usage(const work *w, pdl_buf *out) {
    pdl_val d = pdl_dict_putz(head(w, "chat.completion.chunk"), "choices", pdl_list_new(0));
    put_event(pdl_dict_putz(d, "usage", usage_of(w)), out);
}
