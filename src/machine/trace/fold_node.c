/* fold_node.c -- writes and frees the nodes of a trace as early as possible.
 *
 * The trace of a long run does not fit in memory, and its form makes it hard to write as the run
 * proceeds. In JSON the parts of a block precede its result, and the fields of a loop precede its
 * iterations. A block that was not executed at this position shows the id of its last execution,
 * which may be at another position and later. So the tree is written from the leaves. A block
 * becomes text (fold_write.c) as soon as three things are true: it has ended, all its parts are
 * text, and the promises in its values are filled. The texts of its parts are copied into it or,
 * when they are long, spilled and referred to (fold_text.c); its values and parts are then freed.
 * Iterations of a loop are appended to one text in their order and freed as well.
 *
 * Only open things remain in memory: running blocks, blocks whose model has not answered, and for
 * each block of the program the facts that are written at the end. At the end the text of the root
 * is written out. The texts to which it refers are then read back from the file, each byte once. A
 * killed run leaves nothing, since that file has no name. Cost: every byte of short text is copied
 * once for each level until it is long enough to be spilled. A waiting node is examined again after
 * 1, 2, 4 ... events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/fold_attempt.h"
#include "trace/fold_tree.h"
#include "value/promise.h"

#include "base/banned.h"

enum { LOOKS = 2 };      /* number of nodes of the queue that are examined for each event */
enum { MAX_TRIES = 20 }; /* number of tries after which the pauses do not get longer */

/* --- life ------------------------------------------------------------------------------------- */

fold_node *pdl_fold_node_new(pdl_fold *f, fold_node *up) {
    fold_node *n = PDL_NEW(fold_node);
    n->parent = up;
    n->depth = up ? up->depth + 1 : 0;
    n->context = pdl_absent();
    n->cost = -1;
    n->tick = f->tick;
    n->text = n->rounds.items = n->calls.items = n->attempts.items = PDL_BUF;
    n->older = f->all;
    if (f->all) f->all->newer = n;
    f->all = n;
    return n;
}

fold_node *pdl_fold_last_part(const fold_node *n) {
    fold_node *c = n->last;
    while (c && c->entry == PDL_ENTRY_SILENT) c = c->prev;
    return c;
}

fold_series *pdl_fold_series_of(const fold_node *n) {
    fold_node *up = n->parent;
    if (!up) return NULL;
    if (n->entry == PDL_ENTRY_SILENT) return &up->calls;
    return pdl_fold_is_loop_body(up->block, n->block) ? &up->rounds : NULL;
}

void pdl_fold_node_link(fold_node *n) {
    fold_node *up = n->parent;
    n->prev = up->last;
    if (up->last)
        up->last->next = n;
    else
        up->first = n;
    up->last = n;
    up->n_left++;
}

static void unlink_child(fold_node *up, fold_node *n) {
    if (n->prev)
        n->prev->next = n->next;
    else
        up->first = n->next;
    if (n->next)
        n->next->prev = n->prev;
    else
        up->last = n->prev;
    n->next = n->prev = up->cursor = NULL;
}

enum { FEW_FACTS = 16 }; /* up to this number of facts, facts are searched without an index */

static void index_fact(fold_node *n, size_t i) {
    uintptr_t id = (uintptr_t)n->facts.p[i].index + 1;
    n->facts.p[i].next = (uint32_t)(uintptr_t)pdl_idmap_find(&n->by_index, id);
    pdl_idmap_put(&n->by_index, id, (void *)(i + 1));
}

static void index_facts(fold_node *n) {
    pdl_idmap_fini(&n->by_index);
    if (n->facts.n < FEW_FACTS) return;
    for (size_t i = 0; i < n->facts.n; i++) index_fact(n, i);
}

fold_fact *pdl_fold_fact(const fold_node *n, const char *key, uint32_t index) {
    bool few = n->facts.n < FEW_FACTS;
    size_t i = few ? n->facts.n : (uintptr_t)pdl_idmap_find(&n->by_index, (uintptr_t)index + 1);
    while (i) {
        fold_fact *x = &n->facts.p[i - 1];
        if (x->index == index && strcmp(x->key, key) == 0) return x;
        i = few ? i - 1 : x->next;
    }
    return NULL;
}

