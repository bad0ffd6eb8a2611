/* receive.c -- handles the bytes of a reply: whole replies, streams, and the pieces of text that
 * the program shows while they arrive.
 *
 * A reply arrives in one of four ways: whole; as a stream of events; as one object although a
 * stream was requested, because some servers ignore that (state ONE_BODY); or as a stream although
 * a whole reply was requested, because some gateways only stream. All become one response in
 * OpenAI's shape and go through pdl_call_finish.
 *
 * The sink of a piece is a callback into the program, which may cancel the call. While it runs
 * (in_callback) nothing is released. A call that is cancelled meanwhile is in the state CANCELLED;
 * all functions on the stack return, and the outermost one releases the call.
 *
 * Retries in mid-stream: text that was shown cannot be taken back. With `retry_after_output` the
 * shown text is kept (shown_text), and the next stream must begin with the same bytes. They are not
 * shown a second time; replay_left counts the bytes that are still to be compared. A stream that
 * differs is an error; the alternative would be a text with an invisible seam.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "base/utf8.h"
#include "io/clock.h"
#include "model/ask/processor.h"
#include "model/call/life.h"
#include "model/call/wire_log.h"
#include "model/prices.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/member.h"
#include "value/peer_message.h"
#include "value/text.h"

#include "base/banned.h"

enum { SHOWN = 200 }; /* bytes of an unreadable answer that a message quotes */

static pdl_call_stream *stream_of(pdl_call *c) {
    if (c->stream) return c->stream;
    c->stream = PDL_NEW(pdl_call_stream);
    pdl_reply_builder_init(&c->stream->builder);
    return c->stream;
}

static void free_stream(pdl_call_stream *s) {
    pdl_reply_builder_fini(&s->builder);
    pdl_sse_fini(&s->sse);
    pdl_eventstream_fini(&s->frames);
    pdl_buf_fini(&s->one_body);
    pdl_free(s);
}

void pdl_call_reset_answer(pdl_call *c) {
    if (c->stream) free_stream(c->stream);
    c->stream = NULL;
    pdl_fault_fini(&c->fault);
}

/* --- what is shown ---------------------------------------------------------------------------- */

/* Skips the prefix that was already shown before a retry in mid-stream. Returns false when the new
 * stream differs. */
static bool skip_shown(pdl_call *c, pdl_str *text) {
    size_t n = text->n < c->replay_left ? text->n : c->replay_left;
    assert(c->replay_left <= c->shown_text.len);
    if (n && memcmp(c->shown_text.p + c->shown_text.len - c->replay_left, text->p, n) != 0) {
        pdl_fault_set(&c->fault, PDL_E_stream, 200,
                      "the repeated answer differs from the text that was shown");
        c->fault.should_retry = 0;
        return false;
    }
    c->replay_left -= n;
    *text = pdl_str_sub(*text, n, text->n);
    return true;
}

/* Returns true when the value is shown in pieces. A value that is wrapped, or whose nulls will be
 * removed, is only shown when it is complete. */
static bool is_shown_in_pieces(const pdl_call *c) {
    return c->ask.stream && !c->ask.wrapped && !c->ask.nullable && c->e->sink.piece;
}

bool pdl_call_show(pdl_call *c, pdl_str text) {
    if (text.n == 0 || !is_shown_in_pieces(c)) return true;
    if (!skip_shown(c, &text)) return false;
    if (text.n == 0) return true;
    if (pdl_call_retries_after_output(c)) pdl_buf_put(&c->shown_text, text);
    bool was = c->in_callback;
    c->in_callback = c->has_shown = true;
    c->e->sink.piece(c->e->sink.user, c->e, text);
    c->in_callback = was;
    return c->state != PDL_CALL_CANCELLED;
}

/* Passes the part of the answer that is not text to a sink that wants it. Nothing is passed on when
 * the answer is not shown in pieces. Nothing is passed on either when a broken stream may be
 * requested again: the new answer must begin like the old one, and only texts can be compared. */
