/* form_openai.c -- chat completions and text completions of OpenAI's interface, with the
 * log-probabilities that a client asks for; see mock_answer.h. The content was decided before, so
 * this file has only the layouts of answers, chunks and usage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "io/clock.h"
#include "mock/mock_answer.h"
#include "value/int.h"

#include "base/banned.h"

static pdl_val usage_of(const pdl_mock_answer *a) {
    int64_t asked = pdl_mock_words_asked(a), said = pdl_mock_words_said(a),
            reasoned = pdl_mock_words_reasoned(a);
    pdl_val v = pdl_dict_putz(pdl_dict_new(4), "prompt_tokens", pdl_int(asked));
    v = pdl_dict_putz(v, "completion_tokens", pdl_int(said));
    v = pdl_dict_putz(v, "total_tokens", pdl_int(asked + said));
    if (!reasoned) return v;
    pdl_val details = pdl_dict_putz(pdl_dict_new(1), "reasoning_tokens", pdl_int(reasoned));
    return pdl_dict_putz(v, "completion_tokens_details", details);
}

static pdl_val envelope(const pdl_mock_answer *a, const char *object) {
    pdl_vref model = pdl_dict_getz(a->request, "model");
    pdl_val v = pdl_dict_putz(pdl_dict_new(6), "id", pdl_textz(a->id));
    v = pdl_dict_putz(v, "object", pdl_textz(object));
    v = pdl_dict_putz(v, "created", pdl_int(pdl_clock_wall_ns() / 1000000000));
    return pdl_dict_putz(v, "model", pdl_is_str(model) ? pdl_keep(model) : pdl_textz(""));
}

/* Returns a choice with the member `name`, and with the reason of the end (NULL when
 * more follows). */
static pdl_val choice_of(size_t index, const char *name, pdl_val inside, const char *reason) {
    pdl_val c = pdl_dict_putz(pdl_dict_new(4), "index", pdl_int((int64_t)index));
    c = pdl_dict_putz(c, name, inside);
    return pdl_dict_putz(c, "finish_reason", reason ? pdl_textz(reason) : pdl_null());
}

static pdl_val only(pdl_val v) { return pdl_list_push(pdl_list_new(1), v); }

static void put_chunk(const pdl_mock_answer *a, const char *object, pdl_val choices,
                      pdl_val usage) {
    pdl_val v = pdl_dict_putz(envelope(a, object), "choices", choices);
    if (!pdl_is_absent(usage)) v = pdl_dict_putz(v, "usage", usage);
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "data: ");
    pdl_mock_put_json(v, &b);
    PDL_PUT(&b, "\n\n");
    pdl_exchange_put(a->x, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    pdl_drop(v);
}

static void put_end(const pdl_mock_answer *a, const char *object) {
    pdl_vref options = pdl_dict_getz(a->request, "stream_options");
    if (pdl_is_dict(options) && pdl_mock_asks(options, "include_usage", false))
        put_chunk(a, object, pdl_list_new(0), usage_of(a));
    pdl_exchange_put(a->x, PDL_STR("data: [DONE]\n\n"));
}

/* --- log-probabilities ------------------------------------------------------------------------ */

static int64_t number_of(pdl_vref request, const char *name) {
    pdl_vref v = pdl_dict_getz(request, name);
    int64_t n = 0;
    return pdl_is(v, PDL_V_INT) && pdl_int_get(v, &n) && n > 0 ? n : 0;
}

/* Returns how many alternatives are sent: the number in the request, or else all alternatives of
 * the item. */
static int64_t alternatives(const pdl_mock_answer *a) {
    return pdl_is_absent(pdl_dict_getz(a->request, "top_logprobs")) && a->item
               ? INT64_MAX
               : number_of(a->request, "top_logprobs");
}

static pdl_val entries_of(const pdl_mock_answer *a) {
    return pdl_mock_entries(a->item, pdl_mock_said(a), alternatives(a));
}

static pdl_val entry_of(const pdl_mock_answer *a, pdl_str word, bool first) {
    return pdl_mock_entry(a->item, word, first, alternatives(a));
}

/* Returns the member `logprobs` of a choice of a chat. Takes content. */
static pdl_val chat_logprobs(pdl_val content) {
    return pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "content", content), "refusal", pdl_null());
}

/* Returns true when log-probabilities are sent, because the request asks for them or the item has
 * some. */
static bool wants_logprobs(const pdl_mock_answer *a) {
    return pdl_mock_asks(a->request, "logprobs", false) ||
           (a->item && !pdl_is_absent(a->item->logprobs));
}

/* The lists of a text completion. */
typedef struct token_lists {
    pdl_val tokens, logprobs, offsets;
    int64_t at; /* number of code points before the next token */
} token_lists;

static void add_token(token_lists *t, pdl_str word, pdl_val logprob) {
    t->tokens = pdl_list_push(t->tokens, pdl_text(word));
    t->logprobs = pdl_list_push(t->logprobs, logprob);
    t->offsets = pdl_list_push(t->offsets, pdl_int(t->at));
    t->at += (int64_t)pdl_utf8_count(word);
}

