/* promise.c -- see promise.h. pdl_promise_blocking and pdl_promise_resolve keep an explicit stack
 * for joins inside joins, because programs decide how deep these are. Forty objects may make a
 * value with 2^40 leaves. So after MANY steps a walk remembers the objects that it has visited,
 * which bounds its time by their number.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/promise.h"
#include "value/label.h"

#include <assert.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/vec.h"
#include "value/context.h"
#include "value/memo.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

enum { MANY = 4096 };

/* --- life ------------------------------------------------------------------------------------- */

static pdl_vref child(const pdl_obj *o, size_t i) {
    const pdl_promise *p = (const pdl_promise *)(const void *)o;
    pdl_vref all[] = {p->value, p->pieces, p->answer};
    size_t n = 0;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (!pdl_is_absent(all[k]) && n++ == i) return all[k];
    return pdl_absent();
}

static void fini(pdl_obj *o) { pdl_err_fini(&((pdl_promise *)(void *)o)->err); }

static const pdl_class promise_class = {"promise", child, fini, NULL};

/* Invariants: the state says which of the value, the error and the pieces exist. */
static inline bool promise_ok(const pdl_promise *p) {
    switch (p->state) {
    case PDL_PROMISE_PENDING:
        return pdl_is_absent(p->value) && !p->err.kind && (!p->id || pdl_is_absent(p->pieces));
    case PDL_PROMISE_FILLED:
        return !pdl_is_absent(p->value) && !p->err.kind && pdl_is_absent(p->pieces);
    case PDL_PROMISE_FAILED: return pdl_is_absent(p->value) && p->err.kind;
    }
    return false;
}

static pdl_promise *new_promise(uint32_t id) {
    pdl_promise *p = pdl_ext_new(PDL_V_PROMISE, &promise_class, sizeof(pdl_promise));
    p->state = PDL_PROMISE_PENDING;
    p->id = id;
    p->value = p->pieces = p->answer = pdl_absent();
    return p;
}

pdl_val pdl_promise_new(uint32_t id) {
    return pdl_from_obj(PDL_V_PROMISE, &new_promise(id)->ext.head, PDL_F_PROMISE);
}

pdl_val pdl_promise_join(pdl_val pieces) {
    assert(pdl_is_list(pieces) || pdl_is(pieces, PDL_V_TUPLE));
    pdl_promise *p = new_promise(0);
    p->pieces = pieces;
    return pdl_with_label(pdl_from_obj(PDL_V_PROMISE, &p->ext.head, PDL_F_PROMISE),
                          pdl_label_of(pieces));
}

void pdl_promise_fill(pdl_promise *p, pdl_val v) {
    assert(p->state == PDL_PROMISE_PENDING && promise_ok(p));
    p->state = PDL_PROMISE_FILLED;
    p->value = v;
    pdl_val pieces = p->pieces;
    p->pieces = pdl_absent();
    pdl_drop(pieces);
    assert(promise_ok(p));
}

void pdl_promise_fail(pdl_promise *p, const pdl_err *err) {
    assert(err->kind != PDL_E_NONE);
    assert(p->state == PDL_PROMISE_PENDING && promise_ok(p));
    p->state = PDL_PROMISE_FAILED;
    pdl_err_copy(&p->err, err);
    assert(promise_ok(p));
}

/* --- what blocks ------------------------------------------------------------------------------ */

typedef struct {
    PDL_VEC(pdl_vref) todo;
} worklist;

static void push(worklist *w, pdl_vref v) {
    if (pdl_may_hold_promise(v)) *pdl_vec_push(&w->todo) = v;
}

static bool push_message(void *user, const pdl_message *m) {
    push(user, m->role);
    push(user, m->content);
    push(user, m->extra);
    return true;
}

/* Reverses the entries from index `from` on, so that they are visited in their order. */
static void reverse(worklist *w, size_t from) {
    for (size_t i = from, j = w->todo.n; i + 1 < j; i++) {
        pdl_vref t = w->todo.p[i];
        w->todo.p[i] = w->todo.p[--j];
        w->todo.p[j] = t;
    }
}

