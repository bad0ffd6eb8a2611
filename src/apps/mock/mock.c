/* mock.c -- answers requests with replies from the list, or by repeating the request; see mock.h.
 * It finds the interface by the path of a request, answers embeddings and lists of models itself,
 * and passes everything else to mock_answer.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mock/mock.h"

#include "base/hash.h"
#include "io/httpd.h"
#include "mock/mock_answer.h"
#include "value/json_read.h"

#include "base/banned.h"

enum {
    MAX_BODY = 64 << 20,
    MAX_BODIES = 256 << 20,
    MAX_CONNECTIONS = 4096,
    RECEIVE_MS = 60000,
    SEND_MS = 60000,
    EMBEDDING = 8, /* length of a vector */
};

struct pdl_mock {
    pdl_mock_options opt;
    pdl_httpd *httpd;
    pdl_mock_script script;
    uint64_t n_requests;
};

/* --- other requests --------------------------------------------------------------------------- */

/* Returns a vector that depends only on the text, so equal texts have equal vectors. */
static pdl_val vector_of(pdl_vref text) {
    char hex[65];
    pdl_val list = pdl_list_new(EMBEDDING);
    pdl_hash_hex(pdl_is_str(text) ? pdl_str_get(text) : PDL_STR(""), hex);
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
    pdl_mock_send(x, 200, pdl_dict_putz(v, "model", pdl_textz("mock")));
}

/* Answers the embeddings of Ollama's interface. */
static void answer_embed(pdl_exchange *x, pdl_vref request) {
    pdl_vref input = pdl_dict_getz(request, "input");
    size_t n = pdl_is_list(input) ? pdl_list_len(input) : 1;
    pdl_val all = pdl_list_new(n);
    for (size_t i = 0; i < n; i++)
        all = pdl_list_push(all, vector_of(pdl_is_list(input) ? pdl_list_at(input, i) : input));
    pdl_mock_send(x, 200, pdl_dict_putz(pdl_dict_new(1), "embeddings", all));
}

static pdl_val model_card(pdl_str name) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(3), "id", pdl_text(name));
    m = pdl_dict_putz(m, "object", pdl_textz("model"));
    return pdl_dict_putz(m, "owned_by", pdl_textz("pdl mock"));
}

static void answer_models(pdl_exchange *x) {
    static const char *const names[] = {"mock", "echo", "upper", "roles"};
    enum { N_NAMES = sizeof names / sizeof *names };
    pdl_val data = pdl_list_new(N_NAMES);
    for (size_t i = 0; i < N_NAMES; i++)
        data = pdl_list_push(data, model_card(pdl_str_of(names[i])));
    pdl_val v = pdl_dict_putz(pdl_dict_new(2), "object", pdl_textz("list"));
    pdl_mock_send(x, 200, pdl_dict_putz(v, "data", data));
}

/* --- requests --------------------------------------------------------------------------------- */

/* Returns the path without the version at its beginning, and without a slash at its end. */
static pdl_str bare_path(pdl_str path) {
    pdl_str v1 = PDL_STR("/v1");
    if (pdl_str_starts(path, v1)) path = pdl_str_sub(path, v1.n, path.n);
    return pdl_str_ends(path, PDL_STR("/")) ? pdl_str_sub(path, 0, path.n - 1) : path;
}

static bool is_at(pdl_str path, const char *name) { return pdl_str_is(bare_path(path), name); }

static const pdl_mock_form *const forms[] = {&pdl_mock_chat, &pdl_mock_completion,
                                             &pdl_mock_ollama_chat, &pdl_mock_ollama_generate};
enum { N_FORMS = sizeof forms / sizeof *forms };

static const pdl_mock_form *form_at(pdl_str path) {
    for (size_t i = 0; i < N_FORMS; i++)
        if (is_at(path, forms[i]->path)) return forms[i];
    return NULL;
}

static void refuse(pdl_exchange *x, int status, pdl_str why) {
    const pdl_mock_form *form = form_at(pdl_exchange_path(x));
    pdl_mock_refuse(form ? form : &pdl_mock_chat, x, status, why);
}

static void refuse_path(pdl_exchange *x) {
    refuse(x, 404,
           PDL_STR("there are /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/models, "
                   "/api/chat, /api/generate and /api/embed"));
}

static void on_post(pdl_mock *m, pdl_exchange *x, pdl_str path) {
    const pdl_mock_form *form = form_at(path);
    pdl_val request;
    pdl_err err = {0};
    if (!pdl_json_read_document(pdl_exchange_body(x), 0, &request, &err)) {
        refuse(x, 400, pdl_str_of(err.msg));
        pdl_err_fini(&err);
        return;
    }
    if (pdl_is_dict(request) && form) {
        pdl_mock_answer_start(&m->opt, &m->script, ++m->n_requests, form, x, request);
        return;
    }
    if (!pdl_is_dict(request))
        refuse(x, 400, PDL_STR("the body should be a JSON object"));
    else if (is_at(path, "/embeddings"))
        answer_embeddings(x, request);
    else if (is_at(path, "/api/embed"))
        answer_embed(x, request);
    else
        refuse_path(x);
    pdl_drop(request);
}

static void on_request(void *user, pdl_exchange *x) {
    pdl_str path = pdl_exchange_path(x), models = PDL_STR("/models/"), bare = bare_path(path);
    if (pdl_str_is(pdl_exchange_method(x), "POST"))
        on_post(user, x, path);
    else if (is_at(path, "/models"))
        answer_models(x);
    else if (pdl_str_starts(bare, models)) /* any name is accepted, as in a request for a chat */
        pdl_mock_send(x, 200, model_card(pdl_str_sub(bare, models.n, bare.n)));
    else
        refuse_path(x);
}

static void on_over(void *user, pdl_exchange *x) {
    (void)user;
    pdl_mock_answer_free(pdl_exchange_get(x));
}

/* --- life ------------------------------------------------------------------------------------- */

/* Reads the replies; an error begins with the name of their file. */
static bool read_script(const pdl_mock_options *o, pdl_mock *m, pdl_err *err) {
    pdl_err own = {0};
    if (pdl_mock_script_read(o->replies, &m->script, err)) return true;
    if (!o->replies_file.n) return false;
    pdl_err_set(&own, err->kind, err->loc, "%.*s: %s", PDL_FMT(o->replies_file), err->msg);
    pdl_err_fini(err);
    pdl_err_move(err, &own);
    return false;
}

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
    if (!read_script(o, m, err) || !pdl_httpd_start(o->loop, &http, &m->httpd, err)) {
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