void pdl_fold_fact_add(fold_node *n, const char *key, uint32_t index, pdl_val value) {
    *pdl_vec_push(&n->facts) = (fold_fact){key, index, 0, value};
    if (n->facts.n == FEW_FACTS)
        index_facts(n);
    else if (n->facts.n > FEW_FACTS)
        index_fact(n, n->facts.n - 1);
}

void pdl_fold_facts_cut(fold_node *n, size_t keep) {
    n->facts.n = keep;
    index_facts(n);
}

void pdl_fold_set_call(pdl_fold *f, fold_node *n, pdl_path *place) {
    if (n->call) pdl_idmap_del(&f->calls, (uintptr_t)n->call);
    pdl_path_drop(n->call);
    n->call = place ? pdl_path_keep(place) : NULL;
    if (place) pdl_idmap_put(&f->calls, (uintptr_t)place, n);
    n->waits = place != NULL;
}

static void ahead_free(fold_ahead *a) {
    pdl_buf_fini(&a->text);
    pdl_free(a);
}

static void series_clear(fold_series *s) {
    for (size_t i = 0; i < pdl_idmap_places(&s->ahead); i++) {
        fold_ahead *a = pdl_idmap_at(&s->ahead, i);
        if (a) ahead_free(a);
    }
    pdl_idmap_fini(&s->ahead);
    pdl_buf_fini(&s->items);
    *s = (fold_series){.items = PDL_BUF};
}

void pdl_fold_forget_values(fold_node *n) {
    for (size_t i = 0; i < n->facts.n; i++) pdl_drop(n->facts.p[i].value);
    pdl_vec_fini(&n->facts);
    pdl_idmap_fini(&n->by_index);
    pdl_drop(n->context);
    n->context = pdl_absent();
}

/* Releases the values and parts of a node. The text of the node contains them. */
static void release_content(pdl_fold *f, fold_node *n) {
    pdl_fold_forget_values(n);
    pdl_fold_set_call(f, n, NULL);
    pdl_path_drop(n->path);
    pdl_path_drop(n->place);
    n->path = n->place = NULL;
    series_clear(&n->rounds);
    series_clear(&n->calls);
    series_clear(&n->attempts);
}

static void node_free(pdl_fold *f, fold_node *n) {
    if (n->newer)
        n->newer->older = n->older;
    else
        f->all = n->older;
    if (n->older) n->older->newer = n->newer;
    release_content(f, n);
    pdl_buf_fini(&n->text);
    pdl_free(n->failure);
    pdl_free(n->answer_failed);
    pdl_free(n);
}

static void add_usage(fold_usage *to, const fold_usage *u) {
    for (size_t i = 0; i < 3; i++) to->counts[i] += u->counts[i];
    to->cost += u->cost;
}

fold_usage pdl_fold_usage_of(const fold_node *n) {
    fold_usage u = {{n->usage[0], n->usage[1], n->usage[2]}, n->cost > 0 ? n->cost : 0};
    add_usage(&u, &n->inside);
    add_usage(&u, &n->lost);
    add_usage(&u, &n->kept);
    for (const fold_node *c = n->first; c; c = c->next) {
        fold_usage part = pdl_fold_usage_of(c);
        add_usage(&u, &part);
    }
    return u;
}

/* Adds the usage of c and of its parts. Called when c leaves the tree because its text was written,
 * or because its attempt failed. */
static void keep_usage(fold_usage *to, const fold_node *c) {
    fold_usage u = pdl_fold_usage_of(c);
    add_usage(to, &u);
}

static void subtract_usage(fold_usage *from, const fold_usage *u) {
    for (size_t i = 0; i < 3; i++) from->counts[i] -= u->counts[i];
    from->cost -= u->cost;
}

/* Records the usage of the parts except `last`, because the trace no longer shows these parts.
 * Usage that a part has dropped before is not counted here, because it is added when the part is
 * freed. */
void pdl_fold_note_dropped(fold_node *n, const fold_node *last) {
    fold_usage shown = pdl_fold_usage_of(last);
    n->dropped = pdl_fold_usage_of(n);
    subtract_usage(&n->dropped, &shown);
    for (const fold_node *c = n->first; c; c = c->next)
        if (c != last) subtract_usage(&n->dropped, &c->dropped);
}

