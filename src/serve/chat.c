/* chat.c -- POST /v1/chat/completions: the request is read, a run of the program begins, what it prints goes
 * out.
 *
 * Variables of the run: pdl_context (the messages), `messages` (the same as a list), `question` (text of the
 * last message of the user), `request` (all other fields).
 */
#include <stdio.h>
#include <string.h>

#include "io/clock.h"
#include "io/sse.h"
#include "base/limits.h"
#include "serve/room.h"
#include "value/context.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/label.h"
#include "value/text.h"

#include "base/banned.h"

enum {
    FULL = 1 << 20, /* bytes that a client has not taken: its run rests until it has */
    SILENCE_MS = 15000,
    SHOWN = 100,
};

static const char invalid[] = "invalid_request_error";

/* --- the request ---------------------------------------------------------------------------------------- */

static bool is_true(pdl_vref d, const char *key) {
    pdl_vref v = pdl_is_dict(d) ? pdl_dict_getz(d, key) : pdl_absent();
    return pdl_is_bool(v) && pdl_bool_of(v);
}

static const pdl_served *find_model(const pdl_serve *s, pdl_vref name) {
    bool any = pdl_is_absent(name) || pdl_is_null(name);
    if (any && s->opt.n_models == 1) return s->opt.models;
    for (size_t i = 0; pdl_is_str(name) && i < s->opt.n_models; i++)
        if (pdl_str_eq(s->opt.models[i].name, pdl_str_get(name))) return &s->opt.models[i];
    return NULL;
}

static void no_model(pdl_exchange *x, pdl_vref name) {
    pdl_buf b = PDL_BUF;
    if (pdl_is_str(name)) {
        pdl_str shown = pdl_str_sub(pdl_str_get(name), 0, SHOWN);
        pdl_buf_putf(&b, "The model `%.*s` does not exist", PDL_FMT(shown));
        answer_error(x, 404, invalid, "model_not_found", pdl_buf_str(&b));
    } else {
        answer_error(x, 400, invalid, NULL, PDL_STR("you must provide a model parameter"));
    }
    pdl_buf_fini(&b);
}

/* NULL: all is well; else what is wrong. */
static const char *wrong_messages(pdl_vref list) {
    if (pdl_is_absent(list)) return "the field messages is missing";
    if (!pdl_is_list(list) || !pdl_list_len(list)) return "messages should be a list of at least one message";
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref m = pdl_list_at(list, i);
        if (!pdl_is_dict(m)) return "each of the messages should be an object";
        if (!pdl_is_str(pdl_dict_getz(m, "role")))
            return "each of the messages should have a role, which is a text";
        pdl_vref content = pdl_dict_getz(m, "content");
        bool fits = pdl_is_absent(content) || pdl_is_null(content) || pdl_is_str(content) ||
                    pdl_is_list(content);
        if (!fits) return "the content of a message should be a text or a list of parts";
    }
    return NULL;
}

/* Messages as a context takes them: each has a content. */
static pdl_val with_contents(pdl_vref list) {
    pdl_val out = pdl_list_new(pdl_list_len(list));
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_val m = pdl_keep(pdl_list_at(list, i));
        pdl_vref content = pdl_dict_getz(m, "content");
        if (pdl_is_absent(content) || pdl_is_null(content)) m = pdl_dict_putz(m, "content", pdl_textz(""));
        out = pdl_list_push(out, m);
    }
    return out;
}

/* Text of the last message of the user. */
static pdl_val question_of(pdl_vref messages) {
    pdl_buf b = PDL_BUF;
    for (size_t i = pdl_list_len(messages); i-- > 0;) {
        pdl_vref m = pdl_list_at(messages, i), content = pdl_dict_getz(m, "content");
        if (!pdl_text_is(pdl_dict_getz(m, "role"), "user")) continue;
        if (pdl_is_str(content)) pdl_buf_put(&b, pdl_str_get(content));
        for (size_t k = 0, n = pdl_is_list(content) ? pdl_list_len(content) : 0; k < n; k++) {
            pdl_vref part = pdl_list_at(content, k);
            pdl_vref text = pdl_is_dict(part) ? pdl_dict_getz(part, "text") : pdl_absent();
            if (pdl_is_str(text)) pdl_buf_put(&b, pdl_str_get(text));
        }
        break;
    }
    return pdl_text_of_buf(&b);
}

static pdl_val variables_of(const pdl_serve *s, pdl_vref body) {
    pdl_val messages = with_contents(pdl_dict_getz(body, "messages")), key = pdl_textz("messages");
    pdl_val v = pdl_dict_new(8);
    v = pdl_dict_merge(v, s->variables);
    v = pdl_dict_putz(v, "question", pdl_with_label(question_of(messages), PDL_LABEL_user));
    v = pdl_dict_putz(v, "request", pdl_with_label(pdl_dict_del(pdl_keep(body), key), PDL_LABEL_user));
    v = pdl_dict_putz(v, "pdl_context", pdl_keep(messages));
    pdl_drop(key);
    return pdl_dict_putz(v, "messages", pdl_with_label(messages, PDL_LABEL_user));
}

