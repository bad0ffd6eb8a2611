/* script.c -- reads the list of replies and selects items; see script.h. A person writes the list,
 * so each mistake is reported with the number of its item. The items are counted down as they
 * answer, so that a script can describe a conversation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mock/script.h"

#include <assert.h>

#include "base/buf.h"
#include "base/glob.h"
#include "base/word_list.h"

#include "base/banned.h"

/* The keys of an item. The message about a wrong key lists them, too. */
static const char *const keys[] = {"reply", "when",        "model", "times",  "status",
                                   "error", "retry_after", "delay", "scores", "logprobs"};
enum { N_KEYS = sizeof keys / sizeof *keys };

PDL_PRINTF(3, 4) static bool wrong(pdl_err *err, size_t i, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "replies: item %zu: %s", i + 1, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool check_key(pdl_vref key, size_t i, pdl_err *err) {
    pdl_str names[N_KEYS];
    for (size_t k = 0; k < N_KEYS; k++) {
        names[k] = pdl_str_of(keys[k]);
        if (pdl_text_is(key, keys[k])) return true;
    }
    pdl_str given = pdl_is_str(key) ? pdl_str_get(key) : PDL_STR("?");
    pdl_str near = pdl_str_nearest(given, names, N_KEYS);
    if (near.n)
        return wrong(err, i, "there is no key %.*s; did you mean %.*s?", PDL_FMT(given),
                     PDL_FMT(near));
    return wrong(err, i,
                 "there is no key %.*s: an item has reply, when, model, times, status, error, "
                 "retry_after, delay, scores, logprobs",
                 PDL_FMT(given));
}

static bool read_text(pdl_vref item, const char *key, size_t i, pdl_str *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(item, key);
    if (pdl_is_absent(v)) return true;
    if (!pdl_is_str(v)) return wrong(err, i, "%s should be a text", key);
    *out = pdl_str_get(v);
    return true;
}

/* A key whose value is a whole number, and the bounds of the number. */
typedef struct {
    const char *key;
    int64_t least, most;
} number_key;

static bool read_number(pdl_vref item, size_t i, number_key k, int64_t *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(item, k.key);
    if (pdl_is_absent(v)) return true;
    if (!pdl_is(v, PDL_V_INT) || pdl_int_of(v) < k.least || pdl_int_of(v) > k.most)
        return wrong(err, i, "%s should be a whole number from %lld to %lld", k.key,
                     (long long)k.least, (long long)k.most);
    *out = pdl_int_of(v);
    return true;
}

static bool read_seconds(pdl_vref item, size_t i, double *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(item, "retry_after");
    if (pdl_is(v, PDL_V_INT))
        *out = (double)pdl_int_of(v);
    else if (pdl_is(v, PDL_V_FLOAT))
        *out = pdl_float_of(v);
    else if (!pdl_is_absent(v))
        return wrong(err, i, "retry_after should be a number of seconds");
    return true;
}

static bool read_finish(pdl_vref reply, size_t i, pdl_mock_item *out, pdl_err *err) {
    static const char *const reasons[] = {"stop", "length", "tool_calls", "content_filter"};
    pdl_vref v = pdl_is_dict(reply) ? pdl_dict_getz(reply, "finish_reason") : pdl_absent();
    if (pdl_is_absent(v)) return true;
    enum { N = sizeof reasons / sizeof *reasons };
    size_t found = pdl_is_str(v) ? pdl_word_of(pdl_str_get(v), reasons, N) : N;
    if (found < N) out->finish = reasons[found];
    return out->finish ||
           wrong(err, i, "finish_reason should be stop, length, tool_calls or content_filter");
}

static bool read_reply(pdl_vref item, size_t i, pdl_mock_item *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(item, "reply");
    if (!pdl_is_absent(v) && !pdl_is_str(v) && !pdl_is_dict(v))
        return wrong(err, i,
                     "reply should be a text, or a message {content, reasoning_content, "
                     "tool_calls, finish_reason}");
    pdl_vref reasoning = pdl_is_dict(v) ? pdl_dict_getz(v, "reasoning_content") : pdl_absent();
    if (!pdl_is_absent(reasoning) && !pdl_is_str(reasoning))
        return wrong(err, i, "reasoning_content should be a text");
    out->reply = v;
    if (pdl_is_absent(v) && !out->status && pdl_is_absent(out->scores))
        return wrong(err, i, "it has neither reply nor status");
    return read_finish(v, i, out, err);
}

static bool is_number(pdl_vref v) { return pdl_is(v, PDL_V_INT) || pdl_is(v, PDL_V_FLOAT); }

/* Returns true for a dict whose keys are texts and whose values are numbers. */
static bool has_numbers(pdl_vref v) {
    bool ok = pdl_is_dict(v);
    for (size_t k = 0; ok && k < pdl_dict_len(v); k++)
        ok = pdl_is_str(pdl_dict_key_at(v, k)) && is_number(pdl_dict_val_at(v, k));
    return ok;
}

static bool read_scores(pdl_vref item, size_t i, pdl_vref *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(item, "scores");
    if (pdl_is_absent(v)) return true;
    bool ok = pdl_is_list(v);
    for (size_t k = 0; ok && k < pdl_list_len(v); k++) ok = is_number(pdl_list_at(v, k));
    if (!ok && !has_numbers(v))
        return wrong(err, i,
                     "scores should be log-probabilities by text, as {\" done\": -0.1}, or a list "
                     "of numbers, one for each text");
    *out = v;
    return true;
}

static bool read_logprobs(pdl_vref item, size_t i, pdl_vref *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(item, "logprobs");
    if (pdl_is_absent(v)) return true;
    bool ok = pdl_is_list(v) && pdl_list_len(v);
    for (size_t k = 0; ok && k < pdl_list_len(v); k++)
        ok = pdl_is_dict(pdl_list_at(v, k)) &&
             is_number(pdl_dict_getz(pdl_list_at(v, k), "logprob"));
    if (!ok && !has_numbers(v))
        return wrong(err, i, "logprobs should be log-probabilities by text, as {\"yes\": -0.1}");
    *out = v;
    return true;
}

static bool read_dict(pdl_vref item, size_t i, pdl_mock_item *out, pdl_err *err) {
    enum { MAX_TIMES = 1000000000, MAX_DELAY = 3600000 };
    for (size_t k = 0; k < pdl_dict_len(item); k++)
        if (!check_key(pdl_dict_key_at(item, k), i, err)) return false;
    return read_text(item, "when", i, &out->when, err) &&
           read_text(item, "model", i, &out->model, err) &&
           read_text(item, "error", i, &out->error, err) &&
           read_number(item, i, (number_key){"times", 1, MAX_TIMES}, &out->left, err) &&
           read_number(item, i, (number_key){"status", 400, 599}, &out->status, err) &&
           read_number(item, i, (number_key){"delay", 0, MAX_DELAY}, &out->delay_ms, err) &&
           read_seconds(item, i, &out->retry_after, err) &&
           read_scores(item, i, &out->scores, err) && read_logprobs(item, i, &out->logprobs, err) &&
           read_reply(item, i, out, err);
}

bool pdl_mock_script_read(pdl_vref list, pdl_mock_script *out, pdl_err *err) {
    if (pdl_is_absent(list)) return true;
    if (!pdl_is_list(list))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "replies should be a list of texts and mappings, as `- Hello`");
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref v = pdl_list_at(list, i);
        pdl_mock_item item = {.reply = v,
                              .scores = pdl_absent(),
                              .logprobs = pdl_absent(),
                              .left = pdl_is_str(v) ? 1 : -1,
                              .retry_after = -1};
        if (!pdl_is_str(v) && !pdl_is_dict(v))
            return wrong(err, i, "it should be a text or a mapping");
        if (pdl_is_dict(v) && !read_dict(v, i, &item, err)) return false;
        *pdl_vec_push(&out->items) = item;
    }
    assert(pdl_mock_script_ok(out));
    return true;
}

