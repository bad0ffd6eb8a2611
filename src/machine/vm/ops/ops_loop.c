/* ops_loop.c -- the instructions of repeat, map and reduce.
 *
 * A map runs each iteration in a separate fiber, so that the model calls of all iterations overlap.
 * Results, messages and output are nevertheless in the order of the list, and the error of the
 * smallest index is raised. So a program cannot observe which call ended first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/idmap.h"

#include <assert.h>

#include "base/limits.h"
#include "lang/walk.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/type_words.h"
#include "vm/closure.h"
#include "vm/effect_key.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/loop.h"
#include "vm/ops.h"
#include "vm/ops/object.h"
#include "vm/output_order.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

/* Makes a sequence that can be indexed. A list, tuple or range stays as it is; any other iterable
 * becomes a list. */
static bool as_sequence(pdl_vref v, pdl_val *out, pdl_err *err) {
    if (pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE) || pdl_is(v, PDL_V_RANGE)) {
        *out = pdl_keep(v);
        return true;
    }
    if (pdl_val_to_list(v, out, err)) return true;
    pdl_err_fini(err);
    const char *name = pdl_is_null(v) ? "NoneType" : pdl_type_name(v);
    pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                "Values inside the For block must be lists but got <class '%s'>.", name);
    const pdl_type_word *word = pdl_type_word_of(v);
    if (word)
        pdl_err_plain(err, "Values inside the For block must be lists but got %s.", word->plain);
    if (pdl_is_int(v)) pdl_err_hint(err, PDL_NO_LIST);
    if (pdl_is(v, PDL_V_NATIVE) && !pdl_is_absent(pdl_native_receiver(v))) {
        pdl_buf hint = PDL_BUF;
        pdl_uncalled_advise(pdl_native_receiver(v), pdl_str_of(pdl_native_row(v)->name), &hint);
        pdl_err_hint(err, "%s", pdl_buf_z(&hint));
        pdl_buf_fini(&hint);
    }
    return false;
}

static size_t seq_len(pdl_vref v) {
    return pdl_is(v, PDL_V_RANGE) ? pdl_range_len(v) : pdl_list_len(v);
}
static pdl_val seq_at(pdl_vref v, size_t i) {
    return pdl_is(v, PDL_V_RANGE) ? pdl_with_label(pdl_int(pdl_range_at(v, i)), pdl_label_of(v))
                                  : pdl_list_part(v, i);
}

static bool read_max(pdl_vref v, int64_t *max, pdl_err *err) {
    *max = -1;
    if (pdl_is_null(v)) return true;
    if (pdl_is(v, PDL_V_FLOAT)) {
        double d = pdl_float_of(v);
        *max = d <= 0 ? 0 : !(d <= 9e18) ? INT64_MAX : (int64_t)d + (d > (double)(int64_t)d);
        return true;
    }
    if (pdl_is(v, PDL_V_BIGINT)) {
        *max = pdl_int_sign(v) < 0 ? 0 : INT64_MAX;
        return true;
    }
    if (!pdl_int_get(v, max)) {
        return pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                           "maxIterations is expected to be an integer but got a value of type %s",
                           pdl_type_name(v));
    }
    if (*max < 0) *max = 0;
    return true;
}

/* Returns the source place of the k-th list in the loop's `for`. */
static pdl_loc list_loc(pdl_fiber *f, uint32_t k) {
    const pdl_block *b = block(f)->info->block;
    const pdl_fors *fors =
        b->kind == PDL_BLOCK_map ? PDL_AS(map, b)->fors : PDL_AS(repeat, b)->fors;
    return fors->lists[k]->loc;
}

static bool fill_loop(pdl_fiber *f, pdl_vm_loop *l, const pdl_val *base, bool has_for,
                      pdl_err *err) {
    for (uint32_t i = 0; i < l->n; i++) {
        pdl_vref name = base[2 * i], list = base[2 * i + 1];
        if (pdl_is(list, PDL_V_UNDEFINED)) return pdl_undefined_error(list, err);
        if (!as_sequence(list, &l->lists[i], err)) {
            pdl_err_at(err, list_loc(f, i));
            return false;
        }
        if (!pdl_is_str(name))
            return pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                               "names inside the For block must be strings but got %s",
                               pdl_type_plain(name));
        l->names[i] = pdl_intern(f->run->opt.names, pdl_str_get(name));
        if (i == 0)
            l->len = seq_len(l->lists[0]);
        else if (seq_len(l->lists[i]) != l->len)
            has_for = false;
    }
    if (l->n && has_for) return true;
    if (!l->n && !has_for) return true;
    return pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                       "Lists inside the For block must be of the same length.");
}

