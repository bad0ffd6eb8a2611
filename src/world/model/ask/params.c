/* params.c -- selects, converts and renames the sampling parameters of a call, and gathers those
 * that the route does not support; see params.h (spec providers 4, 4.3, 4.4).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/params.h"

#include "base/num.h"
#include "effect/effect.h"
#include "model/ask/thinking.h"
#include "model/ask/tool_schemas.h"
#include "value/text.h"

#include "base/banned.h"

static const pdl_param params[] = {
#define YES true
#define NO  false
#define P(name, type, takes, ollama, oseries, gpt5, doc)                                           \
    {#name, PDL_PARAM_##type, PDL_OLLAMA_##ollama, oseries, gpt5},
#include "model/ask/params.def"
#undef P
#undef NO
#undef YES
};

const pdl_param *pdl_param_find(pdl_str name) {
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
        if (pdl_str_is(name, params[i].name)) return &params[i];
    return NULL;
}

static bool list_has(pdl_vref list, pdl_str name) {
    if (!pdl_is_list(list)) return false;
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref x = pdl_list_at(list, i);
        if (pdl_is_str(x) && pdl_str_eq(pdl_str_get(x), name)) return true;
    }
    return false;
}

/* Converts a text such as "0.5" or "true", which ${ } may give, to the type of the parameter p. */
static pdl_val convert(const pdl_param *p, pdl_vref v) {
    int64_t i;
    double d;
    if (!p || p->type == PDL_PARAM_ANY || !pdl_is_str(v)) return pdl_keep(v);
    pdl_str s = pdl_str_trim(pdl_str_get(v));
    if (p->type == PDL_PARAM_BOOL) {
        if (pdl_str_is(s, "true")) return pdl_bool(true);
        return pdl_str_is(s, "false") ? pdl_bool(false) : pdl_keep(v);
    }
    if (pdl_num_read_int(s, &i)) return pdl_int(i);
    return pdl_num_read_double(s, &d) ? pdl_float(d) : pdl_keep(v);
}

/* Returns true for a parameter about tools when the program gives an empty list of them. Services
 * refuse such a list, and a choice without tools. */
static bool is_about_no_tools(pdl_str name, pdl_vref given) {
    static const char *const names[] = {"tools", "tool_choice", "parallel_tool_calls"};
    pdl_vref tools = pdl_dict_getz(given, "tools");
    if (!pdl_is_list(tools) || pdl_list_len(tools)) return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (pdl_str_is(name, names[i])) return true;
    return false;
}

pdl_val pdl_params_clean(pdl_vref given) {
    size_t n = pdl_dict_len(given);
    pdl_val out = pdl_dict_new(n);
    pdl_vref dropped = pdl_dict_getz(given, "additional_drop_params");
    for (size_t i = 0; i < n; i++) {
        pdl_vref k = pdl_dict_key_at(given, i), v = pdl_dict_val_at(given, i);
        if (!pdl_is_str(k) || pdl_is_null(v)) continue;
        pdl_str name = pdl_str_get(k);
        if (pdl_is_control_key(name) || list_has(dropped, name)) continue;
        if (is_about_no_tools(name, given)) continue;
        bool tools = pdl_str_is(name, "tools") && pdl_is_list(v);
        out = pdl_dict_put(out, pdl_keep(k),
                           tools ? pdl_tool_schemas(v) : convert(pdl_param_find(name), v));
    }
    return out;
}

bool pdl_params_allowed(pdl_vref given, pdl_str name) {
    return list_has(pdl_dict_getz(given, "allowed_openai_params"), name);
}

bool pdl_params_drop(pdl_vref given) {
    pdl_vref v = pdl_dict_getz(given, "drop_params");
    return !pdl_is_absent(v) && pdl_val_truth(v);
}

void pdl_unsupported_add(pdl_unsupported *u, pdl_str name) {
    if (pdl_is_absent(u->names)) u->names = pdl_list_new(2);
    u->names = pdl_list_push(u->names, pdl_text(name));
}

bool pdl_unsupported_end(pdl_unsupported *u, const pdl_ask *a, pdl_err *err) {
    bool ok = pdl_is_absent(u->names) || pdl_params_drop(a->given);
    if (!ok) {
        pdl_buf list = PDL_BUF;
        pdl_val_show(u->names, true, 400, &list);
        pdl_err_set(err, PDL_E_unsupported_params, (pdl_loc){0},
                    "%s does not support parameters: %s, for model=%.*s. To drop these, set "
                    "drop_params: true",
                    a->provider->prefix, pdl_buf_z(&list), PDL_FMT(a->name));
        pdl_buf_fini(&list);
    }
    pdl_drop(u->names);
    u->names = pdl_absent();
    return ok;
}

