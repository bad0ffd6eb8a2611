/* processor.c -- see processor.h. The texts of the prompts are those that the models were trained
 * on; they were compared with the output of granite-io 0.5.3 (tests/model/test_granite.py).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/processor.h"

#include <time.h>

#include "base/word_list.h"
#include "io/clock.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/wire/message_parts.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

static pdl_vref get(pdl_vref v, const char *key) {
    return pdl_is_dict(v) ? pdl_dict_getz(v, key) : pdl_absent();
}

static bool is_set(pdl_vref v) { return !pdl_is_absent(v) && !pdl_is_null(v) && pdl_val_truth(v); }

/* --- versions --------------------------------------------------------------------------------- */

/* The texts that differ between versions of the model. */
typedef struct version {
    const char *names; /* names of the models, separated by '|' */
    const char *tools,
        /* the system message with tools, and the one with documents but without tools */
        *documents;
    /* instructions that are added when `controls` requests them and there are documents */
    const char *cite, *doubt;
    const char *think_open, *think_close; /* marks around thoughts, and their shorter forms */
    const char *think_open2, *think_close2;
    const char *think; /* the instruction that says how the model marks thoughts */
    const char *tools_role;
    /* true: documents share one turn and are numbered; false: each document has its own turn and an
     * id */
    bool numbered;
} version;

#define FACTS                                                                                      \
    "Write the response to the user's input by strictly aligning with the facts in the provided "  \
    "documents. If the "                                                                           \
    "information needed to answer the question is not available in the documents, inform the "     \
    "user that the question "                                                                      \
    "cannot be answered based on the available data."
#define NO_SUCH_TOOL                                                                               \
    "followed by a JSON list of tools used. If a tool does not exist in the provided list of "     \
    "tools, notify the user "                                                                      \
    "that you do not have the ability to fulfill the request."

static const version versions[] = {
    {
        .names = "Granite "
                 "3.2|granite3.2|granite3.2:8b|granite3.2:2b|ibm-granite/granite-3.2-8b-instruct|"
                 "ibm-granite/granite-3.2-2b-instruct|ibm-granite/granite-8b-instruct-preview-4k",
        .tools = " You are a helpful AI assistant with access to the following tools. When a tool "
                 "is required to answer "
                 "the user's query, respond with <|tool_call|> " NO_SUCH_TOOL,
        .documents = FACTS,
        .cite = "\n\nIn your response, use the symbols <co> and </co> to indicate when a fact "
                "comes from a document in "
                "the search result, e.g <co>0</co> for a fact from document 0. Afterwards, list "
                "all the citations with "
                "their corresponding documents in an ordered list.",
        .doubt = "\n\nFinally, after the response is written, include a numbered list of sentences "
                 "from the response "
                 "that are potentially hallucinated and not based in the documents.",
        .think_open = "Here is my thought process:",
        .think_close = "Here is my response:",
        .think_open2 = "Here's my thought process:",
        .think_close2 = "Here's my response:",
        .think = "after 'Here is my thought process:' and write your response after 'Here is my "
                 "response:'",
        .tools_role = "tools",
        .numbered = true,
    },
    {
        .names = "Granite "
                 "3.3|granite3.3|granite3.3:8b|granite3.3:2b|ibm-granite/granite-3.3-8b-instruct|"
                 "ibm-granite/granite-3.3-2b-instruct",
        .tools = " You are a helpful assistant with access to the following tools. When a tool is "
                 "required to answer "
                 "the user's query, respond only with <|tool_call|> " NO_SUCH_TOOL,
        .documents = " " FACTS,
        .cite = " \nUse the symbols <|start_of_cite|> and <|end_of_cite|> to indicate when a fact "
                "comes from a document "
                "in the search result, e.g <start_of_cite> {document_id: 1}my fact <end_of_cite> "
                "for a fact from "
                "document 1. Afterwards, list all the citations with their corresponding documents "
                "in an ordered list.",
        .doubt =
            " \nFinally, after the response is written, include a numbered list of sentences from "
            "the response "
            "with a corresponding risk value that are hallucinated and not based in the documents.",
        .think_open = "<think>",
        .think_close = "</think>",
        .think = "between <think></think> and write your response between <response></response>",
        .tools_role = "available_tools",
    },
};