/* Reports the value of the field `for`: pairs of a name and a list. */
static void send_for(pdl_fiber *f, const pdl_val *pairs, uint32_t n) {
    pdl_val d = pdl_dict_new(n);
    for (uint32_t i = 0; i < n; i++)
        d = pdl_dict_put(d, pdl_keep(pairs[2 * i]), pdl_keep(pairs[2 * i + 1]));
    pdl_vm_send_field(f, "for", d, 0);
    pdl_drop(d);
}

/* Resolves the list, but not its items. */
static pdl_step await_list(pdl_fiber *f, pdl_val *list, pdl_err *err) {
    return pdl_is(*list, PDL_V_PROMISE) ? pdl_vm_force(f, list, err) : PDL_STEP_DONE;
}

pdl_step pdl_op_FOR_LIST(pdl_fiber *f, pdl_err *err) {
    pdl_step s = await_list(f, top(f), err);
    if (s == PDL_STEP_DONE && pdl_is(*top(f), PDL_V_HANDLE)) pdl_vm_start_iter(f, pop(f));
    return s;
}

pdl_step pdl_op_FORS(pdl_fiber *f, const pdl_fors_info *info, pdl_err *err) {
    size_t n = 2 * (size_t)info->n + info->has_max;
    pdl_step s = info->has_max ? pdl_vm_force(f, top(f), err) : PDL_STEP_DONE;
    for (size_t k = info->has_max; s == PDL_STEP_DONE && k < n; k++)
        s = await_list(f, under(f, k), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vm_loop l = {
        .n = info->n, .max = -1, .block = (uint32_t)f->blocks.n - 1, .index = info->index};
    pdl_label turns = info->has_max ? pdl_label_of(*top(f)) : 0;
    if (info->has_max && !read_max(*top(f), &l.max, err)) return PDL_STEP_FAIL;
    l.names = PDL_NEW_N(pdl_name, l.n);
    l.lists = PDL_NEW_N(pdl_val, l.n);
    if (!fill_loop(f, &l, f->stack.n ? f->stack.p + f->stack.n - n : NULL, info->has_for, err)) {
        pdl_vm_loop_fini(f, &l);
        return PDL_STEP_FAIL;
    }
    if (!l.n) l.len = (size_t)-1;
    if (wants_blocks(f->run) && info->has_for) send_for(f, f->stack.p + f->stack.n - n, l.n);
    pdl_vm_cut_stack(f, f->stack.n - n);
    pdl_vm_chosen_by(f, turns);
    for (uint32_t i = 0; i < l.n; i++) pdl_vm_chosen_by(f, pdl_label_of(l.lists[i]));
    *pdl_vec_push(&f->loops) = l;
    return PDL_STEP_DONE;
}

bool pdl_vm_for_next(pdl_fiber *f) {
    pdl_vm_loop *l = innermost_loop(f);
    if (l->index) f->scope = pdl_scope_put(f->scope, l->index, pdl_int((int64_t)l->i));
    if (l->max >= 0 && (uint64_t)l->i >= (uint64_t)l->max) return false;
    if (l->i >= l->len) return false;
    block(f)->iter = (uint32_t)l->i;
    l->i++;
    return true;
}

void pdl_op_FOR_BIND(pdl_fiber *f) {
    const pdl_vm_loop *l = innermost_loop(f);
    assert(l->i > 0 && (l->n == 0 || l->i <= l->len));
    for (uint32_t k = 0; k < l->n; k++)
        f->scope = pdl_scope_put(f->scope, l->names[k], seq_at(l->lists[k], l->i - 1));
}

void pdl_op_FOR_END(pdl_fiber *f) {
    pdl_vm_loop l = *innermost_loop(f);
    f->loops.n--;
    pdl_vm_loop_fini(f, &l);
}

/* --- map -------------------------------------------------------------------------------------- */

/* Maximum number of iterations that are open at a time when maxWorkers is absent. This bounds
 * memory and does not change the order. */
enum { OPEN_UNBOUNDED = 16384 };

static void drop_fiber(pdl_run *r, pdl_fiber *c) {
    /* The open calls of a cancelled iteration lose their owner, so no fiber waits for them. */
    for (size_t i = 0; i < c->calls.n; i++) {
        pdl_inflight *call = pdl_is_absent(c->calls.p[i].failed)
                                 ? pdl_idmap_find(&r->effects.by_id, c->calls.p[i].id)
                                 : NULL;
        if (call) call->fiber = 0;
    }
    c->cancelled = true;
    if (c->queued)
        c->state = FIBER_DONE; /* the scheduler frees the fiber at its next turn */
    else
        pdl_fiber_free(c);
}

void pdl_vm_mapping_free(pdl_run *r, pdl_mapping *m) {
    for (size_t i = 0; !r->fibers.closing && i < m->started; i++) {
        pdl_fiber *c = i < m->fibers_cap ? m->fibers[i] : NULL;
        if (c) drop_fiber(r, c);
    }
    for (size_t i = 0; m->results && i < m->n; i++) pdl_drop(m->results[i]);
    pdl_free(m->results);
    pdl_free(m->fibers);
    pdl_err_fini(&m->err);
    pdl_free(m);
}

static void bind_iteration(pdl_fiber *c, const pdl_vm_loop *l, size_t i) {
    assert(l->n == 0 || i < l->len);
    for (uint32_t k = 0; k < l->n; k++)
        c->scope = pdl_scope_put(c->scope, l->names[k], seq_at(l->lists[k], i));
    if (l->index) c->scope = pdl_scope_put(c->scope, l->index, pdl_int((int64_t)i));
}

static void start_iteration(pdl_fiber *f, const pdl_vm_loop *l, pdl_mapping *m,
                            const pdl_map_info *info) {
    size_t i = m->started++;
    pdl_vm_frame *fr = frame(f);
    pdl_fiber *c = pdl_fiber_new(f->run, fr->code, info->entry);
    c->parent = f;
    c->index = i;
    pdl_vm_place_child(f, c);
    c->waits = info->block->workers.given && !f->run->opt.unanswered;
    c->is_new = true;
    c->scope = pdl_scope_keep(f->scope);
    bind_iteration(c, l, i);
    set_val(&c->ctx, pdl_keep(f->ctx));
    set_val(&c->role, pdl_keep(f->role));
    c->print = f->print & (PRINT_CONTEXT | MESSAGES_UNREAD);
    c->control = f->control;
    c->chosen = f->chosen;
    c->handled = f->handled || f->handlers.n > 0;
    c->nested = f->nested;
    pdl_vm_set_budget(c, f->budget);
    c->out = pdl_out_child(f);
    /* This record only has the id of the map, so that the ids of the parts of the iteration begin
     * with it. */
    pdl_vm_block *b = pdl_vec_push(&c->blocks);
    *b = (pdl_vm_block){
        .path = pdl_path_keep(pdl_vm_block_path(f)),
        .ctx_in = pdl_null(),
        .role_in = pdl_null(),
        .child_messages = pdl_absent(),
        .iter = (uint32_t)i,
    };
    if (i >= m->fibers_cap) {
        size_t cap = m->fibers_cap ? m->fibers_cap * 2 : 16;
        m->fibers = pdl_realloc_n(m->fibers, cap, sizeof *m->fibers);
        for (size_t k = m->fibers_cap; k < cap; k++) m->fibers[k] = NULL;
        m->fibers_cap = cap;
    }
    m->fibers[i] = c;
    m->open++;
    pdl_fiber_ready(c);
}

static pdl_mapping *mapping_of(pdl_fiber *parent) {
    for (size_t i = parent->loops.n; i-- > 0;)
        if (parent->loops.p[i].map) return parent->loops.p[i].map;
    return NULL;
}

/* Cancels the iterations after a failed one, since they cannot change the outcome. */
static void drop_later(pdl_mapping *m, pdl_fiber *c) {
    if (c->index < m->failed) m->failed = c->index;
    for (size_t i = m->failed + 1; i < m->started; i++) {
        pdl_fiber *later = m->fibers[i];
        if (!later || later == c) continue;
        assert(m->open > 0);
        m->fibers[i] = NULL;
        m->open--;
        drop_fiber(c->run, later);
    }
}

void pdl_vm_map_child_fails(pdl_fiber *c) { drop_later(mapping_of(c->parent), c); }

static void map_failed(pdl_mapping *m, pdl_fiber *c) {
    drop_later(m, c);
    if (c->index != m->failed) return;
    pdl_err_fini(&m->err);
    pdl_err_move(&m->err, &c->err);
}

void pdl_vm_map_child_ended(pdl_fiber *c) {
    pdl_fiber *parent = c->parent;
    pdl_mapping *m = mapping_of(parent);
    assert(pdl_mapping_ok(m) && m->fibers[c->index] == c);
    m->fibers[c->index] = NULL;
    m->open--;
    m->ended++;
    if (c->state == FIBER_FAILED) {
        map_failed(m, c); /* the output of this iteration is the last that is shown */
    } else {
        m->results[c->index] = pop(c);
        pdl_inflight_adopt(parent, c);
        pdl_outq_end(c->out);
    }
    assert(pdl_mapping_ok(m));
    if (parent->state == FIBER_WAIT_MAP) pdl_fiber_ready(parent);
}

static bool begin_map(pdl_vm_loop *l, pdl_err *err) {
    pdl_mapping *m = PDL_NEW(pdl_mapping);
    l->map = m;
    size_t n = l->len;
    if (l->max >= 0 && (uint64_t)l->max < n) n = (size_t)l->max;
    if (n > PDL_MAX_RANGE_ITEMS)
        return pdl_err_set(
            err, PDL_E_limit, (pdl_loc){0},
            "a map of more than %d iterations: give it a `for` list or maxIterations",
            PDL_MAX_RANGE_ITEMS);
    m->n = n;
    m->failed = (size_t)-1;
    m->results = PDL_NEW_N(pdl_val, n);
    return true;
}

pdl_step pdl_op_MAP(pdl_fiber *f, const pdl_map_info *info, pdl_err *err) {
    pdl_vm_loop *l = innermost_loop(f);
    if (!l->map && !begin_map(l, err)) return PDL_STEP_FAIL;
    pdl_mapping *m = l->map;
    const pdl_count *w = &info->block->workers;
    if (w->given && w->value < 0)
        return step_of(pdl_err_set(err, PDL_E_type, pdl_field_loc(&info->block->head, "maxWorkers"),
                                   "maxWorkers must not be negative"));
    bool bounded = w->given && !f->run->opt.unanswered;
    size_t most = !bounded ? OPEN_UNBOUNDED : w->value <= 0 ? 1 : (size_t)w->value;
    size_t before = m->started;
    while (m->started < m->n && m->open < most && m->failed == (size_t)-1)
        start_iteration(f, l, m, info);
    if (f->budget && !pdl_budget_check_time(f, m->started - before, err)) return PDL_STEP_FAIL;
    bool all = m->failed == (size_t)-1 ? m->ended == m->n : m->open == 0;
    if (!all) {
        f->state = FIBER_WAIT_MAP;
        return PDL_STEP_WAIT;
    }
    if (m->failed != (size_t)-1) {
        pdl_err_move(err, &m->err);
        return PDL_STEP_FAIL;
    }
    pdl_val list = pdl_list_new(m->n);
    for (size_t i = 0; i < m->n; i++) {
        list = pdl_list_push(list, m->results[i]);
        m->results[i] = pdl_absent();
    }
    push(f, list);
    return PDL_STEP_DONE;
}

/* --- fold ------------------------------------------------------------------------------------- */

/* Begins a fold, which is a loop over the list. The loop holds the function, and the stack holds
 * the value so far. */
pdl_step pdl_op_REDUCE(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, under(f, 1), err);
    if (s != PDL_STEP_DONE) return s;
    size_t n = pdl_list_len(*top(f));
    if (!n)
        return step_of(
            pdl_err_host(err, "TypeError", "reduce() of empty iterable with no initial value"));
    pdl_vm_loop l = {.n = 1,
                     .max = -1,
                     .len = n,
                     .i = 1,
                     .lists = PDL_NEW_N(pdl_val, 1),
                     .block = (uint32_t)f->blocks.n - 1};
    l.lists[0] = pop(f);
    l.func = pop(f);
    push(f, pdl_list_part(l.lists[0], 0));
    *pdl_vec_push(&f->loops) = l;
    return PDL_STEP_DONE;
}

