/* stdlib.c -- functions for lib/stdlib.pdl that cannot be written in PDL: probabilities of a
 * judge's answer, an error of the program, a check against a type, text shown at once, embeddings;
 * and the table of all natives of stdlib. The larger natives are in the other files of this folder.
 *
 * A judge answers `true` or `false`, perhaps with a capital letter, in quotes, or before an
 * explanation. The raw response has, for each token of the answer, the other tokens that the model
 * weighed:
 *
 *     choices[0].logprobs.content[*] = {token, top_logprobs: [{token, logprob}, ...]}
 *
 * The model decided at the last token with which the answer may start, because models put white
 * space and role tokens first. When an explanation follows, it decided at the first such token.
 * There the two words compete: p(true) / (p(true) + p(false)) (spec execution 1.5).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdarg.h>

#include "base/utf8.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

/* Returns x[key], borrowed. Error: KeyError, in Python's words. */
static bool member(pdl_vref x, const char *key, pdl_vref *out, pdl_err *err) {
    pdl_vref v = pdl_is_dict(x) ? pdl_dict_getz(x, key) : pdl_absent();
    if (pdl_is_absent(v)) return pdl_err_host(err, "KeyError,LookupError", "'%s'", key);
    *out = v;
    return true;
}

static bool member_list(pdl_vref x, const char *key, pdl_vref *out, pdl_err *err) {
    pdl_vref v;
    if (!member(x, key, &v, err)) return false;
    if (!pdl_is_list(v))
        return pdl_err_host(err, "TypeError", "%s is of type %s, not a list", key, pdl_py_type(v));
    *out = v;
    return true;
}

/* Returns the first word of an answer, without quotes around it. */
static pdl_str first_word(pdl_str answer) {
    pdl_str said = pdl_str_trim(answer);
    size_t from = 0;
    while (from < said.n && pdl_byte_in(said.p[from], PDL_STR("\"'*`"))) from++;
    size_t n = from;
    while (n < said.n && pdl_cp_is_alnum((unsigned char)said.p[n])) n++;
    return pdl_str_sub(said, from, n);
}

/* Says how a text starts with a token: not at all, with letters of another case, or exactly. */
typedef enum { NO_START, ANY_CASE, AS_WRITTEN } start_kind;

static start_kind start_of(pdl_str text, pdl_str part) {
    if (pdl_str_starts(text, part)) return AS_WRITTEN;
    bool starts = part.n <= text.n && pdl_str_eq_nocase(pdl_str_sub(text, 0, part.n), part);
    return starts ? ANY_CASE : NO_START;
}

/* Stores in *out whether text starts with the word in the token of this entry: as written, in
 * another case, or not at all. A token may have blanks, quotes or a full stop around its word. */
static bool token_starts(pdl_vref entry, pdl_str text, start_kind *out, pdl_err *err) {
    pdl_vref token;
    if (!member(entry, "token", &token, err)) return false;
    if (!pdl_is_str(token))
        return pdl_err_host(err, "TypeError", "a token is of type %s, not str", pdl_py_type(token));
    pdl_str word = pdl_str_get(token), bare = first_word(word);
    *out = bare.n || !word.n ? start_of(text, bare) : NO_START;
    return true;
}

static bool logprob_of(pdl_vref entry, double *out, pdl_err *err) {
    pdl_vref v;
    return member(entry, "logprob", &v, err) && pdl_float_from(v, out, err);
}

/* Returns the probability of the first candidate token that is a prefix of word. Exact matches come
 * first, then matches without regard to case. When no candidate is a prefix, returns the
 * probability of the least likely candidate. */
static bool probability(pdl_str word, pdl_vref top, double *out, pdl_err *err) {
    double least = INFINITY, other_case = NAN;
    for (size_t i = 0; i < pdl_list_len(top); i++) {
        pdl_vref entry = pdl_list_at(top, i);
        start_kind start;
        double lp = 0;
        if (!token_starts(entry, word, &start, err) || !logprob_of(entry, &lp, err)) return false;
        *out = exp(lp);
        if (start == AS_WRITTEN) return true;
        if (start == ANY_CASE && isnan(other_case)) other_case = lp;
        if (lp < least) least = lp;
    }
    *out = exp(isnan(other_case) ? least : other_case);
    return true;
}

/* Finds the tokens that were weighed where the answer was decided. The answer was decided at the
 * last token with which it may begin. With an explanation it was decided at the first such token,
 * because the explanation after the answer may have such tokens, too. */
