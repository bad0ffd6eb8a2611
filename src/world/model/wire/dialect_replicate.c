/* dialect_replicate.c -- Replicate, where a prompt starts a job, which is polled until its output
 * is complete (spec providers 13.1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/prompt_forms.h"
#include "value/member.h"

#include "base/banned.h"

enum { VERSION_DIGITS = 64, LOG_SHOWN = 500 };

/* Returns the hex digits after the colon of <owner>/<name>:<version>, or an empty slice. */
static pdl_str version_of(pdl_str name) {
    size_t at = pdl_str_rfind(name, PDL_STR(":"));
    pdl_str v = at == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(name, at + 1, name.n);
    if (v.n != VERSION_DIGITS) return (pdl_str){0};
    for (size_t i = 0; i < v.n; i++)
        if (!((v.p[i] >= '0' && v.p[i] <= '9') || (v.p[i] >= 'a' && v.p[i] <= 'f')))
            return (pdl_str){0};
    return v;
}

static void put_path(pdl_str name, pdl_buf *path) {
    pdl_str deployment = PDL_STR("deployments/");
    if (!pdl_str_ends(pdl_buf_str(path), PDL_STR("/v1"))) PDL_PUT(path, "/v1");
    if (version_of(name).n) {
        PDL_PUT(path, "/predictions");
        return;
    }
    pdl_buf_put(path, pdl_str_starts(name, deployment) ? PDL_STR("/") : PDL_STR("/models/"));
    pdl_url_quote(name, "/:", path);
    PDL_PUT(path, "/predictions");
}

static const pdl_param_rule rules[] = {
    {.name = "max_tokens", .to = PDL_TO_OWN},
    {.name = "max_completion_tokens", .to = PDL_TO_OWN},
    {.name = "stop", .as = "stop_sequences", .to = PDL_TO_INNER},
    /* The reference does not send a seed: conformance/providers/replicate-plain.json. */
    {.name = "seed", .to = PDL_TO_NOBODY},
    {.name = "user", .to = PDL_TO_NOBODY},
    {.name = "response_format", .to = PDL_TO_NOBODY},
    {.name = "stream_options", .to = PDL_TO_NOBODY},
    {.name = "n", .to = PDL_TO_REFUSED},
    {.name = "tools", .to = PDL_TO_REFUSED},
    {.name = "tool_choice", .to = PDL_TO_REFUSED},
    {.name = "parallel_tool_calls", .to = PDL_TO_REFUSED},
    {.name = "logprobs", .to = PDL_TO_REFUSED},
    {.name = "top_logprobs", .to = PDL_TO_REFUSED},
    {.name = "logit_bias", .to = PDL_TO_REFUSED},
    {.name = "presence_penalty", .to = PDL_TO_REFUSED},
    {.name = "frequency_penalty", .to = PDL_TO_REFUSED},
    {.name = "reasoning_effort", .to = PDL_TO_REFUSED},
};

static bool has(pdl_str s, const char *needle) {
    return pdl_str_find(s, pdl_str_of(needle), 0) != PDL_NOT_FOUND;
}

/* Returns the name of the parameter for the limit, which differs between models. */
static const char *limit_name(pdl_str name) {
    if (has(name, "vicuna") || has(name, "flan")) return "max_length";
    return has(name, "codellama-13b") ? "max_tokens" : "max_new_tokens";
}

static bool write(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_vref most = pdl_dict_getz(a->params, "max_tokens"),
             extra = pdl_dict_getz(a->params, "extra_body");
    pdl_str version = version_of(a->name);
    bool llama = has(a->name, "meta-llama-3") && has(a->name, "instruct");
    pdl_buf prompt = PDL_BUF;
    pdl_val b = pdl_dict_new(2), input = pdl_dict_new(8);
    put_path(a->name, path);
    pdl_prompt_write(a->messages, a->given, llama ? PDL_PROMPT_LLAMA3_WIDE : PDL_PROMPT_JOIN,
                     &prompt);
    input = pdl_dict_putz(input, "prompt", pdl_text_of_buf(&prompt));
    if (pdl_is_absent(most)) most = pdl_dict_getz(a->params, "max_completion_tokens");
    if (!pdl_is_absent(most)) input = pdl_dict_putz(input, limit_name(a->name), pdl_keep(most));
    if (!pdl_params_place(a, PDL_PARAM_RULES(rules, PDL_TO_INNER), &b, &input, err)) {
        pdl_drop(b);
        pdl_drop(input);
        return false;
    }
    b = pdl_dict_putz(b, "input", input);
    if (version.n) b = pdl_dict_putz(b, "version", pdl_text(version));
    *body = pdl_is_dict(extra) ? pdl_dict_merge(b, extra) : b;
    return true;
}

