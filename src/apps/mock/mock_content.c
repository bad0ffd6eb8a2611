/* mock_content.c -- decides the content of an answer, for the server and for a host that has no
 * server; see mock_answer.h and script.h. The interfaces then only write what was decided here, so
 * one list of replies has the same effect for clients of OpenAI and of Ollama.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "base/utf8.h"
#include "mock/mock_answer.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/parts_text.h"

#include "base/banned.h"

/* --- the request ------------------------------------------------------------------------------ */

static pdl_str text_or(pdl_vref v, const char *otherwise) {
    return pdl_is_str(v) ? pdl_str_get(v) : pdl_str_of(otherwise);
}

bool pdl_mock_asks(pdl_vref request, const char *name, bool otherwise) {
    pdl_vref v = pdl_dict_getz(request, name);
    return pdl_is_bool(v) ? pdl_bool_of(v) : otherwise;
}

static pdl_vref prompts_of(const pdl_mock_answer *a) {
    return a->form->by_prompt ? pdl_dict_getz(a->request, "prompt") : pdl_absent();
}

size_t pdl_mock_prompts(const pdl_mock_answer *a) {
    pdl_vref prompts = prompts_of(a);
    return pdl_is_list(prompts) ? pdl_list_len(prompts) : 1;
}

void pdl_mock_put_asked(const pdl_mock_answer *a, size_t number, pdl_buf *out) {
    pdl_vref prompts = prompts_of(a), list = pdl_dict_getz(a->request, "messages");
    size_t n = pdl_is_list(list) ? pdl_list_len(list) : 0;
    pdl_vref last = n ? pdl_list_at(list, n - 1) : pdl_absent();
    if (pdl_is_list(prompts) && number < pdl_list_len(prompts))
        (void)pdl_put_parts_text(pdl_list_at(prompts, number), out);
    else if (pdl_is_str(prompts))
        (void)pdl_put_parts_text(prompts, out);
    else if (!a->form->by_prompt && pdl_is_dict(last))
        (void)pdl_put_parts_text(pdl_dict_getz(last, "content"), out);
}

/* Counts words, as an estimate of tokens. */
static int64_t count_words(pdl_str s) {
    int64_t n = 0;
    bool inside = false;
    for (size_t i = 0; i < s.n; i++) {
        bool blank = s.p[i] == ' ' || s.p[i] == '\n' || s.p[i] == '\t';
        n += !blank && !inside;
        inside = !blank;
    }
    return n;
}

static int64_t words_of(const pdl_mock_answer *a, const char *member) {
    int64_t n = 0;
    for (size_t i = 0; i < a->choices.n; i++)
        n += count_words(text_or(pdl_dict_getz(a->choices.p[i].message, member), ""));
    return n;
}

int64_t pdl_mock_words_reasoned(const pdl_mock_answer *a) {
    return words_of(a, "reasoning_content");
}

int64_t pdl_mock_words_said(const pdl_mock_answer *a) {
    return words_of(a, "content") + pdl_mock_words_reasoned(a);
}

int64_t pdl_mock_words_asked(const pdl_mock_answer *a) {
    pdl_vref list = pdl_dict_getz(a->request, "messages");
    int64_t n = 0;
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; a->form->by_prompt && i < pdl_mock_prompts(a); i++) {
        pdl_buf_clear(&b);
        pdl_mock_put_asked(a, i, &b);
        n += count_words(pdl_buf_str(&b));
    }
    for (size_t i = 0; !a->form->by_prompt && pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref m = pdl_list_at(list, i);
        pdl_buf_clear(&b);
        if (pdl_is_dict(m)) (void)pdl_put_parts_text(pdl_dict_getz(m, "content"), &b);
        n += count_words(pdl_buf_str(&b));
    }
    pdl_buf_fini(&b);
    return n;
}

/* --- what is said ----------------------------------------------------------------------------- */

