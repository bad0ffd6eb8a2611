/* score.c -- see score.h. Each request is one prompt followed by one continuation. The service
 * generates nothing (max_tokens 0) but returns the log-probability of each token of its input
 * (echo), and a score is the sum over the tokens of the continuation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/score.h"

#include "model/ask/params.h"
#include "value/int.h"

#include "base/banned.h"

pdl_vref pdl_score_of(const pdl_ask *a) {
    pdl_vref v = pdl_is_dict(a->given) ? pdl_dict_getz(a->given, "score") : pdl_absent();
    return pdl_is_null(v) ? pdl_absent() : v;
}

bool pdl_score_check(const pdl_ask *a, pdl_err *err) {
    pdl_vref score = pdl_score_of(a);
    if (pdl_is_absent(score)) return true;
    if (a->provider->dialect != &pdl_dialect_completion) {
        pdl_unsupported u = {pdl_absent()};
        pdl_unsupported_add(&u, PDL_STR("score"));
        return pdl_unsupported_end(&u, a, err);
    }
    bool ok = pdl_is_list(score) && pdl_list_len(score) > 0;
    for (size_t i = 0; ok && i < pdl_list_len(score); i++) ok = pdl_is_str(pdl_list_at(score, i));
    if (ok && pdl_is_list(a->messages) && pdl_list_len(a->messages) <= 1) return true;
    return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                       "score is a list of continuations of one prompt");
}

pdl_val pdl_score_write(const pdl_ask *a, pdl_val body) {
    pdl_vref score = pdl_score_of(a), prompt = pdl_dict_getz(body, "prompt");
    pdl_val prompts = pdl_list_new(pdl_list_len(score)), key = pdl_textz("score");
    for (size_t i = 0; i < pdl_list_len(score); i++) {
        pdl_buf b = PDL_BUF;
        pdl_buf_put(&b, pdl_str_get(prompt));
        pdl_buf_put(&b, pdl_str_get(pdl_list_at(score, i)));
        prompts = pdl_list_push(prompts, pdl_text_of_buf(&b));
    }
    body = pdl_dict_del(body, key);
    pdl_drop(key);
    body = pdl_dict_putz(body, "prompt", prompts);
    body = pdl_dict_putz(body, "echo", pdl_bool(true));
    body = pdl_dict_putz(body, "logprobs", pdl_int(1));
    return pdl_dict_putz(body, "max_tokens", pdl_int(0));
}

/* Sums the log-probabilities of the tokens of a choice at or after `from`. */
static bool sum_from(pdl_vref choice, size_t from, double *out) {
    pdl_vref lp = pdl_is_dict(choice) ? pdl_dict_getz(choice, "logprobs") : pdl_absent();
    if (!pdl_is_dict(lp)) return false;
    pdl_vref logs = pdl_dict_getz(lp, "token_logprobs"), places = pdl_dict_getz(lp, "text_offset");
    if (!pdl_is_list(logs) || !pdl_is_list(places) || pdl_list_len(logs) != pdl_list_len(places))
        return false;
    double sum = 0;
    bool any = false;
    for (size_t i = 0; i < pdl_list_len(logs); i++) {
        pdl_vref x = pdl_list_at(logs, i);
        int64_t at;
        if (!pdl_is(pdl_list_at(places, i), PDL_V_INT) || !pdl_int_get(pdl_list_at(places, i), &at))
            return false;
        if (at < (int64_t)from) continue;
        if (!pdl_is(x, PDL_V_INT) && !pdl_is(x, PDL_V_FLOAT)) return false;
        sum += pdl_num_to_double(x);
        any = true;
    }
    *out = sum;
    return any;
}

/* Returns the choice whose `index` is i. This choice belongs to the i-th prompt. */
static pdl_vref choice_of(pdl_vref choices, size_t i) {
    for (size_t k = 0; k < pdl_list_len(choices); k++) {
        pdl_vref c = pdl_list_at(choices, k),
                 index = pdl_is_dict(c) ? pdl_dict_getz(c, "index") : pdl_absent();
        if (pdl_is(index, PDL_V_INT) && pdl_int_of(index) == (int64_t)i) return c;
    }
    return pdl_absent();
}

bool pdl_score_read(const pdl_ask *a, pdl_vref prompt, pdl_vref choices, pdl_val *content,
                    pdl_err *err) {
    pdl_vref score = pdl_score_of(a);
    pdl_val scores = pdl_list_new(pdl_list_len(score));
    for (size_t i = 0; i < pdl_list_len(score); i++) {
        double sum = 0;
        if (!sum_from(choice_of(choices, i), pdl_text_len_cp(prompt), &sum)) {
            pdl_drop(scores);
            return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                               "the answer lacks the log-probabilities of the continuations");
        }
        scores = pdl_list_push(scores, pdl_float(sum));
    }
    *content = pdl_dict_putz(pdl_dict_new(1), "scores", scores);
    return true;
}