static bool decision(pdl_vref choice, pdl_str answer, bool explained, pdl_vref *top, pdl_err *err) {
    pdl_vref logprobs, content;
    if (!member(choice, "logprobs", &logprobs, err) ||
        !member_list(logprobs, "content", &content, err))
        return false;
    size_t n = pdl_list_len(content);
    for (size_t i = 0; i < n; i++) {
        start_kind start;
        pdl_vref token = pdl_list_at(content, explained ? i : n - 1 - i);
        if (!token_starts(token, answer, &start, err)) return false;
        if (start != NO_START) return member_list(token, "top_logprobs", top, err);
    }
    return pdl_err_host(err, "AssertionError", "no token of the response begins its text");
}

/* Computes log(p_true / (p_true + p_false)), where p_true and p_false are the probabilities of the
 * words `true` and `false`. When own is set and the answer is `false`, p_false is the dividend. */
static bool judge(pdl_vref response, bool own, pdl_val *out, pdl_err *err) {
    pdl_vref choices, message, content, top;
    if (!member_list(response, "choices", &choices, err)) return false;
    if (pdl_list_len(choices) == 0)
        return pdl_err_host(err, "IndexError,LookupError", "list index out of range");
    pdl_vref choice = pdl_list_at(choices, 0);
    if (!member(choice, "message", &message, err) || !member(message, "content", &content, err))
        return false;
    pdl_str said = pdl_is_str(content) ? pdl_str_trim(pdl_str_get(content)) : PDL_STR("");
    pdl_str answer = first_word(said);
    bool yes = pdl_str_eq_nocase(answer, PDL_STR("true"));
    if (!yes && !pdl_str_eq_nocase(answer, PDL_STR("false"))) {
        pdl_buf b = PDL_BUF;
        pdl_val shown;
        if (!pdl_val_str_val(content, &shown, err)) return false;
        pdl_buf_put(&b, pdl_str_get(shown));
        pdl_err_host(err, "ValueError", "Wrong value: %s", pdl_buf_z(&b));
        pdl_drop(shown);
        pdl_buf_fini(&b);
        return false;
    }
    double p_true = 0, p_false = 0;
    if (!decision(choice, answer, said.n > answer.n, &top, err) ||
        !probability(PDL_STR("true"), top, &p_true, err) ||
        !probability(PDL_STR("false"), top, &p_false, err))
        return false;
    double p = own && !yes ? p_false : p_true;
    *out = pdl_with_label(pdl_float(p > 0 || isnan(p) ? log(p / (p_true + p_false)) : -INFINITY),
                          pdl_label_of(response));
    return true;
}

/* Returns true when the response has no probabilities, which many models do not give. */
static bool lacks_logprobs(pdl_vref response) {
    pdl_vref choices = pdl_member(response, "choices");
    if (!pdl_is_list(choices) || !pdl_list_len(choices)) return false;
    pdl_vref content = pdl_member(pdl_member(pdl_list_at(choices, 0), "logprobs"), "content");
    return pdl_is_absent(content) || pdl_is_null(content);
}

/* Judges by the first word of the answer, without regard to case, because nothing else is known.
 * Returns 0 for true and -inf for false. */
static bool verdict(pdl_vref response, pdl_val *out, pdl_err *err) {
    pdl_vref choice = pdl_list_at(pdl_member(response, "choices"), 0);
    pdl_str said = pdl_str_trim(pdl_member_str(pdl_member(choice, "message"), "content"));
    pdl_str word = first_word(said);
    bool yes = pdl_str_eq_nocase(word, PDL_STR("true"));
    if (!yes && !pdl_str_eq_nocase(word, PDL_STR("false")))
        return pdl_err_host(err, "ValueError", "Wrong value: %.*s", PDL_FMT(said));
    *out = pdl_with_label(pdl_float(yes ? 0 : -INFINITY), pdl_label_of(response));
    return true;
}

static bool g_bool_confidence(PDL_ARGS) { return judge(argv[0], true, out, err); }

static bool g_reward(PDL_ARGS) {
    return lacks_logprobs(argv[0]) ? verdict(argv[0], out, err) : judge(argv[0], false, out, err);
}

static pdl_err_kind kind_named(pdl_vref name) {
    pdl_err_kind kind = PDL_E_runtime;
    for (int k = PDL_E_NONE + 1; pdl_is_str(name) && k < PDL_E_COUNT; k++)
        if (pdl_text_is(name, pdl_err_kind_name((pdl_err_kind)k))) kind = (pdl_err_kind)k;
    return kind == PDL_E_expression ? PDL_E_runtime : kind;
}

