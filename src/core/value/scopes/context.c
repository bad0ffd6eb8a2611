/* context.c -- see context.h. A context is a rope. A node is one message, or two parts in dependent
 * or independent composition.
 *
 * Walks keep an explicit stack. Index access makes a flat array of all messages of a node, once for
 * each node. A node that extends another node also extends its array, so that a loop that reads
 * pdl_context[-1] in every turn takes linear time. The array knows how many of its first messages
 * hold no promise, so that the trace of such a loop takes linear time, too.
 *
 * An array has the messages of the longest node that holds it, and no others. The content of a
 * message may be a shorter context ("${ pdl_context }"), and this context may hold the array in
 * which the message is. If an array kept such a message after its last node was freed, the message
 * and the array would own each other, and would never be freed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/context.h"

#include <assert.h>

#include "base/cancel.h"
#include "base/limits.h"
#include "base/vec.h"
#include "value/memo.h"
#include "value/printer.h"
#include "value/text.h"

#include "base/banned.h"

typedef enum { ONE, DEP, IND } ctx_kind;

typedef struct ctx ctx;

/* The messages in order; the array has a reference to each. all.n is the count of the longest node
 * that holds the array. A shorter node must not read beyond its count. */
typedef struct {
    ctx *longest; /* the nodes that hold the array are linked in the order of their counts */
    PDL_VEC(ctx *) all;
    size_t settled;   /* number of first messages that are known to hold no promise */
    pdl_label label;  /* the labels of the parts of the settled messages */
    unsigned handles; /* PDL_F_HANDLE when a part of the settled messages has it */
} flat_list;

struct ctx {
    pdl_ext ext;
    ctx_kind kind;
    size_t len, count;
    /* parts of a group; right is absent when there is one part, and both are absent when there is
     * none */
    pdl_val left, right;
    pdl_val role, content, extra; /* for ONE: the parts of the message */
    /* for ONE: the form of the message for models, after it was requested; or absent */
    pdl_val wire;
    pdl_val source; /* for ONE: promise of the text of a model's reply; or absent */
    pdl_path *defsite;
    flat_list *flat;       /* NULL when the array was not made yet */
    ctx *shorter, *longer; /* the neighbours among the nodes that hold flat */
};

enum { SHORT_WALK = 24, CARRIED = PDL_F_PROMISE | PDL_F_HANDLE };

/* A message counts as one. A group counts as many messages as its parts have together. */
static inline bool ctx_ok(const ctx *c) {
    if (c->kind == ONE) return c->len == 1 && c->count == 1 && !pdl_is_absent(c->role);
    return c->len <= c->count && (c->count > 0) == !pdl_is_absent(c->left) &&
           (!c->flat || c->flat->all.n >= c->count);
}

static ctx *ctx_of(pdl_vref v) {
    ctx *c = (ctx *)(void *)pdl_obj_of(v);
    assert(pdl_is(v, PDL_V_CONTEXT) && ctx_ok(c));
    return c;
}

static pdl_vref child(const pdl_obj *o, size_t i) {
    const ctx *c = (const ctx *)(const void *)o;
    if (c->kind != ONE) return i == 0 ? c->left : i == 1 ? c->right : pdl_absent();
    if (i < 2) return i ? c->content : c->role; /* a message has a role and a content */
    pdl_vref rest[] = {c->extra, c->wire, c->source};
    size_t n = 2; /* the first absent child ends the children */
    for (size_t k = 0; k < sizeof rest / sizeof rest[0]; k++)
        if (!pdl_is_absent(rest[k]) && n++ == i) return rest[k];
    return pdl_absent();
}

static pdl_val message_value(ctx *m) { return pdl_from_obj(PDL_V_CONTEXT, &m->ext.head, 0); }

/* Releases the messages from the n-th on. */
static void flat_cut(flat_list *f, size_t n) {
    while (f->all.n > n) pdl_drop(message_value(f->all.p[--f->all.n]));
    if (f->settled <= n) return;
    f->settled = f->handles = 0;
    f->label = 0;
}