static bool is_one_of(pdl_str name, const char *names) {
    for (pdl_str rest = pdl_str_of(names); rest.n;) {
        size_t end = pdl_str_find(rest, PDL_STR("|"), 0);
        if (pdl_str_eq(pdl_str_sub(rest, 0, end), name)) return true;
        rest = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(rest, end + 1, rest.n);
    }
    return false;
}

/* Finds the version by the type of the processor or, without one, by its model. Returns NULL for
 * a model of another kind. */
static const version *version_of(pdl_vref processor) {
    pdl_vref type = get(processor, "type"), model = get(processor, "model");
    pdl_vref name = pdl_is_str(type) ? type : model;
    for (size_t i = 0; pdl_is_str(name) && i < sizeof versions / sizeof versions[0]; i++)
        if (is_one_of(pdl_str_get(name), versions[i].names)) return &versions[i];
    return NULL;
}

/* --- prompt ----------------------------------------------------------------------------------- */

/* Writes the local day: "November 21, 2026". */
static void put_date(pdl_buf *out) {
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    time_t now = (time_t)(pdl_clock_wall_ns() / 1000000000);
    struct tm t;
    if (!localtime_r(&now, &t)) return;
    pdl_buf_putf(out, "%s %02d, %d", months[t.tm_mon % 12], t.tm_mday, t.tm_year + 1900);
}

static void open_turn(const char *role, pdl_buf *out) {
    pdl_buf_putf(out, "<|start_of_role|>%s<|end_of_role|>", role);
}

static void end_turn(pdl_buf *out) { PDL_PUT(out, "<|end_of_text|>\n"); }

/* The parts of the request that become a prompt. */
typedef struct inputs {
    const version *v;
    pdl_vref messages, tools, documents, controls; /* lists and a dict, or absent */
    bool thinking;
} inputs;

static bool has_items(pdl_vref list) { return pdl_is_list(list) && pdl_list_len(list) > 0; }

static inputs inputs_of(const pdl_ask *a) {
    pdl_vref p = get(a->request, "parameters"), controls = get(p, "controls");
    return (inputs){
        .v = version_of(get(a->request, "processor")),
        .messages = a->messages,
        .tools = has_items(get(p, "tools")) ? get(p, "tools") : pdl_absent(),
        .documents = has_items(get(p, "documents")) ? get(p, "documents") : pdl_absent(),
        .controls = pdl_is_dict(controls) ? controls : pdl_absent(),
        .thinking = is_set(get(p, "thinking")),
    };
}

static bool has_system(const inputs *in) {
    return has_items(in->messages) &&
           pdl_str_is(pdl_message_role(pdl_list_at(in->messages, 0)), "system");
}

/* Writes the system message that is used when the program has none. */
static void put_own_system(const inputs *in, pdl_buf *out) {
    bool docs = !pdl_is_absent(in->documents);
    PDL_PUT(out, "Knowledge Cutoff Date: April 2024.\nToday's Date: ");
    put_date(out);
    PDL_PUT(out, ".\nYou are Granite, developed by IBM.");
    if (!pdl_is_absent(in->tools)) {
        pdl_buf_put(out, pdl_str_of(in->v->tools));
        if (docs) PDL_PUT(out, "\n\n" FACTS);
    } else if (docs) {
        pdl_buf_put(out, pdl_str_of(in->v->documents));
    } else {
        PDL_PUT(out, " You are a helpful AI assistant.");
    }
    if (in->thinking)
        pdl_buf_putf(out,
                     "\nRespond to every user query in a comprehensive and detailed way. You can "
                     "write down your thoughts "
                     "and reasoning process before responding. In the thought process, engage in a "
                     "comprehensive cycle of "
                     "analysis, summarization, exploration, reassessment, reflection, backtracing, "
                     "and iteration to develop "
                     "well-considered thinking process. In the response section, based on various "
                     "attempts, explorations, "
                     "and reflections from the thoughts section, systematically present the final "
                     "solution that you deem "
                     "correct. The response should summarize the thought process. Write your "
                     "thoughts %s for each user "
                     "query.",
                     in->v->think);
    if (docs && is_set(get(in->controls, "citations"))) pdl_buf_put(out, pdl_str_of(in->v->cite));
    if (docs && is_set(get(in->controls, "hallucinations")))
        pdl_buf_put(out, pdl_str_of(in->v->doubt));
}

