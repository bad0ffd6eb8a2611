/* output_order.c -- output in the order of the program: one cursor over a tree of queues.
 *
 * Model calls overlap and end in any order, but a person reads the output as if the program had
 * waited at each call. Printing each reply when it arrives would mix the replies; printing only at
 * the end would lose streaming. So output is queued: text after a model call that is still open
 * waits, and the call at the cursor prints its pieces as they arrive. An iteration of a map has its
 * own queue, which is an item of its parent's queue at the position of the iteration. When the
 * cursor is at the end, text is printed without being queued. What must stay true: the printed text
 * and its order do not depend on which call ends first.
 *
 * The output of an attempt that is refused must not get into a pipe or a file. So a block with
 * attempts has a queue like that of an iteration, from which nothing is sent until the block has
 * succeeded. When `spec` checks the answer of a call while the program continues, the pieces of
 * that call wait in the call. When more than PDL_MAX_HELD_BYTES are queued, the queues are sent
 * all the same. The queues are also sent before standard input is read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/output_order.h"

#include <assert.h>

#include "base/limits.h"
#include "vm/err_span.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/output_order_impl.h"
#include "vm/run.h"

#include "base/banned.h"

pdl_outq *pdl_outq_new(pdl_run *r, pdl_outq *parent) {
    pdl_outq *q = PDL_NEW(pdl_outq);
    q->run = r;
    q->parent = parent;
    return q;
}

static pdl_outitem *add(pdl_outq *q, pdl_out_kind kind) {
    pdl_outitem *i = PDL_NEW(pdl_outitem);
    i->kind = kind;
    i->text = i->role = pdl_absent();
    i->n_held = sizeof *i;
    q->run->output.held_bytes += i->n_held;
    if (q->last)
        q->last->next = i;
    else
        q->first = i;
    i->before = q->last;
    q->last = i;
    i->number = ++q->n_added;
    assert(!q->ended);
    return i;
}

/* Counts the waiting bytes of an item. */
static void count(pdl_outq *q, pdl_outitem *i, size_t n) {
    i->n_held += n;
    q->run->output.held_bytes += n;
}

static void queue_clear(pdl_outq *q);

/* Frees a queue. While a function that code called is running, only empties the queue and leaves it
 * to the end of the run, because the function may print into it although the block around the code
 * has ended. */
static void queue_drop(pdl_outq *q) {
    if (!q->run->fibers.n_for_code) {
        pdl_outq_free(q);
        return;
    }
    queue_clear(q);
    q->ended = false;
    *pdl_vec_push(&q->run->output.orphans) = q;
}

static void item_free(pdl_run *r, pdl_outitem *i) {
    assert(i->n_held <= r->output.held_bytes);
    r->output.held_bytes -= i->n_held;
    pdl_drop(i->text);
    pdl_drop(i->role);
    if (i->call) {
        i->call->out = NULL;
        if (i->call->done) pdl_inflight_free(i->call);
    }
    if (i->queue) queue_drop(i->queue);
    pdl_free(i);
}

/* Frees a list of items. The items in the queue of an item are put before the rest of the list.
 * With recursion instead, the C stack would be as deep as the calls of the program. */
static void items_free(pdl_run *r, pdl_outitem *first) {
    while (first) {
        pdl_outitem *i = first;
        pdl_outq *q = i->queue;
        first = i->next;
        if (q && q->first) {
            q->last->next = first;
            first = q->first;
            q->first = q->last = NULL;
        }
        item_free(r, i);
    }
}

static void queue_clear(pdl_outq *q) {
    pdl_outitem *first = q->first;
    q->first = q->last = NULL;
    items_free(q->run, first);
}

void pdl_outq_free(pdl_outq *q) {
    if (!q) return;
    queue_clear(q);
    pdl_free(q);
}

void pdl_outq_end(pdl_outq *q) {
    q->ended = true;
    pdl_out_flush(q->run);
}

/* Only the author's own text may control the terminal. Text from a file, a command or a variable
 * may have another author. */
bool pdl_out_is_untrusted(pdl_label label) { return pdl_label_origins(label) != 0; }

static void send(pdl_run *r, pdl_event e) {
    e.value = e.context = pdl_absent();
    pdl_sinks_send(&r->opt.sinks, &e);
}

static void send_message(pdl_run *r, pdl_vref role, pdl_str text, pdl_look look) {
    send(r, (pdl_event){.kind = PDL_EVENT_message,
                        .text = text,
                        .look = look,
                        .untrusted = true,
                        .role = pdl_is_str(role) ? pdl_str_get(role) : PDL_STR("")});
}

