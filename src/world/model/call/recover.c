/* recover.c -- decides what follows a failure: another attempt, another model, or the error.
 *
 * A failed request is examined in this order, and the first rule that applies is taken:
 *   1. a token of the cache was refused: get a new one, once;
 *   2. the service refuses the field of the schema: send the request without it;
 *   3. the failure may pass and nothing forbids a retry: wait (backoff.c), send again;
 *   4. the parameters name another model: write the request for that one;
 *   5. refuse the effect, with everything that was tried in the error's detail.
 *
 * A retry is only right as long as no part of the answer was shown, because a model never says the
 * same twice. `retry_after_output` allows a retry after that, for programs that prefer the chance
 * of success to an immediate error. Then receive.c compares the new stream with the text that was
 * shown, and fails the call if they differ. A failure before anything was sent (a bad parameter, a
 * missing key) does not pass by itself and is never retried.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/pace.h"
#include "io/clock.h"
#include "model/ask/params.h"
#include "model/call/life.h"
#include "value/json_put.h"

#include "base/banned.h"

enum { DEFAULT_RETRIES = 2, MAX_RETRIES = 1000 };

/* --- the error -------------------------------------------------------------------------------- */

static void put_detail(const pdl_call *c, const pdl_fault *f, pdl_buf *out) {
    pdl_vref model = c->model;
    bool has_seconds = f->retry_after >= 0 && !f->retry_is_date;
    pdl_json_open(out, '{');
    if (c->ask.provider)
        pdl_json_put_text(out, "provider", pdl_str_of(c->ask.provider->prefix));
    else
        pdl_json_put_value(out, "provider", pdl_null());
    pdl_json_put_text(out, "model", pdl_is_str(model) ? pdl_str_get(model) : (pdl_str){0});
    pdl_json_put_value(out, "retry_after_seconds",
                       has_seconds ? pdl_float(f->retry_after) : pdl_null());
    if (!pdl_is_absent(c->attempts.list)) pdl_json_put_value(out, "attempts", c->attempts.list);
    pdl_buf_putc(out, '}');
}

/* Refuses the effect. Takes the content of f. */
static void refuse(pdl_call *c, pdl_fault *f) {
    pdl_effect *e = c->e;
    pdl_err err = {0};
    pdl_buf msg = PDL_BUF, detail = PDL_BUF;
    pdl_vref asked = pdl_dict_getz(e->request, "model");
    pdl_str model = pdl_is_str(asked) ? pdl_str_get(asked) : (pdl_str){0};
    pdl_redact_cut(c->calls->opt.secrets, pdl_buf_str(&f->msg), &msg);
    if (c->tried & PDL_TRIED_FALLBACK) PDL_PUT(&msg, ". All fallback attempts failed.");
    put_detail(c, f, &detail);
    const char *provider = c->ask.provider ? c->ask.provider->prefix : "";
    pdl_err_set(&err, f->kind, e->loc, "Error during '%.*s' model call: %s: %s%s%s", PDL_FMT(model),
                pdl_err_kind_name(f->kind), provider, *provider ? " - " : "", pdl_buf_z(&msg));
    err.detail = pdl_buf_take(&detail);
    if (f->retry_after > 0 && !f->retry_is_date) err.facts.retry_after = f->retry_after;
    err.status = f->status;
    err.has_status = f->status > 0;
    pdl_call_advise(c, model, &err);
    pdl_buf_fini(&msg);
    pdl_fault_fini(f);
    double seconds = (double)(pdl_clock_ns() - c->start_ns) / 1e9;
    pdl_call_release(c);
    pdl_effect_refuse_after(e, &err, seconds);
}

/* --- the decision ----------------------------------------------------------------------------- */

/* The step that follows a failure. */
typedef struct decision {
    pdl_next next;
    uint64_t wait_ms; /* the wait before a retry */
    bool is_free;     /* the retry is not counted */
} decision;

bool pdl_call_retries_after_output(const pdl_call *c) {
    pdl_vref v = pdl_dict_getz(c->given, "retry_after_output");
    return !pdl_is_absent(v) && pdl_val_truth(v);
}

