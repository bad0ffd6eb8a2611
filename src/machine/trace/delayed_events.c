/* delayed_events.c -- keeps events in chunks and passes them on later; see delayed_events.h. An
 * entry has only what a fold uses of an event, because a run may make a million events before its
 * trace is requested.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/delayed_events.h"

#include <assert.h>

#include "base/idmap.h"
#include "effect/effect.h"
#include "lang/program.h"

#include "base/banned.h"

enum {
    /* Maximum number of events that are kept; they take about 240 MB. A million blocks that send
     * no request make three and a half million events. */
    MAX_EVENTS = 1 << 22,
    MAX_BYTES = 128 << 20,  /* maximum size of the kept values, in bytes */
    MAX_REPEATED = 1 << 20, /* maximum number of events that pdl_later_repeat passes on */
    MAX_PARTS = 64,         /* maximum number of parts that are counted in a value */
    MAX_UNKNOWN = 16,       /* maximum number of kept values with more than MAX_PARTS parts */
    PART_BYTES = 32,        /* bytes that a part takes */
    CHUNK = 72              /* number of events in a chunk; a chunk then is one block of a pool */
};

/* The part of an event that a fold uses. A block makes about four events, so members that few
 * events need are stored in separate entries before the event: AT_CONTEXT, AT_ERROR, AT_PLACE and,
 * for a call, AT_NAME. */
typedef struct later_event {
    const pdl_block *block; /* a block of a program that is kept */
    pdl_path *path;         /* kept; NULL when there is no path */
    pdl_val value;          /* owned */
    union {
        const char *key; /* for the event field: a name that the machine owns */
        pdl_err *err;    /* AT_ERROR; owned */
        uint32_t parent; /* used by block_begin */
    } u;
    uint32_t fiber, number;
    uint64_t what; /* 5 bits: kind, 3 bits: entry, 56 bits: ns after the first event (two years) */
} later_event;
enum { AT_CONTEXT = PDL_EVENT_COUNT, AT_ERROR, AT_PLACE, AT_NAME };
static_assert(AT_NAME < 1 << 5 && PDL_ENTRY_SILENT < 1 << 3, "bits of what");

static uint64_t what(unsigned kind, unsigned entry, int64_t nanos) {
    return kind | (uint64_t)entry << 5 | (uint64_t)nanos << 8;
}
static unsigned kind_of(const later_event *x) { return x->what & 31; }
static unsigned entry_of(const later_event *x) { return x->what >> 5 & 7; }
static int64_t nanos_of(const later_event *x) { return (int64_t)x->what >> 8; }

/* The stored values that belong to one event: the entries before it. */
typedef struct besides {
    /* a missing entry has an absent value, and zeros elsewhere */
    later_event context, error, place, name;
} besides;

typedef struct chunk {
    struct chunk *next;
    uint32_t n, unknown; /* number of entries, and of values with more than MAX_PARTS parts */
    size_t bytes;        /* total size of their values */
    later_event e[CHUNK];
} chunk;

struct pdl_later {
    pdl_sink next;
    pdl_sink follower; /* the second sink; its `event` is NULL when there is none */
    /* The first entry that the follower has not got; NULL when it has got none of the kept events.
     * It may be the entry after the last event. */
    chunk *at;
    size_t at_entry;
    size_t seen; /* number of events so far */
    chunk *first, *last;
    size_t n, bytes, unknown; /* sums of the members of all chunks */
    besides taken; /* entries of a freed chunk that belong to an event in the next chunk */
    bool passed;   /* some events were passed on and then dropped */
    int64_t zero;  /* time of the first event */
    /* the programs of all events so far; they are kept because a fold keeps their blocks */
    pdl_idmap programs;
    pdl_program *program; /* program of the newest block_begin */
    pdl_idmap streams;    /* set of paths (kept) of model calls whose first piece has arrived */
    pdl_path *stream;     /* the path of the last of these calls; borrowed */
};

/* Returns true when the invariants hold: the chunks begin at first and end at last, no chunk is
 * empty, and n is zero exactly when there are no chunks. */
static inline bool later_ok(const pdl_later *l) {
    if (!l->first) return !l->last && !l->n;
    return l->last && !l->last->next && l->last->n > 0 && l->n >= l->last->n;
}

/* --- what may be kept ------------------------------------------------------------------------- */

/* The result of measuring a value. */
typedef struct measure {
    size_t bytes, parts;
    /* a part of the value belongs to another process or to a template, so it may change */
    bool outside;
} measure;

