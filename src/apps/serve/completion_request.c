/* completion_request.c -- reads and checks a request for a completion, and makes the variables of a
 * run from it: pdl_context (the messages), `messages` (the same as a list), `question` (text of the
 * last message of the user), `request` (all other fields). Everything that a client can get wrong
 * is refused here, with the name of the field, before a slot is taken. The values are labelled as
 * the client's, so that policies can judge them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "serve/form.h"
#include "serve/request_log.h"
#include "value/context.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/label.h"
#include "value/text.h"

#include "base/banned.h"

enum { SHOWN = 100 };

bool pdl_serve_ask_is_true(pdl_vref d, const char *key) {
    pdl_vref v = pdl_is_dict(d) ? pdl_dict_getz(d, key) : pdl_absent();
    return pdl_is_bool(v) && pdl_bool_of(v);
}

const pdl_served *pdl_serve_ask_model(const pdl_serve *s, pdl_exchange *x, pdl_str name) {
    for (size_t i = 0; i < s->opt.n_models; i++)
        if (pdl_str_eq(s->opt.models[i].name, name)) {
            pdl_serve_record_model(x, &s->opt.models[i]);
            return &s->opt.models[i];
        }
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "The model `%.*s` does not exist", PDL_FMT(pdl_utf8_cut(name, SHOWN)));
    pdl_serve_answer_error(x, 404, SERVE_INVALID, "model_not_found", pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return NULL;
}

/* Finds the model of a request for a completion, which may leave out the name when there is only
 * one model. */
static const pdl_served *model_of(const pdl_serve *s, pdl_exchange *x, pdl_vref name) {
    if (pdl_is_str(name)) return pdl_serve_ask_model(s, x, pdl_str_get(name));
    bool any = pdl_is_absent(name) || pdl_is_null(name);
    if (any && s->opt.n_models == 1) return pdl_serve_ask_model(s, x, s->opt.models->name);
    pdl_serve_answer_wrong(x, "model", "missing_required_parameter",
                           PDL_STR("you must provide a model parameter"));
    return NULL;
}

/* Labels a value of the client as typed by a user, since the server cannot know more. */
static pdl_val of_client(pdl_val v) { return pdl_with_label(v, PDL_LABEL_user | PDL_LABEL_FREE); }

/* Returns the label of a message according to its role. The client says that a model or a tool
 * wrote the message, so its text does not count as the user's words. */
static pdl_label label_of_role(pdl_vref role) {
    if (pdl_text_is(role, "assistant")) return PDL_LABEL_model | PDL_LABEL_FREE;
    bool tool = pdl_text_is(role, "tool") || pdl_text_is(role, "function");
    return (tool ? PDL_LABEL_tool : PDL_LABEL_user) | PDL_LABEL_FREE;
}

/* Labels the fields of a request (taken). The definitions of tools are the words of their author,
 * all other fields those of the client. */
static pdl_val of_request(pdl_val fields) {
    static const char *const names[] = {"tools", "functions"};
    pdl_val out = pdl_dict_new(pdl_dict_len(fields));
    for (size_t i = 0; i < pdl_dict_len(fields); i++) {
        pdl_vref key = pdl_dict_key_at(fields, i);
        pdl_val v = pdl_keep(pdl_dict_val_at(fields, i));
        bool tools = pdl_is_str(key) && PDL_STR_IN(pdl_str_get(key), names);
        v = tools ? pdl_with_label(v, PDL_LABEL_tool | PDL_LABEL_FREE) : of_client(v);
        out = pdl_dict_put(out, pdl_keep(key), v);
    }
    pdl_drop(fields);
    return out;
}

/* Labels the messages. Adds an empty content to a message without a content, because a context
 * requires one. */
static pdl_val with_contents(pdl_vref list) {
    pdl_val out = pdl_list_new(pdl_list_len(list));
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_val m = pdl_keep(pdl_list_at(list, i));
        pdl_vref content = pdl_dict_getz(m, "content");
        if (pdl_is_absent(content) || pdl_is_null(content))
            m = pdl_dict_putz(m, "content", pdl_textz(""));
        out = pdl_list_push(out, pdl_with_label(m, label_of_role(pdl_dict_getz(m, "role"))));
    }
    return out;
}

/* Returns the text of the last message of the user. */
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