bool pdl_mock_script_ok(const pdl_mock_script *s) {
    for (size_t i = 0; i < s->items.n; i++) {
        const pdl_mock_item *x = &s->items.p[i];
        bool refuses = x->status >= 400 && x->status <= 599;
        if (x->left < -1 || x->delay_ms < 0 || (x->status && !refuses)) return false;
        if (!refuses && pdl_is_absent(x->reply) && pdl_is_absent(x->scores)) return false;
    }
    return true;
}

void pdl_mock_script_fini(pdl_mock_script *s) { pdl_vec_fini(&s->items); }

/* --- choosing --------------------------------------------------------------------------------- */

static pdl_mock_item *find_item(pdl_mock_script *s, pdl_str model, pdl_str last) {
    for (size_t i = 0; i < s->items.n; i++) {
        pdl_mock_item *x = &s->items.p[i];
        if (!x->left || (x->model.p && !pdl_glob_fits(x->model, model, 0))) continue;
        if (!x->when.p || pdl_str_find(last, x->when, 0) != PDL_NOT_FOUND) return x;
    }
    return NULL;
}

static const pdl_mock_item *use_item(pdl_mock_item *x) {
    if (x && x->left > 0) x->left--;
    return x;
}

const pdl_mock_item *pdl_mock_script_next(pdl_mock_script *s, pdl_str model, pdl_str last) {
    assert(pdl_mock_script_ok(s));
    return use_item(find_item(s, model, last));
}

const pdl_mock_item *pdl_mock_script_other(pdl_mock_script *s, pdl_str model, pdl_str last,
                                           bool *refuses) {
    pdl_mock_item *x = find_item(s, model, last);
    assert(pdl_mock_script_ok(s));
    *refuses = x && x->status;
    return *refuses ? NULL : use_item(x);
}
