/* embedding_wire.c -- the wire formats of embeddings: one writer and one reader for each; see
 * dialect.h. embedding_calls.c splits an embedding into several calls (spec providers 18).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/base64.h"
#include "model/ask/endpoint.h"
#include "model/ask/params.h"
#include "model/call/embedding_calls.h"
#include "model/wire/message_parts.h"

#include "base/banned.h"

/* --- shared parts ----------------------------------------------------------------------------- */

static pdl_vref get(pdl_vref v, const char *key) {
    return pdl_is_dict(v) ? pdl_dict_getz(v, key) : pdl_absent();
}

static size_t n_texts(const pdl_ask *a) { return pdl_list_len(a->texts); }

static bool is_finite(pdl_vref v) {
    return pdl_is(v, PDL_V_INT) || (pdl_is(v, PDL_V_FLOAT) && isfinite(pdl_float_of(v)));
}

static bool is_vector(pdl_vref v) {
    if (!pdl_is_list(v) || pdl_list_len(v) == 0) return false;
    for (size_t i = 0; i < pdl_list_len(v); i++)
        if (!is_finite(pdl_list_at(v, i))) return false;
    return true;
}

/* Decodes little-endian 32-bit floats in base64, which some services send unrequested. */
static pdl_val vector_of_base64(pdl_str text) {
    pdl_buf bytes = PDL_BUF;
    pdl_val out = pdl_absent();
    if (pdl_base64_read(text, &bytes) && bytes.len && bytes.len % 4 == 0) {
        out = pdl_list_new(bytes.len / 4);
        for (size_t i = 0; i < bytes.len; i += 4) {
            const unsigned char *p = (const unsigned char *)bytes.p + i;
            uint32_t bits =
                (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
            float f;
            memcpy(&f, &bits, sizeof f);
            out = pdl_list_push(out, pdl_float((double)f));
        }
    }
    pdl_buf_fini(&bytes);
    if (is_vector(out)) return out;
    pdl_drop(out);
    return pdl_absent();
}

/* Returns the vector; absent when v is not a vector. Owned. llama.cpp writes a list of vectors,
 * with one for each text that it pools. */
static pdl_val vector_of(pdl_vref v) {
    if (pdl_is_list(v) && pdl_list_len(v) == 1 && pdl_is_list(pdl_list_at(v, 0)))
        v = pdl_list_at(v, 0);
    if (pdl_is_str(v)) return vector_of_base64(pdl_str_get(v));
    return is_vector(v) ? pdl_keep(v) : pdl_absent();
}

static pdl_val usage_of(int64_t prompt, int64_t total) {
    if (prompt < 0) return pdl_null();
    pdl_val u = pdl_dict_putz(pdl_dict_new(2), "prompt_tokens", pdl_int(prompt));
    return pdl_dict_putz(u, "total_tokens", pdl_int(total < 0 ? prompt : total));
}

/* Returns the vector of the i-th item: the member `name` of the item, or the item itself when name
 * is NULL. */
static pdl_vref item_at(pdl_vref list, size_t i, const char *name) {
    pdl_vref x = pdl_list_at(list, i);
    return name ? get(x, name) : x;
}

/* Where the vectors of an answer are, and what they cost. */
typedef struct {
    pdl_vref list;
    const char *name; /* the key of the vector in each item; NULL when each item is a vector */
    pdl_val usage;    /* owned */
} found_vectors;

/* Makes the reply, with vectors in the order of the texts. Takes json and the usage. */
static bool answer(const pdl_ask *a, pdl_val json, found_vectors f, pdl_val *out, pdl_err *err) {
    size_t n = n_texts(a);
    pdl_val vectors = pdl_list_new(n);
    bool ok = pdl_is_list(f.list) && pdl_list_len(f.list) == n;
    for (size_t i = 0; ok && i < n; i++) {
        pdl_val v = vector_of(item_at(f.list, i, f.name));
        /* vectors of two lengths cannot be compared, so one of them is damaged */
        ok = !pdl_is_absent(v) &&
             (i == 0 || pdl_list_len(v) == pdl_list_len(pdl_list_at(vectors, 0)));
        if (!ok) pdl_drop(v);
        if (ok) vectors = pdl_list_push(vectors, v);
    }
    if (ok) {
        pdl_vref model = get(json, "model");
        pdl_val r = pdl_dict_putz(pdl_dict_new(3), "embeddings", vectors);
        r = pdl_dict_putz(r, "usage", f.usage);
        *out = pdl_dict_putz(r, "model", pdl_is_str(model) ? pdl_keep(model) : pdl_text(a->name));
    } else {
        pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                    "the answer does not have a vector of numbers for each of %zu texts, all of "
                    "one length",
                    n);
        pdl_drop(vectors);
        pdl_drop(f.usage);
    }
    pdl_drop(json);
    return ok;
}

