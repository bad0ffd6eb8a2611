/* sent_parts.c -- counts which parts of an answer were sent while it arrived, and computes the rest
 * at the end; see sent_parts.h. A tool call is sent as soon as the calls with lower indexes were
 * sent. Logprobs are sent only while the client sees exactly the text of the model, because their
 * offsets refer to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/sent_parts.h"

#include "value/int.h"

#include "base/banned.h"

static const char *const logprob_lists[] = {"content", "refusal"};
enum { N_LISTS = sizeof logprob_lists / sizeof logprob_lists[0] };

void pdl_serve_sent_fini(sent *s) { pdl_vec_fini(&s->calls); }

static pdl_val or_absent(pdl_val d) {
    if (pdl_dict_len(d)) return d;
    pdl_drop(d);
    return pdl_absent();
}

/* --- while the answer arrives ----------------------------------------------------------------- */

static void count_text(pdl_vref v, size_t *n) {
    if (pdl_is_str(v)) *n += pdl_str_get(v).n;
}

/* Counts calls, which arrive in the order of their indexes. */
static void count_calls(sent *s, pdl_vref calls) {
    for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++) {
        pdl_vref call = pdl_list_at(calls, i), f = pdl_dict_getz(call, "function");
        int64_t index = 0;
        if (!pdl_int_get(pdl_dict_getz(call, "index"), &index) || index < 0) continue;
        if ((size_t)index == s->calls.n) *pdl_vec_push(&s->calls) = 0;
        if ((size_t)index < s->calls.n)
            count_text(pdl_dict_getz(f, "arguments"), &s->calls.p[index]);
    }
}

/* Returns true when the client sees exactly the text of the model. Only such a client gets
 * information about tokens. */
static bool takes_logprobs(const choice *c) {
    return !c->sent.has_other_text && !c->cut.why && !pdl_serve_cutoff_has_stops(&c->cut);
}

static void count_logprobs(sent *s, pdl_vref logprobs) {
    for (size_t i = 0; i < N_LISTS; i++) {
        pdl_vref list = pdl_dict_getz(logprobs, logprob_lists[i]);
        if (pdl_is_list(list)) s->logprobs[i] += pdl_list_len(list);
    }
}

/* Returns true when these calls may be sent now: calls are sent in the order of their indexes. A
 * call whose index leaves a gap waits, and is sent at the end with all calls after it. */
static bool is_in_order(const sent *s, pdl_vref calls) {
    size_t next = s->calls.n;
    for (size_t i = 0; i < pdl_list_len(calls); i++) {
        int64_t index = -1;
        if (!pdl_int_get(pdl_dict_getz(pdl_list_at(calls, i), "index"), &index)) return false;
        if (index < 0 || (size_t)index > next) return false;
        next += (size_t)index == next;
    }
    return true;
}

static pdl_val without(pdl_val d, const char *name) {
    pdl_val key = pdl_textz(name);
    d = pdl_dict_del(d, key);
    pdl_drop(key);
    return d;
}

pdl_val pdl_serve_sent_add(choice *c, pdl_vref extra) {
    sent *s = &c->sent;
    pdl_val out = pdl_keep(extra);
    pdl_vref logprobs = pdl_dict_getz(extra, "logprobs"),
             calls = pdl_dict_getz(extra, "tool_calls");
    if (!pdl_is_absent(logprobs) && !takes_logprobs(c)) out = without(out, "logprobs");
    if (pdl_is_list(calls) && !is_in_order(s, calls)) out = without(out, "tool_calls");
    count_text(pdl_dict_getz(out, "reasoning_content"), &s->reasoning);
    count_text(pdl_dict_getz(out, "refusal"), &s->refusal);
    count_calls(s, pdl_dict_getz(out, "tool_calls"));
    logprobs = pdl_dict_getz(out, "logprobs");
    if (pdl_is_dict(logprobs)) count_logprobs(s, logprobs);
    return or_absent(out);
}

/* --- the rest --------------------------------------------------------------------------------- */

/* Returns the text from byte n on; absent when nothing is left. */
static pdl_val rest_of_text(pdl_vref v, size_t n) {
    if (!pdl_is_str(v)) return n ? pdl_absent() : pdl_keep(v);
    pdl_str s = pdl_str_get(v);
    if (!n) return pdl_keep(v);
    return s.n > n ? pdl_text(pdl_str_sub(s, n, s.n)) : pdl_absent();
}

static pdl_val rest_of_said(const sent *s, pdl_vref said) {
    const struct {
        const char *name;
        size_t sent;
    } texts[] = {{"reasoning_content", s->reasoning}, {"refusal", s->refusal}};
    pdl_val d = pdl_keep(said);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pdl_vref v = pdl_dict_getz(said, texts[i].name);
        if (pdl_is_absent(v)) continue;
        pdl_val rest = rest_of_text(v, texts[i].sent);
        d = pdl_is_absent(rest) ? without(d, texts[i].name) : pdl_dict_putz(d, texts[i].name, rest);
    }
    return d;
}

/* Returns a call with its index, or the rest of its arguments when a part was sent before; absent
 * when nothing is left. */
static pdl_val rest_of_call(const sent *s, pdl_vref call, size_t i) {
    if (i >= s->calls.n) return pdl_dict_putz(pdl_keep(call), "index", pdl_int((int64_t)i));
    pdl_vref f = pdl_dict_getz(call, "function");
    pdl_vref all = pdl_is_dict(f) ? pdl_dict_getz(f, "arguments") : pdl_absent();
    if (!pdl_is_str(all) || pdl_str_get(all).n <= s->calls.p[i]) return pdl_absent();
    pdl_val arguments = rest_of_text(all, s->calls.p[i]);
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "index", pdl_int((int64_t)i));
    return pdl_dict_putz(d, "function", pdl_dict_putz(pdl_dict_new(1), "arguments", arguments));
}

static pdl_val put_rest_of_calls(pdl_val rest, const sent *s, pdl_vref calls) {
    pdl_val list = pdl_list_new(0);
    for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++) {
        pdl_val more = rest_of_call(s, pdl_list_at(calls, i), i);
        if (!pdl_is_absent(more)) list = pdl_list_push(list, more);
    }
    if (pdl_list_len(list)) return pdl_dict_putz(rest, "tool_calls", list);
    pdl_drop(list);
    return rest;
}

static pdl_val put_rest_of_logprobs(pdl_val rest, const sent *s, pdl_vref logprobs) {
    pdl_val d = pdl_keep(logprobs);
    bool more = !s->logprobs[0] && !s->logprobs[1];
    for (size_t i = 0; i < N_LISTS; i++) {
        pdl_vref all = pdl_dict_getz(logprobs, logprob_lists[i]);
        if (!pdl_is_list(all) || !s->logprobs[i]) continue;
        pdl_val list = pdl_list_new(0);
        for (size_t k = s->logprobs[i]; k < pdl_list_len(all); k++)
            list = pdl_list_push(list, pdl_keep(pdl_list_at(all, k)));
        more |= pdl_list_len(list) > 0;
        d = pdl_dict_putz(d, logprob_lists[i], list);
    }
    if (more) return pdl_dict_putz(rest, "logprobs", d);
    pdl_drop(d);
    return rest;
}

pdl_val pdl_serve_sent_rest(choice *c, const answer *a) {
    const sent *s = &c->sent;
    pdl_val rest = rest_of_said(s, a->said);
    rest = put_rest_of_calls(rest, s, a->calls);
    if (pdl_is_dict(a->logprobs)) rest = put_rest_of_logprobs(rest, s, a->logprobs);
    return or_absent(rest);
}