/* Makes c one of the nodes that hold f, which are linked in the order of their lengths. The search
 * for the place of c begins at `after`, which is not longer than c. When `after` is NULL, no node
 * holds f yet. */
static void flat_hold(flat_list *f, ctx *c, ctx *after) {
    assert(!c->flat && (after ? after->count <= c->count : !f->longest) && c->count <= f->all.n);
    while (after && after->longer && after->longer->count < c->count) after = after->longer;
    c->flat = f;
    c->shorter = after;
    c->longer = after ? after->longer : NULL;
    if (c->shorter) c->shorter->longer = c;
    if (c->longer)
        c->longer->shorter = c;
    else
        f->longest = c;
}

/* Takes c out of the nodes that hold its array. The array loses the messages that only c had, and
 * is freed when no node holds it. */
static void flat_leave(ctx *c) {
    flat_list *f = c->flat;
    if (!f) return;
    if (c->shorter) c->shorter->longer = c->longer;
    if (c->longer)
        c->longer->shorter = c->shorter;
    else
        f->longest = c->shorter;
    flat_cut(f, f->longest ? f->longest->count : 0);
    if (f->longest) return;
    pdl_vec_fini(&f->all);
    pdl_free(f);
}

static void fini(pdl_obj *o) {
    ctx *c = (ctx *)(void *)o;
    pdl_path_drop(c->defsite);
    flat_leave(c);
}

static const pdl_class context_class = {"PDLContext", child, fini, NULL};

static pdl_val wrap_up(ctx *c, pdl_label label, unsigned flags) {
    assert(ctx_ok(c));
    return pdl_with_label(pdl_from_obj(PDL_V_CONTEXT, &c->ext.head, flags & CARRIED), label);
}

/* --- making ----------------------------------------------------------------------------------- */

static ctx *new_node(ctx_kind kind) {
    ctx *c = pdl_ext_new(PDL_V_CONTEXT, &context_class, sizeof(ctx));
    c->kind = kind;
    c->left = c->right = c->role = c->content = c->extra = c->wire = c->source = pdl_absent();
    return c;
}

pdl_val pdl_context_empty(void) { return wrap_up(new_node(DEP), 0, 0); }

pdl_val pdl_context_one(pdl_val role, pdl_val content, pdl_val extra, pdl_path *defsite) {
    ctx *c = new_node(ONE);
    c->len = c->count = 1;
    c->role = pdl_is_absent(role) ? pdl_textz("user") : role;
    c->content = pdl_is_absent(content) ? pdl_null() : content;
    c->extra = extra;
    c->defsite = defsite ? pdl_path_keep(defsite) : NULL;
    return wrap_up(c, pdl_label_of(c->role) | pdl_label_of(c->content) | pdl_label_of(c->extra),
                   pdl_flags_of(c->role) | pdl_flags_of(c->content) | pdl_flags_of(c->extra));
}

pdl_val pdl_context_reply(pdl_val role, pdl_val content, pdl_val extra, pdl_path *defsite) {
    pdl_val source = pdl_keep(content), one = pdl_context_one(role, content, extra, defsite);
    ctx_of(one)->source = source;
    return one;
}

/* Returns the number of elements that x adds to a group of this kind. */
static size_t len_within(const ctx *x, ctx_kind kind) {
    return x->kind == kind ? x->len : x->count ? 1 : 0;
}