static pdl_val merge_extra(const pdl_ask *a, pdl_val body) {
    pdl_vref extra = pdl_dict_getz(a->params, "extra_body");
    return pdl_is_dict(extra) ? pdl_dict_merge(body, extra) : body;
}

/* Places the parameters in top and inner by rules; takes both on failure. */
static bool place(pdl_ask *a, const pdl_param_rules *rules, pdl_val *top, pdl_val *inner,
                  pdl_err *err) {
    if (pdl_params_place(a, rules, top, inner, err)) return true;
    pdl_drop(*top);
    pdl_drop(*inner);
    return false;
}

/* --- OpenAI and compatible services ----------------------------------------------------------- */

static bool write_openai_body(pdl_ask *a, pdl_val *body, pdl_err *err) {
    pdl_val b = pdl_dict_putz(pdl_dict_new(4), "model", pdl_text(a->name)), none = pdl_dict_new(0);
    b = pdl_dict_putz(b, "input", pdl_keep(a->texts));
    if (!place(a, &(pdl_param_rules){.rest = PDL_TO_TOP}, &b, &none, err)) return false;
    pdl_drop(none);
    *body = merge_extra(a, b);
    return true;
}

static bool write_openai(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_endpoint_add(path, "/embeddings");
    return write_openai_body(a, body, err);
}

/* Returns data in the order of the texts, by `index`. Returns absent when an index is repeated or
 * out of range. */
static pdl_val in_order(pdl_vref data) {
    size_t n = pdl_list_len(data);
    pdl_val out = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) out = pdl_list_push(out, pdl_null());
    for (size_t i = 0; i < n; i++) {
        pdl_vref index = get(pdl_list_at(data, i), "index");
        int64_t at = (int64_t)i;
        bool given = !pdl_is_absent(index) && !pdl_is_null(index);
        bool ok = (!given || pdl_index_read(index, &at)) && at >= 0 && at < (int64_t)n;
        if (!ok || !pdl_is_null(pdl_list_at(out, (size_t)at))) {
            pdl_drop(out);
            return pdl_absent();
        }
        out = pdl_list_set(out, (size_t)at, pdl_keep(pdl_list_at(data, i)));
    }
    return out;
}

static bool read_openai(const pdl_ask *a, pdl_val json, pdl_val *out, pdl_err *err) {
    /* llama.cpp's own form, at an address without /v1, is the list itself */
    pdl_vref data = pdl_is_list(json) ? json : get(json, "data"), u = get(json, "usage");
    int64_t prompt = pdl_count_of(u, "prompt_tokens", pdl_count_of(u, "total_tokens", -1));
    pdl_val list = pdl_is_list(data) ? in_order(data) : pdl_absent();
    bool ok = answer(
        a, json,
        (found_vectors){list, "embedding", usage_of(prompt, pdl_count_of(u, "total_tokens", -1))},
        out, err);
    pdl_drop(list);
    return ok;
}

const pdl_embedder pdl_embedder_openai = {.write = write_openai, .read = read_openai};

/* --- Azure: OpenAI's body, other paths -------------------------------------------------------- */