/* Takes n and the nodes below n out of the tree and frees them. A node that is still running, or is
 * in the queue, is freed later. The C stack is at most FOLD_DEEPEST levels deep. */
static void give_up(pdl_fold *f, fold_node *n) {
    for (fold_node *c = n->first, *next; c; c = next) {
        next = c->next;
        give_up(f, c);
    }
    n->first = n->last = n->cursor = n->next = n->prev = n->parent = NULL;
    n->silent = n->given_up = true;
    n->n_left = 0;
    if (n->over && !n->queued) node_free(f, n);
}

void pdl_fold_give_up_parts(pdl_fold *f, fold_node *n, bool kept) {
    fold_usage *to = kept ? &n->kept : &n->lost;
    if (!kept) pdl_fold_same_forget(f, n);
    for (fold_node *c = n->first, *next; c; c = next) {
        next = c->next;
        if (c->entry == PDL_ENTRY_DEF) continue;
        keep_usage(to, c);
        add_usage(&n->dropped, &c->dropped);
        unlink_child(n, c);
        if (!c->written) n->n_left--;
        give_up(f, c);
    }
    add_usage(to, &n->inside); /* iterations and calls of that attempt */
    if (kept) {                /* the trace has the attempt, but not these parts */
        subtract_usage(to, &n->dropped);
        add_usage(&n->lost, &n->dropped);
    }
    n->inside = n->dropped = (fold_usage){0};
    n->cursor = NULL;
    series_clear(&n->rounds);
    series_clear(&n->calls);
}

void pdl_fold_nodes_free(pdl_fold *f) {
    while (f->all) node_free(f, f->all);
}

/* --- the queue -------------------------------------------------------------------------------- */

static void queue_push(pdl_fold *f, fold_node *n) {
    n->queued = true;
    n->queue_next = NULL;
    if (f->queue_end)
        f->queue_end->queue_next = n;
    else
        f->queue = n;
    f->queue_end = n;
}

static fold_node *queue_pop(pdl_fold *f) {
    fold_node *n = f->queue;
    f->queue = n->queue_next;
    if (!f->queue) f->queue_end = NULL;
    n->queued = false;
    return n;
}

/* Returns true when v cannot change any more. Values with a promise that has failed are not
 * shown. */
static bool is_final(pdl_vref v) {
    if (pdl_is_absent(v) || !pdl_may_hold_promise(v)) return true;
    pdl_vref blocking = pdl_promise_blocking(v);
    return pdl_is_absent(blocking) || (pdl_is(blocking, PDL_V_PROMISE) &&
                                       pdl_promise_of(blocking)->state == PDL_PROMISE_FAILED);
}