static pdl_val compose(ctx_kind kind, pdl_val a, pdl_val b) {
    assert(kind != ONE);
    if (!ctx_of(a)->count) {
        pdl_val t = a;
        a = b;
        b = t;
    }
    ctx *x = ctx_of(a), *y = ctx_of(b);
    if (!y->count && x->kind == kind) {
        a = pdl_with_label(a, pdl_label_of(b));
        pdl_drop(b);
        return a;
    }
    ctx *c = new_node(kind);
    pdl_label label = pdl_label_of(a) | pdl_label_of(b);
    unsigned flags = pdl_flags_of(a) | pdl_flags_of(b);
    c->len = len_within(x, kind) + len_within(y, kind);
    c->count = x->count + y->count;
    if (x->count)
        c->left = a;
    else
        pdl_drop(a);
    if (y->count)
        c->right = b;
    else
        pdl_drop(b);
    return wrap_up(c, label, flags);
}

pdl_val pdl_context_dep(pdl_val a, pdl_val b) { return compose(DEP, a, b); }

pdl_val pdl_context_ind(pdl_val a, pdl_val b) { return compose(IND, a, b); }

bool pdl_context_is_empty(pdl_vref c) { return ctx_of(c)->count == 0; }

size_t pdl_context_len(pdl_vref c) { return ctx_of(c)->len; }

size_t pdl_context_count(pdl_vref c) { return ctx_of(c)->count; }

/* --- parts ------------------------------------------------------------------------------------ */

pdl_context_shape pdl_context_shape_of(pdl_vref c) {
    static const pdl_context_shape shapes[] = {
        [ONE] = PDL_CONTEXT_IS_MESSAGE,
        [DEP] = PDL_CONTEXT_IS_DEPENDENT,
        [IND] = PDL_CONTEXT_IS_INDEPENDENT,
    };
    return shapes[ctx_of(c)->kind];
}

pdl_val pdl_context_parts(pdl_vref c) {
    ctx_kind kind = ctx_of(c)->kind;
    pdl_val out = pdl_list_new(ctx_of(c)->len);
    PDL_VEC(pdl_vref) todo = {0};
    *pdl_vec_push(&todo) = c;
    while (todo.n) {
        pdl_vref v = todo.p[--todo.n];
        const ctx *x = ctx_of(v);
        if (x->kind == ONE || x->kind != kind) {
            out = pdl_list_push(out, pdl_keep(v));
            continue;
        }
        if (!pdl_is_absent(x->right)) *pdl_vec_push(&todo) = x->right;
        if (!pdl_is_absent(x->left)) *pdl_vec_push(&todo) = x->left;
    }
    pdl_vec_fini(&todo);
    return out;
}

bool pdl_context_fits(pdl_vref c, pdl_err *err) {
    return ctx_of(c)->count <= PDL_MAX_MESSAGES ||
           pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "a context has more than %d messages",
                       PDL_MAX_MESSAGES);
}

/* --- walking ---------------------------------------------------------------------------------- */

typedef enum { EV_END, EV_OPEN, EV_CLOSE, EV_MESSAGE } event;

typedef struct {
    ctx *c;
    ctx_kind inside; /* kind of the group around the node; ONE when there is no group around it */
    bool close;      /* this event is the end of c */
} step;

typedef struct {
    PDL_VEC(step) todo;
} walk;

static void walk_push(walk *w, pdl_vref part, ctx_kind inside) {
    if (!pdl_is_absent(part)) *pdl_vec_push(&w->todo) = (step){ctx_of(part), inside, false};
}

static void walk_init(walk *w, ctx *c) {
    *w = (walk){0};
    *pdl_vec_push(&w->todo) = (step){c, ONE, false};
}

/* Returns the next event, and the node to which it belongs. */
static event walk_next(walk *w, ctx **out) {
    while (w->todo.n) {
        step s = w->todo.p[--w->todo.n];
        *out = s.c;
        if (s.close) return EV_CLOSE;
        if (s.c->kind == ONE) return EV_MESSAGE;
        bool is_spliced = s.c->kind == s.inside;
        if (!is_spliced) *pdl_vec_push(&w->todo) = (step){s.c, ONE, true};
        walk_push(w, s.c->right, s.c->kind);
        walk_push(w, s.c->left, s.c->kind);
        if (!is_spliced) return EV_OPEN;
    }
    return EV_END;
}