static bool put_json(pdl_vref v, int indent, pdl_buf *out, pdl_err *err) {
    return pdl_json_write(v, PDL_JSON_ASCII | PDL_JSON_SPACED | PDL_JSON_LOOSE, indent, out, err);
}

/* Writes {name, description, parameters} of each tool. */
static bool put_tools(const inputs *in, pdl_buf *out, pdl_err *err) {
    pdl_val list = pdl_list_new(2);
    if (pdl_is_absent(in->tools)) {
        pdl_drop(list);
        return true;
    }
    for (size_t i = 0; i < pdl_list_len(in->tools); i++) {
        pdl_vref tool = pdl_list_at(in->tools, i), f = pdl_tool_function(tool);
        list = pdl_list_push(list, pdl_keep(pdl_is_absent(f) ? tool : f));
    }
    open_turn(in->v->tools_role, out);
    bool ok = put_json(list, 4, out, err);
    end_turn(out);
    pdl_drop(list);
    return ok;
}

static void put_documents(const inputs *in, pdl_buf *out) {
    size_t n = pdl_is_absent(in->documents) ? 0 : pdl_list_len(in->documents);
    if (n && in->v->numbered) open_turn("documents", out);
    for (size_t i = 0; i < n; i++) {
        pdl_vref d = pdl_list_at(in->documents, i), id = get(d, "doc_id"),
                 text = pdl_is_dict(d) ? get(d, "text") : d;
        if (in->v->numbered) {
            pdl_buf_putf(out, "%sDocument %zu\n", i ? "\n\n" : "", i);
        } else {
            PDL_PUT(out, "<|start_of_role|>document {\"document_id\": \"");
            if (is_set(id))
                pdl_message_text(id, out);
            else
                pdl_buf_putf(out, "%zu", i);
            PDL_PUT(out, "\"}<|end_of_role|>\n");
        }
        pdl_message_text(text, out);
        if (!in->v->numbered) end_turn(out);
    }
    if (n && in->v->numbered) end_turn(out);
}

static void put_messages(const inputs *in, pdl_buf *out) {
    for (size_t i = has_system(in); pdl_is_list(in->messages) && i < pdl_list_len(in->messages);
         i++) {
        pdl_vref m = pdl_list_at(in->messages, i);
        pdl_str role = pdl_message_role(m);
        pdl_buf_putf(out, "<|start_of_role|>%.*s<|end_of_role|>", PDL_FMT(role));
        if (pdl_is_dict(m)) pdl_message_text(get(m, "content"), out);
        end_turn(out);
    }
}

/* Begins the answer; its header has the controls that are set. */
static bool put_answer(const inputs *in, pdl_buf *out, pdl_err *err) {
    static const char *const names[] = {"citations", "hallucinations", "length", "originality"};
    pdl_val set = pdl_dict_new(2);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_set(get(in->controls, names[i])))
            set = pdl_dict_putz(set, names[i], pdl_keep(get(in->controls, names[i])));
    PDL_PUT(out, "<|start_of_role|>assistant");
    bool ok = true;
    if (pdl_dict_len(set)) {
        pdl_buf_putc(out, ' ');
        ok = put_json(set, 0, out, err);
    }
    PDL_PUT(out, "<|end_of_role|>");
    pdl_drop(set);
    return ok;
}