static bool show_extra(pdl_call *c) {
    bool was = c->in_callback;
    pdl_val extra = pdl_reply_builder_extra(&c->stream->builder);
    if (pdl_is_absent(extra)) return true;
    c->in_callback = c->has_shown = true;
    c->e->sink.extra(c->e->sink.user, c->e, extra);
    c->in_callback = was;
    pdl_drop(extra);
    return c->state != PDL_CALL_CANCELLED;
}

/* Fails the call with c->fault, which was found while its reply was read. */
static void fail_inside(pdl_call *c) {
    pdl_fault f = c->fault;
    c->fault = (pdl_fault){0};
    pdl_call_fail(c, &f);
}

void pdl_call_stop(pdl_call *c, pdl_val raw) {
    pdl_drop(raw);
    assert(c->state == PDL_CALL_CANCELLED || c->fault.kind != PDL_E_NONE);
    if (c->state == PDL_CALL_CANCELLED)
        pdl_call_cancel(c);
    else
        fail_inside(c);
}

bool pdl_call_show_whole(pdl_call *c, pdl_vref raw, size_t n_cp) {
    pdl_vref choices = pdl_is_dict(raw) ? pdl_dict_getz(raw, "choices") : pdl_absent();
    pdl_vref first =
        pdl_is_list(choices) && pdl_list_len(choices) ? pdl_list_at(choices, 0) : pdl_absent();
    pdl_vref m = pdl_is_dict(first) ? pdl_dict_getz(first, "message") : pdl_absent();
    pdl_vref content = pdl_is_dict(m) ? pdl_dict_getz(m, "content") : pdl_absent();
    if (!pdl_is_str(content)) return true;
    pdl_str s = pdl_str_get(content);
    s = pdl_str_sub(s, c->job_shown, s.n);
    if (n_cp == 0) return pdl_call_show(c, s);
    for (size_t pos = 0; pos < s.n;) {
        size_t end = pos;
        for (size_t k = 0; k < n_cp && end < s.n; k++) end += pdl_utf8_len((unsigned char)s.p[end]);
        if (!pdl_call_show(c, pdl_str_sub(s, pos, end))) return false;
        pos = end;
    }
    return true;
}

/* --- the reply -------------------------------------------------------------------------------- */

#define MIN_WAIT_S 0.005 /* shorter waits are not reported */

static double seconds_since(uint64_t start_ns) { return (double)(pdl_clock_ns() - start_ns) / 1e9; }

/* Answers the effect with the reply and, when requests failed before it, their attempts. Takes
 * reply. */
static void answer(pdl_call *c, pdl_val reply) {
    pdl_effect *e = c->e;
    double seconds = seconds_since(c->start_ns);
    pdl_vref usage = pdl_is_dict(reply) ? pdl_dict_getz(reply, "usage") : pdl_absent();
    int64_t tokens;
    if (pdl_is_dict(usage) && pdl_int_get(pdl_dict_getz(usage, "completion_tokens"), &tokens))
        pdl_rates_used(c->calls->rates, (double)tokens);
    if (!pdl_is_absent(c->attempts.list))
        reply = pdl_dict_putz(reply, "attempts", pdl_keep(c->attempts.list));
    double waited = c->attempts.start_ns > c->start_ns
                        ? (double)(c->attempts.start_ns - c->start_ns) / 1e9 - c->attempts.failed_s
                        : 0;
    if (waited >= MIN_WAIT_S && !c->job.get.len)
        reply = pdl_dict_putz(reply, "waited", pdl_float(waited));
    if (c->ask.structured) reply = pdl_dict_putz(reply, "structured", pdl_textz(c->ask.structured));
    pdl_call_release(c);
    pdl_effect_answer(e, reply, seconds);
}

/* Notifies the user that the answer is used although it may be incomplete. Takes reason. */
static void note_reason(pdl_call *c, pdl_val reason) {
    if (pdl_str_get(reason).n)
        pdl_call_note(c, "the answer of %.*s ended with the reason %.*s and may not be complete",
                      PDL_FMT(pdl_call_model(c)), PDL_FMT(pdl_str_get(reason)));
    pdl_drop(reason);
}

