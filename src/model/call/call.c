/* call.c -- the life of one call; see call.h.
 *
 *   start -> begin -> send -> [data ...] -> done -> finish            answered
 *              ^        ^                     |
 *              |        +--- wait <- retry ---+--- fail -> refuse     answered with an error
 *              +-------------- next fallback ------+
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/call.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "io/clock.h"
#include "model/ask/params.h"
#include "model/ask/processor.h"
#include "model/call/wirelog.h"
#include "model/prices.h"
#include "value/int.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { DEFAULT_RETRIES = 2, MOCK_PIECE_CP = 3 };
enum { FIRST_POLL_MS = 500, LONGEST_POLL_MS = 5000, FAREWELL_MS = 2000 };

static void begin(pdl_call *c);
static void send(pdl_call *c);
static void send_off(pdl_call *c);
static void fail(pdl_call *c, pdl_fault *f);

/* --- life cycle ------------------------------------------------------------------------------- */

static void reset_answer(pdl_call *c) {
    pdl_reply_builder_fini(&c->draft);
    pdl_sse_fini(&c->sse);
    pdl_eventstream_fini(&c->frames);
    pdl_buf_fini(&c->whole);
    pdl_fault_fini(&c->fault);
    c->is_whole = c->began = false;
}

static void unlink_call(pdl_call *c) {
    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        c->calls->end = c->prev;
    c->calls->n_open--;
}

/* --- jobs: replies that are asked for again and again ----------------------------------------- */

static void end_job(pdl_call *c) {
    pdl_buf_fini(&c->job.get);
    pdl_buf_fini(&c->job.cancel);
    pdl_buf_fini(&c->job.text);
    c->n_polls = 0;
}

static void on_farewell(void *user, const pdl_http_reply *r) {
    pdl_calls *calls = user;
    (void)r;
    calls->n_farewell--;
}

/* Nobody waits for the job any more: the service may stop. */
static void abandon_job(pdl_call *c) {
    if (c->job.get.len && c->job.cancel.len) {
        pdl_http_request req = {
            .method = "POST",
            .url = pdl_buf_z(&c->job.cancel),
            .headers = (const char *const *)c->headers.p,
            .n_headers = c->headers.n,
            .body = PDL_STR("{}"),
            .total_ms = FAREWELL_MS,
            .user = c->calls,
            .done = on_farewell,
        };
        c->calls->n_farewell++;
        pdl_http_start(c->calls->http, &req);
    }
    end_job(c);
}

/* Everything but the effect. */
static void release(pdl_call *c) {
    if (c->http_id) pdl_http_cancel(c->calls->http, c->http_id);
    pdl_timer_stop(c->timer);
    pdl_token_cancel(&c->token);
    pdl_rates_leave(c->calls->rates, &c->pass);
    pdl_buf_fini(&c->wired);
    abandon_job(c);
    reset_answer(c);
    pdl_buf_fini(&c->seen);
    pdl_drop(c->made.list);
    pdl_call_reset(c);
    pdl_drop(c->given);
    pdl_drop(c->model);
    unlink_call(c);
    pdl_free(c);
}

void pdl_call_cancel(pdl_call *c) {
    if (c->busy) {
        c->gone = true;
        return;
    }
    pdl_effect *e = c->e;
    release(c);
    pdl_effect_free(e);
}

static double seconds_since(uint64_t start_ns) { return (double)(pdl_clock_ns() - start_ns) / 1e9; }

/* --- success ---------------------------------------------------------------------------------- */

/* A stream that was asked for again after output: what was shown must come once more, and is not
 * shown again. False: it does not, and fault says so. */
static bool skip_seen(pdl_call *c, pdl_str *text) {
    size_t n = text->n < c->n_behind ? text->n : c->n_behind;
    if (n && memcmp(c->seen.p + c->seen.len - c->n_behind, text->p, n) != 0) {
        pdl_fault_set(&c->fault, PDL_E_stream, 200,
                      "the answer that was asked for again differs from what was shown of it");
        c->fault.should_retry = 0;
        return false;
    }
    c->n_behind -= n;
    *text = pdl_str_sub(*text, n, text->n);
    return true;
}