static void walk_fini(walk *w) { pdl_vec_fini(&w->todo); }

/* --- the flat array --------------------------------------------------------------------------- */

/* An array into which the messages of a node are being put. */
typedef struct {
    flat_list *f;
    size_t n;   /* how many messages of the node are in it */
    ctx *begin; /* a node that holds the array, at which flat_hold begins its search; or NULL */
} filling;

static void push_kept(flat_list *f, ctx *m) {
    (void)pdl_keep(message_value(m));
    *pdl_vec_push(&f->all) = m;
}

/* Puts the next message of the node into the array. The array may already have a message at this
 * place, because another node continues the same beginning. If that is the same message, nothing is
 * added; if it is a different one, this node gets a copy of the array. */
static void put_message(filling *to, ctx *m) {
    if (to->n < to->f->all.n && to->f->all.p[to->n] != m) {
        flat_list *copy = PDL_NEW(flat_list);
        for (size_t i = 0; i < to->n; i++) push_kept(copy, to->f->all.p[i]);
        *to = (filling){copy, to->n, NULL};
    }
    if (to->n == to->f->all.n) push_kept(to->f, m);
    to->n++;
}

static void put_messages(filling *to, ctx *c) {
    if (c->flat) {
        for (size_t i = 0; i < c->count; i++) put_message(to, c->flat->all.p[i]);
        return;
    }
    walk w;
    ctx *at;
    walk_init(&w, c);
    for (event e; (e = walk_next(&w, &at)) != EV_END;)
        if (e == EV_MESSAGE) put_message(to, at);
    walk_fini(&w);
}

/* Returns an array that begins with the messages of base: the array of base, or a new array. */
static filling flat_from(ctx *base) {
    assert(ctx_ok(base));
    if (base->flat) return (filling){base->flat, base->count, base};
    filling to = {PDL_NEW(flat_list), 0, NULL};
    put_messages(&to, base);
    return to;
}

/* Makes the array of a group. A single message gets no array, because the message and the array
 * would own each other. */
static flat_list *flatten(ctx *c) {
    if (c->flat || c->kind == ONE) return c->flat;
    PDL_VEC(ctx *) rest = {0};
    ctx *base = c;
    while (!base->flat && base->kind != ONE && !pdl_is_absent(base->left)) {
        if (!pdl_is_absent(base->right)) *pdl_vec_push(&rest) = ctx_of(base->right);
        base = ctx_of(base->left);
    }
    filling to = flat_from(base);
    while (rest.n) put_messages(&to, rest.p[--rest.n]);
    pdl_vec_fini(&rest);
    /* the next node often continues the left part of c, so this part holds the array, too */
    ctx *left = pdl_is_absent(c->left) ? NULL : ctx_of(c->left);
    if (left && left->kind != ONE && !left->flat) {
        flat_hold(to.f, left, to.begin);
        to.begin = left;
    }
    flat_hold(to.f, c, to.begin);
    return c->flat;
}

/* Returns the i-th message of a node that was flattened. */
static ctx *flat_at(ctx *c, size_t i) { return c->kind == ONE ? c : c->flat->all.p[i]; }

/* Returns the i-th message. Descends a few levels of the rope first, because most look-ups are near
 * the end. */
static ctx *message_at(ctx *c, size_t i) {
    assert(i < c->count);
    ctx *x = c;
    for (int steps = 0; steps < SHORT_WALK && !x->flat; steps++) {
        if (x->kind == ONE) return x;
        ctx *left = ctx_of(x->left);
        if (i < left->count) {
            x = left;
        } else {
            i -= left->count;
            x = ctx_of(x->right);
        }
    }
    (void)flatten(x);
    return flat_at(x, i);
}

/* --- messages --------------------------------------------------------------------------------- */

static pdl_message view(const ctx *c) {
    assert(c->kind == ONE);
    return (pdl_message){c->role, c->content, c->extra, c->defsite, c->source};
}