/* Notifies the user that a call has incomplete arguments. Takes name, which is empty for none. */
static void note_cut(pdl_call *c, pdl_val name) {
    if (pdl_str_get(name).n)
        pdl_call_note(c,
                      "the answer of %.*s was cut at its limit of tokens inside the call of %.*s; "
                      "give max_tokens a larger number",
                      PDL_FMT(pdl_call_model(c)), PDL_FMT(pdl_str_get(name)));
    pdl_drop(name);
}

/* Notifies the user why a successful answer has no text. */
static void note_lack(pdl_call *c, pdl_vref raw) {
    pdl_buf why = PDL_BUF;
    if (pdl_reply_put_lack(raw, &why))
        pdl_call_note(c, "the answer of %.*s has no text: %s", PDL_FMT(pdl_call_model(c)),
                      pdl_buf_z(&why));
    pdl_buf_fini(&why);
}

/* Answers the effect. The text of a reply that was not shown yet is shown in its finished form,
 * without thoughts and with its parts joined. Takes raw. */
static void finish(pdl_call *c, pdl_val raw, int status, bool is_shown) {
    pdl_val reply;
    pdl_err err = {0};
    if (pdl_is_str(c->model))
        raw = pdl_prices_mark(c->calls->opt.prices, pdl_str_get(c->model), c->given, raw);
    unsigned how =
        (c->ask.forced_tool ? PDL_REPLY_TOOL : 0u) | (c->ask.wrapped ? PDL_REPLY_VALUE : 0u) |
        (c->ask.provider->quirks & PDL_Q_SHORT_IDS ? PDL_REPLY_SHORT_IDS : 0u) |
        (c->ask.parsed ? PDL_REPLY_PARSED : 0u) | (c->ask.nullable ? PDL_REPLY_NULLS : 0u);
    pdl_str reason = pdl_reply_odd_reason(raw);
    pdl_val odd = pdl_text(reason), cut = pdl_text(pdl_reply_cut_call(raw));
    if (!pdl_reply_finish(raw, how, c->ask.schema, &reply, &err)) {
        pdl_drop(odd);
        pdl_drop(cut);
        pdl_fault f = {0};
        pdl_fault_of_err(&err, status, &f);
        pdl_call_fail(c, &f);
        return;
    }
    if (c->ask.wrapped || c->ask.nullable || !is_shown) {
        c->ask.wrapped = c->ask.nullable = false;
        if (!pdl_call_show_whole(c, pdl_dict_getz(reply, "raw"), 0)) {
            pdl_drop(odd);
            pdl_drop(cut);
            pdl_call_stop(c, reply);
            return;
        }
    }
    note_reason(c, odd);
    note_cut(c, cut);
    note_lack(c, pdl_dict_getz(reply, "raw"));
    if (!pdl_is_absent(pdl_processor_of(c->e->request))) reply = pdl_processor_reply(reply);
    answer(c, reply);
}

void pdl_call_finish(pdl_call *c, pdl_val raw, int status) { finish(c, raw, status, true); }

/* --- a whole reply ---------------------------------------------------------------------------- */

/* Returns true for an error inside an answer with status 200: {"error": ...}, beside the choices
 * (as in an event of a stream), in the choice, or in its message. */
static bool is_error(pdl_vref json) {
    pdl_vref body = pdl_is_list(json) && pdl_list_len(json) ? pdl_list_at(json, 0) : json,
             choices = pdl_member(body, "choices");
    if (pdl_peer_fails(body)) return true;
    if (!pdl_is_list(choices) || pdl_list_len(choices) == 0) return false;
    pdl_vref choice = pdl_list_at(choices, 0);
    return pdl_peer_fails(choice) || pdl_peer_fails(pdl_member(choice, "message"));
}

/* Makes the fault of a reply that does not have the form of an answer. An error message in the
 * reply says more than `err`. Takes err, json. */
