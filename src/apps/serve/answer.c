/* answer.c -- makes the answer of a choice from the result of its run; see answer.h. When a model
 * yields the result, its finish reason, calls and logprobs are used. Otherwise the calls are in the
 * last message that the program contributed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/answer.h"

#include "base/limits.h"
#include "value/context.h"
#include "value/json_write.h"
#include "value/promise.h"
#include "value/text.h"

#include "base/banned.h"

/* Returns the further members of a message. When a model wrote the message, they are
 * the value of a promise that was filled. */
static pdl_vref extra_of(const pdl_message *m) {
    pdl_vref e = m->extra;
    return pdl_is(e, PDL_V_PROMISE) ? pdl_promise_of(e)->value : e;
}

/* Returns a dict with the members of the program's last message, such as its calls. That message is
 * the message of the model that yields the result, or else the result itself, or the last
 * contributed message. Role and content are only among the members when a model wrote the message.
 * Returns absent when there are no members. */
static pdl_vref last_message(const choice *c) {
    pdl_vref model = pdl_run_answer(c->run), result = pdl_run_result(c->run),
             context = pdl_run_context(c->run);
    pdl_message m;
    if (pdl_is_dict(model)) return pdl_dict_getz(model, "message");
    if (pdl_is(result, PDL_V_CONTEXT) && pdl_context_last(result, &m)) return extra_of(&m);
    return pdl_is(context, PDL_V_CONTEXT) && pdl_context_last(context, &m) ? extra_of(&m)
                                                                           : pdl_absent();
}

/* --- calls of tools --------------------------------------------------------------------------- */

/* Returns arguments as the text that clients read. */
static pdl_val text_of_arguments(pdl_vref v) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err err = {0};
    if (pdl_is_str(v)) return pdl_keep(v);
    if (pdl_is_absent(v) || pdl_is_null(v) || !pdl_json_write(v, PDL_JSON_LOOSE, 0, &b, &err)) {
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
        return pdl_textz("{}");
    }
    return pdl_text_of_buf(&b);
}

/* Adds to a call the members that clients require and that programs may leave out: id, type, and
 * the arguments as text. */
static pdl_val complete_call(const choice *c, pdl_vref call, size_t i) {
    pdl_vref f = pdl_dict_getz(call, "function");
    pdl_val d = pdl_keep(call);
    if (!pdl_is_str(pdl_dict_getz(call, "id"))) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "call_%s_%u_%zu", c->work->id, (unsigned)c->index, i);
        d = pdl_dict_putz(d, "id", pdl_text_of_buf(&b));
    }
    if (!pdl_is_str(pdl_dict_getz(call, "type")))
        d = pdl_dict_putz(d, "type", pdl_textz("function"));
    if (!pdl_is_dict(f)) return d;
    pdl_val args = text_of_arguments(pdl_dict_getz(f, "arguments"));
    return pdl_dict_putz(d, "function", pdl_dict_putz(pdl_keep(f), "arguments", args));
}

static pdl_val calls_of(const choice *c, pdl_vref message) {
    pdl_vref calls = pdl_dict_getz(message, "tool_calls");
    size_t n = pdl_is_list(calls) ? pdl_list_len(calls) : 0;
    pdl_val out = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_vref call = pdl_list_at(calls, i);
        if (pdl_is_dict(call)) out = pdl_list_push(out, complete_call(c, call, i));
    }
    if (pdl_list_len(out)) return out;
    pdl_drop(out);
    return pdl_absent();
}

/* --- the whole -------------------------------------------------------------------------------- */

static pdl_val said_in(pdl_vref message) {
    static const char *const names[] = {"refusal", "reasoning_content", "thinking_blocks",
                                        "annotations"};
    pdl_val d = pdl_dict_new(1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pdl_vref v = pdl_dict_getz(message, names[i]);
        if (!pdl_is_absent(v) && !pdl_is_null(v)) d = pdl_dict_putz(d, names[i], pdl_keep(v));
    }
    return d;
}

/* Returns the result. When the program ends with a message, the result is the content of that
 * message. */
static pdl_vref content_of(const choice *c) {
    pdl_vref v = pdl_run_result(c->run);
    pdl_message m;
    return pdl_is(v, PDL_V_CONTEXT) && pdl_context_last(v, &m) ? m.content : v;
}

/* Returns the logprobs when the whole answer is one text of a model. Otherwise their offsets would
 * be wrong, because the program has added other text. */
static pdl_val logprobs_of(pdl_vref model, pdl_str text) {
    pdl_vref message = pdl_dict_getz(model, "message"), logprobs = pdl_dict_getz(model, "logprobs");
    pdl_vref content = pdl_is_dict(message) ? pdl_dict_getz(message, "content") : pdl_absent();
    bool same = pdl_is_str(content) ? pdl_str_eq(pdl_str_get(content), text) : !text.n;
    return same && pdl_is_dict(logprobs) ? pdl_keep(logprobs) : pdl_null();
}

/* Shortens text (taken) at the stop sequence or limit of the request. A text that was streamed has
 * been shortened before. */
static pdl_buf cut_text(choice *c, pdl_buf text, bool counts) {
    pdl_buf out = PDL_BUF;
    pdl_serve_cutoff_feed(&c->cut, pdl_buf_str(&text), counts, &out);
    pdl_serve_cutoff_end(&c->cut, &out);
    pdl_buf_fini(&text);
    return out;
}

static const char *finish_of(pdl_vref model, bool calls) {
    static const char *const reasons[] = {"length", "content_filter"};
    pdl_vref said = pdl_is_dict(model) ? pdl_dict_getz(model, "finish_reason") : pdl_absent();
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (pdl_text_is(said, reasons[i])) return reasons[i];
    return calls ? "tool_calls" : "stop";
}

bool pdl_serve_answer_read(choice *c, answer *out, pdl_err *err) {
    pdl_vref model = pdl_run_answer(c->run), message = last_message(c);
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    if (!pdl_stringify(content_of(c), &text, err)) {
        pdl_buf_fini(&text);
        return false;
    }
    if (!c->work->stream) text = cut_text(c, text, !pdl_is_dict(model));
    *out = (answer){.text = text, .calls = pdl_absent(), .logprobs = pdl_null()};
    if (pdl_is_dict(message)) out->calls = calls_of(c, message);
    out->said = pdl_is_dict(message) ? said_in(message) : pdl_dict_new(0);
    if (pdl_is_dict(model) && !c->cut.why) {
        pdl_drop(out->logprobs);
        out->logprobs = logprobs_of(model, pdl_buf_str(&text));
    }
    bool calls = !pdl_is_absent(out->calls);
    out->finish = c->cut.why && !calls ? c->cut.why : finish_of(model, calls);
    return true;
}

void pdl_serve_answer_fini(answer *a) {
    pdl_buf_fini(&a->text);
    pdl_drop(a->calls);
    pdl_drop(a->said);
    pdl_drop(a->logprobs);
}
