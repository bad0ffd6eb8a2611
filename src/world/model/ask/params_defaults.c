/* params_defaults.c -- default parameters by model name (spec providers 2); declared in model.h.
 * The functions are pure: api installs them as a callback of the machine, because the defaults
 * are a variable of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/glob.h"
#include "model/model.h"
#include "value/text.h"

#include "base/banned.h"

/* --- the built-in list ------------------------------------------------------------------------ */

static pdl_val entry(const char *glob, pdl_val params) {
    return pdl_dict_putz(pdl_dict_new(1), glob, params);
}

typedef struct role_header {
    const char *role, *text;
} role_header;
#define ROLE(name)                                                                                 \
    { name, "<|start_of_role|>" name "<|end_of_role|>" }

/* Returns the defaults for a granite 3.x template. headers: its role headers, ended by an empty
 * row. */
static pdl_val granite(const role_header *headers) {
    pdl_val roles = pdl_dict_new(6), end = pdl_textz("<|end_of_text|>");
    for (; headers->role; headers++) {
        pdl_val r = pdl_dict_putz(pdl_dict_new(2), "pre_message", pdl_textz(headers->text));
        r = pdl_dict_putz(r, "post_message", pdl_keep(end));
        roles = pdl_dict_putz(roles, headers->role, r);
    }
    pdl_drop(end);
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "temperature", pdl_int(0));
    d = pdl_dict_putz(d, "roles", roles);
    return pdl_dict_putz(d, "final_prompt_value",
                         pdl_textz("<|start_of_role|>assistant<|end_of_role|>"));
}

static pdl_val cold(bool with_seed) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "temperature", pdl_int(0));
    return with_seed ? pdl_dict_putz(d, "seed", pdl_int(0)) : d;
}

static pdl_val watsonx_text(void) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "decoding_method", pdl_textz("greedy"));
    d = pdl_dict_putz(d, "max_tokens", pdl_int(1024));
    d = pdl_dict_putz(d, "min_new_tokens", pdl_int(1));
    return pdl_dict_putz(d, "repetition_penalty", pdl_float(1.05));
}

pdl_val pdl_model_defaults(void) {
    static const role_header r30[] = {ROLE("system"),        ROLE("user"),
                                      ROLE("assistant"),     ROLE("available_tools"),
                                      ROLE("tool_response"), {0}};
    static const role_header r31[] = {
        ROLE("system"),    ROLE("user"), ROLE("assistant"), ROLE("tools"), ROLE("tool_response"),
        ROLE("documents"), {0}};
    pdl_val granite31 = granite(r31); /* the list is one value, which every run shares */
    pdl_val list = pdl_list_new(7);
    list = pdl_list_push(list, entry("*watsonx/*", cold(false)));
    list = pdl_list_push(list, entry("*watsonx_text*", watsonx_text()));
    list = pdl_list_push(list, entry("*granite-3.0*", granite(r30)));
    list = pdl_list_push(list, entry("*granite-3.1*", pdl_keep(granite31)));
    list = pdl_list_push(list, entry("*granite-3.2*", granite31));
    list = pdl_list_push(list, entry("ollama/*", cold(true)));
    return pdl_list_push(list, entry("ollama_chat/*", cold(true)));
}

/* --- application ------------------------------------------------------------------------------ */

static bool invalid(pdl_vref value, pdl_vref glob, pdl_err *err) {
    pdl_buf v = PDL_BUF, g = PDL_BUF;
    pdl_val_show(value, false, 200, &v);
    pdl_val_show(glob, false, 200, &g);
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "invalid defaults %s for model matcher %s",
                pdl_buf_z(&v), pdl_buf_z(&g));
    pdl_buf_fini(&v);
    pdl_buf_fini(&g);
    return false;
}

bool pdl_model_defaults_check(pdl_vref list, pdl_err *err) {
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref d = pdl_list_at(list, i);
        for (size_t k = 0; pdl_is_dict(d) && k < pdl_dict_len(d); k++)
            if (!pdl_is_dict(pdl_dict_val_at(d, k)))
                return invalid(pdl_dict_val_at(d, k), pdl_dict_key_at(d, k), err);
    }
    return true;
}

static pdl_val fill(pdl_val params, pdl_vref from) {
    for (size_t i = 0; i < pdl_dict_len(from); i++) {
        pdl_vref k = pdl_dict_key_at(from, i), old = pdl_dict_find(params, k);
        if (pdl_is_absent(old) || pdl_is_null(old))
            params = pdl_dict_put(params, pdl_keep(k), pdl_keep(pdl_dict_val_at(from, i)));
    }
    return params;
}

static pdl_val fill_sampling(pdl_val params) {
    if (!pdl_text_is(pdl_dict_getz(params, "decoding_method"), "sample")) return params;
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "temperature", pdl_float(0.7));
    d = pdl_dict_putz(d, "top_k", pdl_int(50));
    d = pdl_dict_putz(d, "top_p", pdl_float(0.85));
    params = fill(params, d);
    pdl_drop(d);
    return params;
}

bool pdl_model_defaults_apply(pdl_vref list, pdl_str model, pdl_val params, pdl_val *out,
                              pdl_err *err) {
    pdl_val merged = pdl_dict_new(0);
    bool none = pdl_str_find(model, PDL_STR("granite-20b-code-instruct-r1.1"), 0) != PDL_NOT_FOUND;
    for (size_t i = 0; !none && pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref d = pdl_list_at(list, i);
        for (size_t k = 0; pdl_is_dict(d) && k < pdl_dict_len(d); k++) {
            pdl_vref glob = pdl_dict_key_at(d, k), v = pdl_dict_val_at(d, k);
            if (!pdl_is_dict(v)) {
                pdl_drop(merged);
                pdl_drop(params);
                return invalid(v, glob, err);
            }
            if (pdl_is_str(glob) &&
                pdl_glob_fits(pdl_str_get(glob), model, PDL_GLOB_ONE | PDL_GLOB_SETS))
                merged = pdl_dict_merge(merged, v);
        }
    }
    *out =
        none ? params : fill_sampling(fill(params, merged)); /* none: the model gets no defaults */
    pdl_drop(merged);
    return true;
}
