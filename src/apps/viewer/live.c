/* live.c -- makes the boxes of a run in progress from its events; see live.h. Events arrive far
 * more often than a page is drawn. So an event only changes a box and notes the box; texts are made
 * when a page asks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/live.h"

#include "base/idmap.h"
#include "base/limits.h"
#include "base/nanos.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "effect/effect.h"
#include "lang/program.h"
#include "trace/delayed_events.h"
#include "trace/sink.h"
#include "value/func.h"
#include "value/json_put.h"
#include "value/json_write.h"
#include "value/promise.h"
#include "viewer/box_json.h"
#include "viewer/read_files.h"

#include "base/banned.h"

typedef struct live_box {
    uint32_t id, parent, depth, n; /* n is the number of the box's children so far */
    uint32_t fiber, file;
    struct live_box *up;    /* the box that was the innermost box of its fiber before this one */
    const pdl_block *block; /* the block, borrowed from a program that is kept alive */
    pdl_path *place;        /* kept; may be NULL */
    char *model;            /* owned; may be NULL */
    int64_t tokens;         /* tokens of the box's model call */
    pdl_path *path;         /* the key by which the box's model call is found */
    pdl_val value;          /* the result until it is converted to text; owned */
    pdl_buf text;
    /* when tail is set, the text is only the end of a longer text */
    bool json, cut, tail, open, failed, hidden;
    bool waits; /* the value is a promise that is not filled yet */
    /* id of the input for which the box waits; 0 when it does not wait */
    uint32_t asks;
    bool lines; /* the input may have several lines */
    int64_t start, end;
    int64_t waited; /* how long a model call waited for its turn, a rate or another attempt */
    size_t change;  /* number of the newest note about the box */
} live_box;

struct pdl_live {
    pdl_view_files *files;
    void (*redact)(void *user, pdl_str text, pdl_buf *out);
    void *user;
    PDL_VEC(live_box *) boxes;
    PDL_VEC(uint32_t) changes; /* ids of boxes that changed, oldest first */
    size_t n_events;
    /* Returns the events that the run keeps; NULL when each event is handled at once. */
    pdl_later *(*later)(const void *user);
    const void *later_user;
    size_t gathered;          /* number of events at the last call of pdl_live_gather */
    size_t taken;             /* number of changes that some page has read */
    pdl_idmap programs;       /* the programs are kept alive, because boxes borrow their blocks */
    const pdl_source *source; /* source of the newest box; `file` is the number of that source */
    uint32_t file;
    /* fiber -> its innermost box. For the fiber of the newest event, the box is not here, but in
     * the members below */
    pdl_idmap tops;
    uint32_t fiber; /* fiber of the newest event; 0 before the first event */
    live_box *top;
    pdl_idmap calls; /* path of a model call -> its box */
    /* the call to which the newest piece belongs; `streams` is the box of that call */
    const pdl_path *stream;
    live_box *streams;
    int64_t zero; /* the time at which the run began */
};

/* --- changes ---------------------------------------------------------------------------------- */

/* Notes that the box has changed. When no page has read the previous note about the box yet, that
 * note suffices. */
static void note(pdl_live *l, live_box *b) {
    if (b->hidden || (b->change && b->change > l->taken)) return;
    *pdl_vec_push(&l->changes) = b->id;
    b->change = l->changes.n;
}

static void set_text(live_box *b, pdl_str text) {
    b->tail = false;
    pdl_str shown = pdl_utf8_cut(text, PDL_LIVE_TEXT_BYTES);
    pdl_buf_clear(&b->text);
    pdl_buf_put(&b->text, shown);
    b->cut = shown.n < text.n;
}

/* Returns the text from this byte on, without an incomplete character or word at its beginning. The
 * word may be the rest of a key, and only complete keys are redacted. */
static pdl_str tail_of(pdl_str text, size_t from) {
    enum { LONGEST_KEY = 1024 };
    size_t space = from;
    while (space < text.n && space - from < LONGEST_KEY && !strchr(" \n", text.p[space])) space++;
    if (space - from < LONGEST_KEY) from = space;
    while (from < text.n && ((unsigned char)text.p[from] & 0xc0) == 0x80) from++;
    return pdl_str_sub(text, from, text.n);
}

