/* form_ollama.c -- the native interface of Ollama, whose streams are lines of JSON; see
 * mock_answer.h. The content was decided before, so this file has only the layout of that
 * interface: the fields of a line, and which line ends the answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mock/mock_answer.h"
#include "value/json_read.h"

#include "base/banned.h"

static pdl_val line_of(const pdl_mock_answer *a, bool done) {
    pdl_vref model = pdl_dict_getz(a->request, "model");
    pdl_val v = pdl_dict_putz(pdl_dict_new(8), "model",
                              pdl_is_str(model) ? pdl_keep(model) : pdl_textz(""));
    v = pdl_dict_putz(v, "created_at", pdl_textz("2026-01-01T00:00:00Z"));
    v = pdl_dict_putz(v, "done", pdl_bool(done));
    if (!done) return v;
    v = pdl_dict_putz(v, "done_reason", pdl_textz(pdl_mock_reason(a, "stop")));
    v = pdl_dict_putz(v, "prompt_eval_count", pdl_int(pdl_mock_words_asked(a)));
    return pdl_dict_putz(v, "eval_count", pdl_int(pdl_mock_words_said(a)));
}

/* Returns a call in Ollama's form, in which the arguments are an object. */
static pdl_val call_of(pdl_vref call) {
    pdl_vref f = pdl_dict_getz(call, "function");
    pdl_vref text = pdl_is_dict(f) ? pdl_dict_getz(f, "arguments") : pdl_absent();
    pdl_val args;
    pdl_err ignored = {0};
    if (!pdl_is_str(text)) return pdl_keep(call);
    if (!pdl_json_read(pdl_str_get(text), 0, &args, NULL, &ignored)) {
        pdl_err_fini(&ignored);
        return pdl_keep(call);
    }
    return pdl_dict_putz(pdl_keep(call), "function", pdl_dict_putz(pdl_keep(f), "arguments", args));
}

/* Flags: a message contains these beside its content. */
enum { WITH_CALLS = 1, WITH_THOUGHTS = 2 };

static pdl_val message_of(const pdl_mock_answer *a, pdl_str content, int with) {
    pdl_vref given = pdl_dict_getz(a->message, "tool_calls");
    pdl_str thoughts = pdl_mock_reasoning(a);
    pdl_val m = pdl_dict_putz(pdl_dict_new(4), "role", pdl_textz("assistant"));
    m = pdl_dict_putz(m, "content", pdl_text(content));
    if ((with & WITH_THOUGHTS) && thoughts.n) m = pdl_dict_putz(m, "thinking", pdl_text(thoughts));
    if (!(with & WITH_CALLS) || !pdl_is_list(given)) return m;
    pdl_val list = pdl_list_new(pdl_list_len(given));
    for (size_t i = 0; i < pdl_list_len(given); i++)
        list = pdl_list_push(list, call_of(pdl_list_at(given, i)));
    return pdl_dict_putz(m, "tool_calls", list);
}

static pdl_val said_in(const pdl_mock_answer *a, pdl_str content, bool done, int with) {
    return a->form->by_prompt
               ? pdl_dict_putz(line_of(a, done), "response", pdl_text(content))
               : pdl_dict_putz(line_of(a, done), "message", message_of(a, content, with));
}

static pdl_val whole(const pdl_mock_answer *a) {
    return said_in(a, pdl_mock_said(a), true, WITH_CALLS | WITH_THOUGHTS);
}

static void put_line(const pdl_mock_answer *a, pdl_val v) {
    pdl_buf b = PDL_BUF;
    pdl_mock_put_json(v, &b);
    pdl_buf_putc(&b, '\n');
    pdl_exchange_put(a->x, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    pdl_drop(v);
}

static void thoughts_said(const pdl_mock_answer *a) {
    if (pdl_mock_reasoning(a).n) put_line(a, said_in(a, PDL_STR(""), false, WITH_THOUGHTS));
}

static void word_said(const pdl_mock_answer *a, pdl_str word) {
    put_line(a, said_in(a, word, false, 0));
}

static void end_said(const pdl_mock_answer *a) {
    if (pdl_mock_has_calls(a)) put_line(a, said_in(a, PDL_STR(""), false, WITH_CALLS));
    put_line(a, said_in(a, PDL_STR(""), true, 0));
}

static pdl_val error_of(int status, pdl_str why) {
    (void)status;
    return pdl_dict_putz(pdl_dict_new(1), "error", pdl_text(why));
}

const pdl_mock_form pdl_mock_ollama_chat = {.path = "/api/chat",
                                            .streams = "application/x-ndjson",
                                            .by_default = true,
                                            .whole = whole,
                                            .begin = thoughts_said,
                                            .word = word_said,
                                            .end = end_said,
                                            .error = error_of};

const pdl_mock_form pdl_mock_ollama_generate = {.path = "/api/generate",
                                                .streams = "application/x-ndjson",
                                                .by_prompt = true,
                                                .by_default = true,
                                                .whole = whole,
                                                .word = word_said,
                                                .end = end_said,
                                                .error = error_of};