static pdl_val completion_logprobs(token_lists *t) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(4), "tokens", t->tokens);
    v = pdl_dict_putz(v, "token_logprobs", t->logprobs);
    v = pdl_dict_putz(v, "text_offset", t->offsets);
    return pdl_dict_putz(v, "top_logprobs", pdl_null());
}

static token_lists no_tokens(void) {
    return (token_lists){pdl_list_new(8), pdl_list_new(8), pdl_list_new(8), 0};
}

/* Returns the length of a word without its last letter and without the blanks after it. */
static size_t head_of(pdl_str word) {
    size_t n = word.n;
    while (n && (word.p[n - 1] == ' ' || word.p[n - 1] == '\n')) n--;
    if (n) n--;
    while (n && ((unsigned char)word.p[n] & 0xC0) == 0x80) n--;
    return n;
}

/* Returns the log-probabilities of a prompt without an item: -1 for each word. The last letter of
 * each word is a separate token, and has the number -1. A client adds up the numbers of a
 * continuation, which is the end of the prompt. The mock does not know where the continuation
 * begins, which may be inside a word. But the last letter of that word is in the continuation, so
 * the word always counts -1. */
static pdl_val counted_logprobs(pdl_str prompt) {
    token_lists t = no_tokens();
    size_t at = 0;
    for (pdl_str word = pdl_mock_next_word(prompt, &at); word.n;
         word = pdl_mock_next_word(prompt, &at)) {
        size_t head = head_of(word);
        if (head) add_token(&t, pdl_str_sub(word, 0, head), pdl_float(0));
        add_token(&t, pdl_str_sub(word, head, word.n), pdl_float(-1));
    }
    return completion_logprobs(&t);
}

/* Returns the log-probabilities of a prompt. When the item has scores, there are two tokens: the
 * text for which the item has a number, and all text before it. A text without a score gets no
 * log-probability, because the missing score is probably a mistake in the script. */
static pdl_val prompt_logprobs(const pdl_mock_answer *a, pdl_str prompt, size_t number) {
    double score = 0;
    size_t tail = 0;
    if (!a->item || pdl_is_absent(a->item->scores)) return counted_logprobs(prompt);
    bool scored = pdl_mock_score(a->item, prompt, number, &tail, &score);
    token_lists t = no_tokens();
    add_token(&t, pdl_str_sub(prompt, 0, prompt.n - tail), pdl_null());
    add_token(&t, pdl_str_sub(prompt, prompt.n - tail, prompt.n),
              scored ? pdl_float(score) : pdl_null());
    return completion_logprobs(&t);
}

static pdl_val said_logprobs(const pdl_mock_answer *a, pdl_str said) {
    token_lists t = no_tokens();
    size_t at = 0;
    for (pdl_str word = pdl_mock_next_word(said, &at); word.n; word = pdl_mock_next_word(said, &at))
        add_token(&t, word, pdl_float(pdl_mock_logprob(a->item, word, at == word.n)));
    return completion_logprobs(&t);
}

/* --- chat completions ------------------------------------------------------------------------- */

static const char *reason_of(const pdl_mock_answer *a) {
    return pdl_mock_reason(a, pdl_mock_has_calls(a) ? "tool_calls" : "stop");
}

pdl_val pdl_mock_chat_whole(const pdl_mock_answer *a) {
    pdl_val choices = pdl_list_new(a->choices.n);
    pdl_mock_answer one = *a;
    for (size_t i = 0; i < a->choices.n; i++) {
        pdl_mock_choose(&one, i);
        pdl_val c = choice_of(i, "message", pdl_keep(one.message), reason_of(&one));
        if (wants_logprobs(&one)) c = pdl_dict_putz(c, "logprobs", chat_logprobs(entries_of(&one)));
        choices = pdl_list_push(choices, c);
    }
    pdl_val v = pdl_dict_putz(envelope(a, "chat.completion"), "choices", choices);
    return pdl_dict_putz(v, "usage", usage_of(a));
}

static void put_delta(const pdl_mock_answer *a, pdl_val delta, const char *reason) {
    put_chunk(a, "chat.completion.chunk", only(choice_of(a->choice, "delta", delta, reason)),
              pdl_absent());
}

static void chat_begin(const pdl_mock_answer *a) {
    pdl_val role = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
    put_delta(a, pdl_dict_putz(role, "content", pdl_textz("")), NULL);
    pdl_str reasoning = pdl_mock_reasoning(a);
    if (reasoning.n)
        put_delta(a, pdl_dict_putz(pdl_dict_new(1), "reasoning_content", pdl_text(reasoning)),
                  NULL);
}

