/* response_stream.c -- writes the events of a response in a stream. They are numbered, and report
 * the beginning, growth and end of each item. The last event repeats the whole response.
 *
 * An item is opened when its first bytes arrive, which fixes its place in the output. Thoughts are
 * closed when another item opens. A message and calls stay open until the end, because models mix
 * text with calls and mix the arguments of several calls. At the end they are closed in the order
 * of their places.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/response.h"

#include <assert.h>

#include "value/int.h"

#include "base/banned.h"

/* Writes an event. Takes d, which has the fields besides type and number. */
static void put(work *w, const char *type, pdl_val d, pdl_buf *out) {
    pdl_val e = pdl_dict_putz(pdl_serve_typed(type), "sequence_number", pdl_int(w->n_events++));
    e = pdl_dict_merge(e, d);
    pdl_drop(d);
    pdl_serve_form_put_event(pdl_str_of(type), e, out);
}

/* --- items ------------------------------------------------------------------------------------ */

/* The names that the events have for each kind of item. */
static const struct {
    const char *prefix; /* prefix of the ids of items of this kind */
    const char *growth; /* the events are "response.X.delta" and "response.X.done" */
    const char *whole;  /* the field of "response.X.done" that has the whole text */
    bool has_parts;
} words[] = {
    [ITEM_MESSAGE] = {"msg", "output_text", "text", true},
    [ITEM_REFUSAL] = {"msg", "refusal", "refusal", true},
    [ITEM_REASONING] = {"rs", "reasoning_text", "text", true},
    [ITEM_CALL] = {"fc", "function_call_arguments", "arguments", false},
};

static size_t place_of(const work *w, const response_item *i) { return (size_t)(i - w->items.p); }

static void put_growth(work *w, const response_item *i, const char *suffix, pdl_val d,
                       pdl_buf *out) {
    pdl_buf type = PDL_BUF;
    pdl_buf_putf(&type, "response.%s.%s", words[i->kind].growth, suffix);
    put(w, pdl_buf_z(&type), d, out);
    pdl_buf_fini(&type);
}

/* Returns {item_id, output_index} with one further member (taken), and with content_index when the
 * item has parts. */
static pdl_val at_item(const work *w, const response_item *i, const char *name, pdl_val v) {
    size_t place = place_of(w, i);
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), "item_id",
                              pdl_serve_item_id(w, words[i->kind].prefix, place));
    d = pdl_dict_putz(d, "output_index", pdl_int((int64_t)place));
    if (words[i->kind].has_parts) d = pdl_dict_putz(d, "content_index", pdl_int(0));
    return pdl_dict_putz(d, name, v);
}

static void put_item(work *w, const response_item *i, const char *type, pdl_vref item,
                     pdl_buf *out) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "output_index", pdl_int((int64_t)place_of(w, i)));
    put(w, type, pdl_dict_putz(d, "item", pdl_keep(item)), out);
}

/* Returns the part of a message as it is now. When `empty` is set, returns the part without text,
 * as at the beginning of the message. */
static pdl_val part_of(const response_item *i, bool empty) {
    pdl_str text = empty ? PDL_STR("") : pdl_buf_str(&i->text);
    if (i->kind == ITEM_MESSAGE) {
        pdl_val logprobs = pdl_dict_putz(pdl_dict_new(1), "content", pdl_keep(i->logprobs));
        pdl_val part = pdl_serve_text_part(text, empty ? pdl_null() : logprobs);
        pdl_drop(logprobs);
        return part;
    }
    pdl_val refusal = pdl_text(text), part = pdl_serve_refusal_part(refusal);
    pdl_drop(refusal);
    return part;
}

static pdl_val item_of(const work *w, const response_item *i, bool empty) {
    size_t place = place_of(w, i);
    const char *status = empty ? "in_progress" : "completed";
    pdl_val text = empty && i->kind == ITEM_REASONING ? pdl_absent()
                   : empty                            ? pdl_textz("")
                                                      : pdl_text(pdl_buf_str(&i->text));
    pdl_val item = pdl_absent();
    switch (i->kind) {
    case ITEM_MESSAGE:
    case ITEM_REFUSAL:
        item = pdl_serve_message_item(w, place, status, empty ? pdl_absent() : part_of(i, false));
        break;
    case ITEM_REASONING: item = pdl_serve_reasoning_item(w, place, text); break;
    case ITEM_CALL: item = pdl_serve_call_item(w, place, status, i->id, i->name, text); break;
    }
    pdl_drop(text);
    return item;
}