/* Appends a piece. When a text becomes too long, its first half is dropped, because people read the
 * newest part. */
static void add_text(live_box *b, pdl_str piece) {
    enum { KEPT = PDL_LIVE_TEXT_BYTES / 2 };
    pdl_buf_put(&b->text, piece);
    if (b->text.len <= PDL_LIVE_TEXT_BYTES) return;
    pdl_buf kept = PDL_BUF;
    pdl_buf_put(&kept, tail_of(pdl_buf_str(&b->text), b->text.len - KEPT));
    pdl_buf_fini(&b->text);
    b->text = kept;
    b->tail = true;
}

/* Appends a function, which is shown by the names of its parameters. */
static void put_function(pdl_vref v, pdl_buf *text) {
    const pdl_func *f = pdl_func_of(v);
    const pdl_b_function *function = f->block ? pdl_block_as(f->block, PDL_BLOCK_function) : NULL;
    pdl_buf_putc(text, '(');
    for (uint32_t i = 0; function && i < function->params.n; i++) {
        if (i) PDL_PUT(text, ", ");
        pdl_buf_put(text, function->params.names[i]);
    }
    pdl_buf_putc(text, ')');
}

static bool put_inner_function(void *user, pdl_vref v, unsigned depth, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    (void)user;
    (void)depth;
    if (!pdl_is(v, PDL_V_FUNC)) return false;
    put_function(v, &text);
    pdl_json_quote(pdl_buf_str(&text), 0, out);
    pdl_buf_fini(&text);
    return true;
}

/* Returns false when more was written than a box shows. This stops the writing. */
static bool has_room(void *user, pdl_buf *out, pdl_err *err) {
    (void)user;
    if (out->len <= PDL_LIVE_TEXT_BYTES) return true;
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "the rest is not shown");
}

/* Shows the beginning of a value that contains no promises. */
static void show_value(live_box *b, pdl_vref v) {
    pdl_buf json = PDL_BUF, fixed = PDL_BUF;
    pdl_err err = {0};
    if (pdl_is_absent(v)) return;
    if (pdl_is(v, PDL_V_FUNC)) {
        put_function(v, &fixed);
        set_text(b, pdl_buf_str(&fixed));
        pdl_buf_fini(&fixed);
        return;
    }
    if (pdl_is_str(v)) {
        set_text(b, pdl_str_get(v));
        return;
    }
    const pdl_json_part part = {
        .flags = PDL_JSON_LOOSE | PDL_JSON_CUT | PDL_JSON_CONTEXT | PDL_JSON_NAN,
        .other = put_inner_function,
        .room = has_room,
    };
    bool whole = pdl_json_write_part(v, &part, &json, &err);
    pdl_utf8_repair(&fixed, pdl_buf_str(&json));
    set_text(b, pdl_buf_str(&fixed));
    b->json = true;
    b->cut = b->cut || !whole;
    pdl_err_fini(&err);
    pdl_buf_fini(&json);
    pdl_buf_fini(&fixed);
}

/* Stores a short value, which is converted to text only when a page requests it: most values are
 * replaced before that. A longer value is converted at once. */
static void take_value(live_box *b, pdl_vref v) {
    bool is_short =
        pdl_is_str(v) ? pdl_str_get(v).n <= PDL_LIVE_TEXT_BYTES : pdl_tag_of(v) <= PDL_V_FLOAT;
    if (is_short)
        b->value = pdl_keep(v);
    else
        show_value(b, v);
}

static void make_text(live_box *b) {
    if (pdl_is_absent(b->value) || b->waits) return;
    show_value(b, b->value);
    pdl_drop(b->value);
    b->value = pdl_absent();
}

/* Shows the value of a box that waited for a call, because the call has ended. */
static void settle(live_box *b) {
    pdl_val v, promise = b->value;
    pdl_err err = {0};
    if (!b->waits || !pdl_is_absent(pdl_promise_blocking(promise))) return;
    b->waits = false;
    b->value = pdl_absent();
    if (pdl_promise_resolve(promise, &v, &err)) {
        take_value(b, v);
        pdl_drop(v);
    }
    pdl_err_fini(&err);
    pdl_drop(promise);
}