static void send_item(pdl_run *r, const pdl_outitem *i) {
    if (i->kind == PDL_OUT_MESSAGE) {
        send_message(r, i->role, pdl_str_get(i->text), PDL_LOOK_PLAIN);
        return;
    }
    send(r, (pdl_event){.kind = i->kind == PDL_OUT_TEXT ? PDL_EVENT_text : PDL_EVENT_out,
                        .text = pdl_str_get(i->text),
                        .look = i->look,
                        .untrusted = i->untrusted,
                        .number = i->descriptor});
}

static void send_extras(pdl_run *r, pdl_inflight *c) {
    for (size_t i = 0; i < c->extras.n; i++) {
        pdl_sinks_send(&r->opt.sinks, &(pdl_event){.kind = PDL_EVENT_extra,
                                                   .block = c->block,
                                                   .path = c->path,
                                                   .value = c->extras.p[i],
                                                   .context = pdl_absent()});
        pdl_drop(c->extras.p[i]);
    }
    c->extras.n = 0;
}

/* Prints pieces of the call at the cursor. Returns true when the call has ended without
 * an error. */
static bool pass_call(pdl_outq *q, pdl_outitem *i) {
    pdl_run *r = q->run;
    pdl_inflight *c = i->call;
    if (!c) return true;
    bool waits = c->waits && !c->done && r->output.held_bytes <= PDL_MAX_HELD_BYTES;
    if (waits || c->refused) return false;
    if (c->pieces.len && i->visible) {
        q->last_sent = i->number;
        if (i->message && !i->begun)
            send_message(r, c->done && !c->failed ? pdl_promise_of(c->role)->value : pdl_absent(),
                         PDL_STR(""), PDL_LOOK_MODEL);
        i->begun = true;
        send(r, (pdl_event){.kind = PDL_EVENT_text,
                            .text = pdl_buf_str(&c->pieces),
                            .look = PDL_LOOK_MODEL,
                            .untrusted = true,
                            .number = 1});
    }
    pdl_buf_clear(&c->pieces);
    r->output.held_bytes -= i->n_held - sizeof *i;
    i->n_held = sizeof *i;
    send_extras(r, c);
    if (!c->done) return false;
    if (!c->failed) return true;
    if (!c->handled && !r->output.stream_failed) {
        r->output.stream_failed = true;
        pdl_run_announce(r);
    }
    return false;
}

/* Returns true when nothing in q may be sent yet. */
static bool must_wait(const pdl_outq *q) {
    bool holds = q->is_held && !q->ended && !q->is_released;
    return holds && q->run->output.held_bytes <= PDL_MAX_HELD_BYTES;
}

/* Sends the first item of q as far as that is allowed. Returns true when the whole item
 * was sent. */
static bool pass_item(pdl_outq *q) {
    pdl_outitem *i = q->first;
    if (i->kind == PDL_OUT_CALL) return pass_call(q, i);
    if (i->kind == PDL_OUT_QUEUE) {
        if (i->queue->last_sent) q->last_sent = i->number;
        return i->queue->ended && !i->queue->first;
    }
    if (i->kind != PDL_OUT_WRITE || i->descriptor != 2) q->last_sent = i->number;
    send_item(q->run, i);
    return true;
}

/* Sends everything that may be sent. The walk over nested queues does not recurse in C, since a
 * program that calls itself nests queues as deep as its calls. */
static void flush(pdl_run *r) {
    pdl_outq *q = r->output.queue;
    for (;;) {
        pdl_outitem *i = q->first;
        if (!i && q->ended && q->parent) {
            q = q->parent;
            continue;
        }
        if (i && i->queue && must_wait(i->queue)) return;
        if (i && i->queue && i->queue->first) {
            q = i->queue;
            continue;
        }
        if (!i || !pass_item(q)) return;
        q->first = i->next;
        if (q->first)
            q->first->before = NULL;
        else
            q->last = NULL;
        item_free(r, i);
    }
}

void pdl_out_flush(pdl_run *r) {
    if (r->output.draining)
        return; /* flush has called a sink that prints, and will also send what the sink printed */
    r->output.draining = true;
    flush(r);
    assert(pdl_outq_ok(r->output.queue));
    r->output.draining = false;
}

/* Returns true when the cursor is at the end of q, so that text need not wait. */
static bool at_cursor(const pdl_outq *q) { return !q->first && !q->parent; }