static void fault_of_body(const pdl_call *c, pdl_err *err, pdl_val json, int status, pdl_fault *f) {
    pdl_buf words = PDL_BUF, shown = PDL_BUF;
    int code = pdl_fault_code(json);
    bool is_foreign = pdl_str_starts(pdl_str_of(err->msg), PDL_STR("the answer has no "));
    if (pdl_peer_words(json, &words)) {
        pdl_err_fini(err);
        pdl_fault_of_object(code ? code : status, json, f);
    } else {
        pdl_fault_of_err(err, status, f);
        /* the form of the error is unknown, so it is also unknown which member has the message */
        if (is_foreign) {
            pdl_val_show(json, true, SHOWN, &words);
            pdl_redact_cut(c->calls->opt.secrets, pdl_utf8_cut(pdl_buf_str(&words), SHOWN), &shown);
            pdl_buf_putf(&f->msg, ": '%s'", pdl_buf_z(&shown));
        }
    }
    pdl_buf_fini(&shown);
    pdl_buf_fini(&words);
    pdl_drop(json);
}

/* Answers an embedding: {embeddings, usage, model}. Takes json. */
static void read_vectors(pdl_call *c, pdl_val json, int status) {
    pdl_val reply, kept = pdl_keep(json);
    pdl_err err = {0};
    if (!c->ask.provider->dialect->embedder->read(&c->ask, json, &reply, &err)) {
        pdl_fault f = {0};
        fault_of_body(c, &err, kept, status, &f);
        pdl_call_fail(c, &f);
        return;
    }
    pdl_drop(kept);
    answer(c, reply);
}

/* Reads a whole reply into *raw, or sets *f. Takes json. */
static bool read_response(pdl_call *c, pdl_val json, int status, pdl_val *raw, pdl_fault *f) {
    pdl_val kept = pdl_keep(json);
    pdl_err err = {0};
    bool ok = c->ask.provider->dialect->read(&c->ask, json, raw, &err);
    if (ok && !pdl_reply_check(raw, &err)) {
        pdl_drop(*raw);
        ok = false;
    }
    if (ok && pdl_reply_is_empty(*raw) && pdl_peer_fails_within(kept)) {
        pdl_drop(*raw);
        ok = pdl_err_set(&err, PDL_E_protocol, (pdl_loc){0}, "the answer is empty");
    }
    if (ok)
        pdl_drop(kept);
    else
        fault_of_body(c, &err, kept, status, f);
    return ok;
}

/* Makes the fault of an answer that is not JSON. */
static void fault_of_text(const pdl_call *c, pdl_str body, int status, pdl_fault *f) {
    pdl_buf shown = PDL_BUF;
    pdl_redact_cut(c->calls->opt.secrets, pdl_utf8_cut(body, SHOWN), &shown);
    pdl_fault_set(f, PDL_E_protocol, status,
                  "Empty or invalid response from LLM endpoint. Received: '%s'", pdl_buf_z(&shown));
    pdl_buf_fini(&shown);
}

static void read_unasked(pdl_call *c, pdl_str body, int status);

/* Returns true when a whole body is a stream that was not requested: its first line is a field of
 * an event, or one of several objects. */
static bool is_unasked_stream(const pdl_call *c, pdl_str body) {
    static const char *const fields[] = {"data:", "event:", "id:", "retry:", ":"};
    const pdl_dialect *d = c->ask.provider->dialect;
    pdl_str s = pdl_str_trim(body);
    if (pdl_call_is_streamed(c) || !d->event || !pdl_is_absent(c->ask.texts)) return false;
    for (size_t i = 0; d->framing == PDL_FRAMING_EVENTS && i < sizeof fields / sizeof fields[0];
         i++)
        if (pdl_str_starts(s, pdl_str_of(fields[i]))) return true;
    size_t end = pdl_str_find(s, PDL_STR("\n"), 0);
    if (d->framing != PDL_FRAMING_LINES || end == PDL_NOT_FOUND) return false;
    pdl_str first = pdl_str_trim(pdl_str_sub(s, 0, end));
    return pdl_str_starts(first, PDL_STR("{")) && pdl_str_ends(first, PDL_STR("}"));
}