static bool sign(const pdl_sign *s, pdl_err *err) {
    (void)err;
    if (!pdl_headers_has(s->headers, "Authorization"))
        pdl_headers_add(s->headers, "Authorization: Token %.*s", PDL_FMT(s->key));
    return true;
}

/* --- replies ---------------------------------------------------------------------------------- */

/* Appends the output, which is a text, a list of texts, or other data (as JSON). */
static void put_output(pdl_vref json, pdl_buf *out) {
    pdl_vref v = pdl_dict_getz(json, "output");
    if (!pdl_is_list(v)) {
        pdl_message_text(v, out);
        return;
    }
    for (size_t i = 0; i < pdl_list_len(v); i++) pdl_message_text(pdl_list_at(v, i), out);
}

static void put_url(pdl_vref json, const char *key, pdl_buf *out) {
    pdl_vref urls = pdl_dict_getz(json, "urls"),
             v = pdl_is_dict(urls) ? pdl_dict_getz(urls, key) : pdl_absent();
    if (!pdl_is_str(v)) return;
    out->limit = PDL_BUF.limit;
    pdl_buf_clear(out);
    pdl_buf_put(out, pdl_str_get(v));
}

static bool pending(const pdl_ask *a, pdl_vref json, pdl_job *job) {
    (void)a;
    if (!pdl_is_dict(json)) return false;
    pdl_vref status = pdl_dict_getz(json, "status");
    if (!pdl_text_is(status, "starting") && !pdl_text_is(status, "processing")) return false;
    put_url(json, "get", &job->get);
    put_url(json, "cancel", &job->cancel);
    put_output(json, &job->text);
    return job->get.len > 0;
}

/* Refuses a prediction that did not succeed. The message ends with the last line of the log, which
 * often says why. */
static void refuse(pdl_vref json, pdl_err *err) {
    pdl_vref s = pdl_is_dict(json) ? pdl_dict_getz(json, "status") : pdl_absent();
    pdl_str log = pdl_str_trim(pdl_member_str(json, "logs"));
    size_t at = log.n;
    while (at && log.p[at - 1] != '\n') at--;
    log = pdl_utf8_cut(pdl_str_sub(log, at, log.n), LOG_SHOWN);
    if (!pdl_is_str(s)) {
        pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no status");
        return;
    }
    bool ended =
        pdl_text_is(s, "failed") || pdl_text_is(s, "canceled") || pdl_text_is(s, "aborted");
    pdl_err_set(err, ended ? PDL_E_server : PDL_E_protocol, (pdl_loc){0},
                "the prediction did not succeed: %s%s%.*s", pdl_str_get(s).p, log.n ? ": " : "",
                PDL_FMT(log));
}

static bool read(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    pdl_reply_builder d;
    pdl_buf text = PDL_BUF;
    (void)a;
    if (!pdl_is_dict(json) || !pdl_text_is(pdl_dict_getz(json, "status"), "succeeded")) {
        refuse(json, err);
        pdl_drop(json);
        return false;
    }
    pdl_vref output = pdl_dict_getz(json, "output");
    if (pdl_is_absent(output) || pdl_is_null(output)) {
        pdl_drop(json);
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no output");
    }
    pdl_vref id = pdl_dict_getz(json, "id"), model = pdl_dict_getz(json, "model");
    pdl_reply_builder_init(&d);
    put_output(json, &text);
    d.finish = pdl_textz("stop");
    pdl_reply_builder_text(&d, pdl_buf_str(&text));
    if (pdl_is_str(id)) d.head = pdl_dict_putz(d.head, "id", pdl_keep(id));
    if (pdl_is_str(model)) d.head = pdl_dict_putz(d.head, "model", pdl_keep(model));
    *raw = pdl_reply_builder_take(&d);
    pdl_reply_builder_fini(&d);
    pdl_buf_fini(&text);
    pdl_drop(json);
    return true;
}

const pdl_dialect pdl_dialect_replicate = {.name = "replicate",
                                           .framing = PDL_FRAMING_NONE,
                                           .by_prompt = true,
                                           .write = write,
                                           .read = read,
                                           .sign = sign,
                                           .pending = pending};