static bool retries_after_output(const pdl_call *c) {
    pdl_vref v = pdl_dict_getz(c->given, "retry_after_output");
    return !pdl_is_absent(v) && pdl_val_truth(v);
}

/* False: the call was cancelled from inside (gone), or fault says why it cannot go on. */
static bool show(pdl_call *c, pdl_str text) {
    if (text.n == 0 || !c->ask.stream || c->ask.wrapped || c->ask.nullable || !c->e->sink.piece)
        return true;
    if (!skip_seen(c, &text)) return false;
    if (text.n == 0) return true;
    if (retries_after_output(c)) pdl_buf_put(&c->seen, text);
    bool was = c->busy;
    c->busy = c->shown = true;
    c->e->sink.piece(c->e->sink.user, c->e, text);
    c->busy = was;
    return !c->gone;
}

/* show said no. Takes raw. */
static void stop(pdl_call *c, pdl_val raw) {
    pdl_drop(raw);
    if (c->gone || c->fault.kind == PDL_E_NONE) {
        pdl_call_cancel(c);
        return;
    }
    pdl_fault f = c->fault;
    c->fault = (pdl_fault){0};
    fail(c, &f);
}

/* The reply with the attempts before it, when there were some. Takes reply. */
static void answer(pdl_call *c, pdl_val reply) {
    pdl_effect *e = c->e;
    double seconds = seconds_since(c->start_ns);
    pdl_vref usage = pdl_is_dict(reply) ? pdl_dict_getz(reply, "usage") : pdl_absent();
    int64_t tokens;
    if (pdl_is_dict(usage) && pdl_int_get(pdl_dict_getz(usage, "completion_tokens"), &tokens))
        pdl_rates_used(c->calls->rates, (double)tokens);
    if (!pdl_is_absent(c->made.list))
        reply = pdl_dict_putz(reply, "attempts", pdl_keep(c->made.list));
    if (c->ask.structured) reply = pdl_dict_putz(reply, "structured", pdl_textz(c->ask.structured));
    release(c);
    pdl_effect_answer(e, reply, seconds);
}

/* The text of a reply that came whole although a stream was asked for, but for what was shown of a
 * job, in pieces of n code points (0: at once). */
static bool show_whole(pdl_call *c, pdl_vref raw, size_t n_cp) {
    pdl_vref choices = pdl_is_dict(raw) ? pdl_dict_getz(raw, "choices") : pdl_absent();
    pdl_vref first =
        pdl_is_list(choices) && pdl_list_len(choices) ? pdl_list_at(choices, 0) : pdl_absent();
    pdl_vref m = pdl_is_dict(first) ? pdl_dict_getz(first, "message") : pdl_absent();
    pdl_vref content = pdl_is_dict(m) ? pdl_dict_getz(m, "content") : pdl_absent();
    if (!pdl_is_str(content)) return true;
    pdl_str s = pdl_str_get(content);
    s = pdl_str_sub(s, c->n_shown, s.n);
    if (n_cp == 0) return show(c, s);
    for (size_t pos = 0; pos < s.n;) {
        size_t end = pos;
        for (size_t k = 0; k < n_cp && end < s.n; k++) end += pdl_utf8_len((unsigned char)s.p[end]);
        if (!show(c, pdl_str_sub(s, pos, end))) return false;
        pos = end;
    }
    return true;
}

