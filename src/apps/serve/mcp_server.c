/* mcp_server.c -- serves programs as tools of the Model Context Protocol; see mcp_server.h. A call
 * of a tool is a run like any other: it waits for a slot, has a time limit, and ends when its
 * client disconnects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/mcp_server.h"

#include <string.h>

#include "base/version.h"
#include "serve/tool.h"
#include "value/json_read.h"

#include "base/banned.h"

enum { NOT_JSON = -32700, NO_REQUEST = -32600, NO_METHOD = -32601, WRONG_PARAMS = -32602 };

/* Versions of the protocol whose tools have the same form, newest first. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

/* --- answers ---------------------------------------------------------------------------------- */

/* Sends a message. Takes v. */
static void deliver(pdl_serve *s, pdl_exchange *x, pdl_val v) {
    if (x)
        pdl_serve_answer_json(x, v);
    else
        pdl_serve_mcp_stdio_put(s, v);
}

/* Makes an answer that has the member `what`. Takes v. */
static pdl_val answer_of(pdl_vref id, const char *what, pdl_val v) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "jsonrpc", pdl_textz("2.0"));
    d = pdl_dict_putz(d, "id", pdl_is_absent(id) ? pdl_null() : pdl_keep(id));
    return pdl_dict_putz(d, what, v);
}

static void refuse(pdl_serve *s, pdl_exchange *x, pdl_vref id, int code, pdl_str message) {
    pdl_val e = pdl_dict_putz(pdl_dict_new(2), "code", pdl_int(code));
    deliver(s, x, answer_of(id, "error", pdl_dict_putz(e, "message", pdl_text(message))));
}

/* Makes the result of a tool. structured: the result as an object, taken; or absent. */
static pdl_val result_of(pdl_str text, bool failed, pdl_val structured) {
    pdl_val part = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("text")), "text",
                                 pdl_text(text));
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "content", pdl_list_push(pdl_list_new(1), part));
    if (!pdl_is_absent(structured)) d = pdl_dict_putz(d, "structuredContent", structured);
    return pdl_dict_putz(d, "isError", pdl_bool(failed));
}

/* --- calls of tools --------------------------------------------------------------------------- */

static const tool *tool_of(const work *w) { return &w->s->tools[w->model - w->s->opt.models]; }

static pdl_val variables(const work *w) {
    return pdl_serve_tool_variables(w->s, tool_of(w), w->asked);
}

static pdl_code *code_of(const work *w) { return tool_of(w)->code; }

/* Returns the result when it is an object, which is then sent in addition to its text. Returns
 * absent for other results. */
static pdl_val object_in(pdl_vref result, pdl_str text) {
    pdl_val v;
    pdl_err ignored = {0};
    if (!pdl_is_dict(result) || !pdl_json_read(text, 0, &v, NULL, &ignored)) {
        pdl_err_fini(&ignored);
        return pdl_absent();
    }
    if (pdl_is_dict(v)) return v;
    pdl_drop(v);
    return pdl_absent();
}

static bool whole(work *w, pdl_val *out, pdl_err *err) {
    answer a;
    if (!pdl_serve_answer_read(&w->choices[0], &a, err)) return false;
    pdl_val object = object_in(pdl_run_result(w->choices[0].run), pdl_buf_str(&a.text));
    *out = answer_of(w->body, "result", result_of(pdl_buf_str(&a.text), false, object));
    pdl_serve_answer_fini(&a);
    return true;
}

static void put_whole(work *w, pdl_val v) { deliver(w->s, w->x, v); }

/* Sends a failure. A failed tool returns the reason as text, so that the model that called the tool
 * can read it. */
static void send_failure(work *w, pdl_str message) {
    deliver(w->s, w->x, answer_of(w->body, "result", result_of(message, true, pdl_absent())));
}

static const form mcp = {.id = "mcp-",
                         .variables = variables,
                         .code = code_of,
                         .whole = whole,
                         .put_whole = put_whole,
                         .refuse = send_failure};

static const pdl_served *find_model(const pdl_serve *s, pdl_vref name) {
    for (size_t i = 0; pdl_is_str(name) && i < s->opt.n_models; i++)
        if (pdl_str_eq(s->opt.models[i].name, pdl_str_get(name))) return &s->opt.models[i];
    return NULL;
}

static void call_tool(pdl_serve *s, pdl_exchange *x, pdl_vref id, pdl_vref params) {
    pdl_vref name = pdl_is_dict(params) ? pdl_dict_getz(params, "name") : pdl_absent();
    pdl_vref given = pdl_is_dict(params) ? pdl_dict_getz(params, "arguments") : pdl_absent();
    const pdl_served *model = find_model(s, name);
    bool none = pdl_is_absent(given) || pdl_is_null(given);
    if (!model || !(none || pdl_is_dict(given))) {
        refuse(s, x, id, WRONG_PARAMS,
               model ? PDL_STR("the arguments of a tool are an object")
                     : PDL_STR("there is no tool of this name"));
        return;
    }
    pdl_val arguments = none ? pdl_dict_new(0) : pdl_keep(given);
    pdl_buf why = PDL_BUF;
    if (pdl_serve_tool_takes(&s->tools[model - s->opt.models], arguments, &why)) {
        pdl_serve_chat_start(
            s, x, &mcp,
            &(request){.body = pdl_keep(id), .chat = arguments, .model = model, .n = 1});
    } else {
        deliver(s, x, answer_of(id, "result", result_of(pdl_buf_str(&why), true, pdl_absent())));
        pdl_drop(arguments);
    }
    pdl_buf_fini(&why);
}