/* --- events ----------------------------------------------------------------------------------- */

static live_box *top_of(const pdl_live *l, uint32_t fiber) {
    return fiber == l->fiber ? l->top : pdl_idmap_find(&l->tops, fiber);
}

/* Sets the innermost box of a fiber. The innermost box of the newest event's fiber is in separate
 * members, because most events come from the same fiber as the event before. */
static void set_top(pdl_live *l, uint32_t fiber, live_box *b) {
    if (fiber != l->fiber) {
        if (l->top)
            pdl_idmap_put(&l->tops, l->fiber, l->top);
        else if (l->fiber)
            pdl_idmap_del(&l->tops, l->fiber);
        l->fiber = fiber;
    }
    l->top = b;
}

static bool is_kind(const live_box *b, pdl_block_kind kind) { return b->block->kind == kind; }

/* Returns true for a box that is not shown: there are too many boxes, the box around it is not
 * shown, or the code that called it has ended. */
static bool is_hidden(const pdl_live *l, const live_box *up, const pdl_event *e) {
    return (!up && e->entry == PDL_ENTRY_SILENT) || (up && up->hidden) ||
           l->boxes.n >= PDL_LIVE_MAX_BOXES;
}

/* Stores the block and its place. The texts of both are made only when a page requests the box.
 * Most boxes are never requested before the trace replaces all of them. */
static void describe(pdl_live *l, live_box *b, const pdl_event *e) {
    pdl_programs_add(&l->programs, e->program);
    b->block = e->block;
    pdl_path *place = e->place ? e->place : e->path;
    b->place = place ? pdl_path_keep(place) : NULL;
    b->file = PDL_VIEW_NO_FILE;
    if (!e->block->loc.src) return;
    if (e->block->loc.src != l->source) {
        l->source = e->block->loc.src;
        l->file = pdl_view_files_note(l->files, l->source);
    }
    b->file = l->file;
}

static void on_begin(pdl_live *l, const pdl_event *e) {
    live_box *before = top_of(l, e->fiber), *up = before;
    live_box *b = PDL_NEW(live_box);
    if (!up && e->parent) up = top_of(l, e->parent);
    if (!l->zero) l->zero = e->nanos;
    *b = (live_box){.id = (uint32_t)l->boxes.n,
                    .fiber = e->fiber,
                    .up = before,
                    .open = true,
                    .hidden = is_hidden(l, up, e),
                    .value = pdl_absent(),
                    .text = PDL_BUF,
                    .start = e->nanos};
    set_top(l, e->fiber, b);
    if (b->hidden) return; /* a hidden box is freed when it ends */
    *pdl_vec_push(&l->boxes) = b;
    describe(l, b, e);
    if (up) {
        b->parent = up->id;
        b->depth = up->depth + 1;
        up->n++;
        note(l, up);
    }
    note(l, b);
}

static void box_free(live_box *b) {
    pdl_buf_fini(&b->text);
    if (!pdl_is_absent(b->value)) pdl_drop(b->value);
    pdl_path_drop(b->path);
    pdl_path_drop(b->place);
    pdl_free(b->model);
    pdl_free(b);
}

static void on_end(pdl_live *l, const pdl_event *e) {
    live_box *b = top_of(l, e->fiber);
    if (!b) return;
    set_top(l, e->fiber, b->up);
    if (b->hidden) {
        box_free(b);
        return;
    }
    b->open = false;
    b->failed = e->kind == PDL_EVENT_block_fail;
    b->end = e->nanos;
    if (b->failed && e->err && e->err->msg && !b->text.len) set_text(b, pdl_str_of(e->err->msg));
    if (!b->failed && pdl_may_hold_promise(e->value)) {
        b->value = pdl_keep(e->value);
        b->waits = true;
        settle(b);
    } else if (!b->failed) {
        take_value(b, e->value);
    }
    note(l, b);
}

