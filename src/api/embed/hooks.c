/* hooks.c -- gives effects to functions of the host program, and takes their answers; see hooks.h.
 *
 * The host program owns a request until the host answers it; the effect of
 * the request may end earlier, with the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/hooks.h"

#include <assert.h>
#include <string.h>

#include "api/embed/objects.h"
#include "api/handles.h"
#include "api/host_answers.h"
#include "base/limits.h"
#include "base/linked.h"
#include "base/utf8.h"
#include "io/clock.h"

#include "base/banned.h"

enum { DAY_MS = 86400000 };

typedef struct hooks hooks;

struct pdl_request {
    hooks *hooks;  /* NULL after the request has left its world */
    pdl_effect *e; /* NULL when the answer is not needed any more */
    /* the handler that got the request; NULL when an object or a function of the host got it */
    const pdl_hook *row;
    pdl_value data;
    pdl_buf pieces;     /* pieces that were not delivered yet */
    pdl_buf all_pieces; /* all pieces that have arrived */
    bool answered;
    bool looked_again; /* this is the second look-up, because the first found nothing */
    pdl_val answer;
    pdl_err err;
    uint64_t start_ns;
    bool *freed;     /* *freed is set when the world is freed; NULL when no caller needs it */
    struct list *in; /* the list that contains the request; NULL when no list does */
    pdl_request *next, *prev;
};

typedef struct list {
    pdl_request *first, *last;
} list;

struct hooks {
    pdl_world world;
    pdl_loop *loop;
    const pdl_hook *rows;
    size_t n_rows;
    pdl_task *task; /* NULL when the world belongs to no task */
    void (*other)(void *user, pdl_effect *e);
    void *user;
    list waiting;      /* requests that wait for the host program */
    list ready;        /* requests that were answered or have pieces to deliver, in order */
    pdl_timer *keeper; /* keeps the loop open as long as there are requests */
};

/* --- the handlers ----------------------------------------------------------------------------- */

static pdl_str text_at(pdl_vref request, const char *key) {
    pdl_vref v = pdl_dict_getz(request, key);
    if (pdl_is_list(v) && pdl_list_len(v)) v = pdl_list_at(v, 0);
    return pdl_is_str(v) ? pdl_str_get(v) : PDL_STR("");
}

static pdl_str subject_of(const pdl_effect *e) {
    static const struct {
        pdl_effect_kind kind;
        const char *key;
    } rows[] = {
        {PDL_EFFECT_model, "model"},   {PDL_EFFECT_embed, "model"},  {PDL_EFFECT_code, "lang"},
        {PDL_EFFECT_command, "argv"},  {PDL_EFFECT_input, "prompt"}, {PDL_EFFECT_read, "path"},
        {PDL_EFFECT_write, "path"},    {PDL_EFFECT_source, "path"},  {PDL_EFFECT_tool, "server"},
        {PDL_EFFECT_approval, "sink"}, {PDL_EFFECT_http, "url"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].kind == e->kind) return text_at(e->request, rows[i].key);
    return PDL_STR("");
}

/* Returns true when handler a is asked before handler b: the handler with the longer prefix comes
 * first. Of handlers with equal prefixes the later one comes first. */
static bool is_before(const pdl_hook *a, const pdl_hook *b) {
    return a->prefix.n != b->prefix.n ? a->prefix.n > b->prefix.n : a > b;
}

/* Returns the handler that is asked after the handler `after`, or the first handler when `after` is
 * NULL. Returns NULL when no handler is left. */
static const pdl_hook *find(const pdl_hook *rows, size_t n, const pdl_effect *e,
                            const pdl_hook *after) {
    const pdl_hook *best = NULL;
    pdl_str subject = n ? subject_of(e) : PDL_STR("");
    for (const pdl_hook *h = rows; h < rows + n; h++)
        if (h->kind == e->kind && pdl_str_starts(subject, h->prefix) &&
            (!after || is_before(after, h)) && (!best || is_before(h, best)))
            best = h;
    return best;
}