static pdl_val defsite_text(const ctx *c) {
    pdl_buf b = PDL_BUF;
    pdl_path_text(c->defsite, &b);
    pdl_val v = pdl_text_of_buf(&b);
    pdl_buf_fini(&b);
    return v;
}

static pdl_val message_dict(const ctx *c) {
    assert(c->kind == ONE);
    pdl_val d = pdl_dict_new(4);
    d = pdl_dict_putz(d, "role", pdl_keep(c->role));
    d = pdl_dict_putz(d, "content", pdl_keep(c->content));
    if (c->defsite) d = pdl_dict_putz(d, "pdl__defsite", defsite_text(c));
    return pdl_is_dict(c->extra) ? pdl_dict_merge(d, c->extra) : d;
}

pdl_val pdl_context_at(pdl_vref c, size_t i) { return message_dict(message_at(ctx_of(c), i)); }

pdl_val pdl_context_to_list(pdl_vref c) {
    size_t n = ctx_of(c)->count;
    pdl_val list = pdl_list_new(n);
    if (!n) return list;
    (void)flatten(ctx_of(c));
    for (size_t i = 0; i < n && pdl_walk_may_continue_at(i); i++)
        list = pdl_list_push(list, message_dict(flat_at(ctx_of(c), i)));
    return pdl_with_label(list, pdl_label_of(c));
}

/* Returns the form for models. It is made once for a message without promises, because a
 * conversation is sent again in every turn. */
static pdl_val wire_of(ctx *c) {
    assert(c->kind == ONE);
    if (!pdl_is_absent(c->wire)) return pdl_keep(c->wire);
    pdl_val d = pdl_dict_new(4);
    d = pdl_dict_putz(d, "role", pdl_keep(c->role));
    d = pdl_dict_putz(d, "content", pdl_keep(c->content));
    for (size_t i = 0, n = pdl_is_dict(c->extra) ? pdl_dict_len(c->extra) : 0; i < n; i++) {
        pdl_vref k = pdl_dict_key_at(c->extra, i);
        if (!pdl_text_is(k, "pdl__defsite"))
            d = pdl_dict_put(d, pdl_keep(k), pdl_keep(pdl_dict_val_at(c->extra, i)));
    }
    bool waits = pdl_may_hold_promise(c->role) || pdl_may_hold_promise(c->content) ||
                 pdl_may_hold_promise(c->extra);
    if (!waits) c->wire = pdl_keep(d);
    return d;
}

pdl_val pdl_context_messages(pdl_vref c) {
    size_t n = ctx_of(c)->count;
    pdl_val list = pdl_list_new(n);
    if (n) (void)flatten(ctx_of(c));
    for (size_t i = 0; i < n && pdl_walk_may_continue_at(i); i++)
        list = pdl_list_push(list, wire_of(flat_at(ctx_of(c), i)));
    /* A label that no message has belongs to the context as a whole. */
    return pdl_with_label(list, pdl_label_of(c) & ~pdl_label_of(list));
}

/* Returns true when v has the form of the dicts that pdl_context_messages returns. */
static bool is_wire(pdl_vref v) {
    if (!pdl_is_dict(v) || pdl_dict_len(v) < 2) return false;
    return pdl_text_is(pdl_dict_key_at(v, 0), "role") &&
           pdl_text_is(pdl_dict_key_at(v, 1), "content") &&
           (pdl_dict_len(v) == 2 || pdl_is_absent(pdl_dict_getz(v, "pdl__defsite")));
}

bool pdl_messages_are_plain(pdl_vref v) {
    size_t n = pdl_is_list(v) ? pdl_list_len(v) : 0, i = 0;
    while (i < n && pdl_walk_may_continue_at(i) && is_wire(pdl_list_at(v, i))) i++;
    return n > 0 && i == n;
}