/* Reads a whole body. Releases the content of `fixed`. */
static void read_body(pdl_call *c, pdl_str body, int status, pdl_buf *fixed) {
    pdl_fault f = {0};
    pdl_err err = {0};
    pdl_val json, raw = pdl_absent();
    bool is_json = pdl_json_read_with(body, PDL_JSON_PYTHON, &c->calls->keys, &json, NULL, &err);
    bool is_stream = !is_json && is_unasked_stream(c, body);
    if (!is_json && !is_stream) fault_of_text(c, body, status, &f);
    pdl_err_fini(&err);
    if (is_stream) read_unasked(c, body, status);
    pdl_buf_fini(fixed);
    if (is_stream) return;
    if (!is_json) {
        json = pdl_absent();
    } else if (pdl_job_is_pending(c, json)) {
        pdl_drop(json);
        pdl_job_wait(c);
        return;
    } else if (is_error(json)) {
        int code = pdl_fault_code(json);
        pdl_fault_of_object(code ? code : status, json, &f);
        pdl_drop(json);
    } else if (!pdl_is_absent(c->ask.texts)) {
        read_vectors(c, json, status);
        return;
    } else if (read_response(c, json, status, &raw, &f)) {
        pdl_job_end(c);
        if (c->job_shown && !pdl_call_show_whole(c, raw, 0))
            pdl_call_stop(c, raw);
        else
            finish(c, raw, status, c->job_shown != 0);
        return;
    }
    if (c->ask.provider->dialect->pending)
        f.should_retry = 0; /* a new job would cost money a second time */
    pdl_job_end(c);
    pdl_call_fail(c, &f);
}

static void read_whole(pdl_call *c, pdl_str body, int status) {
    pdl_buf fixed = PDL_BUF;
    body = pdl_utf8_unmarked(body);
    if (pdl_utf8_check(body) != PDL_NOT_FOUND) {
        pdl_utf8_repair(&fixed, body);
        body = pdl_buf_str(&fixed);
    }
    read_body(c, body, status, &fixed);
}

/* --- a stream --------------------------------------------------------------------------------- */

static bool on_event(void *user, pdl_str name, pdl_str data, pdl_err *err) {
    pdl_call *c = user;
    pdl_reply_builder *d = &c->stream->builder;
    size_t arrived = d->arrived;
    PDL_TRACE(c->calls->opt.debug, sse, "effect %u: %.*s", c->e->id,
              PDL_FMT(pdl_str_sub(data, 0, 400)));
    if (c->state == PDL_CALL_SENT) pdl_call_enter(c, PDL_CALL_STREAMING);
    if (pdl_str_is(name, "error")) {
        pdl_fault_of_text(200, data, &c->fault);
        return false;
    }
    if (pdl_str_is(name, "ping")) return true; /* a ping only keeps the connection alive */
    d->wants_extra = c->e->sink.extra && is_shown_in_pieces(c) && !pdl_call_retries_after_output(c);
    if (!c->ask.provider->dialect->event(&c->ask, data, d, err)) {
        err->kind = PDL_E_protocol;
        return false;
    }
    if (!pdl_is_absent(d->error)) {
        pdl_fault_of_object(200, d->error, &c->fault);
        return false;
    }
    if (d->arrived != arrived || (d->begun && !c->stream->moved_ns))
        c->stream->moved_ns = pdl_clock_ns();
    bool go = true;
    if (d->piece.len) {
        go = pdl_call_show(c, pdl_buf_str(&d->piece));
        pdl_buf_clear(&d->piece);
    }
    return go && (!d->wants_extra || show_extra(c));
}

static bool on_line(void *user, pdl_str line, pdl_err *err) {
    return on_event(user, (pdl_str){0}, line, err);
}

