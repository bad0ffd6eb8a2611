/* scripted_model.c -- answers the questions `script`, `say` and `forget`: these provide a model
 * whose answers are written by hand, by the rules of `pdl mock`; see wasm.h. With this model, a
 * host that has no server answers the model calls of a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/idmap.h"
#include "mock/script.h"
#include "wasm/wasm.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_SCRIPTS = 1000 };

typedef struct model_script {
    pdl_val replies; /* the list of replies, from which the items borrow */
    pdl_mock_script script;
    uint64_t asked; /* number of requests so far */
    bool strict;
} model_script;

static pdl_idmap scripts; /* number -> script */
static uint32_t n_scripts, last_number;

static void script_free(model_script *s) {
    pdl_mock_script_fini(&s->script);
    pdl_drop(s->replies);
    pdl_free(s);
}

static uint32_t number_of(pdl_vref question) {
    pdl_vref v = pdl_dict_getz(question, "script");
    int64_t n = pdl_is(v, PDL_V_INT) ? pdl_int_of(v) : 0;
    return n > 0 && n <= UINT32_MAX ? (uint32_t)n : 0;
}

/* Reads the list of replies, which is YAML. An empty text has no replies. */
static bool read_replies(pdl_str text, pdl_val *out, pdl_err *err) {
    uint32_t line = 0, column = 0;
    pdl_err why = {0};
    if (!pdl_str_trim(text).n || pdl_yaml_read(text, out, &line, &column, &why)) return true;
    pdl_err_set(err, PDL_E_syntax, (pdl_loc){0}, "replies: line %u, column %u: %s", line, column,
                why.msg);
    pdl_err_fini(&why);
    return false;
}

bool pdl_wasm_script(pdl_vref question, pdl_buf *out, pdl_err *err) {
    if (n_scripts >= MAX_SCRIPTS)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "more than %d scripts", MAX_SCRIPTS);
    model_script *s = PDL_NEW(model_script);
    s->replies = pdl_absent();
    s->strict = pdl_val_truth(pdl_dict_getz(question, "strict"));
    if (!read_replies(pdl_wasm_text(question, "text"), &s->replies, err) ||
        !pdl_mock_script_read(s->replies, &s->script, err)) {
        script_free(s);
        return false;
    }
    pdl_idmap_put(&scripts, ++last_number, s);
    n_scripts++;
    pdl_json_put_int(out, "script", last_number);
    return true;
}

bool pdl_wasm_say(pdl_vref question, pdl_buf *out, pdl_err *err) {
    model_script *s = pdl_idmap_find(&scripts, number_of(question));
    pdl_vref request = pdl_dict_getz(question, "request");
    if (!s || !pdl_is_dict(request))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "there is no such script or request");
    pdl_mock_reply r = pdl_mock_reply_to(&s->script, s->strict, ++s->asked, request);
    pdl_json_put_int(out, "status", r.status);
    pdl_json_put_int(out, "delay", r.delay_ms);
    if (r.retry_after >= 0) {
        pdl_json_put_key(out, "retryAfter");
        pdl_buf_putf(out, "%g", r.retry_after);
    }
    pdl_json_put_key(out, "body");
    pdl_wasm_put(r.body, out);
    pdl_drop(r.body);
    return true;
}

bool pdl_wasm_forget(pdl_vref question, pdl_buf *out, pdl_err *err) {
    uint32_t n = number_of(question);
    model_script *s = pdl_idmap_find(&scripts, n);
    (void)out, (void)err;
    if (!s) return true;
    pdl_idmap_del(&scripts, n);
    n_scripts--;
    script_free(s);
    return true;
}