void pdl_context_each_unsettled(pdl_vref c, bool (*fn)(void *user, const pdl_message *m),
                                void *user) {
    size_t n = ctx_of(c)->count;
    flat_list *f = n ? flatten(ctx_of(c)) : NULL;
    for (size_t i = f ? f->settled : 0; i < n; i++) {
        pdl_message m = view(flat_at(ctx_of(c), i));
        if (!fn(user, &m)) return;
    }
}

/* Returns the node that both a and b continue; NULL when there is none. (A sequence is a rope that
 * grows at its right end.) */
static ctx *common_part(ctx *a, ctx *b) {
    while (a != b) {
        ctx **longer = a->count >= b->count ? &a : &b;
        if ((*longer)->kind != DEP || pdl_is_absent((*longer)->left)) return NULL;
        *longer = ctx_of((*longer)->left);
    }
    return a;
}

static bool is_same_part(pdl_vref a, pdl_vref b) {
    return (pdl_is_absent(a) && pdl_is_absent(b)) ||
           (!pdl_is_absent(a) && !pdl_is_absent(b) && pdl_val_eq(a, b));
}

size_t pdl_context_shared(pdl_vref c, pdl_vref base) {
    ctx *x = ctx_of(c), *y = ctx_of(base);
    if (y->count > x->count) return 0;
    const ctx *common = common_part(x, y);
    for (size_t i = common ? common->count : 0; i < y->count; i++) {
        const ctx *a = message_at(x, i), *b = message_at(y, i);
        bool same =
            a == b || (is_same_part(a->role, b->role) && a->defsite == b->defsite &&
                       is_same_part(a->content, b->content) && is_same_part(a->extra, b->extra));
        if (!same) return 0;
    }
    return y->count;
}

bool pdl_context_last(pdl_vref c, pdl_message *out) {
    ctx *x = ctx_of(c);
    if (!x->count) return false;
    while (x->kind != ONE) x = ctx_of(pdl_is_absent(x->right) ? x->left : x->right);
    *out = view(x);
    return true;
}

/* --- from what users write -------------------------------------------------------------------- */

/* Makes messages from a dict. Each message gets the labels of the dict, such as those of a model's
 * JSON, because a request has messages but no dict around them. */
static pdl_val from_dict(pdl_vref d) {
    pdl_val extra = pdl_absent();
    for (size_t i = 0, n = pdl_dict_len(d); i < n; i++) {
        pdl_vref k = pdl_dict_key_at(d, i);
        if (pdl_text_is(k, "role") || pdl_text_is(k, "content")) continue;
        if (pdl_is_absent(extra)) extra = pdl_dict_new(2);
        extra = pdl_dict_put(extra, pdl_keep(k), pdl_dict_part(d, i));
    }
    return pdl_with_label(pdl_context_one(pdl_dict_part_named(d, PDL_STR("role")),
                                          pdl_dict_part_named(d, PDL_STR("content")), extra, NULL),
                          pdl_label_of(d));
}

static bool from_any(pdl_memo *m, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err);

static bool from_part(pdl_memo *m, pdl_vref list, size_t i, unsigned depth, pdl_val *out,
                      pdl_err *err) {
    pdl_vref own = pdl_list_at(list, i);
    pdl_val part = pdl_list_part(list, i);
    /* the messages of a context have its labels */
    if (pdl_is(own, PDL_V_CONTEXT) && (pdl_label_of(part) & ~pdl_label_of(own))) {
        pdl_val messages = pdl_with_label(pdl_context_to_list(own), pdl_label_of(part));
        pdl_drop(part);
        part = messages;
    }
    bool ok = from_any(m, part, depth, out, err);
    pdl_drop(part);
    return ok;
}