/* Takes raw, a response in OpenAI's shape. text: what is still to be shown. */
static void finish(pdl_call *c, pdl_val raw, int status) {
    pdl_val reply;
    pdl_err err = {0};
    if (pdl_is_str(c->model))
        raw = pdl_prices_mark(c->calls->opt.prices, pdl_str_get(c->model), c->given, raw);
    unsigned how =
        (c->ask.forced_tool ? PDL_REPLY_TOOL : 0u) | (c->ask.wrapped ? PDL_REPLY_VALUE : 0u) |
        (c->ask.parsed ? PDL_REPLY_PARSED : 0u) | (c->ask.nullable ? PDL_REPLY_NULLS : 0u);
    if (!pdl_reply_finish(raw, how, c->ask.schema, &reply, &err)) {
        pdl_fault f = {0};
        pdl_fault_of_err(&err, status, &f);
        fail(c, &f);
        return;
    }
    if (c->ask.wrapped || c->ask.nullable) { /* nothing was shown yet */
        c->ask.wrapped = c->ask.nullable = false;
        if (!show_whole(c, pdl_dict_getz(reply, "raw"), 0)) {
            stop(c, reply);
            return;
        }
    }
    if (!pdl_is_absent(pdl_processor_of(c->e->request))) reply = pdl_processor_reply(reply);
    answer(c, reply);
}

/* --- failure ---------------------------------------------------------------------------------- */

static void put_detail(const pdl_call *c, const pdl_fault *f, pdl_buf *out) {
    pdl_vref model = c->model;
    PDL_PUT(out, "{\"provider\":");
    if (c->ask.provider)
        pdl_json_quote(pdl_str_of(c->ask.provider->prefix), 0, out);
    else
        PDL_PUT(out, "null");
    PDL_PUT(out, ",\"model\":");
    pdl_json_quote(pdl_is_str(model) ? pdl_str_get(model) : (pdl_str){0}, 0, out);
    PDL_PUT(out, ",\"retry_after_seconds\":");
    if (f->retry_after >= 0 && !f->retry_is_date) {
        pdl_err ignored = {0};
        if (!pdl_json_write(pdl_float(f->retry_after), 0, 0, out, &ignored)) pdl_err_fini(&ignored);
    } else {
        PDL_PUT(out, "null");
    }
    if (!pdl_is_absent(c->made.list)) {
        pdl_err ignored = {0};
        PDL_PUT(out, ",\"attempts\":");
        if (!pdl_json_write(c->made.list, 0, 0, out, &ignored)) pdl_err_fini(&ignored);
    }
    PDL_PUT(out, "}");
}

/* Takes the content of f. */
static void refuse(pdl_call *c, pdl_fault *f) {
    pdl_effect *e = c->e;
    pdl_err err = {0};
    pdl_buf msg = PDL_BUF, detail = PDL_BUF;
    pdl_vref asked = pdl_dict_getz(e->request, "model");
    pdl_str model = pdl_is_str(asked) ? pdl_str_get(asked) : (pdl_str){0};
    pdl_hide_cut(c->calls->opt.secrets, pdl_buf_str(&f->msg), &msg);
    if (c->fell_back) PDL_PUT(&msg, ". All fallback attempts failed.");
    put_detail(c, f, &detail);
    const char *provider = c->ask.provider ? c->ask.provider->prefix : "";
    pdl_err_set(&err, f->kind, e->loc, "Error during '%.*s' model call: %s: %s%s%s", PDL_FMT(model),
                pdl_err_kind_name(f->kind), provider, *provider ? " - " : "", pdl_buf_z(&msg));
    err.detail = pdl_buf_take(&detail);
    if (f->retry_after > 0 && !f->retry_is_date) err.facts.retry_after = f->retry_after;
    err.status = f->status;
    err.has_status = f->status > 0;
    pdl_buf_fini(&msg);
    pdl_fault_fini(f);
    release(c);
    pdl_effect_refuse(e, &err);
}

static bool is_streamed(const pdl_call *c) {
    return c->ask.stream && c->ask.provider && c->ask.provider->dialect->framing != PDL_STREAM_NONE;
}

/* A service that does not know the constraint gets the call without it (spec 15.2). */
static bool blames_schema(const pdl_call *c, const pdl_fault *f) {
    static const char *const names[] = {"response_format", "json_schema", "guided_json", "format"};
    if (!c->ask.structured || c->ask.no_schema || f->status != 400) return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (pdl_str_find(pdl_buf_str(&f->msg), pdl_str_of(names[i]), 0) != PDL_NOT_FOUND)
            return true;
    return false;
}