static bool write_azure(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_azure_path(a, "embeddings", path);
    return write_openai_body(a, body, err);
}

const pdl_embedder pdl_embedder_azure = {.write = write_azure, .read = read_openai};

/* --- Hugging Face: a pipeline at the router, OpenAI's form at an address of the user's -------- */

static bool write_huggingface(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_str name = a->name, own = PDL_STR("hf-inference/");
    if (a->base_given) return write_openai(a, path, body, err);
    if (pdl_str_starts(name, own)) name = pdl_str_sub(name, own.n, name.n);
    pdl_buf_clear(path);
    PDL_PUT(path, "https://router.huggingface.co/hf-inference/models/");
    pdl_url_quote(name, "/", path);
    PDL_PUT(path, "/pipeline/feature-extraction");
    pdl_val b = pdl_dict_putz(pdl_dict_new(4), "inputs", pdl_keep(a->texts)),
            none = pdl_dict_new(0);
    if (!place(a, &(pdl_param_rules){.rest = PDL_TO_TOP}, &b, &none, err)) return false;
    pdl_drop(none);
    *body = merge_extra(a, b);
    return true;
}

static bool read_huggingface(const pdl_ask *a, pdl_val json, pdl_val *out, pdl_err *err) {
    if (!pdl_is_list(json)) return read_openai(a, json, out, err);
    return answer(a, json, (found_vectors){json, NULL, pdl_null()}, out, err);
}

const pdl_embedder pdl_embedder_huggingface = {.write = write_huggingface,
                                               .read = read_huggingface};

/* --- Ollama ----------------------------------------------------------------------------------- */

static bool write_ollama(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    static const pdl_param_rule rules[] = {
        {.name = "truncate", .to = PDL_TO_TOP},           {.name = "keep_alive", .to = PDL_TO_TOP},
        {.name = "dimensions", .to = PDL_TO_TOP},         {.name = "options", .to = PDL_TO_OWN},
        {.name = "encoding_format", .to = PDL_TO_NOBODY}, {.name = "user", .to = PDL_TO_NOBODY},
    };
    pdl_vref own = pdl_dict_getz(a->params, "options");
    pdl_val b = pdl_dict_putz(pdl_dict_new(4), "model", pdl_text(a->name));
    pdl_val options = pdl_is_dict(own) ? pdl_keep(own) : pdl_dict_new(2);
    pdl_endpoint_add(path, "/api/embed");
    b = pdl_dict_putz(b, "input", pdl_keep(a->texts));
    if (!place(a, PDL_PARAM_RULES(rules, PDL_TO_INNER), &b, &options, err)) return false;
    if (pdl_dict_len(options))
        b = pdl_dict_putz(b, "options", options);
    else
        pdl_drop(options);
    *body = merge_extra(a, b);
    return true;
}

static bool read_ollama(const pdl_ask *a, pdl_val json, pdl_val *out, pdl_err *err) {
    return answer(a, json,
                  (found_vectors){get(json, "embeddings"), NULL,
                                  usage_of(pdl_count_of(json, "prompt_eval_count", -1), -1)},
                  out, err);
}

const pdl_embedder pdl_embedder_ollama = {.write = write_ollama, .read = read_ollama};

/* --- watsonx ---------------------------------------------------------------------------------- */

static bool write_watsonx(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    static const pdl_param_rule rules[] = {
        {.name = "url", .to = PDL_TO_NOBODY},
        {.name = "project_id", .to = PDL_TO_NOBODY},
        {.name = "watsonx_project", .to = PDL_TO_NOBODY},
        {.name = "space_id", .to = PDL_TO_NOBODY},
        {.name = "encoding_format", .to = PDL_TO_NOBODY},
        {.name = "user", .to = PDL_TO_NOBODY},
        {.name = "parameters", .to = PDL_TO_OWN},
    };
    pdl_vref own = pdl_dict_getz(a->params, "parameters");
    pdl_val b = pdl_dict_putz(pdl_dict_new(4), "inputs", pdl_keep(a->texts));
    pdl_val inner = pdl_is_dict(own) ? pdl_keep(own) : pdl_dict_new(2);
    if (!pdl_watsonx_head(a, "text/embeddings", path, &b, err)) {
        pdl_drop(b);
        pdl_drop(inner);
        return false;
    }
    if (!place(a, PDL_PARAM_RULES(rules, PDL_TO_INNER), &b, &inner, err)) return false;
    if (pdl_dict_len(inner))
        b = pdl_dict_putz(b, "parameters", inner);
    else
        pdl_drop(inner);
    *body = merge_extra(a, b);
    return true;
}