static bool feed(pdl_call *c, pdl_str bytes, bool end, pdl_err *err) {
    pdl_framing framing = c->ask.provider->dialect->framing;
    pdl_call_stream *s = stream_of(c);
    if (framing == PDL_FRAMING_FRAMES)
        return end ? pdl_eventstream_end(&s->frames, err)
                   : pdl_eventstream_feed(&s->frames, bytes, on_event, c, err);
    if (framing == PDL_FRAMING_LINES)
        return end ? pdl_lines_end(&s->sse.lines, on_line, c, err)
                   : pdl_lines_feed(&s->sse.lines, bytes, on_line, c, err);
    return end ? pdl_sse_end(&s->sse, on_event, c, err)
               : pdl_sse_feed(&s->sse, bytes, on_event, c, err);
}

/* Reads more of a stream. Returns false when it ended with an error (c->fault) or the call was
 * cancelled.
 */
static bool read_stream(pdl_call *c, pdl_str bytes, bool end) {
    pdl_err err = {0};
    c->in_callback = true;
    bool ok = feed(c, bytes, end, &err);
    c->in_callback = false;
    if (err.kind != PDL_E_NONE) {
        if (err.kind == PDL_E_limit) err.kind = PDL_E_protocol;
        pdl_fault_of_err(&err, 200, &c->fault);
    }
    return ok;
}

static bool is_over(uint64_t start_ns, uint64_t limit_ms) {
    return limit_ms && pdl_clock_ns() - start_ns > limit_ms * 1000000;
}

/* Returns true when no part of the answer arrived within the limit `first`. Comments, pings and
 * empty events keep the connection alive, but they are not parts of the answer. */
static bool is_late(const pdl_call *c) {
    return (!c->stream || !c->stream->moved_ns) && is_over(c->attempts.start_ns, c->timing.first);
}

static bool is_stuck(const pdl_call *c) {
    return c->stream->moved_ns && is_over(c->stream->moved_ns, c->timing.idle);
}

/* Returns true when `bytes`, the beginning of a stream, are one text instead of events of this
 * framing: a JSON object, or the page of a proxy. */
static bool is_one_text(pdl_framing framing, pdl_str bytes) {
    pdl_str s = pdl_utf8_unmarked(pdl_str_trim(bytes));
    if (s.n == 0) return false;
    /* a frame begins with its length, whose first byte never occurs in a text */
    if (framing == PDL_FRAMING_FRAMES) return (unsigned char)s.p[0] > 0x20;
    if (framing == PDL_FRAMING_EVENTS) return strchr("{[<\"", s.p[0]) && s.p[0];
    size_t end = pdl_str_find(s, PDL_STR("\n"), 0);
    return s.p[0] != '{' || (end != PDL_NOT_FOUND && pdl_str_trim(pdl_str_sub(s, 0, end)).n == 1);
}

static bool is_first(const pdl_call *c) {
    const pdl_call_stream *s = c->stream;
    return c->state == PDL_CALL_SENT &&
           (!s || (!s->sse.lines.part.len && !s->sse.not_first && !s->frames.in.len));
}

bool pdl_call_on_data(void *user, pdl_str bytes) {
    pdl_call *c = user;
    assert(pdl_call_is_ok(c));
    pdl_wire_data(c, bytes);
    if (is_late(c)) {
        pdl_fault_of_limit(PDL_HTTP_FIRST_MS, &c->fault);
        return false;
    }
    if (is_first(c) && is_one_text(c->ask.provider->dialect->framing, bytes))
        pdl_call_enter(c, PDL_CALL_ONE_BODY);
    if (c->state == PDL_CALL_ONE_BODY) {
        pdl_buf *body = &stream_of(c)->one_body;
        body->limit = (size_t)-1 >> 2;
        pdl_buf_put(body, bytes);
        return true;
    }
    bool ok = read_stream(c, bytes, false);
    if (ok && c->state != PDL_CALL_CANCELLED && is_stuck(c)) {
        pdl_fault_of_limit(PDL_HTTP_IDLE_MS, &c->fault);
        return false;
    }
    if (c->state != PDL_CALL_CANCELLED) return ok;
    pdl_call_cancel(c);
    return false;
}

