/* host_events.c -- makes JSON events from the events of a run, for the host of the module; see
 * host_events.h. A page shows a run while it continues, but a call of the module never waits. So
 * events are collected, and each step returns those since the previous one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wasm/host_events.h"

#include "effect/effect.h"
#include "wasm/wasm.h"

#include "base/banned.h"

void pdl_wasm_events_init(pdl_wasm_events *e) { *e = (pdl_wasm_events){PDL_BUF, PDL_BUF, 0}; }

void pdl_wasm_events_fini(pdl_wasm_events *e) {
    pdl_buf_fini(&e->json);
    pdl_buf_fini(&e->text);
}

static void begin(pdl_buf *out, const char *type) {
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "type", pdl_str_of(type));
}

static void put_member(pdl_buf *out, const char *key, pdl_vref from, const char *member) {
    pdl_vref v = pdl_dict_getz(from, member);
    if (pdl_is_absent(v)) return;
    pdl_json_put_key(out, key);
    pdl_wasm_put(v, out);
}

static void put_effect(pdl_buf *out, const pdl_effect *e) {
    pdl_json_put_int(out, "id", e->id);
    if (e->loc.src) {
        pdl_json_put_int(out, "line", pdl_loc_line(e->loc));
    }
}

static void asked(pdl_buf *out, const pdl_effect *e) {
    if (e->kind == PDL_EFFECT_model) {
        begin(out, "call");
        put_effect(out, e);
        put_member(out, "model", e->request, "model");
        put_member(out, "messages", e->request, "messages");
        pdl_buf_putc(out, '}');
    } else if (e->kind == PDL_EFFECT_input) {
        begin(out, "read");
        put_effect(out, e);
        put_member(out, "message", e->request, "prompt");
        pdl_buf_putc(out, '}');
    }
}

static void answered(pdl_wasm_events *events, const pdl_effect *e, const pdl_reply *r) {
    pdl_buf *out = &events->json;
    if (e->kind != PDL_EFFECT_model) return;
    if (!r->err.kind) {
        pdl_vref cost = pdl_dict_getz(pdl_dict_getz(r->value, "usage"), "cost");
        if (pdl_is_int(cost) || pdl_is(cost, PDL_V_FLOAT)) events->cost += pdl_num_to_double(cost);
    }
    begin(out, "reply");
    put_effect(out, e);
    put_member(out, "model", e->request, "model");
    if (r->err.kind) {
        pdl_json_put_key(out, "error");
        pdl_wasm_put_error(&r->err, out);
    } else {
        put_member(out, "text", r->value, "content");
        put_member(out, "usage", r->value, "usage");
    }
    pdl_buf_putc(out, '}');
}

void pdl_wasm_events_flush(pdl_wasm_events *e) {
    if (!e->text.len) return;
    begin(&e->json, "text");
    pdl_json_put_text(&e->json, "text", pdl_buf_str(&e->text));
    pdl_buf_putc(&e->json, '}');
    pdl_buf_clear(&e->text);
}

static void put_note(pdl_buf *out, pdl_str text) {
    begin(out, "note");
    pdl_json_put_text(out, "text", text);
    pdl_buf_putc(out, '}');
}

void pdl_wasm_events_note(pdl_wasm_events *e, pdl_str text) {
    pdl_wasm_events_flush(e);
    put_note(&e->json, text);
}

static void put_message(pdl_buf *out, pdl_str role, pdl_str text) {
    begin(out, "message");
    pdl_json_put_text(out, "role", role.n ? role : PDL_STR("assistant"));
    pdl_json_put_text(out, "text", text);
    pdl_buf_putc(out, '}');
}

static void put_failure(pdl_buf *out, const pdl_err *err) {
    begin(out, "error");
    pdl_json_put_key(out, "error");
    pdl_wasm_put_error(err, out);
    pdl_buf_putc(out, '}');
}

static void on_event(void *user, const pdl_event *e) {
    pdl_wasm_events *events = user;
    pdl_buf *out = &events->json;
    if (e->kind == PDL_EVENT_text || (e->kind == PDL_EVENT_out && e->number != 2)) {
        pdl_buf_put(&events->text, e->text);
        return;
    }
    bool is_note = e->kind == PDL_EVENT_note || e->kind == PDL_EVENT_out;
    bool is_failure = e->kind == PDL_EVENT_run_end && e->err && e->err->kind;
    bool is_other =
        e->kind == PDL_EVENT_effect || e->kind == PDL_EVENT_reply || e->kind == PDL_EVENT_message;
    if (!is_note && !is_failure && !is_other) return;
    pdl_wasm_events_flush(events);
    if (is_note)
        put_note(out, e->text);
    else if (is_failure)
        put_failure(out, e->err);
    else if (e->kind == PDL_EVENT_message)
        put_message(out, e->role, e->text);
    else if (e->kind == PDL_EVENT_effect)
        asked(out, e->effect);
    else
        answered(events, e->effect, e->reply);
}

pdl_sink pdl_wasm_events_sink(pdl_wasm_events *e) { return (pdl_sink){e, on_event, false}; }
