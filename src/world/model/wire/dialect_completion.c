/* dialect_completion.c -- text completions, which take one prompt and return text (spec providers
 * 13.6). Messages become one prompt by a template of the program, or else a list of their contents.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/endpoint.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/score.h"

#include "base/banned.h"

/* Returns the prompt: one text when there is a template; otherwise the contents. A single content
 * is sent as a text. Several contents are sent as a list, which services take as several prompts;
 * the reference does the same (conformance/providers/other-text-completion-openai.json). */
static pdl_val prompt_of(const pdl_ask *a) {
    size_t n = pdl_is_list(a->messages) ? pdl_list_len(a->messages) : 0;
    pdl_val list = pdl_list_new(n);
    if (n && pdl_is_dict(pdl_dict_getz(a->given, "roles"))) {
        pdl_buf out = PDL_BUF;
        pdl_messages_by_roles(a->messages, a->given, &out);
        pdl_drop(list);
        return pdl_text_of_buf(&out);
    }
    for (size_t i = 0; i < n; i++) {
        pdl_buf out = PDL_BUF;
        pdl_vref m = pdl_list_at(a->messages, i);
        if (pdl_is_dict(m)) pdl_message_text(pdl_dict_getz(m, "content"), &out);
        list = pdl_list_push(list, pdl_text_of_buf(&out));
    }
    if (n > 1) return list;
    pdl_val one = n ? pdl_keep(pdl_list_at(list, 0)) : pdl_textz("");
    pdl_drop(list);
    return one;
}

/* The parameters that a completion renames or does not support. The last rows, guided_..., count
 * only for servers at the user's address. */
static const pdl_param_rule rules[] = {
    {.name = "max_completion_tokens", .as = "max_tokens", .to = PDL_TO_TOP},
    {.name = "stream_options", .to = PDL_TO_OWN},
    {.name = "tools", .to = PDL_TO_REFUSED},
    {.name = "tool_choice", .to = PDL_TO_REFUSED},
    {.name = "parallel_tool_calls", .to = PDL_TO_REFUSED},
    {.name = "reasoning_effort", .to = PDL_TO_REFUSED},
    {.name = "guided_regex", .to = PDL_TO_TOP},
    {.name = "guided_choice", .to = PDL_TO_TOP},
    {.name = "guided_grammar", .to = PDL_TO_TOP},
};
enum { N_GUIDED = 3 };

static bool write(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_vref extra = pdl_dict_getz(a->params, "extra_body"),
             options = pdl_dict_getz(a->given, "stream_options");
    pdl_val b = pdl_dict_putz(pdl_dict_new(8), "model", pdl_text(a->name)), none = pdl_dict_new(0);
    size_t n = sizeof rules / sizeof rules[0] - (a->base_given ? 0 : N_GUIDED);
    pdl_endpoint_add(path, "/completions");
    b = pdl_dict_putz(b, "prompt", prompt_of(a));
    bool ok = pdl_params_place(a, &(pdl_param_rules){.p = rules, .n = n, .rest = PDL_TO_TOP}, &b,
                               &none, err);
    pdl_drop(none);
    if (!ok) {
        pdl_drop(b);
        return false;
    }
    if (a->stream) b = pdl_dict_putz(b, "stream", pdl_bool(true));
    if (a->stream && pdl_is_absent(options))
        b = pdl_dict_putz(b, "stream_options",
                          pdl_dict_putz(pdl_dict_new(1), "include_usage", pdl_bool(true)));
    else if (a->stream && !pdl_is_null(options))
        b = pdl_dict_putz(b, "stream_options", pdl_keep(options));
    if (!pdl_is_absent(pdl_score_of(a))) b = pdl_score_write(a, b);
    *body = pdl_is_dict(extra) ? pdl_dict_merge(b, extra) : b;
    return true;
}

/* Replaces the text of the first choice by the scores. Takes choices. */
static bool put_scores(const pdl_ask *a, pdl_val choices, pdl_val *out, pdl_err *err) {
    pdl_val prompt = prompt_of(a), content;
    bool ok = pdl_score_read(a, prompt, choices, &content, err);
    pdl_drop(prompt);
    if (!ok) {
        pdl_drop(choices);
        return false;
    }
    pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
    m = pdl_dict_putz(m, "content", content);
    pdl_val first = pdl_dict_putz(pdl_keep(pdl_list_at(choices, 0)), "message", m);
    *out = pdl_list_set(choices, 0, first);
    return true;
}

/* Moves choices[i].text to choices[i].message. */
static bool read(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    pdl_vref old = pdl_is_dict(json) ? pdl_dict_getz(json, "choices") : pdl_absent();
    pdl_val choices = pdl_list_new(1);
    for (size_t i = 0; pdl_is_list(old) && i < pdl_list_len(old); i++) {
        pdl_vref c = pdl_list_at(old, i),
                 text = pdl_is_dict(c) ? pdl_dict_getz(c, "text") : pdl_absent();
        if (!pdl_is_dict(c)) continue;
        /* an answer without text is refused by pdl_reply_check */
        if (!pdl_is_str(text) && pdl_is_absent(pdl_score_of(a))) {
            choices = pdl_list_push(choices, pdl_keep(c));
            continue;
        }
        pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
        m = pdl_dict_putz(m, "content", pdl_is_absent(text) ? pdl_null() : pdl_keep(text));
        choices = pdl_list_push(choices, pdl_dict_putz(pdl_keep(c), "message", m));
    }
    if (!pdl_is_absent(pdl_score_of(a)) && !put_scores(a, choices, &choices, err)) {
        pdl_drop(json);
        return false;
    }
    *raw = pdl_is_dict(json) ? pdl_dict_putz(json, "choices", choices) : json;
    if (!pdl_is_dict(json)) pdl_drop(choices);
    return true;
}

static bool event(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    /* chunks differ from those of a chat only in choices[0].text */
    return pdl_dialect_openai.event(a, text, d, err);
}

const pdl_dialect pdl_dialect_completion = {.name = "completion",
                                            .by_prompt = true,
                                            .write = write,
                                            .read = read,
                                            .event = event,
                                            .embedder = &pdl_embedder_openai};