/* Refuses combinations that the models were not trained on. */
static bool check(const inputs *in, pdl_err *err) {
    const char *with = has_system(in)                  ? "a system message"
                       : !pdl_is_absent(in->documents) ? "documents"
                       : !pdl_is_absent(in->tools)     ? "tools"
                                                       : NULL;
    if (in->thinking && with)
        return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                           "Granite does not support thinking together with %s", with);
    if (!pdl_is_absent(in->documents) && has_system(in))
        return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                           "Granite does not support documents together with a system message");
    return has_items(in->messages) ||
           pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0}, "there are no messages");
}

static bool put_prompt(const inputs *in, pdl_buf *out, pdl_err *err) {
    if (!check(in, err)) return false;
    open_turn("system", out);
    if (has_system(in))
        pdl_message_text(get(pdl_list_at(in->messages, 0), "content"), out);
    else
        put_own_system(in, out);
    end_turn(out);
    if (!put_tools(in, out, err)) return false;
    put_documents(in, out);
    put_messages(in, out);
    return put_answer(in, out, err);
}

/* --- dialect ---------------------------------------------------------------------------------- */

static bool write(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    inputs in = inputs_of(a);
    pdl_buf prompt = PDL_BUF;
    if (!put_prompt(&in, &prompt, err)) {
        pdl_buf_fini(&prompt);
        return false;
    }
    PDL_PUT(path, "/completions");
    pdl_val b = pdl_dict_putz(pdl_dict_new(4), "model", pdl_text(a->name));
    b = pdl_dict_putz(b, "prompt", pdl_text_of_buf(&prompt));
    for (size_t i = 0; i < pdl_dict_len(a->params); i++) {
        pdl_vref k = pdl_dict_key_at(a->params, i);
        if (!pdl_text_is(k, "tools"))
            b = pdl_dict_put(b, pdl_keep(k), pdl_keep(pdl_dict_val_at(a->params, i)));
    }
    *body = b;
    return true;
}

static bool sign(const pdl_sign *s, pdl_err *err) {
    (void)err;
    pdl_headers_bearer(s->headers, s->key.n ? s->key : PDL_STR("ollama"));
    return true;
}

/* Returns the calls after the mark, or absent when the text there is not a list of calls. */
static pdl_val calls_of(pdl_str text) {
    pdl_val list, calls = pdl_list_new(1);
    pdl_err err = {0};
    if (!pdl_json_read(pdl_str_trim(text), PDL_JSON_PYTHON, &list, NULL, &err)) {
        pdl_err_fini(&err);
        list = pdl_null();
    }
    bool ok = has_items(list);
    for (size_t i = 0; ok && i < pdl_list_len(list); i++) {
        pdl_vref call = pdl_list_at(list, i), name = get(call, "name");
        ok = pdl_is_str(name);
        if (ok)
            calls =
                pdl_list_push(calls, pdl_call_new(get(call, "id"), name, get(call, "arguments")));
    }
    pdl_drop(list);
    if (ok) return calls;
    pdl_drop(calls);
    return pdl_absent();
}

static size_t find_either(pdl_str s, const char *a, const char *b, size_t *end) {
    size_t at = pdl_str_find(s, pdl_str_of(a), 0), n = strlen(a);
    if (at == PDL_NOT_FOUND && b) {
        at = pdl_str_find(s, pdl_str_of(b), 0);
        n = strlen(b);
    }
    *end = at == PDL_NOT_FOUND ? at : at + n;
    return at;
}

/* Stores the text between the thought marks in *thought (p == NULL when there is none) and
 * returns the answer, which is the rest.
 */