/* Pushes the parts of the container v that may hold promises. */
static void push_parts(worklist *w, pdl_vref v) {
    size_t from = w->todo.n;
    if (pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE)) {
        for (size_t i = 0, n = pdl_list_len(v); i < n; i++) push(w, pdl_list_at(v, i));
    } else if (pdl_is_dict(v)) {
        for (size_t i = 0, n = pdl_dict_len(v); i < n; i++) push(w, pdl_dict_val_at(v, i));
    } else if (pdl_is(v, PDL_V_VIEW)) {
        push(w, pdl_view_dict(v));
    } else if (pdl_is(v, PDL_V_CONTEXT)) {
        pdl_context_each_unsettled(v, push_message, w);
    }
    reverse(w, from);
}

pdl_vref pdl_promise_blocking(pdl_vref v) {
    worklist w = {0};
    pdl_idmap seen = {0};
    pdl_vref found = pdl_absent();
    push(&w, v);
    for (size_t steps = 0; w.todo.n && pdl_is_absent(found); steps++) {
        pdl_vref x = w.todo.p[--w.todo.n];
        if (steps >= MANY) {
            uintptr_t id = (uintptr_t)pdl_obj_of(x);
            if (pdl_idmap_find(&seen, id)) continue;
            pdl_idmap_put(&seen, id, pdl_obj_of(x));
        }
        if (!pdl_is(x, PDL_V_PROMISE)) {
            push_parts(&w, x);
            continue;
        }
        pdl_promise *p = pdl_promise_of(x);
        if (p->state == PDL_PROMISE_FILLED)
            push(&w, p->value);
        else if (p->state == PDL_PROMISE_PENDING && !pdl_is_absent(p->pieces))
            push(&w, p->pieces);
        else
            found = x;
    }
    pdl_vec_fini(&w.todo);
    pdl_idmap_fini(&seen);
    return found;
}

/* --- resolving -------------------------------------------------------------------------------- */

typedef struct {
    size_t steps;
    pdl_memo memo;
} resolver;

static bool resolve(resolver *r, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err);

typedef struct {
    pdl_vref pieces;
    size_t i;
} join_frame;

/* A join whose text is being made. Joins inside it are entries of a stack; their texts are appended
 * to the same buffer. */
typedef struct {
    PDL_VEC(join_frame) open;
    pdl_buf text;
    pdl_label label;
    unsigned depth;
    resolver *r;
} joiner;

static bool add_piece(joiner *j, pdl_vref v, pdl_err *err) {
    pdl_label seen = 0;
    while (pdl_is(v, PDL_V_PROMISE)) {
        pdl_promise *p = pdl_promise_of(v);
        seen |= pdl_label_of(v);
        if (p->state == PDL_PROMISE_FILLED) {
            v = p->value;
            continue;
        }
        if (p->state == PDL_PROMISE_FAILED || pdl_is_absent(p->pieces))
            PDL_BUG("resolving a promise that is not ready");
        j->label |= seen;
        *pdl_vec_push(&j->open) = (join_frame){p->pieces, 0};
        return true;
    }
    j->label |= seen | pdl_label_of(v);
    if (!pdl_may_hold_promise(v)) return pdl_stringify(v, &j->text, err);
    pdl_val now;
    if (!resolve(j->r, v, j->depth + 1, &now, err)) return false;
    bool ok = pdl_stringify(now, &j->text, err);
    j->label |= pdl_label_of(now);
    pdl_drop(now);
    return ok;
}

static bool add_pieces(joiner *j, pdl_err *err) {
    while (j->open.n) {
        if (!pdl_check_cancel_at(++j->r->steps, err)) return false;
        join_frame *top = &j->open.p[j->open.n - 1];
        if (top->i == pdl_list_len(top->pieces)) {
            j->open.n--;
            continue;
        }
        if (!add_piece(j, pdl_list_at(top->pieces, top->i++), err)) return false;
        if (j->text.len > PDL_MAX_TEXT)
            return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                               PDL_MAX_TEXT);
    }
    return true;
}

/* Makes the text of a join that is ready, and stores it as the value of the promise. */
static bool finish_join(resolver *r, pdl_promise *p, pdl_label label, unsigned depth,
                        pdl_err *err) {
    /* the walk is on the heap, because resolve recurses through this function */
    joiner *j = PDL_NEW(joiner);
    j->text = PDL_BUF;
    j->depth = depth;
    j->r = r;
    j->label = label;
    *pdl_vec_push(&j->open) = (join_frame){p->pieces, 0};
    bool ok = add_pieces(j, err);
    if (ok)
        pdl_promise_fill(p, pdl_with_label(pdl_text_of_buf(&j->text), pdl_label_built(j->label)));
    pdl_vec_fini(&j->open);
    pdl_buf_fini(&j->text);
    pdl_free(j);
    return ok;
}