/* Completes a call of the script with the members that clients require. */
static pdl_val complete_call(const pdl_mock_answer *a, pdl_vref call, size_t i) {
    char id[PDL_MOCK_ID_BYTES + 24];
    pdl_vref f = pdl_dict_getz(call, "function"), args;
    pdl_val v = pdl_keep(call);
    snprintf(id, sizeof id, "call_%s_%zu", a->id + sizeof "chatcmpl", i);
    if (!pdl_is_str(pdl_dict_getz(call, "id"))) v = pdl_dict_putz(v, "id", pdl_textz(id));
    if (!pdl_is_str(pdl_dict_getz(call, "type")))
        v = pdl_dict_putz(v, "type", pdl_textz("function"));
    args = pdl_is_dict(f) ? pdl_dict_getz(f, "arguments") : pdl_absent();
    if (!pdl_is_dict(args)) return v;
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    bool ok = pdl_json_write(args, PDL_JSON_LOOSE | PDL_JSON_SPACED, 0, &b, &ignored);
    pdl_err_fini(&ignored);
    if (!ok) pdl_buf_clear(&b);
    return pdl_dict_putz(v, "function",
                         pdl_dict_putz(pdl_keep(f), "arguments", pdl_text_of_buf(&b)));
}

const char *pdl_mock_reason(const pdl_mock_answer *a, const char *otherwise) {
    return a->item && a->item->finish ? a->item->finish : otherwise;
}

static pdl_val message_of(const pdl_mock_answer *a) {
    pdl_vref reply = a->item ? a->item->reply : pdl_absent();
    pdl_val m = pdl_dict_putz(pdl_dict_new(3), "role", pdl_textz("assistant"));
    if (!pdl_is_dict(reply)) return pdl_dict_putz(m, "content", pdl_mock_said_to(a, 0));
    pdl_vref content = pdl_dict_getz(reply, "content"), calls = pdl_dict_getz(reply, "tool_calls"),
             reasoning = pdl_dict_getz(reply, "reasoning_content");
    m = pdl_dict_putz(m, "content", pdl_is_str(content) ? pdl_keep(content) : pdl_null());
    if (pdl_is_str(reasoning)) m = pdl_dict_putz(m, "reasoning_content", pdl_keep(reasoning));
    if (!pdl_is_list(calls)) return m;
    pdl_val list = pdl_list_new(pdl_list_len(calls));
    for (size_t i = 0; i < pdl_list_len(calls); i++)
        if (pdl_is_dict(pdl_list_at(calls, i)))
            list = pdl_list_push(list, complete_call(a, pdl_list_at(calls, i), i));
    return pdl_dict_putz(m, "tool_calls", list);
}

static void put_roles(pdl_vref request, pdl_buf *out) {
    pdl_vref messages = pdl_dict_getz(request, "messages");
    for (size_t i = 0; pdl_is_list(messages) && i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        pdl_str role = pdl_is_dict(m) ? text_or(pdl_dict_getz(m, "role"), "?") : PDL_STR("?");
        pdl_buf_putf(out, "%s%.*s", i ? "," : "", PDL_FMT(role));
    }
}

/* Returns the text of the answer. Without an item, the answer repeats the request. The model
 * `upper` repeats it in capitals, and the model `roles` answers with the roles of all messages. */
pdl_val pdl_mock_said_to(const pdl_mock_answer *a, size_t number) {
    pdl_str model = text_or(pdl_dict_getz(a->request, "model"), "");
    pdl_vref reply = a->item ? a->item->reply : pdl_absent();
    pdl_buf asked = PDL_BUF, said = PDL_BUF;
    if (pdl_is_str(reply)) return pdl_keep(reply);
    if (pdl_is_dict(reply)) return pdl_text(text_or(pdl_dict_getz(reply, "content"), ""));
    pdl_mock_put_asked(a, number, &asked);
    if (pdl_str_is(model, "upper"))
        pdl_utf8_upper(&said, pdl_buf_str(&asked));
    else if (pdl_str_is(model, "roles"))
        put_roles(a->request, &said);
    else
        pdl_buf_put(&said, pdl_buf_str(&asked));
    pdl_buf_fini(&asked);
    return pdl_text_of_buf(&said);
}

pdl_str pdl_mock_said(const pdl_mock_answer *a) {
    return text_or(pdl_dict_getz(a->message, "content"), "");
}