static pdl_str split_thought(const version *v, pdl_str text, pdl_str *thought) {
    size_t open_end, close_end, open = find_either(text, v->think_open, v->think_open2, &open_end);
    size_t close = find_either(text, v->think_close, v->think_close2, &close_end);
    if (open == PDL_NOT_FOUND || close == PDL_NOT_FOUND || close < open_end) return text;
    *thought = pdl_str_trim(pdl_str_sub(text, open_end, close));
    pdl_str rest = pdl_str_trim(pdl_str_sub(text, close_end, text.n)), tag = PDL_STR("<response>");
    size_t from = pdl_str_find(rest, tag, 0), to = pdl_str_find(rest, PDL_STR("</response>"), 0);
    if (from == PDL_NOT_FOUND) return rest;
    return pdl_str_trim(
        pdl_str_sub(rest, from + tag.n, to == PDL_NOT_FOUND || to < from ? rest.n : to));
}

static pdl_val message_of(const inputs *in, pdl_str text) {
    static const char *const marks[] = {"<|tool_call|>", "<tool_call>"};
    pdl_str thought = {0};
    pdl_val calls = pdl_absent(),
            m = pdl_dict_putz(pdl_dict_new(4), "role", pdl_textz("assistant"));
    if (in->thinking) text = split_thought(in->v, text, &thought);
    for (size_t i = 0;
         !pdl_is_absent(in->tools) && pdl_is_absent(calls) && i < sizeof marks / sizeof marks[0];
         i++)
        if (pdl_str_starts(text, pdl_str_of(marks[i])))
            calls = calls_of(pdl_str_sub(text, strlen(marks[i]), text.n));
    m = pdl_dict_putz(m, "content", pdl_is_absent(calls) ? pdl_text(text) : pdl_textz(""));
    if (thought.p) m = pdl_dict_putz(m, "reasoning_content", pdl_text(thought));
    return pdl_is_absent(calls) ? m : pdl_dict_putz(m, "tool_calls", calls);
}

static bool read(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    inputs in = inputs_of(a);
    pdl_vref old = get(json, "choices");
    pdl_val choices = pdl_list_new(1);
    (void)err; /* an answer without choices is refused by every caller */
    for (size_t i = 0; pdl_is_list(old) && i < pdl_list_len(old); i++) {
        pdl_vref c = pdl_list_at(old, i), text = get(c, "text");
        if (!pdl_is_str(text)) continue;
        choices = pdl_list_push(
            choices, pdl_dict_putz(pdl_keep(c), "message", message_of(&in, pdl_str_get(text))));
    }
    *raw = pdl_is_dict(json) ? pdl_dict_putz(json, "choices", choices) : json;
    if (!pdl_is_dict(json)) pdl_drop(choices);
    return true;
}

static bool event(const pdl_ask *a, pdl_str text, pdl_reply_builder *d,
                  pdl_err *err) { /* never called */
    return pdl_dialect_openai.event(a, text, d, err);
}

/* Writes a chat for other models; it does not stream. */
static bool write_chat(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    static const char *const names[] = {"documents", "thinking", "controls"};
    pdl_unsupported u = {pdl_absent()};
    bool stream = a->stream;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_set(get(get(a->request, "parameters"), names[i])))
            pdl_unsupported_add(&u, pdl_str_of(names[i]));
    if (!pdl_unsupported_end(&u, a, err)) return false;
    a->stream = false;
    bool ok = pdl_dialect_openai.write(a, path, body, err);
    a->stream = stream;
    return ok;
}

static bool read_chat(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    return pdl_dialect_openai.read(a, json, raw, err);
}

static const pdl_dialect granite = {.name = "granite-io",
                                    .framing = PDL_FRAMING_NONE,
                                    .write = write,
                                    .read = read,
                                    .event = event,
                                    .sign = sign};
static const pdl_dialect chat = {.name = "granite-io chat",
                                 .media = PDL_MEDIA_ANY,
                                 .framing = PDL_FRAMING_NONE,
                                 .write = write_chat,
                                 .read = read_chat,
                                 .event = event,
                                 .sign = sign};

