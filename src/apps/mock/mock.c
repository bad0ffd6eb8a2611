/* mock.c -- answers requests from the list, or by repeating them; see mock.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mock/mock.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "io/clock.h"
#include "io/httpd.h"
#include "mock/completions.h"
#include "mock/script.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

#define PATHS "there are /v1/chat/completions, /v1/completions, /v1/embeddings and /v1/models"

enum {
    MAX_BODY = 64 << 20,
    MAX_BODIES = 256 << 20,
    MAX_CONNECTIONS = 4096,
    RECEIVE_MS = 60000,
    SEND_MS = 60000,
    EMBEDDING = 8, /* numbers of a vector */
    ID_BYTES = 48,
};

struct pdl_mock {
    pdl_mock_options opt;
    pdl_httpd *httpd;
    pdl_mock_script script;
    uint64_t n_requests;
};

/* An answer that is not complete yet; it ends with its exchange. */
typedef struct mock_reply {
    pdl_mock *mock;
    pdl_exchange *x;
    pdl_timer *timer;          /* NULL when it does not wait */
    pdl_val request;           /* owned, like the next ones */
    pdl_val message;           /* {role, content, tool_calls} */
    const pdl_mock_item *item; /* NULL when no item answers; borrowed */
    char id[ID_BYTES];
    bool streams, began;
    size_t at; /* bytes of the content that were streamed */
} mock_reply;

/* --- the request ------------------------------------------------------------------------------ */

static pdl_str text_or(pdl_vref v, const char *otherwise) {
    return pdl_is_str(v) ? pdl_str_get(v) : pdl_str_of(otherwise);
}

/* Appends the text of a content, which may be a list of parts. */
static void put_content(pdl_vref content, pdl_buf *out) {
    if (pdl_is_str(content)) pdl_buf_put(out, pdl_str_get(content));
    for (size_t i = 0; pdl_is_list(content) && i < pdl_list_len(content); i++) {
        pdl_vref part = pdl_list_at(content, i);
        pdl_vref text = pdl_is_dict(part) ? pdl_dict_getz(part, "text") : pdl_absent();
        if (pdl_is_str(text)) pdl_buf_put(out, pdl_str_get(text));
    }
}

