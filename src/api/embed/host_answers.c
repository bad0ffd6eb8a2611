/* host_answers.c -- completes answers that have a shorter form, and makes replies of them; see
 * host_answers.h. Host programs answer in the shortest form that they have, such as a text for a
 * model's reply. Programs must see the same reply as from a service, so the missing members are
 * added here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/host_answers.h"

#include "model/model.h"

#include "base/banned.h"

static bool misfit(const char *kind, pdl_vref v, const char *want, pdl_err *err) {
    return pdl_err_set(
        err, PDL_E_protocol, (pdl_loc){0},
        "the host program answered a request of kind %s with a value of type %s, not %s", kind,
        pdl_type_name(v), want);
}

static pdl_val default_to(pdl_val d, const char *key, pdl_val v) {
    if (pdl_is_absent(pdl_dict_getz(d, key))) return pdl_dict_putz(d, key, v);
    pdl_drop(v);
    return d;
}

static pdl_val no_tokens(void) {
    return pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "prompt_tokens", pdl_int(0)),
                         "completion_tokens", pdl_int(0));
}

/* Returns the message in an answer {content, ...}: the member `message`, or else a message with
 * those members of d that a message of an assistant may have. */
static pdl_val answer_message(pdl_vref d) {
    static const char *const fields[] = {"content",           "tool_calls",  "refusal",
                                         "reasoning_content", "annotations", "function_call"};
    pdl_vref given = pdl_dict_getz(d, "message");
    if (pdl_is_dict(given)) return pdl_keep(given);
    pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        pdl_vref v = pdl_dict_getz(d, fields[i]);
        if (!pdl_is_absent(v)) m = pdl_dict_putz(m, fields[i], pdl_keep(v));
    }
    return m;
}

/* Returns a chat completion for an answer {content, ...} of a host program. */
static pdl_val answer_completion(pdl_vref d) {
    pdl_val choice = pdl_dict_putz(pdl_dict_new(3), "index", pdl_int(0));
    choice = pdl_dict_putz(choice, "message", answer_message(d));
    static const char *const fields[] = {"finish_reason", "logprobs"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        pdl_vref v = pdl_dict_getz(d, fields[i]);
        if (!pdl_is_absent(v)) choice = pdl_dict_putz(choice, fields[i], pdl_keep(v));
    }
    pdl_val c = pdl_dict_putz(pdl_dict_new(3), "choices", pdl_list_push(pdl_list_new(1), choice));
    pdl_vref usage = pdl_dict_getz(d, "usage");
    return pdl_is_absent(usage) ? c : pdl_dict_putz(c, "usage", pdl_keep(usage));
}

/* Turns an answer into the reply that a service's answer would become, so that programs cannot
 * distinguish them. The answer is a text, an object {content, ...} with members of a message, or a
 * whole chat completion. */
static bool model_answer(const pdl_effect *e, pdl_vref v, pdl_val *out, pdl_err *err) {
    pdl_vref content = pdl_is_dict(v) ? pdl_dict_getz(v, "content") : pdl_absent();
    bool is_whole = pdl_is_dict(v) && pdl_is_list(pdl_dict_getz(v, "choices"));
    bool has_calls = pdl_is_dict(v) && pdl_is_list(pdl_dict_getz(v, "tool_calls"));
    bool is_empty = pdl_is_absent(content) || pdl_is_null(content);
    if (!pdl_is_str(v) && !is_whole && !pdl_is_str(content) && !(has_calls && is_empty))
        return misfit("model", v, "text, {content, ...} or a chat completion", err);
    pdl_val c;
    if (is_whole)
        c = pdl_keep(v);
    else if (pdl_is_str(v)) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(1), "content", pdl_keep(v));
        c = answer_completion(d);
        pdl_drop(d);
    } else
        c = answer_completion(v);
    c = default_to(c, "model", pdl_keep(pdl_dict_getz(e->request, "model")));
    c = default_to(c, "usage", no_tokens());
    return pdl_model_reply(c, out, err);
}

