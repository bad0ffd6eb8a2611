/* completions.c -- see completions.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mock/completions.h"

#include "base/banned.h"

static size_t n_prompts(pdl_vref request) {
    pdl_vref p = pdl_dict_getz(request, "prompt");
    return pdl_is_list(p) ? pdl_list_len(p) : 1;
}

static pdl_str prompt_at(pdl_vref request, size_t i) {
    pdl_vref p = pdl_dict_getz(request, "prompt");
    if (pdl_is_list(p)) p = i < pdl_list_len(p) ? pdl_list_at(p, i) : pdl_absent();
    return pdl_is_str(p) ? pdl_str_get(p) : PDL_STR("");
}

pdl_str pdl_mock_first_prompt(pdl_vref request) { return prompt_at(request, 0); }

static pdl_val pair(pdl_val a, pdl_val b) {
    return pdl_list_push(pdl_list_push(pdl_list_new(2), a), b);
}

/* Returns the log-probabilities of a prompt as two tokens: what comes before the rated text, and
 * that text. Without a rated text the second one has no number. */
static pdl_val rated(pdl_str prompt, pdl_vref scores) {
    pdl_str tail = PDL_STR("");
    pdl_vref number = pdl_absent();
    for (size_t k = 0; pdl_is_dict(scores) && k < pdl_dict_len(scores); k++) {
        pdl_vref key = pdl_dict_key_at(scores, k);
        if (!pdl_is_str(key) || !pdl_str_ends(prompt, pdl_str_get(key))) continue;
        if (pdl_is_absent(number) || pdl_str_get(key).n > tail.n) {
            tail = pdl_str_get(key);
            number = pdl_dict_val_at(scores, k);
        }
    }
    pdl_val before = pdl_text(pdl_str_sub(prompt, 0, prompt.n - tail.n));
    int64_t cut = (int64_t)pdl_text_len_cp(before);
    pdl_val value = pdl_is_absent(number) ? pdl_null() : pdl_keep(number);
    pdl_val v = pdl_dict_putz(pdl_dict_new(4), "tokens", pair(before, pdl_text(tail)));
    v = pdl_dict_putz(v, "token_logprobs", pair(pdl_null(), value));
    v = pdl_dict_putz(v, "text_offset", pair(pdl_int(0), pdl_int(cut)));
    return pdl_dict_putz(v, "top_logprobs", pdl_null());
}

pdl_val pdl_mock_completions(const pdl_mock_item *item, pdl_vref request) {
    pdl_vref echo = pdl_dict_getz(request, "echo");
    bool rates = pdl_is_bool(echo) && pdl_bool_of(echo);
    pdl_val choices = pdl_list_new(n_prompts(request));
    for (size_t i = 0; i < n_prompts(request); i++) {
        pdl_str said = prompt_at(request, i);
        pdl_val logprobs = rates ? rated(said, item ? item->scores : pdl_absent()) : pdl_null();
        if (!rates && item && pdl_is_str(item->reply)) said = pdl_str_get(item->reply);
        pdl_val c = pdl_dict_putz(pdl_dict_new(4), "index", pdl_int((int64_t)i));
        c = pdl_dict_putz(c, "text", pdl_text(said));
        c = pdl_dict_putz(c, "finish_reason", pdl_textz(rates ? "length" : "stop"));
        choices = pdl_list_push(choices, pdl_dict_putz(c, "logprobs", logprobs));
    }
    return choices;
}

static pdl_val token(pdl_val text, pdl_val number) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(4), "token", text);
    v = pdl_dict_putz(v, "logprob", number);
    return pdl_dict_putz(v, "bytes", pdl_null());
}

pdl_val pdl_mock_logprobs(pdl_str answer, pdl_vref table) {
    pdl_val top = pdl_list_new(pdl_dict_len(table));
    pdl_vref own = pdl_absent();
    for (size_t k = 0; k < pdl_dict_len(table); k++) {
        pdl_vref key = pdl_dict_key_at(table, k), number = pdl_dict_val_at(table, k);
        if (pdl_is_str(key) && pdl_str_eq(pdl_str_get(key), answer)) own = number;
        top = pdl_list_push(top, token(pdl_keep(key), pdl_keep(number)));
    }
    pdl_val one = token(pdl_text(answer), pdl_is_absent(own) ? pdl_int(0) : pdl_keep(own));
    one = pdl_dict_putz(one, "top_logprobs", top);
    return pdl_dict_putz(pdl_dict_new(1), "content", pdl_list_push(pdl_list_new(1), one));
}