static bool is_message(const response_item *i) {
    return i->kind == ITEM_MESSAGE || i->kind == ITEM_REFUSAL;
}

static void close_item(work *w, response_item *i, pdl_buf *out) {
    if (!pdl_is_absent(i->done)) return;
    pdl_val d = at_item(w, i, words[i->kind].whole, pdl_text(pdl_buf_str(&i->text)));
    if (i->kind == ITEM_MESSAGE) d = pdl_dict_putz(d, "logprobs", pdl_keep(i->logprobs));
    if (i->kind == ITEM_CALL) d = pdl_dict_putz(d, "name", pdl_keep(i->name));
    put_growth(w, i, "done", d, out);
    if (is_message(i))
        put(w, "response.content_part.done", at_item(w, i, "part", part_of(i, false)), out);
    i->done = item_of(w, i, false);
    put_item(w, i, "response.output_item.done", i->done, out);
}

static void close_thoughts(work *w, pdl_buf *out) {
    if (!w->items.n) return;
    response_item *last = &w->items.p[w->items.n - 1];
    if (last->kind == ITEM_REASONING) close_item(w, last, out);
}

/* Opens an item. Takes id and name of a call; both are absent for other items. The result is valid
 * until the next item opens. */
static response_item *open_item(work *w, response_item_kind kind, pdl_val id, pdl_val name,
                                pdl_buf *out) {
    close_thoughts(w, out);
    response_item *i = pdl_vec_push(&w->items);
    *i = (response_item){.kind = kind,
                         .text = PDL_BUF,
                         .logprobs = pdl_list_new(0),
                         .id = id,
                         .name = name,
                         .done = pdl_absent()};
    pdl_val item = item_of(w, i, true);
    put_item(w, i, "response.output_item.added", item, out);
    pdl_drop(item);
    if (is_message(i))
        put(w, "response.content_part.added", at_item(w, i, "part", part_of(i, true)), out);
    return i;
}

/* Returns the open item of this kind. When there is none, opens a new item. */
static response_item *item_to_grow(work *w, response_item_kind kind, pdl_buf *out) {
    for (size_t i = w->items.n; i-- > 0;)
        if (w->items.p[i].kind == kind && pdl_is_absent(w->items.p[i].done)) return &w->items.p[i];
    return open_item(w, kind, pdl_absent(), pdl_absent(), out);
}

static void grow(work *w, response_item *i, pdl_str text, pdl_buf *out) {
    pdl_buf_put(&i->text, text);
    pdl_val d = at_item(w, i, "delta", pdl_text(text));
    if (i->kind == ITEM_MESSAGE) d = pdl_dict_putz(d, "logprobs", pdl_list_new(0));
    put_growth(w, i, "delta", d, out);
}

void pdl_serve_response_fini(work *w) {
    for (size_t i = 0; i < w->items.n; i++) {
        response_item *it = &w->items.p[i];
        pdl_buf_fini(&it->text);
        pdl_drop(it->logprobs);
        pdl_drop(it->id);
        pdl_drop(it->name);
        pdl_drop(it->done);
    }
    pdl_vec_fini(&w->items);
    pdl_vec_fini(&w->call_places);
}

/* --- a stream --------------------------------------------------------------------------------- */