/* Returns true when the failure happened after a request of the call, or of the exchange for its
 * token, was sent. Such a failure may pass. */
static bool was_sent(pdl_call_state failed) {
    return failed == PDL_CALL_AWAITS_TOKEN || failed == PDL_CALL_SENT ||
           failed == PDL_CALL_STREAMING || failed == PDL_CALL_ONE_BODY ||
           failed == PDL_CALL_READING;
}

static bool says(const pdl_fault *f, const char *word) {
    return pdl_str_find(pdl_buf_str(&f->msg), pdl_str_of(word), 0) != PDL_NOT_FOUND;
}

/* Returns true when the tool that represents the schema is the only one. */
static bool is_only_tool(const pdl_call *c) {
    return c->ask.forced_tool && pdl_is_absent(pdl_dict_getz(c->ask.params, "tools"));
}

/* Returns true when the service does not know the field of the schema, or does not take it beside
 * tools (Gemini); the call is then sent without the field (spec providers 15.2). */
static bool blames_schema(const pdl_call *c, const pdl_fault *f) {
    static const char *const names[] = {"response_format",    "json_schema", "guided_json",
                                        "response mime type", "format",      "response_mime_type",
                                        "response_schema"};
    if (!c->ask.structured || c->ask.no_schema || f->status != 400) return false;
    bool found = is_only_tool(c) && (says(f, "input_schema") || says(f, "inputSchema"));
    for (size_t i = 0; !found && i < sizeof names / sizeof names[0]; i++) found = says(f, names[i]);
    return found;
}

/* Returns true when a new token may help, since a service may withdraw a cached token early. An
 * exchange that the service refused is not repeated. */
static bool blames_token(const pdl_call *c, const pdl_fault *f, pdl_call_state failed) {
    return c->token_url.len && f->status == 401 && was_sent(failed) &&
           failed != PDL_CALL_AWAITS_TOKEN && !(c->tried & PDL_TRIED_NEW_TOKEN);
}

static unsigned max_retries(const pdl_call *c) {
    double a = pdl_params_number(c->given, "max_retries", -1),
           b = pdl_params_number(c->given, "num_retries", -1);
    double most = a > b ? a : b;
    bool is_given = most >= 0; /* false for NaN */
    return !is_given ? DEFAULT_RETRIES : most > MAX_RETRIES ? MAX_RETRIES : (unsigned)most;
}

/* Returns true when the answer can start again without showing any part of it twice. */
static bool can_begin_again(const pdl_call *c) {
    return !c->has_shown || c->job.get.len ||
           (pdl_call_retries_after_output(c) && pdl_call_is_streamed(c));
}

/* Decides what to do after a failure. When other requests of the bucket are being answered, a 429
 * only postpones the request: its retry is not counted. */
static decision decide(pdl_call *c, const pdl_fault *f, pdl_call_state failed) {
    decision d = {.next = PDL_NEXT_NONE};
    unsigned most = max_retries(c);
    if (blames_token(c, f, failed)) return (decision){.next = PDL_NEXT_TOKEN};
    if (blames_schema(c, f)) return (decision){.next = PDL_NEXT_NO_SCHEMA};
    d.is_free = most && f->status == 429 && f->kind == PDL_E_rate_limit &&
                pdl_rates_had_progress(&c->rate_slot);
    bool in_time = f->retry_after <= 0 || f->retry_after < pdl_call_seconds_left(c);
    if (was_sent(failed) && can_begin_again(c) && in_time && (d.is_free || c->attempt < most) &&
        pdl_backoff(f, c->attempt, &c->calls->rng, &d.wait_ms))
        d.next = PDL_NEXT_RETRY;
    else if (pdl_call_fall_back(c, f))
        d.next = PDL_NEXT_FALLBACK;
    return d;
}

/* Records the failed attempt, unless it was the only one. Takes model, which is the one that
 * failed. */
static void note_attempt(pdl_call *c, const pdl_fault *f, pdl_val model, const decision *d) {
    if (d->next != PDL_NEXT_NONE || !pdl_is_absent(c->attempts.list)) {
        pdl_buf msg = PDL_BUF;
        pdl_redact_cut(c->calls->opt.secrets, pdl_buf_str(&f->msg), &msg);
        pdl_attempts_add(&c->attempts, model, f, pdl_buf_str(&msg), d->next, d->wait_ms);
        pdl_buf_fini(&msg);
    }
    pdl_drop(model);
}