static bool read_watsonx(const pdl_ask *a, pdl_val json, pdl_val *out, pdl_err *err) {
    return answer(a, json,
                  (found_vectors){get(json, "results"), "embedding",
                                  usage_of(pdl_count_of(json, "input_token_count", -1), -1)},
                  out, err);
}

const pdl_embedder pdl_embedder_watsonx = {.write = write_watsonx, .read = read_watsonx};

/* --- Gemini ----------------------------------------------------------------------------------- */

/* Returns the request for one text: the settings with the model and the text. */
static pdl_val gemini_request(const pdl_ask *a, pdl_vref settings, pdl_vref text) {
    pdl_val part = pdl_dict_putz(pdl_dict_new(1), "text", pdl_keep(text));
    pdl_val content = pdl_dict_putz(pdl_dict_new(1), "parts", pdl_list_push(pdl_list_new(1), part));
    pdl_val r = pdl_dict_putz(pdl_dict_new(4), "model", pdl_textf("models/%.*s", PDL_FMT(a->name)));
    return pdl_dict_merge(pdl_dict_putz(r, "content", content), settings);
}

static bool write_gemini(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    static const pdl_param_rule rules[] = {
        {.name = "dimensions", .as = "outputDimensionality", .to = PDL_TO_INNER},
        {.name = "task_type", .as = "taskType", .to = PDL_TO_INNER},
        {.name = "encoding_format", .to = PDL_TO_NOBODY},
        {.name = "user", .to = PDL_TO_NOBODY},
    };
    pdl_val b = pdl_dict_new(1), settings = pdl_dict_new(2), list = pdl_list_new(n_texts(a));
    PDL_PUT(path, "/models/");
    pdl_url_quote(a->name, "/", path);
    PDL_PUT(path, ":batchEmbedContents");
    if (!place(a, PDL_PARAM_RULES(rules, PDL_TO_INNER), &b, &settings, err)) {
        pdl_drop(list);
        return false;
    }
    for (size_t i = 0; i < n_texts(a); i++)
        list = pdl_list_push(list, gemini_request(a, settings, pdl_list_at(a->texts, i)));
    pdl_drop(settings);
    *body = merge_extra(a, pdl_dict_putz(b, "requests", list));
    return true;
}

static bool read_gemini(const pdl_ask *a, pdl_val json, pdl_val *out, pdl_err *err) {
    return answer(a, json, (found_vectors){get(json, "embeddings"), "values", pdl_null()}, out,
                  err);
}

const pdl_embedder pdl_embedder_gemini = {.write = write_gemini, .read = read_gemini};

/* --- Vertex AI -------------------------------------------------------------------------------- */

