/* completion.c -- the form of a text completion: /v1/completions. The prompt becomes a message of
 * the user. When there are several prompts, each becomes a choice, in their order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "base/utf8.h"
#include "serve/form.h"
#include "value/int.h"

#include "base/banned.h"

/* --- the request ------------------------------------------------------------------------------ */

static pdl_val message_of(pdl_vref prompt) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("user"));
    return pdl_list_push(pdl_list_new(1), pdl_dict_putz(m, "content", pdl_keep(prompt)));
}

static bool is_prompts(pdl_vref v) {
    if (!pdl_is_list(v) || !pdl_list_len(v)) return false;
    for (size_t i = 0; i < pdl_list_len(v); i++)
        if (!pdl_is_str(pdl_list_at(v, i))) return false;
    return true;
}

/* Returns the number of choices for each prompt. */
static int64_t choices_each(pdl_vref asked) {
    int64_t n = 1;
    pdl_vref v = pdl_dict_getz(asked, "n");
    return pdl_is_int(v) && pdl_int_get(v, &n) && n > 0 ? n : 1;
}

/* Adds a parameter with the number of logprobs, in the form that a chat has. Takes d. */
static pdl_val with_logprobs(pdl_val d, pdl_vref wanted) {
    if (!pdl_is_int(wanted)) return d;
    d = pdl_dict_putz(d, "top_logprobs", pdl_keep(wanted));
    return pdl_dict_putz(d, "logprobs", pdl_bool(true));
}

static bool read_asked(pdl_serve *s, pdl_exchange *x, pdl_vref body, pdl_val *asked) {
    (void)s;
    pdl_vref prompt = pdl_dict_getz(body, "prompt");
    bool many = is_prompts(prompt);
    if (!many && !pdl_is_str(prompt)) {
        pdl_serve_answer_wrong(
            x, "prompt", "invalid_type",
            PDL_STR("prompt should be a string or an array of strings; tokens are not taken"));
        return false;
    }
    pdl_val d = pdl_keep(body);
    d = pdl_dict_putz(d, "messages", message_of(many ? pdl_list_at(prompt, 0) : prompt));
    if (many && pdl_list_len(prompt) > 1) {
        int64_t n = choices_each(body), most = PDL_MAX_SERVE_CHOICES;
        bool fits = n <= most && pdl_list_len(prompt) <= (size_t)most;
        d = pdl_dict_putz(d, "n", pdl_int(fits ? n * (int64_t)pdl_list_len(prompt) : most + 1));
    }
    *asked = with_logprobs(d, pdl_dict_getz(body, "logprobs"));
    return true;
}

/* Returns the prompt of a choice. */
static pdl_vref prompt_at(const work *w, uint32_t i) {
    pdl_vref prompt = pdl_dict_getz(w->asked, "prompt");
    return pdl_is_list(prompt) ? pdl_list_at(prompt, i / (w->n / pdl_list_len(prompt))) : prompt;
}

static pdl_val messages_of(const work *w, uint32_t i) { return message_of(prompt_at(w, i)); }

/* --- logprobs in the older form --------------------------------------------------------------- */

static pdl_val top_of(pdl_vref list) {
    pdl_val d = pdl_dict_new(1);
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref t = pdl_list_at(list, i),
                 token = pdl_is_dict(t) ? pdl_dict_getz(t, "token") : pdl_absent();
        if (pdl_is_str(token))
            d = pdl_dict_put(d, pdl_keep(token), pdl_keep(pdl_dict_getz(t, "logprob")));
    }
    return d;
}

/* Returns four lists with one item per token and adds their characters to *n. The first token
 * begins after *n characters. v is borrowed. When v is null, returns null. */
static pdl_val logprobs_of(pdl_vref v, int64_t *n) {
    pdl_vref content = pdl_is_dict(v) ? pdl_dict_getz(v, "content") : pdl_absent();
    if (!pdl_is_list(content)) return pdl_keep(v);
    pdl_val tokens = pdl_list_new(1), values = pdl_list_new(1), tops = pdl_list_new(1),
            offsets = pdl_list_new(1);
    for (size_t i = 0; i < pdl_list_len(content); i++) {
        pdl_vref t = pdl_list_at(content, i),
                 token = pdl_is_dict(t) ? pdl_dict_getz(t, "token") : pdl_absent();
        if (!pdl_is_str(token)) continue;
        tokens = pdl_list_push(tokens, pdl_keep(token));
        values = pdl_list_push(values, pdl_keep(pdl_dict_getz(t, "logprob")));
        tops = pdl_list_push(tops, top_of(pdl_dict_getz(t, "top_logprobs")));
        offsets = pdl_list_push(offsets, pdl_int(*n));
        *n += (int64_t)pdl_utf8_count(pdl_str_get(token));
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "tokens", tokens);
    d = pdl_dict_putz(d, "token_logprobs", values);
    d = pdl_dict_putz(d, "top_logprobs", tops);
    return pdl_dict_putz(d, "text_offset", offsets);
}

