/* embedding.c -- the form of vectors: /v1/embeddings, for programs whose result is a list of
 * vectors, one for each text of `request.input`. There are no pieces: the result of the run is
 * checked and converted at once, as numbers or as base64, as the client requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/base64.h"
#include "serve/form.h"
#include "value/int.h"

#include "base/banned.h"

/* --- the request ------------------------------------------------------------------------------ */

/* Returns the texts as a list, owned; absent when input is not text. */
static pdl_val texts_of(pdl_vref input) {
    if (pdl_is_str(input)) return pdl_list_push(pdl_list_new(1), pdl_keep(input));
    if (!pdl_is_list(input) || !pdl_list_len(input)) return pdl_absent();
    for (size_t i = 0; i < pdl_list_len(input); i++)
        if (!pdl_is_str(pdl_list_at(input, i))) return pdl_absent();
    return pdl_keep(input);
}

static bool read_asked(pdl_serve *s, pdl_exchange *x, pdl_vref body, pdl_val *asked) {
    (void)s;
    pdl_vref format = pdl_dict_getz(body, "encoding_format");
    bool known = pdl_is_absent(format) || pdl_is_null(format) || pdl_text_is(format, "float") ||
                 pdl_text_is(format, "base64");
    pdl_vref size = pdl_dict_getz(body, "dimensions");
    int64_t n_size = 1;
    bool sized = pdl_is_absent(size) || pdl_is_null(size) ||
                 (pdl_is_int(size) && (!pdl_int_get(size, &n_size) || n_size > 0));
    pdl_val texts = texts_of(pdl_dict_getz(body, "input"));
    if (pdl_is_absent(texts)) {
        pdl_serve_answer_wrong(
            x, "input", "invalid_type",
            PDL_STR("input should be a string or an array of strings; tokens are not taken"));
        return false;
    }
    if (!known || !sized) {
        pdl_serve_answer_wrong(x, known ? "dimensions" : "encoding_format", "invalid_value",
                               known ? PDL_STR("dimensions should be a positive integer")
                                     : PDL_STR("encoding_format should be float or base64"));
        pdl_drop(texts);
        return false;
    }
    pdl_val messages = pdl_list_new(pdl_list_len(texts)), n = pdl_textz("n");
    for (size_t i = 0; i < pdl_list_len(texts); i++) {
        pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("user"));
        messages =
            pdl_list_push(messages, pdl_dict_putz(m, "content", pdl_keep(pdl_list_at(texts, i))));
    }
    pdl_val d = pdl_dict_del(pdl_keep(body), n);
    pdl_drop(n);
    *asked = pdl_dict_putz(pdl_dict_putz(d, "input", texts), "messages", messages);
    return true;
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool is_number(pdl_vref v) { return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT); }

static bool is_vector(pdl_vref v) {
    if (!pdl_is_list(v) || !pdl_list_len(v)) return false;
    for (size_t i = 0; i < pdl_list_len(v); i++)
        if (!is_number(pdl_list_at(v, i))) return false;
    return true;
}

static double number_of(pdl_vref v) {
    int64_t n = 0;
    return pdl_is_int(v) ? (pdl_int_get(v, &n) ? (double)n : 0) : pdl_float_of(v);
}

/* Returns the numbers as base64. Each number has four bytes, the lowest byte first. */
static pdl_val packed(pdl_vref vector) {
    pdl_buf bytes = PDL_BUF, text = PDL_BUF;
    for (size_t i = 0; i < pdl_list_len(vector); i++) {
        float f = (float)number_of(pdl_list_at(vector, i));
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        for (unsigned k = 0; k < 4; k++) pdl_buf_putc(&bytes, (char)(bits >> 8 * k & 0xff));
    }
    pdl_base64_put(pdl_buf_str(&bytes), false, &text);
    pdl_buf_fini(&bytes);
    return pdl_text_of_buf(&text);
}

/* Returns the vectors of a result. The result is a list of vectors, or a value that stdlib.embed
 * returned. A single vector becomes a list with one vector. Owned. */
static pdl_val vectors_of(pdl_vref result) {
    pdl_vref inside = pdl_is_dict(result) ? pdl_dict_getz(result, "embeddings") : result;
    if (is_vector(inside)) return pdl_list_push(pdl_list_new(1), pdl_keep(inside));
    return pdl_is_list(inside) ? pdl_keep(inside) : pdl_list_new(0);
}

static bool check_vectors(pdl_vref vectors, size_t wanted, pdl_err *err) {
    if (pdl_list_len(vectors) != wanted)
        return pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                           "the program should give %zu vectors, but gives %zu", wanted,
                           pdl_list_len(vectors));
    for (size_t i = 0; i < wanted; i++)
        if (!is_vector(pdl_list_at(vectors, i)))
            return pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                               "vector %zu of the program is not a list of numbers", i);
    return true;
}

/* Returns the number of tokens in a result of stdlib.embed, or else the number of tokens of the
 * model calls. */
static pdl_val usage_of(const work *w, pdl_vref result) {
    pdl_val all = pdl_serve_form_usage(w, "prompt_tokens", "completion_tokens"),
            d = pdl_dict_new(2);
    pdl_vref own = pdl_is_dict(result) ? pdl_dict_getz(result, "usage") : pdl_absent();
    pdl_vref n = pdl_is_dict(own) ? pdl_dict_getz(own, "prompt_tokens") : pdl_absent();
    pdl_val prompt = pdl_keep(pdl_is_int(n) ? n : pdl_dict_getz(all, "prompt_tokens"));
    d = pdl_dict_putz(d, "prompt_tokens", pdl_keep(prompt));
    d = pdl_dict_putz(d, "total_tokens", prompt);
    pdl_drop(all);
    return d;
}

static bool whole(work *w, pdl_val *out, pdl_err *err) {
    pdl_vref result = pdl_run_result(w->choices[0].run);
    bool packs = pdl_text_is(pdl_dict_getz(w->asked, "encoding_format"), "base64");
    pdl_val vectors = vectors_of(result), data = pdl_list_new(pdl_list_len(vectors));
    bool ok = check_vectors(vectors, pdl_list_len(pdl_dict_getz(w->asked, "input")), err);
    for (size_t i = 0; ok && i < pdl_list_len(vectors); i++) {
        pdl_vref v = pdl_list_at(vectors, i);
        pdl_val d = pdl_dict_putz(pdl_dict_new(3), "object", pdl_textz("embedding"));
        d = pdl_dict_putz(d, "index", pdl_int((int64_t)i));
        data = pdl_list_push(data, pdl_dict_putz(d, "embedding", packs ? packed(v) : pdl_keep(v)));
    }
    pdl_drop(vectors);
    if (!ok) {
        pdl_drop(data);
        return false;
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "object", pdl_textz("list"));
    d = pdl_dict_putz(d, "data", data);
    d = pdl_dict_putz(d, "model", pdl_text(w->model->name));
    *out = pdl_dict_putz(d, "usage", usage_of(w, result));
    return true;
}

static const form embedding = {.id = "embd-", .read = read_asked, .whole = whole};

void pdl_serve_answer_embeddings(pdl_serve *s, pdl_exchange *x) {
    pdl_serve_chat_begin(s, x, &embedding);
}