/* Fails with the text as the whole message, since the error is not an error of the expression. A
 * pdl_error that was caught is raised again with its message, kind and status. */
static bool g_fail(PDL_ARGS) {
    pdl_vref caught = pdl_is_dict(argv[0]) ? argv[0] : pdl_absent(), message = argv[0],
             status = pdl_absent();
    pdl_err_kind kind = PDL_E_runtime;
    if (!pdl_is_absent(caught)) {
        if (!member(caught, "message", &message, err)) return false;
        kind = kind_named(pdl_dict_getz(caught, "kind"));
        status = pdl_dict_getz(caught, "status");
    }
    pdl_val text;
    if (!pdl_arg_text(env, message, &text, err)) return false;
    pdl_err_set(err, kind, (pdl_loc){0}, "%.*s", PDL_FMT(pdl_str_get(text)));
    pdl_str plain = pdl_member_str(caught, "plain");
    if (plain.n) pdl_err_plain(err, "%.*s", PDL_FMT(plain));
    int64_t code;
    err->has_status = pdl_is_int(status) && pdl_int_get(status, &code);
    if (err->has_status) err->status = (int)code;
    pdl_drop(text);
    return false;
}

static bool g_check(PDL_ARGS) {
    if (!env->check) return pdl_err_host(err, "RuntimeError", "nothing can be checked here");
    if (!env->check(env->user, argv[1], argv[0], err)) return false;
    *out = pdl_with_label(env->bound(env->user, argv[1], pdl_keep(argv[0])), pdl_label_of(argv[1]));
    return true;
}

static bool g_show(PDL_ARGS) {
    if (!env->show) return pdl_err_host(err, "RuntimeError", "nothing can be shown here");
    pdl_val text, end = pdl_absent();
    if (!pdl_arg_text(env, argv[0], &text, err)) return false;
    bool ok = pdl_is_absent(argv[1]) || pdl_arg_text(env, argv[1], &end, err);
    if (ok) {
        pdl_buf b = PDL_BUF;
        pdl_buf_put(&b, pdl_str_get(text));
        pdl_buf_put(&b, pdl_is_absent(end) ? PDL_STR("\n") : pdl_str_get(end));
        env->show(env->user, pdl_buf_str(&b),
                  pdl_label_of(argv[0]) | (pdl_is_absent(argv[1]) ? 0 : pdl_label_of(argv[1])));
        pdl_buf_fini(&b);
        *out = pdl_textz("");
    }
    pdl_drop(text);
    pdl_drop(end);
    return ok;
}

/* --- effects ---------------------------------------------------------------------------------- */

static bool are_texts(pdl_vref v) {
    for (size_t i = 0; i < pdl_list_len(v); i++)
        if (!pdl_is_str(pdl_list_at(v, i))) return false;
    return true;
}

/* Makes the effect in which a model embeds a text or a list of texts. */
static bool g_embed(PDL_ARGS) {
    pdl_vref model = argv[0], input = argv[1],
             params = argc > 2 && pdl_given(argv[2]) ? argv[2] : pdl_absent();
    if (!pdl_is_str(model))
        return pdl_err_host(err, "TypeError", "embed: model should be a string, not %s",
                            pdl_py_type(model));
    if (!pdl_is_str(input) && !(pdl_is_list(input) && are_texts(input)))
        return pdl_err_host(err, "TypeError",
                            "embed: input should be a string or an array of strings");
    if (!pdl_is_absent(params) && !pdl_is_dict(params))
        return pdl_err_host(err, "TypeError", "embed: parameters should be an object, not %s",
                            pdl_py_type(params));
    pdl_val r = pdl_dict_putz(pdl_dict_new(3), "model", pdl_keep(model));
    pdl_val list =
        pdl_is_str(input) ? pdl_list_push(pdl_list_new(1), pdl_keep(input)) : pdl_keep(input);
    r = pdl_dict_putz(r, "input", list);
    r = pdl_dict_putz(r, "parameters", pdl_is_absent(params) ? pdl_dict_new(0) : pdl_keep(params));
    *out = pdl_tuple_new((pdl_val[]){pdl_textz("embed"), r}, 2);
    return true;
}