/* --- the answer ------------------------------------------------------------------------------- */

static pdl_val head(const work *w) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "id", pdl_textz(w->id));
    d = pdl_dict_putz(d, "object", pdl_textz("text_completion"));
    d = pdl_dict_putz(d, "created", pdl_int(w->created));
    return pdl_dict_putz(d, "model", pdl_text(w->model->name));
}

/* Makes the object of a choice. Takes logprobs. */
static pdl_val one_choice(const choice *c, pdl_str text, pdl_val logprobs, const char *finish) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "text", pdl_text(text));
    d = pdl_dict_putz(d, "index", pdl_int(c->index));
    d = pdl_dict_putz(d, "logprobs", logprobs);
    return pdl_dict_putz(d, "finish_reason", finish ? pdl_textz(finish) : pdl_null());
}

/* Returns the finish reason. A completion has no calls of tools. */
static const char *finish_of(const answer *a) { return pdl_is_list(a->calls) ? "stop" : a->finish; }

static void put_piece(const choice *c, pdl_str text, pdl_val logprobs, const char *finish,
                      pdl_buf *out) {
    pdl_val list = pdl_list_push(pdl_list_new(1), one_choice(c, text, logprobs, finish));
    pdl_serve_form_put_event((pdl_str){0}, pdl_dict_putz(head(c->work), "choices", list), out);
}

static bool echoes(const work *w) { return pdl_serve_ask_is_true(w->asked, "echo"); }

static void begin(work *w, pdl_buf *out) {
    for (uint32_t i = 0; echoes(w) && i < w->n; i++)
        put_piece(&w->choices[i], pdl_str_get(prompt_at(w, i)), pdl_null(), NULL, out);
}

static void text(choice *c, pdl_str s, pdl_buf *out) { put_piece(c, s, pdl_null(), NULL, out); }

/* Sends the logprobs. The form of a completion has no place for the other parts of an answer. */
static void extra(choice *c, pdl_vref given, pdl_buf *out) {
    pdl_vref logprobs = pdl_dict_getz(given, "logprobs");
    if (pdl_is_dict(logprobs))
        put_piece(c, (pdl_str){"", 0}, logprobs_of(logprobs, &c->n_characters), NULL, out);
}

static void end(choice *c, const answer *a, pdl_buf *out) {
    put_piece(c, (pdl_str){"", 0}, pdl_null(), finish_of(a), out);
}

static void finish(work *w, pdl_buf *out) {
    if (w->wants_usage) pdl_serve_form_put_usage(w, head(w), out);
    PDL_PUT(out, "data: [DONE]\n\n");
}

static pdl_val choice_of(choice *c, const answer *a) {
    pdl_buf b = PDL_BUF;
    if (echoes(c->work)) pdl_buf_put(&b, pdl_str_get(prompt_at(c->work, c->index)));
    pdl_buf_put(&b, pdl_buf_str(&a->text));
    int64_t n = 0;
    pdl_val v = one_choice(c, pdl_buf_str(&b), logprobs_of(a->logprobs, &n), finish_of(a));
    pdl_buf_fini(&b);
    return v;
}

static bool whole(work *w, pdl_val *out, pdl_err *err) {
    return pdl_serve_form_whole(w, head(w), choice_of, out, err);
}

static const form completion = {
    .id = "cmpl-",
    .read = read_asked,
    .messages = messages_of,
    .begin = begin,
    .text = text,
    .extra = extra,
    .end = end,
    .finish = finish,
    .fail = pdl_serve_form_fail,
    .whole = whole,
};

void pdl_serve_answer_completion(pdl_serve *s, pdl_exchange *x) {
    pdl_serve_chat_begin(s, x, &completion);
}