void pdl_serve_response_begin(work *w, pdl_buf *out) {
    static const char *const types[] = {"response.created", "response.in_progress"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        put(w, types[i],
            pdl_dict_putz(pdl_dict_new(1), "response",
                          pdl_serve_response_of(w, "in_progress", pdl_absent())),
            out);
}

void pdl_serve_response_text(choice *c, pdl_str text, pdl_buf *out) {
    grow(c->work, item_to_grow(c->work, ITEM_MESSAGE, out), text, out);
}

/* Sends tokens that arrived after their text, together with an empty piece of text. */
static void put_logprobs(work *w, pdl_vref logprobs, pdl_buf *out) {
    pdl_vref list = pdl_is_dict(logprobs) ? pdl_dict_getz(logprobs, "content") : pdl_absent();
    if (!pdl_is_list(list) || !pdl_list_len(list)) return;
    response_item *i = item_to_grow(w, ITEM_MESSAGE, out);
    i->logprobs = pdl_list_concat(i->logprobs, list);
    pdl_val d = at_item(w, i, "delta", pdl_textz(""));
    put_growth(w, i, "delta", pdl_dict_putz(d, "logprobs", pdl_keep(list)), out);
}

/* Opens a call. The place of each call in the output is stored under the call's index, as place +
 * 1. It is 0 for a call that is left out because it does not call a function. */
static void open_call(work *w, pdl_vref call, pdl_buf *out) {
    pdl_vref f = pdl_dict_getz(call, "function");
    size_t place = 0;
    if (pdl_serve_is_function(call)) {
        place = w->items.n + 1;
        (void)open_item(w, ITEM_CALL, pdl_keep(pdl_dict_getz(call, "id")),
                        pdl_keep(pdl_dict_getz(f, "name")), out);
    }
    *pdl_vec_push(&w->call_places) = place;
}

static void grow_call(work *w, pdl_vref call, pdl_buf *out) {
    int64_t index = 0;
    if (!pdl_int_get(pdl_dict_getz(call, "index"), &index) || index < 0) return;
    if ((size_t)index == w->call_places.n) open_call(w, call, out);
    if ((size_t)index >= w->call_places.n || !w->call_places.p[index]) return;
    pdl_vref f = pdl_dict_getz(call, "function"), arguments = pdl_dict_getz(f, "arguments");
    if (pdl_is_str(arguments) && pdl_str_get(arguments).n)
        grow(w, &w->items.p[w->call_places.p[index] - 1], pdl_str_get(arguments), out);
}

void pdl_serve_response_extra(choice *c, pdl_vref extra, pdl_buf *out) {
    work *w = c->work;
    pdl_vref thought = pdl_dict_getz(extra, "reasoning_content"),
             refusal = pdl_dict_getz(extra, "refusal"), calls = pdl_dict_getz(extra, "tool_calls");
    if (pdl_is_str(thought))
        grow(w, item_to_grow(w, ITEM_REASONING, out), pdl_str_get(thought), out);
    put_logprobs(w, pdl_dict_getz(extra, "logprobs"), out);
    if (pdl_is_str(refusal)) grow(w, item_to_grow(w, ITEM_REFUSAL, out), pdl_str_get(refusal), out);
    for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++)
        grow_call(w, pdl_list_at(calls, i), out);
}

static bool has_more_than_thoughts(const work *w) {
    for (size_t i = 0; i < w->items.n; i++)
        if (w->items.p[i].kind != ITEM_REASONING) return true;
    return false;
}

void pdl_serve_response_end(choice *c, const answer *a, pdl_buf *out) {
    work *w = c->work;
    pdl_buf text = PDL_BUF;
    if (!has_more_than_thoughts(w)) (void)item_to_grow(w, ITEM_MESSAGE, out);
    assert(pdl_is_absent(w->output));
    w->output = pdl_list_new(w->items.n);
    for (size_t i = 0; i < w->items.n; i++) {
        response_item *it = &w->items.p[i];
        close_item(w, it, out);
        w->output = pdl_list_push(w->output, pdl_keep(it->done));
        if (it->kind == ITEM_MESSAGE) pdl_buf_put(&text, pdl_buf_str(&it->text));
    }
    w->finish = a->finish;
    pdl_serve_response_keep(w, a, pdl_buf_str(&text));
    pdl_buf_fini(&text);
}

void pdl_serve_response_finish(work *w, pdl_buf *out) {
    const char *type = pdl_serve_response_reason(w) ? "response.incomplete" : "response.completed";
    pdl_val r = pdl_serve_response_of(w, pdl_serve_response_status(w), pdl_absent());
    put(w, type, pdl_dict_putz(pdl_dict_new(1), "response", r), out);
}

void pdl_serve_response_fail(work *w, pdl_str message, const char *type, const char *code,
                             pdl_buf *out) {
    (void)type;
    pdl_val e = pdl_dict_putz(pdl_dict_new(2), "code", pdl_textz(code));
    e = pdl_dict_putz(e, "message", pdl_text(message));
    pdl_val r = pdl_serve_response_of(w, "failed", e);
    put(w, "response.failed", pdl_dict_putz(pdl_dict_new(1), "response", r), out);
}