static unsigned max_retries(const pdl_call *c) {
    double a = pdl_params_number(c->given, "max_retries", -1),
           b = pdl_params_number(c->given, "num_retries", -1);
    double most = a > b ? a : b;
    return most < 0 ? DEFAULT_RETRIES : most > 1000 ? 1000 : (unsigned)most;
}

static void on_wait(void *user) {
    pdl_call *c = user;
    c->timer = NULL;
    if (c->anew && c->job.get.len == 0)
        begin(c);
    else
        send(c);
}

static pdl_str token_id(const pdl_call *c) {
    return pdl_buf_str(c->token_id.len ? &c->token_id : &c->token_request);
}

/* A token of the cache may have been withdrawn before its time. */
static bool blames_token(const pdl_call *c, const pdl_fault *f) {
    return c->token_url.len && f->status == 401 && c->http_id && !c->new_token;
}

/* What comes behind f, and after which wait. */
static pdl_next next_of(pdl_call *c, const pdl_fault *f, uint64_t *wait_ms) {
    bool hidden = !c->shown || c->job.get.len || (retries_after_output(c) && is_streamed(c));
    *wait_ms = 0;
    if (blames_token(c, f)) return PDL_NEXT_TOKEN;
    if (blames_schema(c, f)) return PDL_NEXT_NO_SCHEMA;
    /* while others are answered a 429 says when, not whether: it takes no retry away */
    unsigned most = max_retries(c);
    c->free_retry =
        most && f->status == 429 && f->kind == PDL_E_rate_limit && pdl_rates_had_progress(&c->pass);
    if (c->sent && hidden && (c->free_retry || c->attempt < most) &&
        pdl_backoff(f, c->attempt, &c->calls->rng, wait_ms))
        return PDL_NEXT_RETRY;
    return PDL_NEXT_NONE; /* a fallback is looked for where it is taken */
}

static void note_attempt(pdl_call *c, const pdl_fault *f, pdl_vref model, pdl_next next,
                         uint64_t wait_ms) {
    pdl_buf msg = PDL_BUF;
    pdl_hide_cut(c->calls->opt.secrets, pdl_buf_str(&f->msg), &msg);
    pdl_attempts_add(&c->made, model, f, pdl_buf_str(&msg), next, wait_ms);
    pdl_buf_fini(&msg);
}

/* Takes the content of f. */
static void fail(pdl_call *c, pdl_fault *f) {
    uint64_t wait_ms;
    pdl_next next = next_of(c, f, &wait_ms);
    pdl_val model = pdl_keep(c->model);
    PDL_TRACE(c->calls->opt.debug, http, "effect %u: %s, status %d", c->e->id,
              pdl_err_kind_name(f->kind), f->status);
    if (next == PDL_NEXT_NONE && pdl_call_fall_back(c, f)) next = PDL_NEXT_FALLBACK;
    if (next != PDL_NEXT_NONE || !pdl_is_absent(c->made.list))
        note_attempt(c, f, model, next, wait_ms);
    pdl_drop(model);
    switch (next) {
    case PDL_NEXT_TOKEN:
        pdl_token_forget(&c->calls->tokens, pdl_buf_str(&c->token_url), token_id(c));
        c->new_token = true;
        break;
    case PDL_NEXT_NO_SCHEMA: c->ask.no_schema = true; break;
    case PDL_NEXT_RETRY:
        c->attempt += !c->free_retry;
        c->http_id = 0;
        c->n_behind = c->seen.len;
        pdl_fault_fini(f);
        c->timer = pdl_timer_start(c->calls->loop, wait_ms, on_wait, c);
        return;
    case PDL_NEXT_FALLBACK: abandon_job(c); break;
    case PDL_NEXT_NONE:
        c->http_id = 0;
        refuse(c, f);
        return;
    }
    pdl_fault_fini(f);
    begin(c);
}

/* --- a whole answer --------------------------------------------------------------------------- */

/* An error inside an answer with status 200: {"error": ...} without choices. */
static bool is_error(pdl_vref json) {
    if (!pdl_is_dict(json)) return false;
    pdl_vref error = pdl_dict_getz(json, "error");
    return !pdl_is_absent(error) && !pdl_is_null(error) &&
           pdl_is_absent(pdl_dict_getz(json, "choices"));
}