static void on_field(pdl_live *l, const pdl_event *e) {
    live_box *b = top_of(l, e->fiber);
    if (!b || b->hidden) return;
    if (pdl_str_is(e->key, "model") && pdl_is_str(e->value)) {
        pdl_free(b->model);
        b->model = pdl_str_dup(pdl_utf8_cut(pdl_str_get(e->value), PDL_LIVE_NAME_BYTES));
    }
    if (!e->path || !pdl_str_is(e->key, "pdl__model_input")) return;
    /* removes the path of the previous attempt */
    if (b->path) pdl_idmap_del(&l->calls, (uintptr_t)b->path);
    pdl_path_drop(b->path);
    pdl_buf_clear(&b->text);
    b->tail = false;
    l->stream = NULL;
    b->path = pdl_path_keep(e->path);
    pdl_idmap_put(&l->calls, (uintptr_t)e->path, b);
}

static void on_piece(pdl_live *l, const pdl_event *e) {
    if (e->caller != l->stream) {
        l->stream = e->caller;
        l->streams = pdl_idmap_find(&l->calls, (uintptr_t)l->stream);
    }
    live_box *b = l->streams;
    if (!b) return;
    add_text(b, e->text);
    note(l, b);
}

static void on_usage(pdl_live *l, const pdl_event *e) {
    live_box *b = e->path ? pdl_idmap_find(&l->calls, (uintptr_t)e->path) : NULL;
    if (!b) return;
    b->tokens += pdl_usage_tokens(e->value);
    note(l, b);
}

/* Sets the answer as the value of the box, and as the value of boxes around it that
 * ended with it. */
static void on_reply(pdl_live *l, const pdl_event *e) {
    live_box *b = e->caller ? pdl_idmap_find(&l->calls, (uintptr_t)e->caller) : NULL;
    if (!b) return;
    b->end = e->nanos;
    if (e->reply) b->waited = pdl_nanos_of((double)b->waited / 1e9 + pdl_reply_waited(e->reply));
    b->failed = e->err != NULL;
    if (b->failed && e->err->msg) set_text(b, pdl_str_of(e->err->msg));
    for (live_box *x = b;; x = l->boxes.p[x->parent]) {
        settle(x);
        note(l, x);
        if (!x->id) return;
    }
}

/* Notes the question of an effect. The effect belongs to the newest open `read` block, because such
 * a block sends its question as soon as it begins. */
static void on_effect(pdl_live *l, const pdl_event *e) {
    if (e->effect->kind != PDL_EFFECT_input) return;
    for (size_t i = l->boxes.n; i-- > 0;) {
        live_box *b = l->boxes.p[i];
        if (!b->open || b->asks || !is_kind(b, PDL_BLOCK_read)) continue;
        pdl_vref prompt = pdl_dict_getz(e->effect->request, "prompt"),
                 lines = pdl_dict_getz(e->effect->request, "multiline");
        b->asks = e->effect->id;
        b->lines = pdl_is_bool(lines) && pdl_bool_of(lines);
        if (pdl_is_str(prompt)) set_text(b, pdl_str_get(prompt));
        note(l, b);
        return;
    }
}

static void on_answer(pdl_live *l, const pdl_event *e) {
    for (size_t i = l->boxes.n; i-- > 0;) {
        if (l->boxes.p[i]->asks != e->effect->id) continue;
        l->boxes.p[i]->asks = 0;
        note(l, l->boxes.p[i]);
        return;
    }
}

static void on_answer_or_reply(pdl_live *l, const pdl_event *e) {
    if (e->effect && e->effect->kind == PDL_EFFECT_input)
        on_answer(l, e);
    else
        on_reply(l, e);
}

bool pdl_live_asks(const pdl_live *l, uint32_t effect) {
    for (size_t i = l->boxes.n; effect && i-- > 0;)
        if (l->boxes.p[i]->asks == effect) return true;
    return false;
}