static bool from_list(pdl_memo *m, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    pdl_val all = pdl_context_empty(), one;
    for (size_t i = 0, n = pdl_list_len(v); i < n; i++) {
        if (!pdl_check_cancel_at(m->visits, err) || !pdl_check_cancel_at(i, err) ||
            !from_part(m, v, i, depth + 1, &one, err)) {
            pdl_drop(all);
            return false;
        }
        all = pdl_context_dep(all, one);
        if (!pdl_context_fits(all, err)) {
            pdl_drop(all);
            return false;
        }
    }
    *out = pdl_with_label(all, pdl_label_of(v));
    return true;
}

static bool from_any(pdl_memo *m, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    pdl_vref known;
    if (pdl_is(v, PDL_V_CONTEXT)) {
        *out = pdl_keep(v);
        return true;
    }
    if (pdl_is_dict(v)) {
        *out = from_dict(v);
        return true;
    }
    if (!pdl_is_list(v) && !pdl_is(v, PDL_V_TUPLE))
        return pdl_err_host(err, "TypeError", "'<class '%s'>' object is not a valid context",
                            pdl_type_name(v));
    if (depth >= PDL_MAX_VALUE_DEPTH)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "context is nested deeper than %d levels", PDL_MAX_VALUE_DEPTH);
    if (pdl_memo_find(m, v, 0, &known)) {
        *out = pdl_keep(known);
        return true;
    }
    if (!from_list(m, v, depth, out, err)) return false;
    pdl_memo_put(m, v, 0, *out);
    return true;
}

bool pdl_context_from(pdl_vref v, pdl_val *out, pdl_err *err) {
    pdl_memo m = {0};
    bool ok = from_any(&m, v, 0, out, err);
    pdl_memo_fini(&m);
    return ok;
}

/* --- printing and comparing ------------------------------------------------------------------- */

static bool print_pair(pdl_printer *p, const char *name, pdl_vref v) {
    pdl_buf_put(p->out, pdl_str_of(name));
    return pdl_print(p, v, true);
}

static bool print_message(pdl_printer *p, const ctx *c) {
    if (!print_pair(p, "{'role': ", c->role) || !print_pair(p, ", 'content': ", c->content))
        return false;
    if (c->defsite) {
        pdl_val t = defsite_text(c);
        bool ok = print_pair(p, ", 'pdl__defsite': ", t);
        pdl_drop(t);
        if (!ok) return false;
    }
    for (size_t i = 0, n = pdl_is_dict(c->extra) ? pdl_dict_len(c->extra) : 0; i < n; i++) {
        PDL_PUT(p->out, ", ");
        if (!pdl_print(p, pdl_dict_key_at(c->extra, i), true)) return false;
        if (!print_pair(p, ": ", pdl_dict_val_at(c->extra, i))) return false;
    }
    pdl_buf_putc(p->out, '}');
    return true;
}

bool pdl_print_context(pdl_printer *p, pdl_vref v) {
    walk w;
    ctx *at;
    bool ok = true, comma = false;
    walk_init(&w, ctx_of(v));
    pdl_steps steps = {0};
    for (event e; ok && pdl_steps_may_continue(&steps) && (e = walk_next(&w, &at)) != EV_END;) {
        if (comma && e != EV_CLOSE) pdl_buf_putc(p->out, ',');
        if (e == EV_MESSAGE)
            ok = print_message(p, at);
        else
            pdl_buf_putc(p->out, e == EV_OPEN ? (at->kind == DEP ? '[' : '{')
                                              : (at->kind == DEP ? ']' : '}'));
        comma = e != EV_OPEN;
    }
    walk_fini(&w);
    return ok;
}

void pdl_context_repr(pdl_vref c, pdl_buf *out) {
    pdl_err err = {0};
    if (!pdl_val_repr(c, out, &err))
        PDL_PUT(out, "[...]"); /* nested too deeply; callers that need the error use pdl_val_repr */
    pdl_err_fini(&err);
}

static bool same_defsite(const ctx *a, const ctx *b) {
    if (a->defsite == b->defsite) return true;
    if (!a->defsite || !b->defsite) return false;
    pdl_val x = defsite_text(a), y = defsite_text(b);
    bool same = pdl_str_eq(pdl_str_get(x), pdl_str_get(y));
    pdl_drop(x);
    pdl_drop(y);
    return same;
}