static const pdl_native natives[] = {
    {"pdl_bool_confidence", g_bool_confidence, "response", 1, 1, 0,
     "Log probability of the judge's answer.", "bool_confidence", PDL_NS_DEF, "object -> number"},
    {"pdl_calculate", pdl_g_calculate, "text, floats", 1, 2, 0,
     "Value of an arithmetic expression, with whole numbers of any size.", "calculate", PDL_NS_DEF,
     "any, any -> any"},
    {"pdl_check", g_check, "value, type", 2, 2, PDL_N_IMPURE | PDL_N_LABELS,
     "The value, if it is of a type written as data; fails otherwise.", "check", PDL_NS_DEF,
     "any, any -> any"},
    {"pdl_embed", g_embed, "model, input, parameters", 2, 3, PDL_N_EFFECT | PDL_N_IMPURE,
     "Vectors of texts, from a model: {embeddings, usage, model}.", "embed", PDL_NS_DEF,
     "any, any, any -> any"},
    {"pdl_fail", g_fail, "message", 1, 1, PDL_N_IMPURE,
     "Fails with this message, or once more with a caught pdl_error.", "fail", PDL_NS_DEF,
     "any -> any"},
    {"pdl_fill", pdl_g_fill, "text, values", 2, 2, 0,
     "The text with each slot {name} replaced by its value.", "fill", PDL_NS_DEF,
     "any, any -> any"},
    {"pdl_find_object", pdl_g_find_object, "text, keys", 2, 2, 0,
     "The first JSON object in a text that has keys of these types: {value, start, end}, or null.",
     "find_object", PDL_NS_DEF, "any, any -> any"},
    {"pdl_find_tool", pdl_g_find_tool, "tool_call, tools", 2, 2, 0,
     "What a tool call asks for: {run, name, arguments, how}.", "find_tool", PDL_NS_DEF,
     "any, any -> any"},
    {"pdl_http_next", pdl_g_http_next, "request, reply, left", 3, 3, PDL_N_LABELS,
     "The request to which an answer redirects, or null.", "http_next", PDL_NS_DEF,
     "any, any, any -> any"},
    {"pdl_http_request", pdl_g_http_request, "url, method, headers, body, timeout, max_bytes, auth",
     7, 7, PDL_N_LABELS, "A request to a web server, checked.", "http_request", PDL_NS_DEF,
     "any, any, any, any, any, any, any -> any"},
    {"pdl_http_send", pdl_g_http, "request", 1, 1, PDL_N_EFFECT | PDL_N_IMPURE,
     "The answer of a web server to a request of pdl_http_request.", "http_send", PDL_NS_DEF,
     "any -> any"},
    {"pdl_nearest", pdl_g_nearest, "vectors, vector, k", 3, 3, 0,
     "The k vectors nearest to a vector: [{index, score}], by cosine.", "nearest", PDL_NS_DEF,
     "any, any, any -> list"},
    {"pdl_reward", g_reward, "response", 1, 1, 0, "Log probability that the judge says true.",
     "reward", PDL_NS_DEF, "object -> number"},
    {"pdl_show", g_show, "text, end", 1, 2, PDL_N_IMPURE,
     "Prints a text at once; it is part of no result.", "show", PDL_NS_DEF, "any, any -> any"},
    {"pdl_slots", pdl_g_slots, "text", 1, 1, 0, "Names of the slots {name} of a text.", "slots",
     PDL_NS_DEF, "any -> list"},
    {"pdl_tfidf", pdl_g_tfidf, "texts, query, k", 3, 3, 0,
     "The k texts most like the query: [{index, score}], by TF-IDF and cosine.", "tfidf",
     PDL_NS_DEF, "any, any, any -> list"},
    {"pdl_tool_call", pdl_g_tool_call, "server, name, arguments", 3, 3, PDL_N_IMPURE | PDL_N_EFFECT,
     "Calls a tool of a server; arguments: an object, or a list of names of variables.",
     "tool_call", PDL_NS_DEF, "any, any, any -> any"},
    {"pdl_tool_error", pdl_g_tool_error, "error", 1, 1, 0, "What is wrong, as text for a model.",
     "tool_error", PDL_NS_DEF, "any -> any"},
    {"pdl_tool_request", pdl_g_tool_request, "server, method, params", 3, 3,
     PDL_N_IMPURE | PDL_N_EFFECT, "The result of a request to a tool server.", "tool_request",
     PDL_NS_DEF, "any, any, any -> any"},
    {"pdl_tool_result", pdl_g_tool_result, "reply", 1, 1, 0,
     "The value in the reply of a tool server, or its failure as an error.", "tool_result",
     PDL_NS_DEF, "any -> any"},
    {"pdl_tool_text", pdl_g_tool_text, "reply", 1, 1, 0,
     "The reply of a tool server as text for a model, or its failure as an error.", "tool_text",
     PDL_NS_DEF, "any -> any"},
};

pdl_rows pdl_rows_stdlib(void) { return (pdl_rows){natives, PDL_N_COUNT(natives)}; }