static bool resolve_list(resolver *r, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    size_t n = pdl_list_len(v);
    pdl_val list = pdl_list_new(n), x;
    for (size_t i = 0; i < n; i++) {
        if (!resolve(r, pdl_list_at(v, i), depth + 1, &x, err)) {
            pdl_drop(list);
            return false;
        }
        list = pdl_list_push(list, x);
    }
    *out = pdl_is(v, PDL_V_TUPLE) ? pdl_list_as_tuple(list) : list;
    return true;
}

static bool resolve_dict(resolver *r, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    size_t n = pdl_dict_len(v);
    pdl_val d = pdl_dict_new(n), x;
    for (size_t i = 0; i < n; i++) {
        if (!resolve(r, pdl_dict_val_at(v, i), depth + 1, &x, err)) {
            pdl_drop(d);
            return false;
        }
        d = pdl_dict_put_known(d, pdl_keep(pdl_dict_key_at(v, i)), x);
    }
    *out = pdl_with_flags(d, pdl_flags_of(v) & PDL_F_MODULE);
    return true;
}

static bool resolve_view(resolver *r, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    pdl_val d;
    if (!resolve(r, pdl_view_dict(v), depth + 1, &d, err)) return false;
    *out = pdl_view_new(d, pdl_view_kind_of(v));
    return true;
}

struct in_message {
    resolver *r;
    unsigned depth;
};

static bool resolve_in_message(void *user, pdl_vref v, pdl_val *out, pdl_err *err) {
    const struct in_message *m = user;
    return resolve(m->r, v, m->depth, out, err);
}

static bool resolve_context(resolver *r, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    struct in_message inner = {r, depth + 1};
    return pdl_context_resolve(v, resolve_in_message, &inner, out, err);
}

/* Resolves a container that may hold promises. Other values are returned unchanged. */
static bool resolve_parts(resolver *r, pdl_vref v, unsigned depth, pdl_val *now, pdl_err *err) {
    if (pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE)) return resolve_list(r, v, depth, now, err);
    if (pdl_is_dict(v)) return resolve_dict(r, v, depth, now, err);
    if (pdl_is(v, PDL_V_VIEW)) return resolve_view(r, v, depth, now, err);
    if (pdl_is(v, PDL_V_CONTEXT)) return resolve_context(r, v, depth, now, err);
    *now = pdl_keep(v);
    return true;
}

static bool resolve_once(resolver *r, pdl_vref v, unsigned depth, pdl_val *now, pdl_err *err) {
    if (!pdl_check_cancel_at(++r->steps, err)) return false;
    pdl_vref known;
    if (pdl_memo_find(&r->memo, v, 0, &known)) {
        *now = pdl_keep(known);
        return true;
    }
    if (!resolve_parts(r, v, depth, now, err)) return false;
    pdl_memo_put(&r->memo, v, 0, *now);
    return true;
}

static bool resolve(resolver *r, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    pdl_label label = 0, whole = 0; /* `whole` has the labels of promises, which all parts get */
    while (pdl_is(v, PDL_V_PROMISE)) {
        whole |= pdl_label_of(v);
        pdl_promise *p = pdl_promise_of(v);
        if (p->state == PDL_PROMISE_PENDING && !pdl_is_absent(p->pieces) &&
            !finish_join(r, p, whole, depth, err))
            return false;
        if (p->state != PDL_PROMISE_FILLED) PDL_BUG("resolving a promise that is not ready");
        v = p->value;
    }
    label = pdl_label_of(v);
    whole |= pdl_label_of_part(v);
    if (depth >= PDL_MAX_VALUE_DEPTH)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "value is nested deeper than %d levels",
                           PDL_MAX_VALUE_DEPTH);
    pdl_val now;
    bool ok = true;
    if (pdl_may_hold_promise(v))
        ok = resolve_once(r, v, depth, &now, err);
    else
        now = pdl_keep(v);
    if (ok) *out = pdl_with_label(pdl_with_part_label(now, label), whole);
    return ok;
}

bool pdl_promise_resolve(pdl_vref v, pdl_val *out, pdl_err *err) {
    resolver r = {0};
    bool ok = resolve(&r, v, 0, out, err);
    pdl_memo_fini(&r.memo);
    return ok;
}