/* Measures v. The C stack is at most MAX_PARTS values deep. */
static void take_size(measure *m, pdl_vref v) {
    if (++m->parts > MAX_PARTS || pdl_tag_of(v) <= PDL_V_FLOAT) return;
    m->bytes += PART_BYTES;
    m->outside = m->outside || pdl_flags_of(v) & PDL_F_HANDLE;
    bool is_dict = pdl_is_dict(v);
    size_t n = is_dict ? pdl_dict_len(v) : pdl_is_list(v) ? pdl_list_len(v) : 0;
    for (size_t i = 0; m->parts <= MAX_PARTS && i < n; i++) {
        if (is_dict) take_size(m, pdl_dict_key_at(v, i));
        take_size(m, is_dict ? pdl_dict_val_at(v, i) : pdl_list_at(v, i));
    }
    if (pdl_is_str(v)) m->bytes += pdl_str_get(v).n;
    /* The run keeps the scope of a function and the messages of a context in any case. The answer
     * of a promise is counted when it arrives. */
    bool is_counted = pdl_is_str(v) || pdl_is_list(v) || is_dict || pdl_is(v, PDL_V_FUNC) ||
                      pdl_is(v, PDL_V_CONTEXT) || pdl_is(v, PDL_V_PROMISE);
    if (!is_counted) m->outside = true;
}

static void add_bytes(pdl_later *l, size_t bytes) {
    l->bytes += bytes;
    l->last->bytes += bytes;
}

/* Counts a value of the newest event. Returns true when v may be kept. Most values are texts or
 * have no parts. */