/* A job goes on: show what is new of its text and ask again later, half as late again each time. */
static void wait_for_job(pdl_call *c) {
    pdl_fault f = {0};
    uint64_t now = pdl_clock_ns(), wait = FIRST_POLL_MS, limit = c->timing.total;
    pdl_str text = pdl_buf_str(&c->job.text);
    if (!pdl_url_same_origin(pdl_buf_str(&c->job.get), pdl_buf_str(&c->url))) {
        end_job(c);
        pdl_fault_set(&f, PDL_E_protocol, 200,
                      "the service names an address of another host for its answer");
        f.should_retry = 0;
        fail(c, &f);
        return;
    }
    if (!pdl_url_same_origin(pdl_buf_str(&c->job.cancel), pdl_buf_str(&c->url)))
        pdl_buf_clear(&c->job.cancel);
    if (c->n_polls == 0 || (c->ask.stream && text.n > c->n_shown)) c->job_ns = now;
    if (limit && now - c->job_ns > limit * 1000000) {
        pdl_fault_of_limit(PDL_HTTP_TOTAL_MS, &f);
        f.should_retry = 0;
        fail(c, &f);
        return;
    }
    pdl_str fresh = pdl_str_sub(text, c->n_shown, text.n);
    if (c->ask.stream) c->n_shown = text.n > c->n_shown ? text.n : c->n_shown;
    if (!show(c, fresh)) {
        stop(c, pdl_absent());
        return;
    }
    for (unsigned i = 0; i < c->n_polls && wait < LONGEST_POLL_MS; i++) wait += wait / 2;
    if (wait > LONGEST_POLL_MS) wait = LONGEST_POLL_MS;
    c->n_polls++;
    c->attempt = 0;
    c->http_id = 0;
    c->timer = pdl_timer_start(c->calls->loop, wait, on_wait, c);
}

/* The answer to texts: {embeddings, usage, model}. Takes json. */
static void read_vectors(pdl_call *c, pdl_val json, int status) {
    pdl_val reply;
    pdl_err err = {0};
    if (!c->ask.provider->dialect->embedder->read(&c->ask, json, &reply, &err)) {
        pdl_fault f = {0};
        pdl_fault_of_err(&err, status, &f);
        fail(c, &f);
        return;
    }
    answer(c, reply);
}

static bool is_pending(pdl_call *c, pdl_vref json) {
    const pdl_dialect *d = c->ask.provider->dialect;
    pdl_buf_fini(&c->job.text);
    c->job.text = PDL_BUF;
    return d->pending && d->pending(&c->ask, json, &c->job);
}

static void read_whole(pdl_call *c, pdl_str body, int status) {
    pdl_fault f = {0};
    pdl_err err = {0};
    pdl_val json, raw;
    pdl_buf fixed = PDL_BUF;
    if (pdl_utf8_check(body) != PDL_NOT_FOUND) {
        pdl_utf8_repair(&fixed, body);
        body = pdl_buf_str(&fixed);
    }
    if (!pdl_json_read(body, PDL_JSON_PYTHON, &json, NULL, &err)) {
        pdl_err_fini(&err);
        pdl_buf shown = PDL_BUF;
        pdl_hide_cut(c->calls->opt.secrets, pdl_utf8_cut(body, 200), &shown);
        pdl_fault_set(&f, PDL_E_protocol, status,
                      "Empty or invalid response from LLM endpoint. Received: '%s'",
                      pdl_buf_z(&shown));
        pdl_buf_fini(&shown);
    } else if (is_pending(c, json)) {
        pdl_drop(json);
        pdl_buf_fini(&fixed);
        wait_for_job(c);
        return;
    } else if (is_error(json)) {
        int code = pdl_fault_code(json);
        pdl_fault_of_object(code ? code : status, json, &f);
        pdl_drop(json);
    } else if (!pdl_is_absent(c->ask.texts)) {
        pdl_buf_fini(&fixed);
        read_vectors(c, json, status);
        return;
    } else if (!c->ask.provider->dialect->read(&c->ask, json, &raw, &err)) {
        pdl_fault_of_err(&err, status, &f);
    } else {
        pdl_buf_fini(&fixed);
        end_job(c);
        if (!show_whole(c, raw, 0)) {
            stop(c, raw);
            return;
        }
        finish(c, raw, status);
        return;
    }
    pdl_buf_fini(&fixed);
    if (c->ask.provider->dialect->pending)
        f.should_retry = 0; /* a job costs: it is not begun again */
    end_job(c);
    fail(c, &f);
}

