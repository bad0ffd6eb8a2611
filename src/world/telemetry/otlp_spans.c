/* otlp_spans.c -- turns events of a run into spans: the run, blocks that have a name, effects.
 *
 * A block has a span when it has a name (`def`, a key of `defs`) or `description`, or is the body
 * of a function. Inside the library, only bodies of two kinds of functions have a span: those that
 * the program itself has called, and those that it has handed to the library as tools. An agent of
 * the library runs a hundred other blocks for each call of a model. An effect has a span when it
 * leaves the process. The option `all` adds the other blocks and effects.
 * The parent of a span is found along the span's place: the innermost block around it that has a
 * span. A block may end before the answer that it has requested has arrived, since values are
 * awaited where they are used. The span of such a block ends with the last span inside it. A queue
 * may forward an effect after its block has ended. So as many ended blocks are remembered as there
 * can be waiting calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "io/clock.h"
#include "telemetry/parts.h"
#include "value/json_put.h"

#include "base/banned.h"

enum { ENDED_BLOCKS = 1024, CLIENT = 3, INTERNAL = 1 };

typedef struct span {
    pdl_otlp_run *run;
    /* the enclosing span, which cannot end before this one; NULL for the span of the run */
    struct span *up;
    char parent[17]; /* id of the enclosing span; empty when there is none */
    pdl_path *place; /* place of a block, owned; the key in `blocks` */
    char id[17];
    int kind;
    int64_t start, end;
    uint32_t n_open; /* how many spans inside this one are open */
    bool is_over, failed;
    pdl_buf name, facts;
} span;

/* The remains of the span of a block that has ended: enough to be the parent of a later effect. */
typedef struct ended_block {
    pdl_path *place;
    char id[17];
} ended_block;

struct pdl_otlp_run {
    pdl_otlp *o;
    const pdl_redaction *redaction;
    char trace[33];
    span *root; /* NULL before the run begins and after it */
    bool has_ended;
    char *file, *id;
    pdl_idmap blocks;    /* place -> span */
    pdl_idmap effects;   /* id -> span */
    pdl_idmap functions; /* body -> name, owned */
    ended_block ended[ENDED_BLOCKS];
    size_t n_ended;
    pdl_idmap ended_at; /* place -> its entry of ended */
};

/* --- spans ------------------------------------------------------------------------------------ */

/* Makes a span below `up`. parent is the id of the span around the new one; when it is NULL, the id
 * of `up` is used. */
static span *span_new(pdl_otlp_run *r, span *up, const char *parent, int kind, int64_t start) {
    span *s = PDL_NEW(span);
    *s = (span){.run = r, .up = up, .kind = kind, .start = start, .end = start};
    s->name = s->facts = PDL_BUF;
    pdl_otlp_make_id(r->o, s->id);
    if (!parent) parent = up ? up->id : r->o->config.parent;
    snprintf(s->parent, sizeof s->parent, "%s", parent);
    if (up) up->n_open++;
    return s;
}

/* Writes a time, which protobuf in JSON writes as a text, since it has 64 bits. */
static void put_time(pdl_buf *b, const char *name, int64_t ns) {
    char digits[PDL_NUM_MAX];
    pdl_json_put_text(b, name, (pdl_str){digits, pdl_num_int(ns, digits)});
}

static void write_span(const span *s) {
    enum { STATUS_ERROR = 2 };
    pdl_otlp *o = s->run->o;
    if (!o->config.sampled) return;
    pdl_buf *b = pdl_otlp_span_room(o);
    pdl_buf_putc(b, '{');
    pdl_json_put_text(b, "traceId", pdl_str_of(s->run->trace));
    pdl_json_put_text(b, "spanId", pdl_str_of(s->id));
    if (*s->parent) pdl_json_put_text(b, "parentSpanId", pdl_str_of(s->parent));
    if (o->config.state) pdl_json_put_text(b, "traceState", pdl_str_of(o->config.state));
    pdl_json_put_text(b, "name", pdl_buf_str(&s->name));
    pdl_json_put_int(b, "kind", s->kind);
    put_time(b, "startTimeUnixNano", s->start);
    put_time(b, "endTimeUnixNano", s->end);
    pdl_json_put_key(b, "attributes");
    pdl_buf_putc(b, '[');
    pdl_buf_put(b, pdl_buf_str(&s->facts));
    pdl_buf_putc(b, ']');
    if (s->failed) {
        pdl_json_put_key(b, "status");
        pdl_buf_putc(b, '{');
        pdl_json_put_int(b, "code", STATUS_ERROR);
        pdl_buf_putc(b, '}');
    }
    pdl_buf_putc(b, '}');
    pdl_otlp_span_done(o);
}