static void put_last(pdl_vref request, pdl_buf *out) {
    pdl_vref list = pdl_dict_getz(request, "messages");
    size_t n = pdl_is_list(list) ? pdl_list_len(list) : 0;
    pdl_vref last = n ? pdl_list_at(list, n - 1) : pdl_absent();
    if (pdl_is_dict(last)) put_content(pdl_dict_getz(last, "content"), out);
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

static int64_t prompt_words(pdl_vref request) {
    pdl_vref list = pdl_dict_getz(request, "messages");
    int64_t n = 0;
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_buf b = PDL_BUF;
        pdl_vref m = pdl_list_at(list, i);
        if (pdl_is_dict(m)) put_content(pdl_dict_getz(m, "content"), &b);
        n += count_words(pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
    return n;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Completes a call of the script with the members that clients require. */
static pdl_val complete_call(const mock_reply *a, pdl_vref call, size_t i) {
    char id[ID_BYTES];
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

static pdl_val message_of(const mock_reply *a, pdl_str said) {
    pdl_vref reply = a->item ? a->item->reply : pdl_absent();
    pdl_val m = pdl_dict_putz(pdl_dict_new(3), "role", pdl_textz("assistant"));
    if (!pdl_is_dict(reply)) return pdl_dict_putz(m, "content", pdl_text(said));
    pdl_vref content = pdl_dict_getz(reply, "content"), calls = pdl_dict_getz(reply, "tool_calls");
    m = pdl_dict_putz(m, "content", pdl_is_str(content) ? pdl_keep(content) : pdl_null());
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

/* Makes an answer without an item: the last message, in capitals for the model `upper`; the roles
 * of all messages for `roles`. */
static void decide(mock_reply *a) {
    pdl_buf last = PDL_BUF, said = PDL_BUF;
    pdl_str model = text_or(pdl_dict_getz(a->request, "model"), "");
    put_last(a->request, &last);
    a->item = pdl_mock_script_next(&a->mock->script, model, pdl_buf_str(&last));
    if (a->item && pdl_is_str(a->item->reply))
        pdl_buf_put(&said, pdl_str_get(a->item->reply));
    else if (pdl_str_is(model, "upper"))
        pdl_utf8_upper(&said, pdl_buf_str(&last));
    else if (pdl_str_is(model, "roles"))
        put_roles(a->request, &said);
    else
        pdl_buf_put(&said, pdl_buf_str(&last));
    a->message = message_of(a, pdl_buf_str(&said));
    pdl_buf_fini(&last);
    pdl_buf_fini(&said);
}

static pdl_str content_of(const mock_reply *a) {
    return text_or(pdl_dict_getz(a->message, "content"), "");
}

static bool has_calls(const mock_reply *a) {
    return !pdl_is_absent(pdl_dict_getz(a->message, "tool_calls"));
}

static pdl_val usage_of(const mock_reply *a) {
    int64_t asked = prompt_words(a->request), said = count_words(content_of(a));
    pdl_val v = pdl_dict_putz(pdl_dict_new(3), "prompt_tokens", pdl_int(asked));
    v = pdl_dict_putz(v, "completion_tokens", pdl_int(said));
    return pdl_dict_putz(v, "total_tokens", pdl_int(asked + said));
}

static pdl_val envelope(const mock_reply *a, const char *object) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(6), "id", pdl_textz(a->id));
    v = pdl_dict_putz(v, "object", pdl_textz(object));
    v = pdl_dict_putz(v, "created", pdl_int(pdl_clock_wall_ns() / 1000000000));
    return pdl_dict_putz(v, "model", pdl_text(text_or(pdl_dict_getz(a->request, "model"), "")));
}

/* Returns one choice with the member `name`, and the reason of the end (NULL when more follows). */
static pdl_val choices_of(const char *name, pdl_val inside, const char *reason) {
    pdl_val c = pdl_dict_putz(pdl_dict_new(3), "index", pdl_int(0));
    c = pdl_dict_putz(c, name, inside);
    c = pdl_dict_putz(c, "finish_reason", reason ? pdl_textz(reason) : pdl_null());
    return pdl_list_push(pdl_list_new(1), c);
}

/* Adds the log-probabilities that the item gives. Takes choices. */
static pdl_val with_logprobs(const mock_reply *a, pdl_val choices) {
    if (!a->item || pdl_is_absent(a->item->logprobs)) return choices;
    pdl_val c = pdl_keep(pdl_list_at(choices, 0));
    pdl_drop(choices);
    c = pdl_dict_putz(c, "logprobs", pdl_mock_logprobs(content_of(a), a->item->logprobs));
    return pdl_list_push(pdl_list_new(1), c);
}

static const char *reason_of(const mock_reply *a) { return has_calls(a) ? "tool_calls" : "stop"; }

/* --- sending ---------------------------------------------------------------------------------- */

static void put_json(pdl_vref v, pdl_buf *out) {
    pdl_err ignored = {0};
    int flags = PDL_JSON_LOOSE | PDL_JSON_CUT | PDL_JSON_NAN_NULL;
    if (!pdl_json_write(v, flags, 0, out, &ignored)) PDL_PUT(out, "null");
    pdl_err_fini(&ignored);
}

static void answer_json(pdl_exchange *x, int status, pdl_val v) {
    static const pdl_answer_header headers[] = {{"Content-Type", "application/json"}};
    pdl_buf b = PDL_BUF;
    put_json(v, &b);
    pdl_exchange_answer(x, status, headers, 1, pdl_buf_str(&b));
    pdl_drop(v);
    pdl_buf_fini(&b);
}

static void refuse(pdl_exchange *x, int status, pdl_str why) {
    pdl_val e = pdl_dict_putz(pdl_dict_new(4), "message", pdl_text(why));
    e = pdl_dict_putz(e, "type",
                      pdl_textz(status == 429  ? "rate_limit_error"
                                : status < 500 ? "invalid_request_error"
                                               : "server_error"));
    e = pdl_dict_putz(e, "param", pdl_null());
    e = pdl_dict_putz(e, "code", pdl_null());
    answer_json(x, status, pdl_dict_putz(pdl_dict_new(1), "error", e));
}

static void put_chunk(const mock_reply *a, pdl_val choices, pdl_val usage) {
    pdl_val v = pdl_dict_putz(envelope(a, "chat.completion.chunk"), "choices", choices);
    if (!pdl_is_absent(usage)) v = pdl_dict_putz(v, "usage", usage);
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "data: ");
    put_json(v, &b);
    PDL_PUT(&b, "\n\n");
    pdl_exchange_put(a->x, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    pdl_drop(v);
}

/* Returns the next word with the blanks after it; empty at the end. */
static pdl_str next_word(mock_reply *a) {
    pdl_str s = content_of(a);
    size_t from = a->at;
    while (a->at < s.n && s.p[a->at] != ' ' && s.p[a->at] != '\n') a->at++;
    while (a->at < s.n && (s.p[a->at] == ' ' || s.p[a->at] == '\n')) a->at++;
    return pdl_str_sub(s, from, a->at);
}

static void stream_calls(const mock_reply *a) {
    pdl_vref calls = pdl_dict_getz(a->message, "tool_calls");
    for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++) {
        pdl_val call = pdl_dict_putz(pdl_keep(pdl_list_at(calls, i)), "index", pdl_int((int64_t)i));
        pdl_val delta =
            pdl_dict_putz(pdl_dict_new(1), "tool_calls", pdl_list_push(pdl_list_new(1), call));
        put_chunk(a, choices_of("delta", delta, NULL), pdl_absent());
    }
}

static void end_stream(const mock_reply *a) {
    pdl_vref options = pdl_dict_getz(a->request, "stream_options");
    pdl_vref wants = pdl_is_dict(options) ? pdl_dict_getz(options, "include_usage") : pdl_absent();
    stream_calls(a);
    put_chunk(a, choices_of("delta", pdl_dict_new(0), reason_of(a)), pdl_absent());
    if (pdl_is_bool(wants) && pdl_bool_of(wants)) put_chunk(a, pdl_list_new(0), usage_of(a));
    pdl_exchange_put(a->x, PDL_STR("data: [DONE]\n\n"));
    pdl_exchange_end(a->x);
}

static void stream_on(void *user);

static void wait_for(mock_reply *a, int64_t ms, void (*fn)(void *user)) {
    a->timer = pdl_timer_start(a->mock->opt.loop, (uint64_t)ms, fn, a);
}

static void begin_stream(mock_reply *a) {
    static const pdl_answer_header headers[] = {{"Content-Type", "text/event-stream"},
                                                {"Cache-Control", "no-store"}};
    pdl_val role = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
    pdl_exchange_begin(a->x, 200, headers, 2);
    put_chunk(a, choices_of("delta", pdl_dict_putz(role, "content", pdl_textz("")), NULL),
              pdl_absent());
    a->began = true;
}

/* Sends words, each after the delay; all at once without one. */
static void stream_on(void *user) {
    mock_reply *a = user;
    a->timer = NULL;
    if (!a->began) begin_stream(a);
    for (pdl_str word = next_word(a); word.n; word = next_word(a)) {
        pdl_val delta = pdl_dict_putz(pdl_dict_new(1), "content", pdl_text(word));
        bool first = word.p == content_of(a).p;
        pdl_val choices = choices_of("delta", delta, NULL);
        put_chunk(a, first ? with_logprobs(a, choices) : choices, pdl_absent());
        if (!a->mock->opt.delay_ms) continue;
        wait_for(a, a->mock->opt.delay_ms, stream_on);
        return;
    }
    end_stream(a);
}

static void answer_now(void *user) {
    mock_reply *a = user;
    char seconds[32];
    a->timer = NULL;
    if (a->item && a->item->status) {
        if (a->item->retry_after >= 0) {
            snprintf(seconds, sizeof seconds, "%g", a->item->retry_after);
            pdl_exchange_add_header(a->x, "Retry-After", seconds);
        }
        refuse(a->x, (int)a->item->status,
               a->item->error.p ? a->item->error : PDL_STR("refused by the script"));
    } else if (!a->item && a->mock->opt.strict) {
        refuse(a->x, 404, PDL_STR("no item of the replies fits this request"));
    } else if (a->streams) {
        stream_on(a);
    } else {
        pdl_val choices = choices_of("message", pdl_keep(a->message), reason_of(a));
        pdl_val v = pdl_dict_putz(envelope(a, "chat.completion"), "choices",
                                  with_logprobs(a, choices));
        answer_json(a->x, 200, pdl_dict_putz(v, "usage", usage_of(a)));
    }
}

static void log_answer(const mock_reply *a) {
    pdl_buf b = PDL_BUF, last = PDL_BUF;
    if (!a->mock->opt.log) return;
    put_last(a->request, &last);
    pdl_val v =
        pdl_dict_putz(pdl_dict_new(3), "model", pdl_keep(pdl_dict_getz(a->request, "model")));
    v = pdl_dict_putz(v, "asked", pdl_text(pdl_buf_str(&last)));
    if (a->item && a->item->status)
        v = pdl_dict_putz(v, "status", pdl_int(a->item->status));
    else
        v = pdl_dict_putz(v, "said", pdl_keep(pdl_dict_getz(a->message, "content")));
    put_json(v, &b);
    pdl_buf_putc(&b, '\n');
    a->mock->opt.log(a->mock->opt.user, pdl_buf_str(&b));
    pdl_drop(v);
    pdl_buf_fini(&b);
    pdl_buf_fini(&last);
}

/* Answers a chat. Takes request. */
static void answer_chat(pdl_mock *m, pdl_exchange *x, pdl_val request) {
    mock_reply *a = PDL_NEW(mock_reply);
    pdl_vref stream = pdl_dict_getz(request, "stream");
    *a = (mock_reply){.mock = m,
                      .x = x,
                      .request = request,
                      .streams = pdl_is_bool(stream) && pdl_bool_of(stream)};
    snprintf(a->id, sizeof a->id, "chatcmpl-mock-%llu", (unsigned long long)++m->n_requests);
    pdl_exchange_set(x, a);
    decide(a);
    log_answer(a);
    int64_t delay = (a->item ? a->item->delay_ms : 0) + m->opt.delay_ms;
    if (delay)
        wait_for(a, delay, answer_now);
    else
        answer_now(a);
}

/* Answers the older request for texts: whole, or as a stream of one piece. */
static void answer_completions(pdl_mock *m, pdl_exchange *x, pdl_vref request) {
    pdl_str model = text_or(pdl_dict_getz(request, "model"), "");
    const pdl_mock_item *item =
        pdl_mock_script_next(&m->script, model, pdl_mock_first_prompt(request));
    if (!item && m->opt.strict) {
        refuse(x, 404, PDL_STR("no item of the replies fits this request"));
        return;
    }
    if (item && item->status) {
        refuse(x, (int)item->status,
               item->error.p ? item->error : PDL_STR("refused by the script"));
        return;
    }
    pdl_val v = pdl_dict_putz(pdl_dict_new(4), "object", pdl_textz("text_completion"));
    v = pdl_dict_putz(v, "model", pdl_text(model));
    v = pdl_dict_putz(v, "choices", pdl_mock_completions(item, request));
    pdl_vref stream = pdl_dict_getz(request, "stream");
    if (!pdl_is_bool(stream) || !pdl_bool_of(stream)) {
        answer_json(x, 200, v);
        return;
    }
    static const pdl_answer_header headers[] = {{"Content-Type", "text/event-stream"}};
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "data: ");
    put_json(v, &b);
    PDL_PUT(&b, "\n\ndata: [DONE]\n\n");
    pdl_exchange_begin(x, 200, headers, 1);
    pdl_exchange_put(x, pdl_buf_str(&b));
    pdl_exchange_end(x);
    pdl_drop(v);
    pdl_buf_fini(&b);
}

/* --- other requests --------------------------------------------------------------------------- */

/* Returns a vector that depends only on the text: equal texts have equal vectors. */
static pdl_val vector_of(pdl_vref text) {
    char hex[65];
    pdl_val list = pdl_list_new(EMBEDDING);
    pdl_hash_hex(text_or(text, ""), hex);
    for (size_t i = 0; i < EMBEDDING; i++) {
        int high = hex[2 * i] <= '9' ? hex[2 * i] - '0' : hex[2 * i] - 'a' + 10;
        int low = hex[2 * i + 1] <= '9' ? hex[2 * i + 1] - '0' : hex[2 * i + 1] - 'a' + 10;
        list = pdl_list_push(list, pdl_float((16 * high + low) / 127.5 - 1));
    }
    return list;
}

static pdl_val embedding_of(pdl_vref text, size_t i) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(3), "object", pdl_textz("embedding"));
    v = pdl_dict_putz(v, "index", pdl_int((int64_t)i));
    return pdl_dict_putz(v, "embedding", vector_of(text));
}