/* Text that the policy redacts is replaced before it is queued. */
static pdl_str shown(const pdl_run *r, pdl_str text, pdl_label label, pdl_buf *b) {
    if (!pdl_redaction_covers(r->opt.redaction, label) || !text.n) return text;
    pdl_redaction_put(r->opt.redaction, label, b);
    return pdl_buf_str(b);
}

static void out_text(pdl_fiber *f, pdl_str text, pdl_look look, pdl_label label) {
    bool untrusted = pdl_out_is_untrusted(label);
    if (at_cursor(f->out) && !f->run->output.draining) {
        f->out->last_sent = ++f->out->n_added;
        send(f->run,
             (pdl_event){
                 .kind = PDL_EVENT_text, .text = text, .look = look, .untrusted = untrusted});
        return;
    }
    pdl_outitem *i = add(f->out, PDL_OUT_TEXT);
    i->text = pdl_text(text);
    count(f->out, i, text.n);
    i->look = look;
    i->untrusted = untrusted;
    pdl_out_flush(f->run);
}

/* Text that is shown because of a value reveals a part of that value, so in strict control the
 * labels of the value count, too. */
void pdl_out_text(pdl_fiber *f, pdl_str text, pdl_look look, pdl_label label) {
    pdl_buf b = PDL_BUF;
    label |= f->control;
    if (text.n || look != PDL_LOOK_PLAIN) out_text(f, shown(f->run, text, label, &b), look, label);
    pdl_buf_fini(&b);
}

static void write_to(pdl_outq *q, pdl_str text, uint32_t descriptor, bool untrusted) {
    pdl_outitem *i = add(q, PDL_OUT_WRITE);
    i->text = pdl_text(text);
    count(q, i, text.n);
    i->descriptor = descriptor;
    i->untrusted = untrusted;
    pdl_out_flush(q->run);
}

void pdl_out_write(pdl_fiber *f, pdl_str text, uint32_t descriptor, pdl_label label) {
    pdl_buf b = PDL_BUF;
    label |= f->control;
    text = shown(f->run, text, label, &b);
    write_to(f->out, text, descriptor, pdl_out_is_untrusted(label));
    pdl_buf_fini(&b);
}

/* Returns true when text that is printed into q waits until a block has succeeded. */
static bool is_held_back(const pdl_outq *q) {
    while (q && !q->is_held) q = q->parent;
    return q != NULL;
}

void pdl_out_write_now(pdl_fiber *f, pdl_str text, uint32_t descriptor, pdl_label label) {
    if (!is_held_back(f->out) || f->run->output.draining) {
        pdl_out_write(f, text, descriptor, label);
        return;
    }
    pdl_buf b = PDL_BUF;
    label |= f->control;
    send(f->run, (pdl_event){.kind = PDL_EVENT_out,
                             .text = shown(f->run, text, label, &b),
                             .untrusted = pdl_out_is_untrusted(label),
                             .number = descriptor});
    pdl_buf_fini(&b);
}

void pdl_out_show(pdl_fiber *f, pdl_str text, pdl_label label) {
    if (wants_blocks(f->run)) {
        pdl_val noted = pdl_with_label(pdl_text(text), label | f->control);
        pdl_vm_send_field(f, "pdl__shown", noted, 0);
        pdl_drop(noted);
    }
    pdl_out_write(f, text, 1, label);
}

void pdl_out_message(pdl_fiber *f, pdl_vref role, pdl_str text, pdl_label label) {
    pdl_buf b = PDL_BUF;
    pdl_outitem *i = add(f->out, PDL_OUT_MESSAGE);
    label |= f->control;
    i->text = pdl_text(shown(f->run, text, label, &b));
    count(f->out, i, pdl_str_get(i->text).n);
    i->role = pdl_keep(role);
    pdl_buf_fini(&b);
    pdl_out_flush(f->run);
}

void pdl_out_piece(pdl_inflight *c, pdl_str text) {
    size_t before = c->pieces.len;
    if (!pdl_redaction_covers(c->run->opt.redaction, c->label))
        pdl_buf_put(&c->pieces, text);
    else if (!c->hidden && text.n)
        pdl_redaction_put(c->run->opt.redaction, c->label, &c->pieces);
    c->hidden = c->hidden || text.n;
    if (!c->out) return; /* the text is printed with the result */
    c->out->n_held += c->pieces.len - before;
    c->run->output.held_bytes += c->pieces.len - before;
}

void pdl_out_call(pdl_fiber *f, pdl_inflight *c, bool visible, bool message) {
    assert(c->kind == PDL_EFFECT_model && !c->out);
    pdl_outitem *i = add(f->out, PDL_OUT_CALL);
    i->call = c;
    i->visible = visible;
    i->message = message;
    c->out = i;
    assert(pdl_outq_ok(f->out));
    pdl_out_flush(f->run);
}