/* --- other methods ---------------------------------------------------------------------------- */

static void initialize(pdl_serve *s, pdl_exchange *x, pdl_vref id, pdl_vref params) {
    pdl_vref wanted = pdl_is_dict(params) ? pdl_dict_getz(params, "protocolVersion") : pdl_absent();
    const char *version = versions[0];
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (pdl_text_is(wanted, versions[i])) version = versions[i];
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "protocolVersion", pdl_textz(version));
    d = pdl_dict_putz(d, "capabilities", pdl_dict_putz(pdl_dict_new(1), "tools", pdl_dict_new(0)));
    pdl_val info = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "name", pdl_textz("pdl")),
                                 "version", pdl_textz(PDL_VERSION));
    deliver(s, x, answer_of(id, "result", pdl_dict_putz(d, "serverInfo", info)));
}

static void ping(pdl_serve *s, pdl_exchange *x, pdl_vref id, pdl_vref params) {
    (void)params;
    deliver(s, x, answer_of(id, "result", pdl_dict_new(0)));
}

static void list_tools(pdl_serve *s, pdl_exchange *x, pdl_vref id, pdl_vref params) {
    pdl_val list = pdl_list_new(s->opt.n_models);
    (void)params;
    for (size_t i = 0; i < s->opt.n_models; i++)
        list = pdl_list_push(list, pdl_keep(s->tools[i].card));
    deliver(s, x, answer_of(id, "result", pdl_dict_putz(pdl_dict_new(1), "tools", list)));
}

static const struct {
    const char *name;
    void (*answer)(pdl_serve *s, pdl_exchange *x, pdl_vref id, pdl_vref params);
} methods[] = {{"initialize", initialize},
               {"ping", ping},
               {"tools/list", list_tools},
               {"tools/call", call_tool}};

/* Cancels a request. A client that sends lines cancels with a message, while a client over HTTP
 * disconnects. */
static void cancel(pdl_serve *s, pdl_vref params) {
    pdl_vref id = pdl_is_dict(params) ? pdl_dict_getz(params, "requestId") : pdl_absent();
    works *lists[] = {&s->going, &s->waiting};
    for (size_t i = 0; !pdl_is_absent(id) && i < 2; i++)
        for (work *w = lists[i]->first, *next; w; w = next) {
            next = w->next;
            if (w->form == &mcp && !w->x && pdl_val_eq(w->body, id)) pdl_serve_chat_free(w);
        }
}

/* --- messages --------------------------------------------------------------------------------- */

/* Handles a notification, or an answer that belongs to no request. */
static void take_silently(pdl_serve *s, pdl_exchange *x, pdl_vref message) {
    if (!x && pdl_text_is(pdl_dict_getz(message, "method"), "notifications/cancelled"))
        cancel(s, pdl_dict_getz(message, "params"));
    if (x) pdl_exchange_answer(x, 202, NULL, 0, (pdl_str){"", 0});
}

static void take_request(pdl_serve *s, pdl_exchange *x, pdl_vref id, pdl_vref method,
                         pdl_vref params) {
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (pdl_text_is(method, methods[i].name)) {
            methods[i].answer(s, x, id, params);
            return;
        }
    refuse(s, x, id, NO_METHOD, PDL_STR("Method not found"));
}

void pdl_serve_mcp_take(pdl_serve *s, pdl_exchange *x, pdl_val m) {
    pdl_vref id = pdl_is_dict(m) ? pdl_dict_getz(m, "id") : pdl_absent(),
             method = pdl_is_dict(m) ? pdl_dict_getz(m, "method") : pdl_absent();
    bool named = pdl_is_str(id) || pdl_is_int(id);
    if (!pdl_is_dict(m) || !pdl_text_is(pdl_dict_getz(m, "jsonrpc"), "2.0"))
        refuse(s, x, pdl_absent(), NO_REQUEST, PDL_STR("a message is an object of JSON-RPC 2.0"));
    else if (pdl_is_str(method) && named)
        take_request(s, x, id, method, pdl_dict_getz(m, "params"));
    else if (pdl_is_str(method) ? pdl_is_absent(id) : named)
        take_silently(s, x, m);
    else
        refuse(s, x, pdl_absent(), NO_REQUEST,
               PDL_STR("a request has a method, and an id that is a string or a number"));
    pdl_drop(m);
}

void pdl_serve_mcp_refuse_text(pdl_serve *s, pdl_exchange *x) {
    refuse(s, x, pdl_absent(), NOT_JSON, PDL_STR("a message is not JSON"));
}

void pdl_serve_answer_mcp(pdl_serve *s, pdl_exchange *x) {
    pdl_val m;
    pdl_err ignored = {0};
    if (pdl_json_read_document(pdl_exchange_body(x), 0, &m, &ignored))
        pdl_serve_mcp_take(s, x, m);
    else
        pdl_serve_mcp_refuse_text(s, x);
    pdl_err_fini(&ignored);
}