/* --- a stream --------------------------------------------------------------------------------- */

static bool on_event(void *user, pdl_str name, pdl_str data, pdl_err *err) {
    pdl_call *c = user;
    (void)name;
    PDL_TRACE(c->calls->opt.debug, sse, "effect %u: %.*s", c->e->id,
              PDL_FMT(pdl_str_sub(data, 0, 400)));
    c->began = true;
    if (!c->ask.provider->dialect->event(&c->ask, data, &c->draft, err)) {
        err->kind = PDL_E_protocol;
        return false;
    }
    if (!pdl_is_absent(c->draft.error)) {
        pdl_fault_of_object(200, c->draft.error, &c->fault);
        return false;
    }
    if (c->draft.piece.len == 0) return true;
    bool go = show(c, pdl_buf_str(&c->draft.piece));
    pdl_buf_clear(&c->draft.piece);
    return go;
}

static bool on_line(void *user, pdl_str line, pdl_err *err) {
    return on_event(user, (pdl_str){0}, line, err);
}

static bool feed(pdl_call *c, pdl_str bytes, bool end, pdl_err *err) {
    pdl_framing framing = c->ask.provider->dialect->framing;
    if (framing == PDL_STREAM_FRAMES)
        return end ? pdl_eventstream_end(&c->frames, err)
                   : pdl_eventstream_feed(&c->frames, bytes, on_event, c, err);
    if (framing == PDL_STREAM_LINES)
        return end ? pdl_lines_end(&c->sse.lines, on_line, c, err)
                   : pdl_lines_feed(&c->sse.lines, bytes, on_line, c, err);
    return end ? pdl_sse_end(&c->sse, on_event, c, err)
               : pdl_sse_feed(&c->sse, bytes, on_event, c, err);
}

/* Reads more of a stream. False: it ended badly (fault) or the call was cancelled (gone). */
static bool read_stream(pdl_call *c, pdl_str bytes, bool end) {
    pdl_err err = {0};
    bool ok = feed(c, bytes, end, &err);
    if (err.kind != PDL_E_NONE) {
        if (err.kind == PDL_E_limit) err.kind = PDL_E_protocol;
        pdl_fault_of_err(&err, 200, &c->fault);
    }
    return ok;
}

/* Comments keep a connection alive, but they are no answer. */
static bool is_late(const pdl_call *c) {
    return !c->began && c->timing.first &&
           pdl_clock_ns() - c->made.start_ns > c->timing.first * 1000000;
}

static bool on_data(void *user, pdl_str bytes) {
    pdl_call *c = user;
    pdl_wire_data(c, bytes);
    if (is_late(c)) {
        pdl_fault_of_limit(PDL_HTTP_FIRST_MS, &c->fault);
        return false;
    }
    if (!c->began && !c->is_whole && c->sse.lines.part.len == 0 &&
        c->ask.provider->dialect->framing == PDL_STREAM_EVENTS) {
        /* Some servers do not stream although asked to: then one object comes, and no line begins
         * with '{' in an event stream. */
        pdl_str s = pdl_str_trim(bytes);
        c->is_whole = s.n && s.p[0] == '{' && !c->sse.not_first;
    }
    if (c->is_whole) {
        c->whole.limit = (size_t)-1 >> 2;
        pdl_buf_put(&c->whole, bytes);
        return true;
    }
    c->busy = true;
    bool ok = read_stream(c, bytes, false);
    c->busy = false;
    if (!c->gone) return ok;
    pdl_call_cancel(c);
    return false;
}