bool pdl_hooks_match(const pdl_hook *rows, size_t n, const pdl_effect *e) {
    return pdl_objects_own(e) || find(rows, n, e, NULL) != NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

static void take_out(pdl_request *r) {
    list *l = r->in;
    if (l) pdl_linked_remove(l, r);
    r->in = NULL;
}

static void move_to(pdl_request *r, list *l) {
    take_out(r);
    r->in = l;
    pdl_linked_append(l, r);
}

static void keep_open(void *user);

static void mind_keeper(hooks *h) {
    bool open = h->waiting.first || h->ready.first;
    if (open && !h->keeper) h->keeper = pdl_timer_start(h->loop, DAY_MS, keep_open, h);
    if (open || !h->keeper) return;
    pdl_timer_stop(h->keeper);
    h->keeper = NULL;
}

static void keep_open(void *user) {
    hooks *h = user;
    h->keeper = NULL;
    mind_keeper(h);
}

/* Removes the request from its list and its world. The caller then owns its effect. */
static pdl_effect *leave(pdl_request *r) {
    pdl_effect *e = r->e;
    hooks *h = r->hooks;
    take_out(r);
    r->hooks = NULL;
    r->e = NULL;
    mind_keeper(h);
    return e;
}

static void request_free(pdl_request *r) {
    if (r->freed) *r->freed = true;
    pdl_drop(r->data.v);
    pdl_drop(r->answer);
    pdl_err_fini(&r->err);
    pdl_buf_fini(&r->pieces);
    pdl_buf_fini(&r->all_pieces);
    pdl_free(r);
}

/* Drops the effect of a request whose answer is not needed any more. The request lives until the
 * host program has answered it. */
static void give_up(pdl_request *r) {
    pdl_effect_free(leave(r));
    if (r->answered) request_free(r);
}

const pdl_value *pdl_request_data(const pdl_request *request) {
    return request ? &request->data : NULL;
}
bool pdl_request_is_cancelled(const pdl_request *request) { return !request || !request->e; }

bool pdl_request_piece(pdl_request *request, const char *text, size_t n_bytes) {
    if (!request || !request->e || !text || request->answered) return false;
    if (n_bytes > PDL_MAX_TEXT - request->all_pieces.len ||
        pdl_utf8_check((pdl_str){text, n_bytes}) != PDL_NOT_FOUND)
        return false;
    if (!n_bytes) return true;
    if (request->in != &request->hooks->ready) move_to(request, &request->hooks->ready);
    pdl_buf_put(&request->pieces, (pdl_str){text, n_bytes});
    pdl_buf_put(&request->all_pieces, (pdl_str){text, n_bytes});
    return true;
}

/* Moves the request to the list of requests that the next poll delivers. Frees a request whose
 * answer is not needed any more. */
static void answered(pdl_request *r) {
    if (!r->e) {
        request_free(r);
        return;
    }
    r->answered = true;
    if (r->in != &r->hooks->ready) move_to(r, &r->hooks->ready);
}

static bool is_look_up(const pdl_effect *e) {
    if (e->kind != PDL_EFFECT_object) return false;
    pdl_vref op = pdl_dict_getz(e->request, "op");
    return pdl_text_is(op, "attr") || pdl_text_is(op, "item");
}

void pdl_request_answer(pdl_request *request, const pdl_value *answer) {
    if (!request || request->answered) return;
    if (!answer && request->e && is_look_up(request->e)) {
        bool again = !request->looked_again;
        request->looked_again = true;
        if (again && pdl_objects_look_again(request->e, request)) return;
        request->answer = pdl_objects_missing(request->e);
        answered(request);
        return;
    }
    pdl_vref v = answer ? answer->v : pdl_null();
    pdl_str all = pdl_buf_str(&request->all_pieces);
    if (request->e && pdl_host_answer(request->e, v, all, &request->answer, &request->err) &&
        request->e->kind == PDL_EFFECT_model && !request->all_pieces.len &&
        pdl_val_truth(pdl_dict_getz(request->e->request, "stream"))) {
        /* a request that streams gets the text in one piece; an answer with scores has no text */
        pdl_vref content = pdl_dict_getz(request->answer, "content");
        pdl_str text = pdl_is_str(content) ? pdl_str_get(content) : PDL_STR("");
        if (text.n) pdl_request_piece(request, text.p, text.n);
    }
    answered(request);
}

void pdl_request_answer_code(pdl_request *request, const pdl_value *result,
                             const pdl_value *changed) {
    if (!request || request->answered) return;
    if (request->e && request->e->kind != PDL_EFFECT_code) {
        pdl_request_answer(request, result);
        return;
    }
    pdl_vref v = result ? result->v : pdl_null();
    pdl_value whole = {.v = pdl_host_answer_of_code(v, pdl_buf_str(&request->all_pieces))};
    if (pdl_value_kind(changed) == PDL_KIND_DICT)
        whole.v = pdl_dict_putz(whole.v, "rebound", pdl_keep(pdl_value_settled(changed)));
    if (request->e && !pdl_effect_check(request->e, whole.v, &request->err))
        pdl_drop(whole.v);
    else
        request->answer = whole.v;
    answered(request);
}

void pdl_request_refuse(pdl_request *request, const char *kind, const char *message) {
    pdl_request_raise(request, kind, NULL, message);
}

void pdl_request_raise(pdl_request *request, const char *kind, const char *classes,
                       const char *message) {
    if (!request || request->answered) return;
    const char *why = message ? message : "refused by the host program";
    if (pdl_utf8_check(pdl_str_of(why)) != PDL_NOT_FOUND)
        why = "refused by the host program, for a reason that is not UTF-8";
    bool model = request->e && request->e->kind == PDL_EFFECT_model;
    pdl_str name = model ? subject_of(request->e) : PDL_STR("");
    if (model)
        pdl_err_set(&request->err, pdl_error_kind_of(kind), (pdl_loc){0},
                    "Error during '%.*s' model call: %s", PDL_FMT(name), why);
    else
        pdl_err_set(&request->err, pdl_error_kind_of(kind), (pdl_loc){0}, "%s", why);
    if (classes && *classes && pdl_utf8_check(pdl_str_of(classes)) == PDL_NOT_FOUND)
        request->err.py_class = pdl_str_dup(pdl_str_of(classes));
    answered(request);
}

/* --- the world -------------------------------------------------------------------------------- */

/* Delivers an answer. The request is freed before its effect ends, because the end of the effect
 * may start or cancel other requests. */
static void deliver_answer(pdl_request *r) {
    double seconds = (double)(pdl_clock_ns() - r->start_ns) / 1e9;
    pdl_val v = r->answer;
    pdl_err err = r->err;
    pdl_effect *e = leave(r);
    r->answer = pdl_absent();
    r->err = (pdl_err){0};
    request_free(r);
    if (err.kind)
        pdl_effect_refuse(e, &err);
    else
        pdl_effect_answer(e, v, seconds);
}

/* Returns true when an answer may be delivered at once. The reply of a model is delivered later: it
 * lets the next queued call start, and a chain of such calls would recurse without bound. */
static bool is_delivered_at_once(pdl_effect_kind k) {
    return k != PDL_EFFECT_model && k != PDL_EFFECT_embed;
}

static pdl_request *request_new(hooks *h, pdl_effect *e, pdl_val data) {
    pdl_request *r = PDL_NEW(pdl_request);
    *r = (pdl_request){
        .hooks = h,
        .e = e,
        .data = {.v = data},
        .pieces = PDL_BUF,
        .all_pieces = PDL_BUF,
        .answer = pdl_absent(),
        .start_ns = pdl_clock_ns(),
    };
    move_to(r, &h->waiting);
    return r;
}

/* Passes the request to its handler, or to the object or function that the effect is about. Another
 * task may be the current one here: a call that waited because too many calls were open starts when
 * a call of another task ends. The callback may free r and the task. */
static void hand_to_host(const hooks *h, const pdl_effect *e, pdl_request *r) {
    pdl_engine *engine = h->task ? pdl_engine_keep(h->task->engine) : NULL;
    pdl_task *before = engine ? pdl_task_enter(engine, h->task) : NULL;
    if (r->row)
        r->row->fn(r->row->user, r);
    else
        pdl_objects_ask(e, r);
    if (!engine) return;
    (void)pdl_task_enter(engine, before);
    pdl_engine_free(engine);
}

static void start(pdl_world *w, pdl_effect *e) {
    hooks *h = (hooks *)(void *)w;
    const bool owned = pdl_objects_own(e);
    const pdl_hook *row = owned ? NULL : find(h->rows, h->n_rows, e, NULL);
    pdl_err err = {0};
    pdl_val data;
    if (!owned)
        data = pdl_keep(e->request);
    else if (!pdl_objects_data(e, &data, &err)) {
        pdl_effect_refuse(e, &err);
        return;
    }
    pdl_request *r = request_new(h, e, data);
    bool freed = false;
    r->freed = &freed;
    r->row = row;
    hand_to_host(h, e, r);
    if (freed) return;
    r->freed = NULL;
    if (r->answered && !r->pieces.len && is_delivered_at_once(e->kind))
        deliver_answer(r);
    else if (r->e)
        mind_keeper(h);
}

static pdl_request *find_request(const list *l, uint32_t id) {
    pdl_request *r = l->first;
    while (r && r->e->id != id) r = r->next;
    return r;
}

static void cancel(pdl_world *w, uint32_t id) {
    hooks *h = (hooks *)(void *)w;
    pdl_request *r = find_request(&h->waiting, id);
    if (!r) r = find_request(&h->ready, id);
    if (r) give_up(r);
}

static void deliver_pieces(const pdl_effect *e, pdl_str text) {
    bool wanted = e->kind != PDL_EFFECT_model || pdl_val_truth(pdl_dict_getz(e->request, "stream"));
    if (text.n && wanted && e->sink.piece) e->sink.piece(e->sink.user, e, text);
}

static void deliver(hooks *h, pdl_request *r) {
    assert(h->ready.first == r && (r->answered || r->pieces.len));
    if (r->pieces.len) {
        pdl_buf pieces = r->pieces;
        r->pieces = PDL_BUF;
        if (!r->answered) move_to(r, &h->waiting);
        deliver_pieces(r->e, pdl_buf_str(&pieces));
        pdl_buf_fini(&pieces);
        return; /* the next call delivers an answer, unless this piece ended the run */
    }
    deliver_answer(r);
}

bool pdl_hooks_deliver(pdl_world *w) {
    hooks *h = (hooks *)(void *)w;
    bool any = h->ready.first != NULL;
    while (h->ready.first) deliver(h, h->ready.first);
    return any;
}

bool pdl_hooks_are_ready(const pdl_world *w) {
    return ((const hooks *)(const void *)w)->ready.first != NULL;
}

static bool poll_answers(pdl_world *w, int timeout_ms) {
    hooks *h = (hooks *)(void *)w;
    return pdl_loop_run(h->loop, pdl_hooks_deliver(w) ? 0 : timeout_ms) || h->waiting.first;
}

static void close_hooks(pdl_world *w) {
    hooks *h = (hooks *)(void *)w;
    while (h->waiting.first) give_up(h->waiting.first);
    while (h->ready.first) give_up(h->ready.first);
    pdl_free(h);
}

void pdl_request_decline(pdl_request *request) {
    if (!request || request->answered) return;
    if (!request->e || !request->row) {
        pdl_request_refuse(request, NULL, "declined by the host program");
        return;
    }
    hooks *h = request->hooks;
    request->row = find(h->rows, h->n_rows, request->e, request->row);
    if (request->row) {
        hand_to_host(h, request->e, request);
        return;
    }
    pdl_effect *e = leave(request);
    request_free(request);
    h->other(h->user, e);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll_answers, .close = close_hooks};

pdl_world *pdl_hooks_world_new(const pdl_hooks_options *o, void (*other)(void *user, pdl_effect *e),
                               void *user) {
    hooks *h = PDL_NEW(hooks);
    h->world.ops = &ops;
    h->loop = o->loop;
    h->rows = o->rows;
    h->n_rows = o->n;
    h->task = o->task;
    h->other = other;
    h->user = user;
    return &h->world;
}
