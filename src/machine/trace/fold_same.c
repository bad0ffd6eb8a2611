/* fold_same.c -- lists of messages that repeat an earlier one.
 *
 * Each model call of a conversation has the conversation in up to four members of the trace, and
 * each time it is a little longer. Written whole, these lists would make a trace grow with the
 * square of the run (1.3 GB for 2 000 short calls). So a list that begins like a list that is
 * already in the trace names the block of that list, and holds only the rest: {"pdl__same": ID,
 * "pdl__more": [...]}. A `pdl__context` repeats the `pdl__context` of block ID. Any other list
 * repeats the `pdl__model_input` of block ID, or its `pdl__context` when ID is the model itself.
 *
 * What must stay true: the named block is in the trace at the end. A failed attempt that the trace
 * does not show removes its blocks. A block therefore names only models that began before it in the
 * same fiber, or in a fiber that waits for this one. When an attempt removes such a model, it
 * removes the block, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/fold_attempt.h"
#include "trace/fold_tree.h"

#include "value/context.h"
#include "value/text.h"

#include "base/banned.h"

/* Number of models that are remembered for each fiber: agents may take turns, and replies to calls
 * that run at the same time arrive in any order. */
enum { KEPT = 64 };

/* The lists of a model that are in the trace. */
typedef struct fold_base {
    pdl_val id;
    pdl_val lists[FOLD_LISTS]; /* lists by their kind; absent when the trace has no such list */
    uint64_t tick;             /* number of the event with which the model began */
} fold_base;

struct fold_bases {
    fold_base *base;
    size_t cap; /* length of `base`, at most KEPT */
    size_t n;   /* number of models so far; at KEPT the newest replaces the oldest */
};

static void base_fini(fold_base *b) {
    pdl_drop(b->id);
    for (size_t i = 0; i < FOLD_LISTS; i++) pdl_drop(b->lists[i]);
    *b = (fold_base){.id = pdl_absent(), .lists = {pdl_absent(), pdl_absent()}};
}

static void bases_free(fold_bases *all) {
    for (size_t i = 0; all && i < all->cap; i++) base_fini(&all->base[i]);
    if (all) pdl_free(all->base);
    pdl_free(all);
}

static size_t length(pdl_vref v) {
    if (pdl_is(v, PDL_V_CONTEXT)) return pdl_context_count(v);
    return pdl_is_list(v) ? pdl_list_len(v) : 0;
}

static pdl_val message_at(pdl_vref v, size_t i) {
    return pdl_is(v, PDL_V_CONTEXT) ? pdl_context_at(v, i) : pdl_list_part(v, i);
}

/* Returns the number of messages of base when v begins with all of these messages, and 0
 * otherwise. */
static size_t shared(pdl_vref v, pdl_vref base) {
    size_t n = length(base);
    bool same = true;
    if (!n || n > length(v)) return 0;
    if (pdl_is(v, PDL_V_CONTEXT) && pdl_is(base, PDL_V_CONTEXT)) return pdl_context_shared(v, base);
    /* the comparison begins at the end, because the difference is nearly always there */
    for (size_t i = n; same && i-- > 0;) {
        pdl_val a = message_at(v, i), b = message_at(base, i);
        same = pdl_val_eq(a, b);
        pdl_drop(a);
        pdl_drop(b);
    }
    return same ? n : 0;
}

typedef struct fold_best {
    pdl_vref id;
    size_t n;
} fold_best;

/* Returns true when b is the last attempt of a model whose fallback contains n. The attempt and its
 * model have the same id. In n, a reader would take this id for the model around n. */
static bool is_attempt_around(const fold_node *n, const fold_base *b) {
    for (const fold_node *up = n->parent; up; n = up, up = up->parent) {
        bool in_fallback = up->block->kind == PDL_BLOCK_model && up->attempt_failed &&
                           n->block == up->block->rare->fallback;
        if (in_fallback && b->tick == up->attempt_began) return true;
    }
    return false;
}

static void look_in(const pdl_fold *f, uint32_t fiber, const fold_node *n, fold_list which,
                    pdl_vref list, fold_best *best) {
    const fold_bases *all = pdl_idmap_find(&f->bases, (uintptr_t)fiber);
    for (size_t i = 0; all && i < all->cap; i++) { /* from the newest model to the oldest */
        const fold_base *b = &all->base[(all->n - 1 - i) % all->cap];
        if (!pdl_is_str(b->id) || b->tick >= pdl_fold_began(n)) continue;
        if (length(b->lists[which]) <= best->n) continue;
        size_t k = shared(list, b->lists[which]);
        if (k > best->n && !is_attempt_around(n, b)) *best = (fold_best){b->id, k};
    }
}

/* Returns the fiber that waits for the fiber of n; 0 when no fiber waits for it. */
static uint32_t fiber_around(const fold_node *n) {
    uint32_t fiber = n->fiber;
    while (n && n->fiber == fiber) n = n->parent;
    return n ? n->fiber : 0;
}