static bool same_message(const ctx *a, const ctx *b, pdl_eq_fn *eq, void *user) {
    if (a == b) return true;
    if (pdl_is_absent(a->extra) != pdl_is_absent(b->extra)) return false;
    return eq(user, a->role, b->role) && eq(user, a->content, b->content) && same_defsite(a, b) &&
           (pdl_is_absent(a->extra) || eq(user, a->extra, b->extra));
}

bool pdl_context_eq_by(pdl_vref a, pdl_vref b, pdl_eq_fn *eq, void *user) {
    ctx *x = ctx_of(a), *y = ctx_of(b), *p, *q;
    if (x == y) return true;
    if (x->kind != y->kind || x->len != y->len || x->count != y->count) return false;
    walk v, w;
    walk_init(&v, x);
    walk_init(&w, y);
    bool same = true;
    pdl_steps steps = {0};
    for (event e = EV_OPEN; same && e != EV_END && pdl_steps_may_continue(&steps);) {
        e = walk_next(&v, &p);
        same = walk_next(&w, &q) == e && (e == EV_END || p->kind == q->kind);
        if (same && e == EV_MESSAGE) same = same_message(p, q, eq, user);
    }
    walk_fini(&v);
    walk_fini(&w);
    return same;
}

static bool plain_eq(void *user, pdl_vref a, pdl_vref b) {
    (void)user;
    return pdl_val_eq(a, b);
}

bool pdl_context_eq(pdl_vref a, pdl_vref b) { return pdl_context_eq_by(a, b, plain_eq, NULL); }

/* --- promises --------------------------------------------------------------------------------- */

static bool resolve_part(pdl_val *part, pdl_resolve_fn *fn, void *user, pdl_label *label,
                         pdl_err *err) {
    pdl_val now;
    if (pdl_may_hold_promise(*part)) {
        if (!fn(user, *part, &now, err)) return false;
        pdl_drop(*part);
        *part = now;
    }
    *label |= pdl_label_of(*part);
    return true;
}

/* Adds m to the settled messages of f when it is the next one and holds no promise. */
static void settle(flat_list *f, size_t i, const ctx *m) {
    if (i != f->settled || pdl_may_hold_promise(m->role) || pdl_may_hold_promise(m->content) ||
        pdl_may_hold_promise(m->extra))
        return;
    f->settled++;
    f->label |= pdl_label_of(m->role) | pdl_label_of(m->content) | pdl_label_of(m->extra);
    f->handles |= (pdl_flags_of(m->content) | pdl_flags_of(m->extra)) & PDL_F_HANDLE;
}

bool pdl_context_resolve(pdl_vref c, pdl_resolve_fn *fn, void *user, pdl_val *out, pdl_err *err) {
    ctx *x = ctx_of(c);
    pdl_label label = pdl_label_of(c);
    flat_list *f = x->count ? flatten(x) : NULL;
    unsigned flags = pdl_flags_of(c) & PDL_F_HANDLE;
    /* a context with fewer messages than are settled must not get the labels of the others */
    bool knows = f && f->settled <= x->count;
    if (knows) label |= f->label;
    if (knows) flags |= f->handles;
    for (size_t i = knows ? f->settled : 0; i < x->count; i++) {
        ctx *m = flat_at(x, i);
        if (!resolve_part(&m->role, fn, user, &label, err) ||
            !resolve_part(&m->content, fn, user, &label, err) ||
            !resolve_part(&m->extra, fn, user, &label, err))
            return false;
        flags |= (pdl_flags_of(m->content) | pdl_flags_of(m->extra)) & PDL_F_HANDLE;
        if (f) settle(f, i, m);
    }
    pdl_keep(c);
    *out = wrap_up(x, label, flags);
    return true;
}