static void wait_for_retry(pdl_call *c, const decision *d) {
    pdl_call_enter(c, PDL_CALL_AWAITS_RETRY);
    c->attempt += !d->is_free;
    c->replay_left = c->shown_text.len;
    pdl_call_wait(c, pdl_pace_ms(d->wait_ms));
}

pdl_str pdl_call_model(const pdl_call *c) {
    return pdl_is_str(c->model) ? pdl_str_get(c->model) : (pdl_str){0};
}

/* Replaces the text of a note when the redaction covers the labels of the call, because names and
 * the words of a service may repeat what the request holds. */
static void redact_note(const pdl_redaction *redaction, pdl_label label, pdl_buf *text) {
    if (!pdl_redaction_covers(redaction, label)) return;
    pdl_buf_clear(text);
    PDL_PUT(text, "a note about a call of a model is not shown: ");
    pdl_redaction_put(redaction, label, text);
}

void pdl_call_note(const pdl_call *c, const char *fmt, ...) {
    pdl_calls *calls = c->calls;
    pdl_buf text = PDL_BUF, shown = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&text, fmt, ap);
    va_end(ap);
    redact_note(calls->opt.redaction, pdl_effect_label(c->e) | PDL_LABEL_model, &text);
    pdl_redact_cut(calls->opt.secrets, pdl_buf_str(&text), &shown);
    if (calls->opt.note && !pdl_str_eq(pdl_buf_str(&shown), pdl_buf_str(&calls->noted))) {
        calls->opt.note(calls->opt.user, pdl_buf_str(&shown));
        calls->noted.limit = PDL_BUF.limit;
        pdl_buf_clear(&calls->noted);
        pdl_buf_put(&calls->noted, pdl_buf_str(&shown));
    }
    pdl_buf_fini(&text);
    pdl_buf_fini(&shown);
}

void pdl_call_fail_early(pdl_call *c, pdl_err *err) {
    pdl_fault f = {0};
    if (pdl_err_is_cancel(err)) { /* writing a large request may be cancelled */
        pdl_effect *e = c->e;
        pdl_call_enter(c, PDL_CALL_FAILED);
        pdl_call_release(c);
        pdl_effect_refuse(e, err);
        return;
    }
    pdl_fault_of_err(err, 0, &f);
    pdl_call_fail(c, &f);
}

void pdl_call_fail(pdl_call *c, pdl_fault *f) {
    pdl_call_state failed = c->state;
    pdl_call_enter(c, PDL_CALL_FAILED);
    PDL_TRACE(c->calls->opt.debug, http, "effect %u: %s, status %d", c->e->id,
              pdl_err_kind_name(f->kind), f->status);
    pdl_val model = pdl_keep(c->model); /* pdl_call_fall_back changes c->model */
    decision d = decide(c, f, failed);
    note_attempt(c, f, model, &d);
    if (d.next == PDL_NEXT_NONE) {
        refuse(c, f);
        return;
    }
    if (d.next == PDL_NEXT_NO_SCHEMA)
        pdl_call_note(c,
                      "%.*s does not take the schema of `spec` and is called again without it: %s",
                      PDL_FMT(pdl_call_model(c)), pdl_buf_z(&f->msg));
    pdl_fault_fini(f);
    if (d.next == PDL_NEXT_RETRY) {
        wait_for_retry(c, &d);
        return;
    }
    if (d.next == PDL_NEXT_FALLBACK) pdl_job_best_effort_cancel(c);
    if (d.next == PDL_NEXT_NO_SCHEMA) c->ask.no_schema = true;
    if (d.next == PDL_NEXT_TOKEN) {
        pdl_token_forget(&c->calls->tokens, pdl_buf_str(&c->token_url), pdl_call_token_id(c));
        c->tried |= PDL_TRIED_NEW_TOKEN;
    }
    pdl_call_write_request(c);
}