pdl_family pdl_params_family(pdl_str name) {
    size_t slash = pdl_str_rfind(name, PDL_STR("/"));
    if (slash != PDL_NOT_FOUND) name = pdl_str_sub(name, slash + 1, name.n);
    if (pdl_str_starts(name, PDL_STR("gpt-5"))) return PDL_FAMILY_GPT5;
    bool o = name.n >= 2 && name.p[0] == 'o' &&
             (name.p[1] == '1' || name.p[1] == '3' || name.p[1] == '4');
    return o ? PDL_FAMILY_O : PDL_FAMILY_PLAIN;
}

/* --- dialects with different names ------------------------------------------------------------ */

static const pdl_param_rule *find_rule(const pdl_param_rules *rules, pdl_str name) {
    for (size_t i = 0; i < rules->n; i++)
        if (pdl_str_is(name, rules->p[i].name)) return &rules->p[i];
    return NULL;
}

/* Returns where the parameter `name` goes when the model takes only some of temperature, top_p and
 * top_k (`takes`). A temperature or top_p of 1 changes nothing, so it is left out instead of
 * refused. */
static pdl_param_to sampling_to(pdl_sampling takes, pdl_vref given, pdl_str name, pdl_param_to to) {
    bool is_temperature = pdl_str_is(name, "temperature"), is_top_p = pdl_str_is(name, "top_p"),
         is_neutral = (is_temperature || is_top_p) && pdl_params_number(given, name.p, 0) == 1;
    if (takes == PDL_SAMPLING_NONE && (is_temperature || is_top_p || pdl_str_is(name, "top_k")))
        return is_neutral ? PDL_TO_NOBODY : PDL_TO_REFUSED;
    bool has_both = !pdl_is_absent(pdl_dict_getz(given, "temperature")) &&
                    !pdl_is_absent(pdl_dict_getz(given, "top_p"));
    if (takes != PDL_SAMPLING_ONE || !has_both) return to;
    if (is_top_p) {
        bool is_only = pdl_params_number(given, "temperature", 0) == 1;
        return is_neutral ? PDL_TO_NOBODY : is_only ? to : PDL_TO_REFUSED;
    }
    return is_temperature && is_neutral && pdl_params_number(given, "top_p", 0) != 1 ? PDL_TO_NOBODY
                                                                                     : to;
}

bool pdl_params_place(pdl_ask *a, const pdl_param_rules *rules, pdl_val *top, pdl_val *inner,
                      pdl_err *err) {
    pdl_sampling takes = rules->checks_sampling ? pdl_sampling_of(a->name) : PDL_SAMPLING_ALL;
    pdl_unsupported u = {pdl_absent()};
    for (size_t i = 0; i < pdl_dict_len(a->params); i++) {
        pdl_vref key = pdl_dict_key_at(a->params, i), v = pdl_dict_val_at(a->params, i);
        pdl_str k = pdl_str_get(key);
        const pdl_param_rule *r = find_rule(rules, k);
        pdl_param_to to = r ? r->to : rules->rest;
        if (pdl_str_is(k, "extra_body") || pdl_str_is(k, "guided_json")) continue;
        if (!r && pdl_str_starts(k, PDL_STR("guided_"))) to = PDL_TO_REFUSED;
        if (!pdl_params_allowed(a->given, k)) to = sampling_to(takes, a->params, k, to);
        if (to == PDL_TO_REFUSED && pdl_params_allowed(a->given, k)) to = rules->rest;
        pdl_val name = r && r->as ? pdl_textz(r->as) : pdl_keep(key);
        pdl_val x = r && r->list && !pdl_is_list(v) ? pdl_list_push(pdl_list_new(1), pdl_keep(v))
                                                    : pdl_keep(v);
        if (to == PDL_TO_TOP) {
            *top = pdl_dict_put(*top, name, x);
            continue;
        }
        if (to == PDL_TO_INNER) {
            *inner = pdl_dict_put(*inner, name, x);
            continue;
        }
        if (to == PDL_TO_REFUSED) pdl_unsupported_add(&u, k);
        pdl_drop(name);
        pdl_drop(x);
    }
    return pdl_unsupported_end(&u, a, err);
}

double pdl_params_number(pdl_vref given, const char *key, double dflt) {
    pdl_vref v = pdl_dict_getz(given, key);
    double d;
    if (pdl_is(v, PDL_V_INT)) return (double)pdl_int_of(v);
    if (pdl_is(v, PDL_V_FLOAT)) return pdl_float_of(v);
    if (pdl_is_str(v) && pdl_num_read_double(pdl_str_trim(pdl_str_get(v)), &d)) return d;
    return dflt;
}