/* --- work ----------------------------------------------------------------------------------------------- */

static void make_id(pdl_serve *s, char *out, size_t size) {
    s->ids += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = s->ids;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    snprintf(out, size, "chatcmpl-%016llx", (unsigned long long)(z ^ (z >> 31)));
}

static void on_limit(void *user) {
    work *w = user;
    pdl_err err = {0};
    w->limit = NULL;
    w->late = true;
    pdl_err_set(&err, PDL_E_timeout, (pdl_loc){0}, "the program did not end in time");
    pdl_run_cancel(w->run, &err);
}

static void send(work *w, pdl_buf *b) {
    if (w->x) pdl_exchange_put(w->x, pdl_buf_str(b));
    pdl_buf_fini(b);
}

static void on_silence(void *user) {
    work *w = user;
    w->silence = pdl_timer_start(w->s->loop, SILENCE_MS, on_silence, w);
    if (w->x && !pdl_exchange_pending(w->x)) pdl_exchange_put(w->x, PDL_STR(": keep-alive\n\n"));
}

static void begin_pieces(work *w) {
    static const pdl_answer_header headers[] = {{"Content-Type", "text/event-stream"},
                                                {"Cache-Control", "no-cache"}};
    pdl_buf b = PDL_BUF;
    if (w->begun || !w->x) return;
    w->begun = true;
    pdl_exchange_begin(w->x, 200, headers, 2);
    pdl_val delta = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
    reply_piece(w, pdl_dict_putz(delta, "content", pdl_textz("")), NULL, &b);
    send(w, &b);
    w->silence = pdl_timer_start(w->s->loop, SILENCE_MS, on_silence, w);
}

/* What the program prints. */
static void on_event(void *user, const pdl_event *e) {
    work *w = user;
    pdl_buf b = PDL_BUF;
    if (e->kind != PDL_EVENT_text || !w->stream || !e->text.n) return;
    begin_pieces(w);
    reply_piece(w, pdl_dict_putz(pdl_dict_new(1), "content", pdl_text(e->text)), NULL, &b);
    send(w, &b);
    if (w->x && pdl_exchange_pending(w->x) > FULL) pdl_run_yield(w->run);
}

static work *new_work(pdl_serve *s, pdl_exchange *x, const pdl_served *model, pdl_vref body) {
    work *w = PDL_NEW(work);
    w->s = s;
    w->x = x;
    w->model = model;
    w->slot = s->slots[--s->n_slots];
    w->created = pdl_clock_wall_ns() / 1000000000;
    w->stream = is_true(body, "stream");
    w->wants_usage = is_true(pdl_dict_getz(body, "stream_options"), "include_usage");
    w->fresh = true;
    make_id(s, w->id, sizeof w->id);
    w->next = s->first;
    if (s->first) s->first->prev = w;
    s->first = w;
    pdl_exchange_set(x, w);
    pdl_val vars = variables_of(s, body);
    w->run = pdl_session_spawn(s->opt.session, &(pdl_spawn){
        .code = s->codes[model - s->opt.models], .dir = model->dir, .variables = vars, .slot = w->slot,
        .stream = w->stream ? PDL_STREAM_RESULT : PDL_STREAM_NONE, .sink = {w, on_event, false},
    });
    pdl_drop(vars);
    return w;
}

void chat_free(work *w) {
    pdl_serve *s = w->s;
    if (w->prev) w->prev->next = w->next;
    else s->first = w->next;
    if (w->next) w->next->prev = w->prev;
    if (w->x) pdl_exchange_set(w->x, NULL);
    pdl_run_free(w->run);
    pdl_timer_stop(w->limit);
    pdl_timer_stop(w->silence);
    s->slots[s->n_slots++] = w->slot;
    pdl_free(w);
}

void chat_over(void *user, pdl_exchange *x) {
    work *w = pdl_exchange_get(x);
    (void)user;
    if (!w) return;
    w->x = NULL;
    chat_free(w); /* the client has gone */
}

static bool read_body(pdl_exchange *x, pdl_val *out) {
    pdl_err err = {0};
    if (!pdl_json_read(pdl_exchange_body(x), 0, out, NULL, &err)) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "the body is not JSON: %s", err.msg);
        answer_error(x, 400, invalid, NULL, pdl_buf_str(&b));
        pdl_buf_fini(&b);
        pdl_err_fini(&err);
        return false;
    }
    if (pdl_is_dict(*out)) return true;
    answer_error(x, 400, invalid, NULL, PDL_STR("the body should be an object"));
    pdl_drop(*out);
    return false;
}