/* These rows are not in the table of providers.c, so a program selects them only by its
 * platform. */
static const pdl_provider rows[] = {
    {"granite-io", "http://localhost:11434/v1", "GRANITE_IO_API_BASE", "GRANITE_IO_API_KEY",
     &granite, 0},
    {"granite-io", "http://localhost:11434/v1", "GRANITE_IO_API_BASE", "GRANITE_IO_API_KEY", &chat,
     0},
};

/* --- the platform ----------------------------------------------------------------------------- */

pdl_vref pdl_processor_of(pdl_vref request) { return get(request, "processor"); }

static pdl_val put_if_text(pdl_val d, const char *key, pdl_vref v) {
    return pdl_is_str(v) && pdl_str_get(v).n ? pdl_dict_putz(d, key, pdl_keep(v)) : d;
}

pdl_val pdl_processor_given(pdl_vref request) {
    static const char *const own[] = {"generate_inputs", "thinking", "documents", "controls"};
    pdl_vref params = get(request, "parameters"), inner = get(params, "generate_inputs"),
             processor = pdl_processor_of(request);
    pdl_val d = pdl_is_dict(inner) ? pdl_keep(inner) : pdl_dict_new(4);
    for (size_t i = 0; pdl_is_dict(params) && i < pdl_dict_len(params); i++) {
        pdl_vref k = pdl_dict_key_at(params, i);
        bool skip = pdl_is_str(k) && PDL_STR_IN(pdl_str_get(k), own);
        if (!skip) d = pdl_dict_put(d, pdl_keep(k), pdl_keep(pdl_dict_val_at(params, i)));
    }
    d = put_if_text(d, "base_url", get(processor, "openai_base_url"));
    return put_if_text(d, "api_key", get(processor, "openai_api_key"));
}

bool pdl_processor_route(pdl_vref processor, pdl_vref given, pdl_str model, const pdl_env *env,
                         pdl_route *r, pdl_err *err) {
    pdl_vref backend = get(processor, "backend");
    if (!pdl_is_str(backend) && !pdl_is_dict(backend))
        return pdl_err_set(
            err, PDL_E_bad_request, (pdl_loc){0},
            "a processor needs a backend: openai, litellm, vllm_server or {transformers: DEVICE}");
    if (model.n == 0)
        return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                           "a processor needs the name of a model");
    if (pdl_text_is(backend, "litellm"))
        return pdl_route_find(model, PDL_STR(""), given, env, r, err);
    if (pdl_is_str(backend) && !pdl_text_is(backend, "openai") &&
        !pdl_text_is(backend, "vllm_server"))
        return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                           "no backend %s: there are openai, litellm, vllm_server",
                           pdl_str_get(backend).p);
    r->name = model;
    r->provider = &rows[pdl_text_is(backend, "openai") && version_of(processor) ? 0 : 1];
    return true;
}

pdl_val pdl_processor_reply(pdl_val reply) {
    pdl_vref choices = get(get(reply, "raw"), "choices");
    pdl_val results = pdl_list_new(1);
    for (size_t i = 0; pdl_is_list(choices) && i < pdl_list_len(choices); i++) {
        pdl_vref c = pdl_list_at(choices, i), finish = get(c, "finish_reason"),
                 m = get(c, "message");
        pdl_val next = pdl_is_dict(m) ? pdl_keep(m) : pdl_dict_new(1);
        if (pdl_is_absent(get(next, "reasoning_content")))
            next = pdl_dict_putz(next, "reasoning_content", pdl_null());
        if (!pdl_is_absent(finish)) next = pdl_dict_putz(next, "stop_reason", pdl_keep(finish));
        results = pdl_list_push(results, pdl_dict_putz(pdl_dict_new(1), "next_message", next));
    }
    return pdl_dict_putz(reply, "raw", pdl_dict_putz(pdl_dict_new(1), "results", results));
}
