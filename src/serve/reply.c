/* reply.c -- completions in the form of OpenAI's interface, whole and in pieces. */
#include "io/sse.h"
#include "serve/room.h"
#include "value/json_write.h"

#include "base/banned.h"

static pdl_val head(const work *w, const char *object) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "id", pdl_textz(w->id));
    d = pdl_dict_putz(d, "object", pdl_textz(object));
    d = pdl_dict_putz(d, "created", pdl_int(w->created));
    return pdl_dict_putz(d, "model", pdl_text(w->model->name));
}

/* Of the model calls that the run made. */
static pdl_val usage_of(const work *w) {
    int64_t calls, completion, prompt;
    pdl_run_usage(w->run, &calls, &completion, &prompt);
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "prompt_tokens", pdl_int(prompt));
    d = pdl_dict_putz(d, "completion_tokens", pdl_int(completion));
    return pdl_dict_putz(d, "total_tokens", pdl_int(prompt + completion));
}

static pdl_val choice(const char *what, pdl_val v, const char *finish) {
    pdl_val c = pdl_dict_putz(pdl_dict_new(4), "index", pdl_int(0));
    c = pdl_dict_putz(c, what, v);
    c = pdl_dict_putz(c, "logprobs", pdl_null());
    c = pdl_dict_putz(c, "finish_reason", finish ? pdl_textz(finish) : pdl_null());
    return pdl_list_push(pdl_list_new(1), c);
}

pdl_val reply_whole(const work *w, pdl_str content, pdl_vref tool_calls) {
    bool calls = pdl_is_list(tool_calls);
    pdl_val m = pdl_dict_putz(pdl_dict_new(4), "role", pdl_textz("assistant"));
    m = pdl_dict_putz(m, "content", calls && !content.n ? pdl_null() : pdl_text(content));
    m = pdl_dict_putz(m, "refusal", pdl_null());
    if (calls) m = pdl_dict_putz(m, "tool_calls", pdl_keep(tool_calls));
    pdl_val d = head(w, "chat.completion");
    d = pdl_dict_putz(d, "choices", choice("message", m, calls ? "tool_calls" : "stop"));
    return pdl_dict_putz(d, "usage", usage_of(w));
}

static void put_event(pdl_val v, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (pdl_json_write(v, PDL_JSON_LOOSE, 0, &b, &err)) pdl_sse_write((pdl_str){0}, pdl_buf_str(&b), out);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(v);
}

void reply_piece(const work *w, pdl_val delta, const char *finish, pdl_buf *out) {
    pdl_val d = head(w, "chat.completion.chunk");
    put_event(pdl_dict_putz(d, "choices", choice("delta", delta, finish)), out);
}

void reply_usage(const work *w, pdl_buf *out) {
    pdl_val d = pdl_dict_putz(head(w, "chat.completion.chunk"), "choices", pdl_list_new(0));
    put_event(pdl_dict_putz(d, "usage", usage_of(w)), out);
}