static void forget_ended(pdl_otlp_run *r, ended_block *e) {
    if (!e->place) return;
    if (pdl_idmap_find(&r->ended_at, (uintptr_t)e->place) == e)
        pdl_idmap_del(&r->ended_at, (uintptr_t)e->place);
    pdl_path_drop(e->place);
    e->place = NULL;
}

static void remember_ended(span *s) {
    pdl_otlp_run *r = s->run;
    ended_block *e = &r->ended[r->n_ended++ % ENDED_BLOCKS];
    forget_ended(r, e);
    e->place = s->place;
    memcpy(e->id, s->id, sizeof e->id);
    pdl_idmap_put(&r->ended_at, (uintptr_t)s->place, e);
}

/* Writes a span once everything inside it has ended. The spans around it may then be complete, and
 * are written, too. */
static void settle(span *s) {
    while (s && s->is_over && !s->n_open) {
        span *up = s->up;
        write_span(s);
        if (up) {
            up->n_open--;
            if (up->is_over && up->end < s->end) up->end = s->end;
        }
        if (s->place && pdl_idmap_find(&s->run->blocks, (uintptr_t)s->place) == s)
            pdl_idmap_del(&s->run->blocks, (uintptr_t)s->place);
        if (s->place) remember_ended(s);
        pdl_buf_fini(&s->name);
        pdl_buf_fini(&s->facts);
        pdl_free(s);
        s = up;
    }
}

static void over(span *s, int64_t end) {
    s->is_over = true;
    if (end > s->end) s->end = end;
    settle(s);
}

/* Returns where the facts of a span are added. label: labels of the texts that are content. */
static pdl_otlp_facts facts_of(span *s, pdl_label label) {
    const pdl_otlp_run *r = s->run;
    bool content = r->o->opt.content && !pdl_redaction_covers(r->redaction, label);
    return (pdl_otlp_facts){&s->facts, r->redaction, content};
}

/* Marks a span as failed. e: the effect that failed, because the message may repeat its request; or
 * NULL. */
static void fail(span *s, const pdl_err *err, const pdl_effect *e) {
    pdl_label label = err->has_words ? err->words : err->label | (e ? pdl_effect_label(e) : 0);
    pdl_otlp_facts to = facts_of(s, 0);
    s->failed = true;
    pdl_otlp_put_text(&s->facts, "error.type", pdl_str_of(pdl_err_kind_name(err->kind)));
    if (to.content && err->msg)
        pdl_otlp_put_shown(&to, "exception.message", pdl_str_of(err->msg), label);
}

/* Returns the innermost span around a place. When this span has ended, returns the root and stores
 * the id of the ended span in *id; otherwise *id is NULL. */
static span *around(pdl_otlp_run *r, const pdl_path *place, const char **id) {
    *id = NULL;
    for (const pdl_path *p = place; p; p = p->up) {
        span *s = pdl_idmap_find(&r->blocks, (uintptr_t)p);
        const ended_block *e = s ? NULL : pdl_idmap_find(&r->ended_at, (uintptr_t)p);
        if (s) return s;
        if (e) {
            *id = e->id;
            return r->root;
        }
    }
    return r->root;
}

/* Adds the place. label: labels of the text of the block, because keys of that text occur in the
 * place. */
static void put_place(const pdl_path *place, pdl_label label, pdl_otlp_facts *to) {
    pdl_buf text = PDL_BUF;
    pdl_path_text(place, &text);
    if (text.len) pdl_otlp_put_shown(to, "pdl.place", pdl_buf_str(&text), label);
    pdl_buf_fini(&text);
}

static void put_block_name(span *s, pdl_str name, pdl_label label) {
    if (pdl_redaction_covers(s->run->redaction, label))
        pdl_redaction_put(s->run->redaction, label, &s->name);
    else
        pdl_buf_put(&s->name, name);
}

/* --- events ----------------------------------------------------------------------------------- */

static void begin_run(pdl_otlp_run *r, const pdl_event *e) {
    r->root = span_new(r, NULL, NULL, INTERNAL, e->nanos);
    pdl_buf_putf(&r->root->name, "pdl%s%s", *r->file ? " " : "", r->file);
    pdl_otlp_put_text(&r->root->facts, "pdl.program", pdl_str_of(r->file));
    if (*r->id) pdl_otlp_put_text(&r->root->facts, "pdl.run.id", pdl_str_of(r->id));
}

/* Returns false after the end of the run. A copy of a run in progress gets no event when it begins,
 * so its spans begin with its first event. */
static bool is_running(pdl_otlp_run *r, const pdl_event *e) {
    if (!r->root && !r->has_ended) begin_run(r, e);
    return r->root != NULL;
}

/* Returns the name in `def` or, for an entry of `defs`, the key of the entry. The place of such an
 * entry is "defs.NAME.KIND". */