static void answer_embeddings(pdl_exchange *x, pdl_vref request) {
    pdl_vref input = pdl_dict_getz(request, "input");
    size_t n = pdl_is_list(input) ? pdl_list_len(input) : 1;
    pdl_val data = pdl_list_new(n), v = pdl_dict_putz(pdl_dict_new(3), "object", pdl_textz("list"));
    for (size_t i = 0; i < n; i++)
        data = pdl_list_push(data,
                             embedding_of(pdl_is_list(input) ? pdl_list_at(input, i) : input, i));
    v = pdl_dict_putz(v, "data", data);
    answer_json(x, 200, pdl_dict_putz(v, "model", pdl_textz("mock")));
}

static void answer_models(pdl_exchange *x) {
    static const char *const names[] = {"mock", "echo", "upper", "roles"};
    enum { N_NAMES = sizeof names / sizeof *names };
    pdl_val data = pdl_list_new(N_NAMES);
    for (size_t i = 0; i < N_NAMES; i++) {
        pdl_val m = pdl_dict_putz(pdl_dict_new(3), "id", pdl_textz(names[i]));
        m = pdl_dict_putz(m, "object", pdl_textz("model"));
        data = pdl_list_push(data, pdl_dict_putz(m, "owned_by", pdl_textz("pdl mock")));
    }
    pdl_val v = pdl_dict_putz(pdl_dict_new(2), "object", pdl_textz("list"));
    answer_json(x, 200, pdl_dict_putz(v, "data", data));
}