static bool write_vertex(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    static const pdl_param_rule rules[] = {
        {.name = "dimensions", .as = "outputDimensionality", .to = PDL_TO_INNER},
        {.name = "auto_truncate", .as = "autoTruncate", .to = PDL_TO_INNER},
        {.name = "task_type", .to = PDL_TO_OWN},
        {.name = "title", .to = PDL_TO_OWN},
        {.name = "encoding_format", .to = PDL_TO_NOBODY},
        {.name = "user", .to = PDL_TO_NOBODY},
    };
    /* these settings are repeated for every text */
    static const char *const each[] = {"task_type", "title"};
    pdl_val b = pdl_dict_new(2), settings = pdl_dict_new(2), list = pdl_list_new(n_texts(a));
    bool ok = pdl_vertex_path(a, path, err);
    if (ok) PDL_PUT(path, ":predict");
    if (!ok || !place(a, PDL_PARAM_RULES(rules, PDL_TO_INNER), &b, &settings, err)) {
        if (!ok) pdl_drop(b);
        if (!ok) pdl_drop(settings);
        pdl_drop(list);
        return false;
    }
    for (size_t i = 0; i < n_texts(a); i++) {
        pdl_val one = pdl_dict_putz(pdl_dict_new(3), "content", pdl_keep(pdl_list_at(a->texts, i)));
        for (size_t k = 0; k < sizeof each / sizeof each[0]; k++) {
            pdl_vref v = pdl_dict_getz(a->params, each[k]);
            if (!pdl_is_absent(v)) one = pdl_dict_putz(one, each[k], pdl_keep(v));
        }
        list = pdl_list_push(list, one);
    }
    b = pdl_dict_putz(b, "instances", list);
    if (pdl_dict_len(settings))
        b = pdl_dict_putz(b, "parameters", settings);
    else
        pdl_drop(settings);
    *body = merge_extra(a, b);
    return true;
}

/* Reads the reply, in which each vector has its own count of tokens. */
static bool read_vertex(const pdl_ask *a, pdl_val json, pdl_val *out, pdl_err *err) {
    pdl_vref all = get(json, "predictions");
    pdl_val list = pdl_list_new(n_texts(a));
    int64_t tokens = 0;
    for (size_t i = 0; pdl_is_list(all) && i < pdl_list_len(all); i++) {
        pdl_vref e = get(pdl_list_at(all, i), "embeddings"), v = get(e, "values"),
                 s = get(e, "statistics");
        int64_t n = pdl_count_of(s, "token_count", pdl_count_of(s, "tokenCount", -1));
        tokens = n < 0 || tokens < 0 ? -1 : tokens + n;
        list = pdl_list_push(list, pdl_is_absent(v) ? pdl_null() : pdl_keep(v));
    }
    bool ok = answer(a, json, (found_vectors){list, NULL, usage_of(tokens, -1)}, out, err);
    pdl_drop(list);
    return ok;
}

const pdl_embedder pdl_embedder_vertex = {
    .single = "gemini-embedding", .write = write_vertex, .read = read_vertex};

/* --- Bedrock: Titan takes one text ------------------------------------------------------------ */

static bool write_bedrock(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    static const pdl_param_rule rules[] = {
        {.name = "aws_bedrock_runtime_endpoint", .to = PDL_TO_NOBODY},
        {.name = "encoding_format", .to = PDL_TO_NOBODY},
        {.name = "user", .to = PDL_TO_NOBODY},
    };
    pdl_val b = pdl_dict_putz(pdl_dict_new(2), "inputText", pdl_keep(pdl_list_at(a->texts, 0))),
            none = pdl_dict_new(0);
    PDL_PUT(path, "/model/");
    pdl_url_quote(a->name, "", path);
    PDL_PUT(path, "/invoke");
    if (!place(a, PDL_PARAM_RULES(rules, PDL_TO_TOP), &b, &none, err)) return false;
    pdl_drop(none);
    *body = merge_extra(a, b);
    return true;
}

static bool read_bedrock(const pdl_ask *a, pdl_val json, pdl_val *out, pdl_err *err) {
    pdl_vref v = get(json, "embedding");
    pdl_val list = pdl_is_absent(v) ? pdl_list_new(0) : pdl_list_push(pdl_list_new(1), pdl_keep(v));
    bool ok = answer(
        a, json,
        (found_vectors){list, NULL, usage_of(pdl_count_of(json, "inputTextTokenCount", -1), -1)},
        out, err);
    pdl_drop(list);
    return ok;
}

const pdl_embedder pdl_embedder_bedrock = {
    .batch = 1, .write = write_bedrock, .read = read_bedrock};