static pdl_str variable_of(const pdl_event *e) {
    const pdl_path *up = e->path ? e->path->up : NULL;
    if (e->block->def.s.n) return e->block->def.s;
    bool named = e->entry == PDL_ENTRY_DEF && up && up->name && !up->numbered;
    return named ? pdl_str_of(up->name) : (pdl_str){0};
}

/* Remembers the body of a function, because the events of calls name it. */
static void note_function(pdl_otlp_run *r, const pdl_event *e) {
    pdl_str name = variable_of(e);
    const pdl_b_function *f = pdl_block_as(e->block, PDL_BLOCK_function);
    if (!name.n || !f->body || pdl_idmap_find(&r->functions, (uintptr_t)f->body)) return;
    pdl_idmap_put(&r->functions, (uintptr_t)f->body, pdl_str_dup(name));
}

static void begin_block(pdl_otlp_run *r, const pdl_event *e) {
    const pdl_block *b = e->block;
    const char *function = pdl_idmap_find(&r->functions, (uintptr_t)b), *id;
    pdl_str def = variable_of(e), description = b->rare->description.s;
    if (b->kind == PDL_BLOCK_function) {
        note_function(r, e);
        return;
    }
    if (!(function || def.n || description.n)) return;
    if (e->library && !(function && (e->entered || e->handed)) && !r->o->opt.all) return;
    if (!is_running(r, e)) return;
    span *old = pdl_idmap_find(&r->blocks, (uintptr_t)e->path);
    /* the older block was another attempt at the same place */
    if (old && !old->is_over) over(old, e->nanos);
    span *up = around(r, e->path->up, &id);
    span *s = span_new(r, up, id, INTERNAL, e->nanos);
    s->place = pdl_path_keep(e->path);
    pdl_idmap_put(&r->blocks, (uintptr_t)s->place, s);
    pdl_otlp_facts to = facts_of(s, 0);
    put_block_name(s, function ? pdl_str_of(function) : def.n ? def : description, e->label);
    pdl_otlp_put_text(&s->facts, "pdl.block", pdl_str_of(pdl_block_name(b->kind)));
    put_place(e->path, e->label, &to);
    if (description.n) pdl_otlp_put_shown(&to, "pdl.description", description, e->label);
}

static void end_block(pdl_otlp_run *r, const pdl_event *e) {
    span *s = pdl_idmap_find(&r->blocks, (uintptr_t)e->path);
    if (!s || s->is_over) return;
    if (e->err) fail(s, e->err, NULL);
    over(s, e->nanos);
}

static bool leaves_the_process(pdl_effect_kind k) {
    static const bool leave[PDL_EFFECT_COUNT] = {
        [PDL_EFFECT_model] = true,   [PDL_EFFECT_embed] = true, [PDL_EFFECT_code] = true,
        [PDL_EFFECT_tool] = true,    [PDL_EFFECT_read] = true,  [PDL_EFFECT_write] = true,
        [PDL_EFFECT_command] = true, [PDL_EFFECT_input] = true, [PDL_EFFECT_approval] = true,
        [PDL_EFFECT_http] = true};
    return leave[k];
}

static void begin_effect(pdl_otlp_run *r, const pdl_event *e) {
    const pdl_effect *f = e->effect;
    const char *id;
    if (!pdl_effect_has(f->kind, PDL_EFFECT_KEPT)) return;
    if (!leaves_the_process(f->kind) && !r->o->opt.all) return;
    if (!is_running(r, e)) return;
    bool asks =
        f->kind == PDL_EFFECT_model || f->kind == PDL_EFFECT_embed || f->kind == PDL_EFFECT_http;
    span *up = around(r, e->path, &id);
    span *s = span_new(r, up, id, asks ? CLIENT : INTERNAL, e->nanos);
    pdl_otlp_facts to = facts_of(s, pdl_effect_label(f));
    pdl_otlp_put_name(f, r->redaction, &s->name);
    pdl_otlp_put_request(f, &to);
    put_place(f->place, e->label, &to);
    pdl_idmap_put(&r->effects, f->id, s);
    pdl_idmap_put(&r->o->effects, f->id, s);
}

static void end_effect(pdl_otlp_run *r, span *s, uint32_t id, int64_t end) {
    pdl_idmap_del(&r->effects, id);
    if (pdl_idmap_find(&r->o->effects, id) == s) pdl_idmap_del(&r->o->effects, id);
    over(s, end);
}

static void reply(pdl_otlp_run *r, const pdl_event *e) {
    span *s = pdl_idmap_find(&r->effects, e->effect->id);
    if (!s) return;
    pdl_otlp_facts to = facts_of(s, pdl_effect_label(e->effect));
    pdl_otlp_put_reply(e->effect, e->reply, &to);
    if (e->reply->err.kind) fail(s, &e->reply->err, e->effect);
    end_effect(r, s, e->effect->id, e->nanos);
}