/* The functions that handle events. Events without a function change no box. */
static void (*const handlers[PDL_EVENT_COUNT])(pdl_live *l, const pdl_event *e) = {
    [PDL_EVENT_block_begin] = on_begin,     [PDL_EVENT_block_end] = on_end,
    [PDL_EVENT_block_fail] = on_end,        [PDL_EVENT_field] = on_field,
    [PDL_EVENT_piece] = on_piece,           [PDL_EVENT_effect] = on_effect,
    [PDL_EVENT_reply] = on_answer_or_reply, [PDL_EVENT_usage] = on_usage,
};

static void on_event(void *user, const pdl_event *e) {
    ((pdl_live *)user)->n_events += e->kind != PDL_EVENT_piece;
    if (handlers[e->kind]) handlers[e->kind](user, e);
}

/* --- events that the run keeps ---------------------------------------------------------------- */

static pdl_later *later_of(const pdl_live *l) { return l->later ? l->later(l->later_user) : NULL; }

size_t pdl_live_events(const pdl_live *l) {
    const pdl_later *later = later_of(l);
    return l->n_events + (later ? pdl_later_seen(later) : 0);
}

void pdl_live_gather(pdl_live *l) {
    enum { MAX_EVENTS = 2000, MAX_WAITING_EVENTS = 50000 };
    pdl_later *later = later_of(l);
    if (!later) return;
    size_t events = pdl_live_events(l);
    pdl_later_pass(later, events == l->gathered ? MAX_WAITING_EVENTS : MAX_EVENTS);
    l->gathered = events;
}

void pdl_live_gather_all(pdl_live *l) {
    pdl_later *later = later_of(l);
    if (later) pdl_later_pass(later, SIZE_MAX);
}

/* Handles an event of a block, which the run has kept. */
static void on_kept(void *user, const pdl_event *e) {
    bool is_direct =
        e->kind == PDL_EVENT_piece || e->kind == PDL_EVENT_effect || e->kind == PDL_EVENT_reply;
    if (!is_direct && handlers[e->kind]) handlers[e->kind](user, e);
}