static void end_stream(pdl_call *c, int status) {
    pdl_fault f = {0};
    c->busy = true;
    bool ok = read_stream(c, (pdl_str){0}, true);
    c->busy = false;
    if (!c->gone && !ok) {
        f = c->fault;
        c->fault = (pdl_fault){0};
        fail(c, &f);
        return;
    }
    if (!c->gone && !pdl_reply_builder_is_complete(&c->draft)) {
        pdl_fault_set(&f, PDL_E_stream, status, "the stream ended before the answer was complete");
        fail(c, &f);
        return;
    }
    pdl_val raw = c->gone ? pdl_absent() : pdl_reply_builder_take(&c->draft);
    if (c->gone || !show(c, pdl_buf_str(&c->draft.piece))) {
        stop(c, raw);
        return;
    }
    finish(c, raw, status);
}

static void on_done(void *user, const pdl_http_reply *r) {
    pdl_call *c = user;
    pdl_fault f = c->fault;
    c->fault = (pdl_fault){0};
    pdl_wire_received(c, r);
    pdl_rates_on_reply(c->calls->rates, &c->pass, r);
    if (f.kind != PDL_E_NONE) {
        fail(c, &f);
    } else if (r->end != PDL_HTTP_OK) {
        pdl_fault_of_transport(r, c->began, &f);
        fail(c, &f);
    } else if (r->status < 200 || r->status > 299) {
        pdl_fault_of_status(r, &f);
        fail(c, &f);
    } else if (is_streamed(c) && !c->is_whole) {
        end_stream(c, r->status);
    } else {
        read_whole(c, is_streamed(c) ? pdl_buf_str(&c->whole) : r->body, r->status);
    }
}

/* --- start ------------------------------------------------------------------------------------ */

/* The request, or the question after the job that it began. */
static void send_now(pdl_call *c) {
    bool poll = c->job.get.len > 0, stream = is_streamed(c);
    pdl_vref verify = pdl_dict_getz(c->given, "ssl_verify");
    reset_answer(c);
    pdl_reply_builder_init(&c->draft);
    pdl_http_request req = {
        .method = poll ? "GET" : "POST",
        .url = pdl_buf_z(poll ? &c->job.get : &c->url),
        .headers = (const char *const *)c->headers.p,
        .n_headers = c->headers.n,
        .body = poll ? (pdl_str){0} : pdl_buf_str(&c->body),
        .connect_ms = c->timing.connect,
        .first_ms = c->timing.first,
        .idle_ms = c->timing.idle,
        .total_ms = c->timing.total,
        .insecure = pdl_is_bool(verify) && !pdl_bool_of(verify),
        .compressed = !stream,
        .user = c,
        .data = stream ? on_data : NULL,
        .done = on_done,
    };
    c->sent = true;
    c->made.start_ns = pdl_clock_ns();
    pdl_wire_sent(c, &req);
    c->http_id = pdl_http_start(c->calls->http, &req);
}

static void on_pass(void *user) { send_now(user); }

/* Who limits the call: the service, at its address, for the key. */
static void put_lane(const pdl_call *c, pdl_buf *out) {
    char key[65];
    pdl_hash_hex(pdl_buf_str(&c->route.key), key);
    pdl_buf_putf(out, "%s %.*s %s", c->route.provider->prefix,
                 PDL_FMT(pdl_url_host(pdl_buf_str(&c->url))), key);
}

/* Sends when the rates allow it; asking after a job is no request of its own. */
static void send(pdl_call *c) {
    if (c->job.get.len) {
        send_now(c);
        return;
    }
    pdl_buf lane = PDL_BUF;
    put_lane(c, &lane);
    c->pass.fn = on_pass;
    c->pass.user = c;
    double tokens =
        c->calls->opt.max_tokens_per_minute > 0 ? (double)pdl_tokens_estimate(c->e->request) : 0;
    bool go = pdl_rates_enter(c->calls->rates, pdl_buf_str(&lane), tokens, &c->pass);
    pdl_buf_fini(&lane);
    if (go) send_now(c);
}