/* Ends the run. Cancelled effects have no reply. */
static void end_run(pdl_otlp_run *r, int64_t now, const pdl_err *err) {
    if (!r->root) return;
    for (size_t i = 0; i < pdl_idmap_places(&r->effects); i++) {
        span *s = pdl_idmap_at(&r->effects, i);
        if (!s) continue;
        uint32_t id = (uint32_t)r->effects.keys[i];
        if (pdl_idmap_find(&r->o->effects, id) == s) pdl_idmap_del(&r->o->effects, id);
        pdl_otlp_put_text(&s->facts, "error.type", PDL_STR("cancelled"));
        s->failed = true;
        over(s, now);
    }
    pdl_idmap_fini(&r->effects);
    r->effects = (pdl_idmap){0};
    PDL_VEC(span *) open = {0};
    for (size_t i = 0; i < pdl_idmap_places(&r->blocks); i++)
        if (pdl_idmap_at(&r->blocks, i)) *pdl_vec_push(&open) = pdl_idmap_at(&r->blocks, i);
    for (size_t i = 0; i < open.n; i++)
        open.p[i]->n_open++; /* the count keeps all spans alive while they are ended one by one */
    for (size_t i = 0; i < open.n; i++) open.p[i]->is_over = true;
    for (size_t i = 0; i < open.n; i++) {
        if (open.p[i]->end < now) open.p[i]->end = now;
        open.p[i]->n_open--;
        settle(open.p[i]);
    }
    pdl_vec_fini(&open);
    if (err && err->kind) fail(r->root, err, NULL);
    span *root = r->root;
    r->root = NULL;
    r->has_ended = true;
    over(root, now);
}

static void on_event(void *user, const pdl_event *e) {
    pdl_otlp_run *r = user;
    switch (e->kind) {
    case PDL_EVENT_run_begin: begin_run(r, e); return;
    case PDL_EVENT_run_end: end_run(r, e->nanos, e->err); return;
    case PDL_EVENT_block_begin: begin_block(r, e); return;
    case PDL_EVENT_block_end:
    case PDL_EVENT_block_fail: end_block(r, e); return;
    case PDL_EVENT_effect: begin_effect(r, e); return;
    case PDL_EVENT_reply: reply(r, e); return;
    case PDL_EVENT_field:
    case PDL_EVENT_attempt:
    case PDL_EVENT_text:
    case PDL_EVENT_message:
    case PDL_EVENT_out:
    case PDL_EVENT_piece:
    case PDL_EVENT_extra:
    case PDL_EVENT_usage:
    case PDL_EVENT_decision:
    case PDL_EVENT_note:
    case PDL_EVENT_COUNT: return;
    }
}

/* --- life ------------------------------------------------------------------------------------- */

bool pdl_otlp_traceparent(const pdl_otlp *o, uint32_t effect, char out[PDL_TRACEPARENT_SIZE]) {
    const span *s = pdl_idmap_find(&o->effects, effect);
    if (!s) return false;
    snprintf(out, PDL_TRACEPARENT_SIZE, "00-%s-%s-0%d", s->run->trace, s->id, o->config.sampled);
    return true;
}

const char *pdl_otlp_tracestate(const pdl_otlp *o) { return o->config.state; }

pdl_otlp_run *pdl_otlp_run_new(pdl_otlp *o, const pdl_redaction *redaction, pdl_str file,
                               pdl_str id) {
    pdl_otlp_run *r = PDL_NEW(pdl_otlp_run);
    r->o = o;
    r->redaction = redaction;
    r->file = pdl_str_dup(file);
    r->id = pdl_str_dup(id);
    if (*o->config.trace) {
        memcpy(r->trace, o->config.trace, sizeof r->trace);
        return r;
    }
    pdl_otlp_make_id(o, r->trace);
    pdl_otlp_make_id(o, r->trace + 16);
    return r;
}

pdl_sink pdl_otlp_run_sink(pdl_otlp_run *r) { return (pdl_sink){r, on_event, true}; }

void pdl_otlp_run_free(pdl_otlp_run *r) {
    if (!r) return;
    end_run(r, pdl_clock_wall_ns(), NULL);
    for (size_t i = 0; i < ENDED_BLOCKS; i++) forget_ended(r, &r->ended[i]);
    for (size_t i = 0; i < pdl_idmap_places(&r->functions); i++)
        pdl_free(pdl_idmap_at(&r->functions, i));
    pdl_idmap_fini(&r->functions);
    pdl_idmap_fini(&r->ended_at);
    pdl_idmap_fini(&r->blocks);
    pdl_idmap_fini(&r->effects);
    pdl_free(r->file);
    pdl_free(r->id);
    pdl_free(r);
}