/* Handles an event that belongs to a block whose beginning may be among the kept events. */
static void on_direct(void *user, const pdl_event *e) {
    pdl_live *l = user;
    bool is_question = e->kind == PDL_EVENT_effect && e->effect->kind == PDL_EFFECT_input;
    if (!is_question && e->kind != PDL_EVENT_piece && e->kind != PDL_EVENT_reply) return;
    pdl_live_gather_all(l);
    handlers[e->kind](l, e);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static const char *state_of(const live_box *b) {
    if (b->failed) return "failed";
    return b->open || b->waits ? "running" : "done";
}

void pdl_live_redact(const pdl_live *l, pdl_str text, pdl_buf *out) {
    if (l->redact)
        l->redact(l->user, text, out);
    else
        pdl_buf_put(out, text);
}

static void put_text(const pdl_live *l, const char *name, pdl_str text, pdl_buf *out) {
    pdl_buf shown = PDL_BUF;
    pdl_live_redact(l, text, &shown);
    pdl_json_put_text(out, name, pdl_buf_str(&shown));
    pdl_buf_fini(&shown);
}

static void put_place(const pdl_live *l, const live_box *b, pdl_buf *out) {
    pdl_buf place = PDL_BUF;
    pdl_path_end(b->place, PDL_MAX_ID_SEGMENTS, &place);
    if (place.len) put_text(l, "place", pdl_buf_str(&place), out);
    pdl_buf_fini(&place);
}

static void put_box(const pdl_live *l, live_box *b, pdl_buf *out) {
    const pdl_block *block = b->block;
    pdl_str role = block->rare->role.s, def = block->def.s;
    const char *kind = is_kind(b, PDL_BLOCK_scalar) ? "data" : pdl_block_name(block->kind);
    make_text(b);
    pdl_buf_putc(out, '{');
    pdl_json_put_int(out, "id", b->id);
    if (b->id) pdl_json_put_int(out, "parent", b->parent);
    pdl_json_put_int(out, "n", b->n);
    pdl_json_put_int(out, "depth", b->depth);
    pdl_json_put_text(out, "kind", pdl_str_of(kind));
    pdl_json_put_text(out, "state", pdl_str_of(state_of(b)));
    put_place(l, b, out);
    if (def.n) pdl_json_put_text(out, "def", def);
    if (role.n) pdl_json_put_text(out, "role", role);
    if (b->model) put_text(l, "model", pdl_str_of(b->model), out);
    if (b->tokens) pdl_json_put_int(out, "tokens", b->tokens);
    pdl_json_put_int(out, "start", (b->start - l->zero) / 1000);
    if (b->end) pdl_json_put_int(out, "end", (b->end - l->zero) / 1000);
    if (b->waited >= 1000) pdl_json_put_int(out, "waited", b->waited / 1000);
    if (b->file != PDL_VIEW_NO_FILE) {
        pdl_json_put_int(out, "line", pdl_loc_line(block->loc));
        if (b->file) pdl_json_put_int(out, "file", b->file);
    }
    if (b->text.len) put_text(l, "text", pdl_buf_str(&b->text), out);
    if (b->asks) pdl_json_put_int(out, "asks", b->asks);
    if (b->asks && b->lines) pdl_json_put_bool(out, "lines", true);
    if (b->json) pdl_json_put_bool(out, "json", true);
    if (b->cut) pdl_json_put_bool(out, "cut", true);
    if (b->tail) pdl_json_put_bool(out, "tail", true);
    pdl_buf_putc(out, '}');
}

size_t pdl_live_changes(const pdl_live *l) { return l->changes.n; }

bool pdl_live_json(pdl_live *l, size_t *from, size_t most, pdl_buf *out) {
    size_t n = 0;
    pdl_buf_putc(out, '[');
    for (; *from < l->changes.n && n < most; ++*from) {
        live_box *b = l->boxes.p[l->changes.p[*from]];
        if (b->change != *from + 1) continue; /* the box has a newer note */
        if (n++) pdl_buf_putc(out, ',');
        put_box(l, b, out);
    }
    if (*from > l->taken) l->taken = *from;
    pdl_buf_putc(out, ']');
    return n > 0;
}

void pdl_live_put_program(const pdl_live *l, pdl_str name, pdl_str program, pdl_buf *out) {
    pdl_buf shown = PDL_BUF;
    pdl_live_redact(l, program, &shown);
    pdl_buf_putc(out, '{');
    pdl_json_put_text(out, "source_name", name);
    pdl_json_put_text(out, "source", pdl_buf_str(&shown));
    pdl_view_files_json(l->files, l, out);
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&shown);
}

/* --- life ------------------------------------------------------------------------------------- */

pdl_live *pdl_live_new(void (*redact)(void *user, pdl_str text, pdl_buf *out), void *user) {
    pdl_live *l = PDL_NEW(pdl_live);
    l->files = pdl_view_files_new();
    l->redact = redact;
    l->user = user;
    return l;
}

void pdl_live_listen(pdl_live *l, pdl_sink *out) { *out = (pdl_sink){l, on_event, true}; }

void pdl_live_listen_later(pdl_live *l, pdl_later *(*later)(const void *user), const void *user,
                           pdl_sink *out, pdl_sink *kept) {
    l->later = later;
    l->later_user = user;
    *out = (pdl_sink){l, on_direct, false};
    *kept = (pdl_sink){l, on_kept, true};
}

pdl_view_files *pdl_live_files(pdl_live *l) { return l->files; }

void pdl_live_free(pdl_live *l) {
    if (!l) return;
    pdl_view_files_free(l->files);
    set_top(l, 0, NULL); /* moves the innermost box of the newest fiber into the map */
    for (size_t i = 0; i < pdl_idmap_places(&l->tops); i++)
        for (live_box *b = pdl_idmap_at(&l->tops, i), *up; b && b->hidden; b = up) {
            up = b->up;
            box_free(b);
        }
    for (size_t i = 0; i < l->boxes.n; i++) box_free(l->boxes.p[i]);
    pdl_programs_fini(&l->programs);
    pdl_vec_fini(&l->boxes);
    pdl_vec_fini(&l->changes);
    pdl_idmap_fini(&l->tops);
    pdl_idmap_fini(&l->calls);
    pdl_free(l);
}