static bool add_size(pdl_later *l, pdl_vref v) {
    if (pdl_tag_of(v) <= PDL_V_FLOAT) return true;
    if (pdl_is_str(v) && !(pdl_flags_of(v) & PDL_F_HANDLE)) {
        add_bytes(l, PART_BYTES + pdl_str_get(v).n);
        return true;
    }
    measure m = {0};
    take_size(&m, v);
    add_bytes(l, m.bytes);
    if (m.parts > MAX_PARTS) {
        l->unknown++;
        l->last->unknown++;
    }
    return !m.outside;
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void add_chunk(pdl_later *l) {
    chunk *c = pdl_alloc(sizeof *c);
    c->next = NULL;
    c->n = c->unknown = 0;
    c->bytes = 0;
    if (l->last)
        l->last->next = c;
    else
        l->first = c;
    l->last = c;
}

static inline later_event *more(pdl_later *l) {
    if (PDL_UNLIKELY(!l->last || l->last->n == CHUNK)) add_chunk(l);
    l->n++;
    return &l->last->e[l->last->n++];
}

/* Keeps the context of a model. A fold uses no other context. */
static inline void keep_context(pdl_later *l, const pdl_event *e) {
    bool is_model = !pdl_is_absent(e->context) && e->block && e->block->kind == PDL_BLOCK_model;
    if (PDL_UNLIKELY(is_model))
        *more(l) = (later_event){.what = AT_CONTEXT, .value = pdl_keep(e->context)};
}

static inline void keep_error(pdl_later *l, const pdl_err *err) {
    if (PDL_LIKELY(!err || !err->kind)) return;
    pdl_err *copy = PDL_NEW(pdl_err);
    pdl_err_copy(copy, err);
    *more(l) = (later_event){.what = AT_ERROR, .value = pdl_absent(), .u.err = copy};
}

static inline void keep_place(pdl_later *l, const pdl_event *e) {
    if (e->place)
        *more(l) =
            (later_event){.what = AT_PLACE, .value = pdl_absent(), .path = pdl_path_keep(e->place)};
    if (e->kind == PDL_EVENT_block_begin && e->key.n)
        *more(l) = (later_event){.what = AT_NAME, .value = pdl_text(e->key), .number = e->tool};
}

/* Returns true for events of an answer. The fold finds the block of such an event by the path of
 * the caller. */
static bool is_of_caller(pdl_event_kind k) {
    return k == PDL_EVENT_piece || k == PDL_EVENT_reply || k == PDL_EVENT_decision;
}

static bool keep(pdl_later *l, const pdl_event *e) {
    pdl_path *path = is_of_caller(e->kind) ? e->caller : e->path;
    int64_t after = 0; /* fields have no time */
    if (e->nanos) {
        if (!l->zero) l->zero = e->nanos;
        after = e->nanos - l->zero;
    }
    keep_context(l, e);
    keep_error(l, e->err);
    keep_place(l, e);
    later_event *x = more(l);
    x->block = e->block;
    x->path = pdl_path_keep(path);
    x->value = pdl_keep(e->value);
    x->u.key = e->kind == PDL_EVENT_field ? e->key.p : NULL;
    x->fiber = e->fiber;
    x->number = e->number;
    x->what = what(e->kind, e->entry, after);
    if (e->kind == PDL_EVENT_block_begin) {
        x->u.parent = e->parent;
        if (e->program != l->program) {
            l->program = e->program;
            pdl_programs_add(&l->programs, e->program);
        }
    }
    return add_size(l, e->value);
}

/* --- handing on ------------------------------------------------------------------------------- */

static void give(const pdl_later *l, const pdl_sink *to, const later_event *x, const besides *b) {
    pdl_event e = {
        .kind = (pdl_event_kind)kind_of(x),
        .entry = (pdl_entry)entry_of(x),
        .fiber = x->fiber,
        .number = x->number,
        .block = x->block,
        .path = x->path,
        .place = b->place.path,
        .caller = is_of_caller((pdl_event_kind)kind_of(x)) ? x->path : NULL,
        .value = x->value,
        .context = b->context.value,
        .err = b->error.u.err,
        .nanos = l->zero + nanos_of(x),
    };
    if (e.kind == PDL_EVENT_field) e.key = pdl_str_of(x->u.key);
    const pdl_effect model = {.kind = PDL_EFFECT_model};
    if (e.kind == PDL_EVENT_effect) e.effect = &model;
    if (e.kind == PDL_EVENT_block_begin) e.parent = x->u.parent;
    if (pdl_is_str(b->name.value)) {
        e.key = pdl_str_get(b->name.value);
        e.tool = b->name.number;
    }
    to->event(to->user, &e);
}

static void event_fini(later_event *x) {
    pdl_path_drop(x->path);
    pdl_drop(x->value);
    if (kind_of(x) != AT_ERROR) return;
    pdl_err_fini(x->u.err);
    pdl_free(x->u.err);
}

static besides nothing_besides(void) {
    const later_event none = {.value = pdl_absent()};
    return (besides){none, none, none, none};
}

static void besides_fini(besides *b) {
    event_fini(&b->context);
    event_fini(&b->error);
    event_fini(&b->place);
    event_fini(&b->name);
    *b = nothing_besides();
}

/* Returns false when x is an event, and true when it is a value of the next event. */
static bool is_beside(const later_event *x, besides *b) {
    switch (kind_of(x)) {
    case AT_CONTEXT: b->context = *x; return true;
    case AT_ERROR: b->error = *x; return true;
    case AT_PLACE: b->place = *x; return true;
    case AT_NAME: b->name = *x; return true;
    default: return false;
    }
}

static void take(pdl_later *l, later_event *x) {
    besides *b = &l->taken;
    if (is_beside(x, b)) return;
    give(l, &l->next, x, b);
    event_fini(x);
    if (b->context.what || b->error.what || b->place.what || b->name.what) besides_fini(b);
}

/* Moves to the next entry that the follower has not got. Returns NULL when there is none. */
static later_event *next_entry(pdl_later *l) {
    if (!l->at) {
        l->at = l->first;
        l->at_entry = 0;
    }
    if (l->at && l->at_entry == l->at->n && l->at->next) {
        l->at = l->at->next;
        l->at_entry = 0;
    }
    return l->at && l->at_entry < l->at->n ? &l->at->e[l->at_entry++] : NULL;
}

void pdl_later_pass(pdl_later *l, size_t most) {
    besides b = nothing_besides();
    for (later_event *x; most && (x = next_entry(l));) {
        if (is_beside(x, &b)) continue;
        give(l, &l->follower, x, &b);
        b = nothing_besides();
        most--;
    }
}

size_t pdl_later_seen(const pdl_later *l) { return l->seen; }

/* Passes to the follower those events of the oldest chunk that the follower has not got yet. */
static void pass_oldest(pdl_later *l) {
    const chunk *c = l->first;
    while (l->follower.event && (!l->at || (l->at == c && l->at_entry < c->n)))
        pdl_later_pass(l, 1);
}

/* Frees the oldest chunk, after its events were passed on. */
static void take_oldest(pdl_later *l) {
    chunk *c = l->first;
    pass_oldest(l);
    for (size_t i = 0; i < c->n; i++) take(l, &c->e[i]);
    if (l->at == c) l->at = NULL;
    l->first = c->next;
    if (!l->first) l->last = NULL;
    l->n -= c->n;
    l->bytes -= c->bytes;
    l->unknown -= c->unknown;
    l->passed = true;
    pdl_free(c);
}

void pdl_later_flush(pdl_later *l) {
    while (l->first) take_oldest(l);
    assert(later_ok(l));
}

bool pdl_later_repeat(const pdl_later *l, pdl_sink to) {
    besides b = nothing_besides();
    assert(later_ok(l));
    if (l->passed || l->n > MAX_REPEATED) return false;
    for (const chunk *c = l->first; c; c = c->next)
        for (size_t i = 0; i < c->n; i++) {
            if (is_beside(&c->e[i], &b)) continue;
            give(l, &to, &c->e[i], &b);
            b = nothing_besides();
        }
    return true;
}

/* --- events ----------------------------------------------------------------------------------- */

/* Returns true for the first piece of an answer: a fold needs its time. The other pieces are not
 * kept, because most events are pieces. */
static bool is_first_piece(pdl_later *l, pdl_path *place) {
    if (!place || place == l->stream) return false;
    l->stream = place;
    if (pdl_idmap_find(&l->streams, (uintptr_t)place)) return false;
    pdl_idmap_put(&l->streams, (uintptr_t)place, pdl_path_keep(place));
    return true;
}

static void end_stream(pdl_later *l, pdl_path *place) {
    pdl_path *known = place ? pdl_idmap_find(&l->streams, (uintptr_t)place) : NULL;
    if (!known) return;
    if (l->stream == known) l->stream = NULL;
    pdl_idmap_del(&l->streams, (uintptr_t)known);
    pdl_path_drop(known);
}

static void on_piece(pdl_later *l, const pdl_event *e) {
    if (is_first_piece(l, e->caller)) (void)keep(l, e);
}

static bool is_full(const pdl_later *l) {
    return l->n >= MAX_EVENTS || l->bytes >= MAX_BYTES || l->unknown >= MAX_UNKNOWN;
}

static void on_event(void *user, const pdl_event *e) {
    pdl_later *l = user;
    bool may_keep = true;
    assert(later_ok(l));
    l->seen += e->kind != PDL_EVENT_piece;
    switch (e->kind) {
    case PDL_EVENT_piece: on_piece(l, e); return;
    case PDL_EVENT_effect:
        if (e->effect->kind != PDL_EFFECT_model) return;
        may_keep = keep(l, e);
        break;
    case PDL_EVENT_reply:
        end_stream(l, e->caller);
        may_keep = keep(l, e);
        may_keep = add_size(l, e->reply ? e->reply->value : pdl_absent()) && may_keep;
        break;
    case PDL_EVENT_block_begin:
    case PDL_EVENT_block_end:
    case PDL_EVENT_block_fail:
    case PDL_EVENT_field:
    case PDL_EVENT_attempt:
    case PDL_EVENT_usage:
    case PDL_EVENT_decision: may_keep = keep(l, e); break;
    case PDL_EVENT_run_begin:
    case PDL_EVENT_run_end:
    case PDL_EVENT_text:
    case PDL_EVENT_message:
    case PDL_EVENT_out:
    case PDL_EVENT_extra:
    case PDL_EVENT_note:
    case PDL_EVENT_COUNT: return;
    }
    if (!may_keep) pdl_later_flush(l);
    while (is_full(l)) take_oldest(l);
}

/* --- life ------------------------------------------------------------------------------------- */

pdl_later *pdl_later_new(pdl_sink next) {
    pdl_later *l = PDL_NEW(pdl_later);
    l->next = next;
    l->taken = nothing_besides();
    return l;
}

void pdl_later_follow(pdl_later *l, pdl_sink follower) { l->follower = follower; }

pdl_sink pdl_later_sink(pdl_later *l) { return (pdl_sink){l, on_event, l->next.wants_blocks}; }

void pdl_later_free(pdl_later *l) {
    if (!l) return;
    for (chunk *c = l->first, *next; c; c = next) {
        next = c->next;
        for (size_t i = 0; i < c->n; i++) event_fini(&c->e[i]);
        pdl_free(c);
    }
    besides_fini(&l->taken);
    for (size_t i = 0; i < pdl_idmap_places(&l->streams); i++)
        pdl_path_drop(pdl_idmap_at(&l->streams, i));
    pdl_idmap_fini(&l->streams);
    pdl_programs_fini(&l->programs);
    pdl_free(l);
}