/* Returns true and sets *f when the answer is not complete. Does the same when the server sent JSON
 * outside of its events, which is an error even after a complete answer. */
static bool failed_aside(const pdl_call *c, int status, pdl_fault *f) {
    pdl_str said = pdl_buf_str(&c->stream->sse.stray);
    bool complete = pdl_reply_builder_is_complete(&c->stream->builder);
    if (said.n && (said.p[0] == '{' || said.p[0] == '[')) {
        pdl_fault_of_text(status, said, f);
        return true;
    }
    if (complete) return false;
    pdl_fault_set(f, PDL_E_stream, status, "the stream ended before the answer was complete");
    if (said.n) pdl_buf_putf(&f->msg, ". Received: '%.*s'", PDL_FMT(said));
    return true;
}

/* Returns the event that explains why the stream has no answer, owned; or absent. failed: the
 * stream was cut, or has stray text. ended: the stream has a finish reason. A mere note explains
 * only a stream that failed, or an empty one without a finish reason. */
static pdl_val why_failed(const pdl_call *c, pdl_vref raw, bool failed, bool ended) {
    const pdl_reply_builder *d = &c->stream->builder;
    /* a choice that the builder kept had this error */
    if (!pdl_is_absent(d->error)) return pdl_keep(d->error);
    bool says_more = c->stream->sse.stray.len || pdl_is_absent(d->suspect) ||
                     (d->has_unread && pdl_reply_is_cut(raw));
    if (says_more) return pdl_absent();
    bool explains = d->suspect_is_note ? failed || (!ended && pdl_reply_is_empty(raw))
                                       : pdl_reply_is_empty(raw);
    return explains ? pdl_keep(d->suspect) : pdl_absent();
}

/* Makes the fault of `why`, the event that explains why there is no answer. This event reports a
 * failure, has words, or has content that cannot be read. */
static void set_why(pdl_vref why, int status, pdl_fault *f) {
    pdl_fault_fini(f);
    if (pdl_peer_fails_within(why) || pdl_peer_has_note(why)) {
        pdl_fault_of_object(status, why, f);
        return;
    }
    pdl_fault_set(f, PDL_E_protocol, status, "the answer has no text that can be read: '");
    pdl_val_show(why, false, SHOWN, &f->msg);
    pdl_buf_putc(&f->msg, '\'');
}

static void end_stream(pdl_call *c, int status) {
    pdl_fault f = {0};
    if (!read_stream(c, (pdl_str){0}, true)) {
        pdl_call_stop(c, pdl_absent());
        return;
    }
    pdl_reply_builder *d = &c->stream->builder;
    pdl_reply_builder_close(d, &c->ask);
    if (d->wants_extra && !show_extra(c)) {
        pdl_call_stop(c, pdl_absent());
        return;
    }
    bool failed = failed_aside(c, status, &f), ended = !pdl_is_absent(d->finish);
    pdl_val raw = pdl_reply_builder_take(d), why = why_failed(c, raw, failed, ended);
    if (!pdl_is_absent(why)) {
        set_why(why, status, &f);
        failed = true;
    }
    pdl_drop(why);
    if (failed) {
        pdl_drop(raw);
        pdl_call_fail(c, &f);
        return;
    }
    if (pdl_call_show(c, pdl_buf_str(&d->piece)))
        pdl_call_finish(c, raw, status);
    else
        pdl_call_stop(c, raw);
}

static void read_unasked(pdl_call *c, pdl_str body, int status) {
    if (read_stream(c, body, false))
        end_stream(c, status);
    else
        pdl_call_stop(c, pdl_absent());
}

void pdl_call_read_reply(pdl_call *c, const pdl_http_reply *r) {
    bool one_body = c->state == PDL_CALL_ONE_BODY, streamed = pdl_call_is_streamed(c);
    pdl_call_enter(c, PDL_CALL_READING);
    if (streamed && !one_body)
        end_stream(c, r->status);
    else
        read_whole(c, streamed ? pdl_buf_str(&c->stream->one_body) : r->body, r->status);
}