static void chat_word(const pdl_mock_answer *a, pdl_str word) {
    bool first = a->at == word.n, written = a->item && pdl_is_list(a->item->logprobs);
    pdl_val delta = pdl_dict_putz(pdl_dict_new(1), "content", pdl_text(word));
    pdl_val c = choice_of(a->choice, "delta", delta, NULL);
    if (wants_logprobs(a) && (first || !written))
        c = pdl_dict_putz(c, "logprobs",
                          chat_logprobs(written ? entries_of(a) : only(entry_of(a, word, first))));
    put_chunk(a, "chat.completion.chunk", only(c), pdl_absent());
}

static void chat_end(const pdl_mock_answer *a) {
    pdl_vref calls = pdl_dict_getz(a->message, "tool_calls");
    for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++) {
        pdl_val call = pdl_dict_putz(pdl_keep(pdl_list_at(calls, i)), "index", pdl_int((int64_t)i));
        put_delta(a, pdl_dict_putz(pdl_dict_new(1), "tool_calls", only(call)), NULL);
    }
    put_delta(a, pdl_dict_new(0), reason_of(a));
}

static void chat_done(const pdl_mock_answer *a) { put_end(a, "chat.completion.chunk"); }

/* --- text completions ------------------------------------------------------------------------- */

/* Returns the answer to a prompt. With `echo`, the prompt comes before the answer. When no tokens
 * may be added, the answer is only the prompt. */
static pdl_val completion_choice(const pdl_mock_answer *a, size_t number) {
    bool echo = pdl_mock_asks(a->request, "echo", false);
    bool weighs = echo && !number_of(a->request, "max_tokens");
    bool wants = wants_logprobs(a) || number_of(a->request, "logprobs") > 0;
    pdl_buf prompt = PDL_BUF, text = PDL_BUF;
    pdl_val said = pdl_mock_said_to(a, number), logprobs = pdl_null();
    pdl_mock_put_asked(a, number, &prompt);
    if (echo) pdl_buf_put(&text, pdl_buf_str(&prompt));
    if (!weighs) pdl_buf_put(&text, pdl_str_get(said));
    if (echo)
        logprobs = prompt_logprobs(a, pdl_buf_str(&text), number);
    else if (wants)
        logprobs = said_logprobs(a, pdl_buf_str(&text));
    pdl_buf_fini(&prompt);
    pdl_drop(said);
    size_t index = number * a->choices.n + a->choice;
    const char *reason = pdl_mock_reason(a, weighs ? "length" : "stop");
    pdl_val c = choice_of(index, "text", pdl_text_of_buf(&text), reason);
    return pdl_dict_putz(c, "logprobs", logprobs);
}

static pdl_val completion_whole(const pdl_mock_answer *a) {
    pdl_val choices = pdl_list_new(1);
    pdl_mock_answer one = *a;
    for (size_t i = 0; i < pdl_mock_prompts(a); i++) {
        for (size_t k = 0; k < a->choices.n; k++) {
            pdl_mock_choose(&one, k);
            choices = pdl_list_push(choices, completion_choice(&one, i));
        }
    }
    pdl_val v = pdl_dict_putz(envelope(a, "text_completion"), "choices", choices);
    return pdl_dict_putz(v, "usage", usage_of(a));
}

static void completion_word(const pdl_mock_answer *a, pdl_str word) {
    put_chunk(a, "text_completion", only(choice_of(a->choice, "text", pdl_text(word), NULL)),
              pdl_absent());
}

static void completion_end(const pdl_mock_answer *a) {
    const char *reason = pdl_mock_reason(a, "stop");
    put_chunk(a, "text_completion", only(choice_of(a->choice, "text", pdl_textz(""), reason)),
              pdl_absent());
}

static void completion_done(const pdl_mock_answer *a) { put_end(a, "text_completion"); }

static pdl_val error_of(int status, pdl_str why) {
    pdl_val e = pdl_dict_putz(pdl_dict_new(4), "message", pdl_text(why));
    e = pdl_dict_putz(e, "type",
                      pdl_textz(status == 429  ? "rate_limit_error"
                                : status < 500 ? "invalid_request_error"
                                               : "server_error"));
    e = pdl_dict_putz(e, "param", pdl_null());
    e = pdl_dict_putz(e, "code", pdl_null());
    return pdl_dict_putz(pdl_dict_new(1), "error", e);
}

const pdl_mock_form pdl_mock_chat = {.path = "/chat/completions",
                                     .streams = "text/event-stream",
                                     .has_n = true,
                                     .whole = pdl_mock_chat_whole,
                                     .begin = chat_begin,
                                     .word = chat_word,
                                     .end = chat_end,
                                     .done = chat_done,
                                     .error = error_of};

const pdl_mock_form pdl_mock_completion = {.path = "/completions",
                                           .streams = "text/event-stream",
                                           .by_prompt = true,
                                           .has_n = true,
                                           .whole = completion_whole,
                                           .word = completion_word,
                                           .end = completion_end,
                                           .done = completion_done,
                                           .error = error_of};