pdl_outq *pdl_out_child(pdl_fiber *f) {
    assert(!f->out->ended);
    pdl_outitem *i = add(f->out, PDL_OUT_QUEUE);
    i->queue = pdl_outq_new(f->run, f->out);
    i->queue->item = i;
    return i->queue;
}

void pdl_out_hold(pdl_fiber *f) {
    f->out = pdl_out_child(f);
    f->out->is_held = true;
}

void pdl_out_accept(pdl_fiber *f) {
    pdl_outq *q = f->out;
    assert(q->is_held && q->parent);
    f->out = q->parent;
    pdl_outq_end(q);
}

static void set_released(pdl_outq *q, bool is_released) {
    for (; q; q = q->parent) q->is_released = is_released;
}

void pdl_out_release(pdl_fiber *f) {
    if (!is_held_back(f->out)) return;
    set_released(f->out, true);
    pdl_out_flush(f->run);
    set_released(f->out, false);
}

size_t pdl_out_mark(pdl_fiber *f) { return f->out->n_added; }

/* Only the first item of a queue may have been sent in part. */
bool pdl_out_was_sent(const pdl_fiber *f, size_t mark) {
    const pdl_outq *q = f->out;
    if (q->last_sent > mark) return true;
    const pdl_outitem *i = q->first;
    if (!i || i->number <= mark) return false;
    for (; i && i->queue; i = i->queue->first)
        if (i->queue->last_sent) return true;
    return false;
}

/* Returns true when the answer of a call was accepted, or when c is NULL because the call was
 * forgotten. */
static bool is_answered(const pdl_inflight *c) {
    return !c || (c->done && !c->failed && !c->refused);
}

/* Returns true when the item is complete: its calls were answered, and its queues have ended. Like
 * flush, this function does not recurse in C. */
static bool is_whole(const pdl_outitem *item) {
    const pdl_outitem *i = item;
    for (const pdl_outq *q = NULL;;) {
        if (i->kind == PDL_OUT_CALL && i->call && !is_answered(i->call)) return false;
        if (i->queue && !i->queue->ended) return false;
        if (i->queue && i->queue->first) {
            q = i->queue;
            i = q->first;
            continue;
        }
        for (; i != item && !i->next; q = q->parent) i = q->item;
        if (i == item) return true;
        i = i->next;
    }
}

void pdl_out_forget(pdl_fiber *f, size_t mark) {
    pdl_outq *q = f->out;
    assert(pdl_outq_ok(q) && mark <= q->n_added);
    /* this search begins at the end, since there may be many earlier items */
    pdl_outitem *kept = q->last;
    while (kept && kept->number > mark) kept = kept->before;
    pdl_outitem **at = kept ? &kept->next : &q->first;
    q->last = kept;
    for (; *at && !q->is_held && is_whole(*at); at = &(*at)->next) q->last = *at;
    pdl_outitem *rest = *at;
    *at = NULL;
    items_free(f->run, rest);
    assert(pdl_outq_ok(q));
    pdl_out_flush(f->run);
}

/* Returns the call at the cursor, if it has failed. */
static pdl_inflight *failed_call(pdl_outq *q) {
    for (pdl_outitem *i = q->first; i;) {
        if (i->kind == PDL_OUT_CALL) return i->call && i->call->failed ? i->call : NULL;
        if (i->kind != PDL_OUT_QUEUE) return NULL;
        i = i->queue->first;
    }
    return NULL;
}

bool pdl_out_failed(pdl_run *r, pdl_err *err) {
    pdl_inflight *c = failed_call(r->output.queue);
    if (!c) return false;
    pdl_err_copy(err, &pdl_promise_of(c->text)->err);
    pdl_err_move_to_call(err, c->library_entry_loc);
    return true;
}

void pdl_run_output_end(pdl_run_output *o) {
    pdl_outq_free(o->queue);
    o->queue = NULL;
    for (size_t i = 0; i < o->orphans.n; i++) pdl_outq_free(o->orphans.p[i]);
    pdl_vec_fini(&o->orphans);
    for (size_t i = 0; i < o->files.n; i++) pdl_drop(o->files.p[i]);
    pdl_vec_fini(&o->files);
}

bool pdl_run_output_ok(const pdl_run_output *o) {
    return o->queue && !o->queue->parent && pdl_outq_ok(o->queue);
}