pdl_step pdl_op_REDUCE_NEXT(pdl_fiber *f, uint32_t end, pdl_err *err) {
    pdl_vm_loop *l = innermost_loop(f);
    if (l->i >= l->len) {
        pdl_op_FOR_END(f);
        f->pc = end;
        return PDL_STEP_DONE;
    }
    bool python = pdl_is(l->func, PDL_V_HANDLE);
    if (!python && !pdl_is(l->func, PDL_V_FUNC))
        return step_of(
            pdl_err_host(err, "TypeError", "'%s' object is not callable", pdl_type_name(l->func)));
    pdl_step s = python ? pdl_vm_force(f, top(f), err)
                        : PDL_STEP_DONE; /* a function in Python gets a value and not a promise */
    if (s != PDL_STEP_DONE) return s;
    pdl_val args[2] = {pop(f), pdl_list_part(l->lists[0], l->i++)};
    if (!python) {
        const pdl_call_args both = {.pos = args, .n_pos = 2};
        return pdl_vm_call_closure(f, pdl_keep(l->func), &both, err);
    }
    pdl_val list = pdl_list_push(pdl_list_push(pdl_list_new(2), args[0]), args[1]);
    pdl_vm_start_call(f, pdl_keep(l->func), pdl_absent(), list, pdl_absent());
    return PDL_STEP_DONE;
}