pdl_val pdl_host_answer_of_code(pdl_vref v, pdl_str all_pieces) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "result", pdl_keep(v));
    d = pdl_dict_putz(d, "rebound", pdl_dict_new(0));
    return pdl_dict_putz(d, "stdout", pdl_text(all_pieces));
}

static bool command_answer(pdl_vref v, pdl_val *out, pdl_err *err) {
    if (!pdl_is_str(v) && !pdl_is_dict(v))
        return misfit("command", v, "text or {stdout, stderr, status}", err);
    pdl_val d = pdl_is_str(v) ? pdl_dict_putz(pdl_dict_new(3), "stdout", pdl_keep(v)) : pdl_keep(v);
    d = default_to(d, "stdout", pdl_textz(""));
    d = default_to(d, "stderr", pdl_textz(""));
    d = default_to(d, "status", pdl_int(0));
    bool ok = pdl_is_str(pdl_dict_getz(d, "stdout")) && pdl_is_str(pdl_dict_getz(d, "stderr")) &&
              pdl_is(pdl_dict_getz(d, "status"), PDL_V_INT);
    if (ok)
        *out = d;
    else {
        misfit("command", v, "text or {stdout: text, stderr: text, status: integer}", err);
        pdl_drop(d);
    }
    return ok;
}

/* Turns a text, or an object with some of the fields, into a reply of a web server. */
static bool http_answer(pdl_vref v, pdl_val *out, pdl_err *err) {
    if (!pdl_is_str(v) && !pdl_is_dict(v))
        return misfit("http", v, "text or {status: integer, headers: object, text: text}", err);
    *out = pdl_effect_http_reply(pdl_keep(v));
    return true;
}

/* Makes a reply from an answer of a host program, whose form may be shorter. */
static bool complete(const pdl_effect *e, pdl_vref v, pdl_str all_pieces, pdl_val *out,
                     pdl_err *err) {
    const char *kind = pdl_effect_kind_name(e->kind);
    switch (e->kind) {
    case PDL_EFFECT_model: return model_answer(e, v, out, err);
    case PDL_EFFECT_code: *out = pdl_host_answer_of_code(v, all_pieces); return true;
    case PDL_EFFECT_command: return command_answer(v, out, err);
    case PDL_EFFECT_http: return http_answer(v, out, err);
    case PDL_EFFECT_embed:
        if (!pdl_is_dict(v)) return misfit(kind, v, "{embeddings, usage}", err);
        break;
    case PDL_EFFECT_input:
    case PDL_EFFECT_source:
        if (!pdl_is_str(v) && !pdl_is_null(v)) return misfit(kind, v, "text or null", err);
        break;
    case PDL_EFFECT_read:
        if (!pdl_is_str(v)) return misfit(kind, v, "text", err);
        break;
    case PDL_EFFECT_now:
        if (pdl_is(v, PDL_V_INT)) {
            *out = pdl_float((double)pdl_int_of(v));
            return true;
        }
        if (!pdl_is(v, PDL_V_FLOAT)) return misfit(kind, v, "a number", err);
        break;
    case PDL_EFFECT_random:
        if (!pdl_is(v, PDL_V_INT)) return misfit(kind, v, "an integer", err);
        break;
    case PDL_EFFECT_approval:
        if (!pdl_is_bool(v)) return misfit(kind, v, "a boolean", err);
        break;
    case PDL_EFFECT_write:
    case PDL_EFFECT_sleep: *out = pdl_null(); return true;
    case PDL_EFFECT_object:
    case PDL_EFFECT_tool:
    case PDL_EFFECT_permit:
    case PDL_EFFECT_COUNT: break;
    }
    *out = pdl_keep(v);
    return true;
}

bool pdl_host_answer(const pdl_effect *e, pdl_vref v, pdl_str all_pieces, pdl_val *out,
                     pdl_err *err) {
    pdl_val whole;
    pdl_err why = {0};
    if (!complete(e, v, all_pieces, &whole, err)) return false;
    if (pdl_effect_check(e, whole, &why)) {
        *out = whole;
        return true;
    }
    pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                "the answer of the host program is not a valid reply: %s", why.msg);
    pdl_err_fini(&why);
    pdl_drop(whole);
    return false;
}