static bool is_ready(const fold_node *n) {
    if (n->waits || !is_final(n->context)) return false;
    for (size_t i = 0; i < n->facts.n; i++)
        if (!is_final(n->facts.p[i].value)) return false;
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_now(pdl_fold *f, fold_node *n) {
    pdl_cancel_enter_grace(&f->grace);
    pdl_fold_node_write(f, n);
    if (n->entry == PDL_ENTRY_SILENT) pdl_fold_call_write(f, n);
    pdl_cancel_leave_grace(&f->grace);
    n->written = true;
    if (!n->parent || n->parent->fiber != n->fiber) pdl_fold_same_end(f, n);
    release_content(f, n);
    for (fold_node *c = n->first, *next; c; c = next) {
        next = c->next;
        keep_usage(&n->inside, c);
        add_usage(&n->dropped, &c->dropped);
        give_up(f, c);
    }
    n->first = n->last = n->cursor = NULL;
    n->n_left = 0;
}

/* Writes all of the tree below n, then n. Recursion is limited to FOLD_DEEPEST. */
static void write_all(pdl_fold *f, fold_node *n) {
    for (fold_node *c = n->first; c; c = c->next)
        if (!c->written) write_all(f, c);
    write_now(f, n);
}

void pdl_fold_write_rest(pdl_fold *f) {
    if (f->root && !f->root->written) write_all(f, f->root);
}

/* The values of n are the values of the attempt, and the message is the message of the error that
 * was handled. While the attempt is written, n has the state of a block that has ended. */
bool pdl_fold_keep_attempt(pdl_fold *f, fold_node *n, const char *message, int64_t now) {
    pdl_buf text = PDL_BUF;
    if (f->whole || n->silent || f->err.kind || n->depth > FOLD_DEEPEST_ATTEMPT) return false;
    for (fold_node *c = n->first; c; c = c->next) {
        if (c->written || c->entry == PDL_ENTRY_DEF) continue;
        /* the answer of this model has not arrived, and the trace does not wait for it */
        write_all(f, c);
        c->silent = true;
        n->n_left--;
    }
    char *failure = n->failure;
    int64_t end = n->end;
    n->failure = pdl_str_dup(pdl_str_of(message));
    n->end = now;
    n->over = n->is_attempt = true;
    pdl_cancel_enter_grace(&f->grace);
    pdl_fold_attempt_write(f, n, &text);
    pdl_cancel_leave_grace(&f->grace);
    n->over = n->is_attempt = false;
    n->end = end;
    pdl_free(n->failure);
    n->failure = failure;
    if (!f->err.kind) pdl_fold_add_item(f, &n->attempts, &text);
    n->attempt_began = pdl_fold_began(n);
    n->attempt_failed = f->tick;
    pdl_buf_fini(&text);
    return !f->err.kind;
}

/* Adds the waiting texts whose numbers follow the number of the last collected item without a
 * gap. */
static void add_ahead(pdl_fold *f, fold_series *s) {
    for (fold_ahead *a; (a = pdl_idmap_find(&s->ahead, (uintptr_t)s->collected + 1));) {
        pdl_fold_add_item(f, s, &a->text);
        pdl_idmap_del(&s->ahead, (uintptr_t)s->collected + 1);
        ahead_free(a);
        s->collected++;
    }
}

/* Collects an iteration or a call that is written: its text is the next item of its series, or
 * waits for an earlier item. The node is freed in both cases, so that a waiting text takes little
 * memory. */
static void collect(pdl_fold *f, fold_series *s, fold_node *n) {
    if (n->number == s->collected) {
        pdl_fold_add_item(f, s, &n->text);
        s->collected++;
        add_ahead(f, s);
    } else {
        fold_ahead *a = PDL_NEW(fold_ahead);
        *a = (fold_ahead){n->number, n->text};
        n->text = PDL_BUF;
        pdl_fold_put_aside(f, &a->text);
        pdl_idmap_put(&s->ahead, (uintptr_t)a->number + 1, a);
    }
    keep_usage(&n->parent->inside, n);
    add_usage(&n->parent->dropped, &n->dropped);
    unlink_child(n->parent, n);
    give_up(f, n);
}

/* Writes n, and then each block around it whose parts are all written now. */
static void write_if_ready(pdl_fold *f, fold_node *n) {
    while (n && n->over && !n->n_left && !n->written && !n->queued) {
        if (!is_ready(n)) {
            n->due = f->tick + (UINT64_C(1) << n->tries);
            if (n->tries < MAX_TRIES) n->tries++;
            queue_push(f, n);
            return;
        }
        fold_node *up = n->parent;
        write_now(f, n);
        if (!up) return;
        up->n_left--;
        fold_series *series = pdl_fold_series_of(n);
        if (series) collect(f, series, n);
        n = up;
    }
}

void pdl_fold_node_over(pdl_fold *f, fold_node *n) {
    if (n->silent) {
        give_up(f, n);
        return;
    }
    for (fold_node *c = n->first; c; c = c->next) { /* writes parts that were cancelled */
        if (c->over) continue;
        write_all(f, c);
        c->silent = true;
        n->n_left--;
    }
    write_if_ready(f, n);
}

void pdl_fold_queue_turn(pdl_fold *f) {
    f->tick++;
    for (int i = 0; i < LOOKS && f->queue; i++) {
        fold_node *n = queue_pop(f);
        if (n->given_up)
            give_up(f, n);
        else if (n->due > f->tick)
            queue_push(f, n);
        else
            write_if_ready(f, n);
    }
}