/* --- requests --------------------------------------------------------------------------------- */

static bool is_at(pdl_str path, const char *name) {
    pdl_str v1 = PDL_STR("/v1");
    if (pdl_str_starts(path, v1)) path = pdl_str_sub(path, v1.n, path.n);
    if (pdl_str_ends(path, PDL_STR("/"))) path = pdl_str_sub(path, 0, path.n - 1);
    return pdl_str_is(path, name);
}

static void on_post(pdl_mock *m, pdl_exchange *x, pdl_str path) {
    pdl_val request;
    pdl_err err = {0};
    if (!pdl_json_read(pdl_exchange_body(x), 0, &request, NULL, &err)) {
        refuse(x, 400, pdl_str_of(err.msg));
        pdl_err_fini(&err);
        return;
    }
    if (pdl_is_dict(request) && is_at(path, "/chat/completions")) {
        answer_chat(m, x, request);
        return;
    }
    if (!pdl_is_dict(request))
        refuse(x, 400, PDL_STR("the body should be a JSON object"));
    else if (is_at(path, "/completions"))
        answer_completions(m, x, request);
    else if (is_at(path, "/embeddings"))
        answer_embeddings(x, request);
    else
        refuse(x, 404, PDL_STR(PATHS));
    pdl_drop(request);
}