size_t pdl_fold_same(const pdl_fold *f, const fold_node *n, const fold_own *own, fold_list which,
                     pdl_vref v, pdl_val *id) {
    if (f->whole || !length(v)) return 0;
    fold_best best = {pdl_absent(), 0};
    if (own) best = (fold_best){own->id, shared(v, own->context)};
    if (best.n < length(v)) look_in(f, n->fiber, n, which, v, &best);
    uint32_t around = best.n ? 0 : fiber_around(n);
    if (around) look_in(f, around, n, which, v, &best);
    if (best.n) *id = pdl_keep(best.id);
    return best.n;
}

pdl_val pdl_fold_rest(pdl_vref v, size_t from) {
    size_t n = length(v);
    pdl_val rest = pdl_list_new(n - from);
    for (size_t i = from; i < n; i++) rest = pdl_list_push(rest, message_at(v, i));
    return rest;
}

/* Called when the fiber of n ends. Returns the fiber that continues with the messages of this
 * fiber; 0 when no fiber does. Of the iterations of a map, only the first one counts: its messages
 * directly follow the messages before the map. */
static uint32_t fiber_after(const fold_node *n) {
    const fold_node *outermost = n;
    while (outermost->parent && outermost->parent->fiber == n->fiber) outermost = outermost->parent;
    return outermost->number ? 0 : fiber_around(outermost);
}

static void grow(fold_bases *all) {
    size_t cap = all->cap ? 4 * all->cap : 1;
    all->base = pdl_realloc(all->base, cap * sizeof *all->base);
    for (size_t i = all->cap; i < cap; i++)
        all->base[i] = (fold_base){.id = pdl_absent(), .lists = {pdl_absent(), pdl_absent()}};
    all->cap = cap;
}

static fold_base *new_base(pdl_fold *f, uint32_t fiber) {
    fold_bases *all = pdl_idmap_find(&f->bases, (uintptr_t)fiber);
    if (!all) {
        all = PDL_NEW(fold_bases);
        pdl_idmap_put(&f->bases, (uintptr_t)fiber, all);
    }
    if (all->n == all->cap && all->cap < KEPT) grow(all);
    fold_base *b = &all->base[all->n++ % all->cap];
    base_fini(b);
    return b;
}

static bool runs(const pdl_fold *f, uint32_t fiber) {
    return fiber && pdl_idmap_find(&f->tops, (uintptr_t)fiber);
}

static bool is_outermost(const fold_node *n) { return !n->parent || n->parent->fiber != n->fiber; }

/* Returns the fiber whose later models may name n; 0 when there are none. Replies may arrive when
 * the fiber that asked for them has ended. The models of such a fiber can name each other until the
 * outermost node of the fiber is written.
 */
static uint32_t fiber_of_note(const pdl_fold *f, const fold_node *n) {
    if (runs(f, n->fiber)) return n->fiber;
    uint32_t after = fiber_after(n);
    if (runs(f, after)) return after;
    return is_outermost(n) ? 0 : n->fiber;
}

void pdl_fold_same_note(pdl_fold *f, const fold_node *n, pdl_vref id, pdl_vref context,
                        pdl_vref input) {
    uint32_t fiber = fiber_of_note(f, n);
    /* Without an input, the model sent no request after its last failed attempt. `id` is then the
     * id of that attempt, which had other lists. */
    if (f->whole || pdl_is_absent(input) || !fiber) return;
    if (pdl_str_starts(pdl_str_get(id), PDL_STR("..."))) return;
    fold_base *b = new_base(f, fiber);
    b->id = pdl_keep(id);
    b->lists[FOLD_CONTEXT] = pdl_keep(context);
    b->lists[FOLD_INPUT] = pdl_keep(input);
    b->tick = pdl_fold_began(n);
}

void pdl_fold_same_forget(pdl_fold *f, const fold_node *n) {
    fold_bases *all = pdl_idmap_find(&f->bases, (uintptr_t)n->fiber);
    for (size_t i = 0; all && i < all->cap; i++)
        if (all->base[i].tick >= n->tick) base_fini(&all->base[i]);
}

void pdl_fold_same_end(pdl_fold *f, const fold_node *n) {
    fold_bases *all = pdl_idmap_find(&f->bases, (uintptr_t)n->fiber);
    uint32_t around = fiber_after(n);
    pdl_idmap_del(&f->bases, (uintptr_t)n->fiber);
    if (all && all->n && runs(f, around)) {
        fold_base *newest = &all->base[(all->n - 1) % all->cap];
        *new_base(f, around) = *newest;
        *newest = (fold_base){.id = pdl_absent(), .lists = {pdl_absent(), pdl_absent()}};
    }
    bases_free(all);
}

void pdl_fold_same_free(pdl_fold *f) {
    for (size_t i = 0; i < pdl_idmap_places(&f->bases); i++) bases_free(pdl_idmap_at(&f->bases, i));
    pdl_idmap_fini(&f->bases);
}