void chat_begin(pdl_serve *s, pdl_exchange *x) {
    pdl_val body;
    if (!read_body(x, &body)) return;
    const pdl_served *model = find_model(s, pdl_dict_getz(body, "model"));
    const char *wrong = wrong_messages(pdl_dict_getz(body, "messages"));
    if (!model) {
        no_model(x, pdl_dict_getz(body, "model"));
    } else if (wrong) {
        answer_error(x, 400, invalid, NULL, pdl_str_of(wrong));
    } else if (!s->n_slots) {
        answer_error(x, 503, "server_error", "overloaded",
                     PDL_STR("as many requests as allowed are under way"));
    } else {
        work *w = new_work(s, x, model, body);
        chat_step(w);
    }
    pdl_drop(body);
}

/* --- turns ---------------------------------------------------------------------------------------------- */

bool chat_is_ready(const work *w) {
    if (w->x && pdl_exchange_pending(w->x) > FULL && !w->late) return false;
    return w->fresh || w->late || pdl_run_is_ready(w->run);
}

/* The tool calls of the last message that the program contributed, owned; absent: none. */
static pdl_val tool_calls_of(const work *w) {
    pdl_message m;
    pdl_vref context = pdl_run_context(w->run);
    if (!pdl_is(context, PDL_V_CONTEXT) || !pdl_context_last(context, &m) || !pdl_is_dict(m.extra))
        return pdl_absent();
    pdl_vref calls = pdl_dict_getz(m.extra, "tool_calls");
    return pdl_is_list(calls) && pdl_list_len(calls) ? pdl_keep(calls) : pdl_absent();
}

/* In pieces each call is told with its place. */
static pdl_val numbered(pdl_vref calls) {
    pdl_val out = pdl_list_new(pdl_list_len(calls));
    for (size_t i = 0; i < pdl_list_len(calls); i++) {
        pdl_val c = pdl_keep(pdl_list_at(calls, i));
        if (pdl_is_dict(c)) c = pdl_dict_putz(c, "index", pdl_int((int64_t)i));
        out = pdl_list_push(out, c);
    }
    return out;
}

static void finish_pieces(work *w, pdl_vref calls) {
    pdl_buf b = PDL_BUF;
    begin_pieces(w);
    if (!pdl_is_absent(calls))
        reply_piece(w, pdl_dict_putz(pdl_dict_new(1), "tool_calls", numbered(calls)), NULL, &b);
    reply_piece(w, pdl_dict_new(0), pdl_is_absent(calls) ? "stop" : "tool_calls", &b);
    if (w->wants_usage) reply_usage(w, &b);
    PDL_PUT(&b, "data: [DONE]\n\n");
    send(w, &b);
    if (w->x) pdl_exchange_end(w->x);
}

static void fail(work *w, const pdl_err *why) {
    pdl_buf shown = PDL_BUF, b = PDL_BUF;
    const char *type = w->late ? "timeout" : "server_error";
    pdl_session_redact(w->s->opt.session, pdl_str_of(why->msg ? why->msg : "the program failed"), &shown);
    if (!w->begun) {
        answer_error(w->x, w->late ? 504 : 500, type, pdl_err_kind_name(why->kind), pdl_buf_str(&shown));
    } else {
        pdl_buf text = PDL_BUF;
        put_error(pdl_buf_str(&shown), type, pdl_err_kind_name(why->kind), &text);
        pdl_sse_write((pdl_str){0}, pdl_buf_str(&text), &b);
        pdl_buf_fini(&text);
        send(w, &b);
        if (w->x) pdl_exchange_end(w->x);
    }
    pdl_buf_fini(&shown);
}

/* The result; of a message that the program ends with, its content. */
static pdl_vref answer_of(const work *w) {
    pdl_vref v = pdl_run_result(w->run);
    pdl_message m;
    return pdl_is(v, PDL_V_CONTEXT) && pdl_context_last(v, &m) ? m.content : v;
}

static void succeed(work *w) {
    pdl_val calls = tool_calls_of(w);
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err err = {0};
    if (w->stream) finish_pieces(w, calls);
    else if (pdl_stringify(answer_of(w), &text, &err))
        answer_json(w->x, reply_whole(w, pdl_buf_str(&text), calls));
    else fail(w, &err);
    pdl_err_fini(&err);
    pdl_buf_fini(&text);
    pdl_drop(calls);
}

void chat_step(work *w) {
    w->fresh = false;
    pdl_step step = pdl_run_step(w->run);
    if (step == PDL_STEP_WAIT) {
        if (w->stream) begin_pieces(w);
        if (!w->limit) w->limit = pdl_timer_start(w->s->loop, w->s->opt.run_ms, on_limit, w);
        return;
    }
    if (step == PDL_STEP_FAIL) fail(w, pdl_run_error(w->run));
    else succeed(w);
    chat_free(w);
}