/* How long a call waits before anything comes; 0: for ever. */
static uint64_t patience(const pdl_call *c) {
    return c->timing.first ? c->timing.first : c->timing.total;
}

static void on_mock_timeout(void *user) {
    pdl_call *c = user;
    pdl_fault f = {0};
    c->timer = NULL;
    pdl_fault_set(&f, PDL_E_timeout, 0, "This is a mock timeout error");
    fail(c, &f);
}

static void answer_mock(pdl_call *c) {
    pdl_fault f = {0};
    pdl_val raw;
    pdl_vref t = pdl_dict_getz(c->given, "mock_timeout");
    if (!pdl_is_absent(t) && pdl_val_truth(t)) {
        c->timer = pdl_timer_start(c->calls->loop, patience(c), on_mock_timeout, c);
    } else if (!pdl_mock_read(&c->ask, &raw, &f)) {
        fail(c, &f);
    } else if (show_whole(c, raw, MOCK_PIECE_CP)) {
        finish(c, raw, 0);
    } else {
        stop(c, raw);
    }
}

static void on_token(void *user, pdl_fault *f) {
    pdl_call *c = user;
    pdl_timer_stop(c->timer);
    c->timer = NULL;
    c->sent = c->anew = true;
    if (f)
        fail(c, f);
    else
        send_off(c);
}

/* The exchange is shared: it goes on for others. */
static void on_late_token(void *user) {
    pdl_call *c = user;
    pdl_fault f = {0};
    c->timer = NULL;
    c->sent = c->anew = true;
    pdl_token_cancel(&c->token);
    pdl_fault_of_limit(PDL_HTTP_FIRST_MS, &f);
    fail(c, &f);
}

/* Sends, with the token when the key is to be exchanged for one. */
static void send_off(pdl_call *c) {
    pdl_str url = pdl_buf_str(&c->token_url), form = pdl_buf_str(&c->token_request);
    if (url.n && !pdl_headers_has(&c->headers, "Authorization")) {
        pdl_str token = pdl_token_find(&c->calls->tokens, url, token_id(c));
        if (token.n == 0) {
            c->token.fn = on_token;
            c->token.user = c;
            pdl_token_acquire(&c->calls->tokens, url, token_id(c), form, &c->token);
            if (patience(c))
                c->timer = pdl_timer_start(c->calls->loop, patience(c), on_late_token, c);
            return;
        }
        pdl_headers_bearer(&c->headers, token);
        pdl_headers_note(&c->headers, c->calls->opt.secrets);
    }
    send(c);
}

static void begin(pdl_call *c) {
    pdl_err err = {0};
    c->http_id = 0;
    c->sent = false;
    c->n_shown = 0;
    if (!pdl_call_build(c, &err)) {
        pdl_fault f = {0};
        c->ask.provider = c->route.provider;
        pdl_fault_of_err(&err, 0, &f);
        fail(c, &f);
    } else if (pdl_is_absent(c->ask.texts) && pdl_mock_is(&c->ask)) {
        answer_mock(c);
    } else {
        send_off(c);
    }
}

void pdl_call_start(pdl_calls *calls, pdl_effect *e) {
    pdl_call *c = PDL_NEW(pdl_call);
    pdl_vref params = pdl_dict_getz(e->request, "parameters"),
             model = pdl_dict_getz(e->request, "model");
    c->calls = calls;
    c->e = e;
    c->number = ++calls->n_made;
    c->start_ns = pdl_clock_ns();
    c->model = pdl_is_absent(model) ? pdl_null() : pdl_keep(model);
    if (!pdl_is_absent(pdl_processor_of(e->request)))
        c->given = pdl_processor_given(e->request);
    else
        c->given = pdl_is_dict(params) ? pdl_keep(params) : pdl_dict_new(0);
    c->clean = pdl_absent();
    c->messages = c->made.list = pdl_absent();
    c->seen = PDL_BUF;
    c->wired = PDL_BUF;
    pdl_reply_builder_init(&c->draft);
    c->prev = calls->end;
    *calls->end = c;
    calls->end = &c->next;
    calls->n_open++;
    begin(c);
}