pdl_str pdl_mock_reasoning(const pdl_mock_answer *a) {
    return text_or(pdl_dict_getz(a->message, "reasoning_content"), "");
}

bool pdl_mock_has_calls(const pdl_mock_answer *a) {
    return !pdl_is_absent(pdl_dict_getz(a->message, "tool_calls"));
}

int64_t pdl_mock_wanted(const pdl_mock_form *form, pdl_vref request) {
    pdl_vref v = form->has_n ? pdl_dict_getz(request, "n") : pdl_absent();
    int64_t n;
    if (pdl_is_absent(v) || pdl_is_null(v)) return 1;
    bool fits = pdl_is(v, PDL_V_INT) && pdl_int_get(v, &n) && n >= 1 && n <= PDL_MOCK_MAX_CHOICES;
    return fits ? n : -1;
}

void pdl_mock_choose(pdl_mock_answer *a, size_t choice) {
    a->choice = choice;
    a->item = a->choices.p[choice].item;
    a->message = a->choices.p[choice].message;
}

void pdl_mock_choices_fini(pdl_mock_answer *a) {
    for (size_t i = 0; i < a->choices.n; i++) pdl_drop(a->choices.p[i].message);
    pdl_vec_fini(&a->choices);
}

/* Adds a choice that is made from an item. */
static void add_choice(pdl_mock_answer *a, const pdl_mock_item *item) {
    a->item = item;
    pdl_val message = message_of(a);
    *pdl_vec_push(&a->choices) = (pdl_mock_choice){message, item};
}

/* The first choice gets the answer that a request for one choice would get. When an item refuses
 * one of the other choices, the request gets fewer choices, and the next request meets the refusal.
 */
void pdl_mock_decide(pdl_mock_answer *a, pdl_mock_script *script, uint64_t number) {
    pdl_buf asked = PDL_BUF;
    int64_t wanted = pdl_mock_wanted(a->form, a->request);
    pdl_str model = text_or(pdl_dict_getz(a->request, "model"), "");
    bool refuses = false;
    snprintf(a->id, sizeof a->id, "chatcmpl-mock-%llu", (unsigned long long)number);
    pdl_mock_put_asked(a, 0, &asked);
    add_choice(a, pdl_mock_script_next(script, model, pdl_buf_str(&asked)));
    bool is_refused = a->item && a->item->status;
    for (int64_t i = 1; i < wanted && !is_refused; i++) {
        const pdl_mock_item *x =
            pdl_mock_script_other(script, model, pdl_buf_str(&asked), &refuses);
        if (refuses || (!x && a->opt && a->opt->strict)) break;
        add_choice(a, x);
    }
    pdl_buf_fini(&asked);
    pdl_mock_choose(a, 0);
}

pdl_str pdl_mock_why(const pdl_mock_answer *a) {
    if (!a->item) return PDL_STR("no item of the replies fits this request");
    return a->item->error.p ? a->item->error : PDL_STR("refused by the script");
}

/* --- without a server ------------------------------------------------------------------------- */

pdl_mock_reply pdl_mock_reply_to(pdl_mock_script *s, bool strict, uint64_t number,
                                 pdl_vref request) {
    static const pdl_mock_form chat = {.has_n = true}; /* this form has messages and no prompt */
    const pdl_mock_options o = {.strict = strict};
    pdl_mock_answer a = {.opt = &o, .form = &chat, .request = pdl_keep(request)};
    pdl_mock_reply r = {.status = 200, .retry_after = -1, .body = pdl_absent()};
    pdl_mock_decide(&a, s, number);
    if (a.item && a.item->status) {
        r.status = (int)a.item->status;
        r.retry_after = a.item->retry_after;
    } else if (!a.item && strict) {
        r.status = 404;
    }
    r.delay_ms = a.item ? a.item->delay_ms : 0;
    r.body = r.status == 200 ? pdl_mock_chat_whole(&a) : pdl_text(pdl_mock_why(&a));
    pdl_drop(a.request);
    pdl_mock_choices_fini(&a);
    return r;
}