/* Reads the number of choices, which is 1 when v is absent or null. */
static bool read_n(const pdl_serve *s, pdl_vref v, uint32_t *n, pdl_buf *wrong) {
    int64_t most =
                s->opt.max_runs < PDL_MAX_SERVE_CHOICES ? s->opt.max_runs : PDL_MAX_SERVE_CHOICES,
            k = 1;
    bool given = !pdl_is_absent(v) && !pdl_is_null(v);
    if (!given || (pdl_is_int(v) && pdl_int_get(v, &k) && k >= 1 && k <= most)) {
        *n = (uint32_t)k;
        return true;
    }
    pdl_buf_putf(wrong, "n should be a whole number from 1 to %lld", (long long)most);
    return false;
}

/* Adds limits under the names with which programs can pass them to a model. A limit is null when
 * neither the request nor the command sets it. */
static pdl_val with_limits(pdl_val v, pdl_vref chat) {
    int64_t most = pdl_serve_cutoff_max_tokens(chat);
    pdl_vref stop = pdl_dict_getz(chat, "stop");
    bool stops = !pdl_is_absent(stop) && !pdl_is_null(stop);
    if (most || pdl_is_absent(pdl_dict_getz(v, "max_tokens")))
        v = pdl_dict_putz(v, "max_tokens", most ? of_client(pdl_int(most)) : pdl_null());
    if (stops || pdl_is_absent(pdl_dict_getz(v, "stop")))
        v = pdl_dict_putz(v, "stop", stops ? of_client(pdl_keep(stop)) : pdl_null());
    return v;
}

pdl_val pdl_serve_ask_variables(const pdl_serve *s, pdl_vref chat, pdl_vref given) {
    pdl_val messages = with_contents(given), key = pdl_textz("messages");
    pdl_val v = pdl_dict_new(8);
    v = with_limits(pdl_dict_merge(v, s->variables), chat);
    v = pdl_dict_putz(v, "question", of_client(question_of(messages)));
    v = pdl_dict_putz(v, "request", of_request(pdl_dict_del(pdl_keep(chat), key)));
    v = pdl_dict_putz(v, "pdl_context", pdl_keep(messages));
    pdl_drop(key);
    return pdl_dict_putz(v, "messages", messages);
}

static bool read_body(pdl_exchange *x, pdl_val *out) {
    pdl_err err = {0};
    if (!pdl_json_read_document(pdl_exchange_body(x), 0, out, &err)) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "the body is not JSON: %s", err.msg);
        pdl_serve_answer_error(x, 400, SERVE_INVALID, NULL, pdl_buf_str(&b));
        pdl_buf_fini(&b);
        pdl_err_fini(&err);
        return false;
    }
    if (pdl_is_dict(*out)) return true;
    pdl_serve_answer_error(x, 400, SERVE_INVALID, NULL, PDL_STR("the body should be an object"));
    pdl_drop(*out);
    return false;
}

/* Checks the fields of a chat, and finds its model and its number of choices. When a field is
 * wrong, answers the request and returns false. */
static bool check_chat(const pdl_serve *s, pdl_exchange *x, pdl_vref chat, const pdl_served **model,
                       uint32_t *n) {
    pdl_buf why = PDL_BUF;
    bool ok = pdl_serve_ask_fields(x, chat) &&
              (*model = model_of(s, x, pdl_dict_getz(chat, "model"))) != NULL &&
              pdl_serve_ask_messages(x, pdl_dict_getz(chat, "messages"));
    if (ok && !pdl_serve_cutoff_is_stop(pdl_dict_getz(chat, "stop"))) {
        pdl_serve_answer_wrong(
            x, "stop", "invalid_value",
            PDL_STR(
                "stop should be a text or a list of up to 4 texts, of at most 1000 bytes each"));
        ok = false;
    }
    if (ok && !read_n(s, pdl_dict_getz(chat, "n"), n, &why)) {
        pdl_serve_answer_wrong(x, "n", "invalid_value", pdl_buf_str(&why));
        ok = false;
    }
    pdl_buf_fini(&why);
    return ok;
}

bool pdl_serve_ask_read(pdl_serve *s, pdl_exchange *x, const form *f, request *out) {
    request a = {.chat = pdl_absent()};
    bool ok = true;
    if (!read_body(x, &a.body)) return false;
    if (f->read)
        ok = f->read(s, x, a.body, &a.chat);
    else
        a.chat = pdl_keep(a.body);
    if (ok && check_chat(s, x, a.chat, &a.model, &a.n)) {
        *out = a;
        return true;
    }
    pdl_drop(a.body);
    pdl_drop(a.chat);
    return false;
}