static void on_request(void *user, pdl_exchange *x) {
    pdl_str path = pdl_exchange_path(x);
    if (pdl_str_is(pdl_exchange_method(x), "POST"))
        on_post(user, x, path);
    else if (is_at(path, "/models"))
        answer_models(x);
    else
        refuse(x, 404, PDL_STR(PATHS));
}

static void on_over(void *user, pdl_exchange *x) {
    mock_reply *a = pdl_exchange_get(x);
    (void)user;
    if (!a) return;
    pdl_timer_stop(a->timer);
    pdl_drop(a->request);
    pdl_drop(a->message);
    pdl_free(a);
}

/* --- life ------------------------------------------------------------------------------------- */

bool pdl_mock_start(const pdl_mock_options *o, pdl_mock **out, pdl_err *err) {
    pdl_mock *m = PDL_NEW(pdl_mock);
    m->opt = *o;
    pdl_httpd_options http = {
        .host = o->host,
        .port = o->port,
        .max_body = MAX_BODY,
        .max_bodies = MAX_BODIES,
        .max_connections = MAX_CONNECTIONS,
        .receive_ms = RECEIVE_MS,
        .send_ms = SEND_MS,
        .user = m,
        .request = on_request,
        .over = on_over,
    };
    if (!pdl_mock_script_read(o->replies, &m->script, err) ||
        !pdl_httpd_start(o->loop, &http, &m->httpd, err)) {
        pdl_mock_free(m);
        return false;
    }
    *out = m;
    return true;
}

uint16_t pdl_mock_port(const pdl_mock *m) { return pdl_httpd_port(m->httpd); }

void pdl_mock_free(pdl_mock *m) {
    if (!m) return;
    pdl_httpd_free(m->httpd);
    pdl_mock_script_fini(&m->script);
    pdl_free(m);
}
