/* val.c -- makes extension objects, releases values, and names their types; see val.h.
 *
 * Releasing values walks an explicit stack, so a deep value needs heap memory and no C stack.
 * Operations of single kinds are in the other files of this folder.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/val.h"

#include <assert.h>
#include <stdatomic.h>

#include "value/context.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/obj.h"
#include "value/pyvalues.h"
#include "value/shape.h"

#include "base/banned.h"

#ifdef NDEBUG
size_t pdl_live_objects(void) { return 0; }
#else
static _Atomic size_t live; /* for the leak report of debug builds */
void pdl_obj_count(int n) {
    (void)atomic_fetch_add_explicit(&live, (size_t)n, memory_order_relaxed);
}
size_t pdl_live_objects(void) { return atomic_load(&live); }
#endif

void *pdl_ext_new(pdl_tag tag, const pdl_class *cls, size_t size) {
    assert(tag >= PDL_V_CONTEXT && tag <= PDL_V_RECORD);
    assert(size >= sizeof(pdl_ext));
    pdl_ext *e = pdl_calloc(1, size);
    e->head = (pdl_obj){.refs = 1, .tag = (uint8_t)tag};
    e->cls = cls;
    pdl_obj_count(1);
    return e;
}

/* --- release ---------------------------------------------------------------------------------- */

typedef struct {
    pdl_obj *o;
    size_t next; /* first child that was not dropped yet */
} frame;

enum { LOCAL_FRAMES = 32 };

/* Invariant: p is the local array, or heap memory for cap frames. */
typedef struct {
    frame *p;
    size_t n, cap;
    frame local[LOCAL_FRAMES];
} walk;

/* The walk of this thread that is in progress. When the function that releases an object drops
 * another value, that value is added to this walk instead of starting another one. */
static _Thread_local walk *active;
/* An empty walk. It is the active walk after pdl_leak_on_exit, when nothing is released any
 * more. */
static walk no_more;

static bool walk_grow(walk *w) {
    size_t cap = w->cap + w->cap / 2;
    frame *p = pdl_alloc_try(cap * sizeof *p);
    if (!p) return false;
    memcpy(p, w->p, w->n * sizeof *p);
    if (w->p != w->local) pdl_free(w->p);
    w->p = p;
    w->cap = cap;
    return true;
}

/* Adds o to the walk. When there is no memory to remember o, it is leaked, because releasing memory
 * must not fail for lack of memory. */
static void walk_push(walk *w, pdl_obj *o) {
    if (w->n < w->cap || walk_grow(w)) w->p[w->n++] = (frame){o, 0};
}

static bool is_leaf(const pdl_obj *o) {
    return o->tag <= PDL_V_STR || (o->tag >= PDL_V_BYTES && o->tag <= PDL_V_RANGE);
}

static void free_leaf(pdl_obj *o) {
    if (o->tag == PDL_V_BIGINT) pdl_bigint_fini(o);
    pdl_obj_free(o);
}

/* Returns the array of the children of a list, tuple or dict (of its values), and sets *n to their
 * number. Sets *n to 0 for other kinds of objects. */
static const pdl_val *first_children(const pdl_obj *o, size_t *n) {
    const void *v = o;
    if (o->tag == PDL_V_LIST || o->tag == PDL_V_TUPLE) {
        const pdl_listobj *l = v;
        *n = l->n;
        return l->items;
    }
    const pdl_dictobj *d = o->tag == PDL_V_DICT ? v : NULL;
    *n = d ? d->n : 0;
    return d ? d->vals : NULL;
}

/* Returns child number i, which is not in the array of first_children; absent after the last
 * child. */
static pdl_val child_at(const pdl_obj *o, size_t i) {
    const void *v = o;
    if (o->tag == PDL_V_LIST || o->tag == PDL_V_TUPLE) return pdl_absent();
    if (o->tag == PDL_V_DICT) {
        const pdl_dictobj *d = v;
        /* The keys are released together with the last dict that has them. */
        bool last = d->shape && d->shape->refs == 1;
        return last && i - d->n < d->n ? d->shape->keys[i - d->n].key : pdl_absent();
    }
    if (o->tag == PDL_V_SET || o->tag == PDL_V_VIEW || o->tag == PDL_V_UNDEFINED)
        return i == 0 ? ((const pdl_boxobj *)v)->in : pdl_absent();
    const pdl_class *cls = ((const pdl_ext *)v)->cls;
    return cls->child ? cls->child(o, i) : pdl_absent();
}

/* Releases an object whose children were dropped. */
static void free_shell(pdl_obj *o) {
    void *v = o;
    if (o->tag == PDL_V_LIST || o->tag == PDL_V_TUPLE) {
        pdl_listobj *l = v;
        if (l->items != l->few) pdl_free(l->items);
    } else if (o->tag == PDL_V_DICT) {
        pdl_dictobj *d = v;
        if (d->vals != d->few) pdl_free(d->vals);
        if (d->shape && --d->shape->refs == 0) pdl_shape_free(d->shape);
    } else if (o->tag == PDL_V_CONTEXT || o->tag >= PDL_V_FUNC) {
        const pdl_class *cls = ((pdl_ext *)v)->cls;
        if (cls->fini) cls->fini(o);
    }
    pdl_obj_free(o);
}

/* Drops one reference to c. Returns true when c has no other references and has children. */
static inline bool drop_child(pdl_val c) {
    if (c.tag <= PDL_V_FLOAT || --c.u.o->refs > 0) return false;
    if (!is_leaf(c.u.o)) return true;
    free_leaf(c.u.o);
    return false;
}

/* Drops children of o from *i on, until one of them has no other references and has children
 * itself. Returns this child; NULL after the last child of o. */
static pdl_obj *next_dying(const pdl_obj *o, size_t *i) {
    size_t n;
    const pdl_val *items = first_children(o, &n);
    while (*i < n) {
        pdl_val c = items[(*i)++];
        if (drop_child(c)) return c.u.o;
    }
    for (;;) {
        pdl_val c = child_at(o, *i);
        if (c.tag == PDL_V_ABSENT) return NULL;
        ++*i;
        if (drop_child(c)) return c.u.o;
    }
}

/* Drops some children of the top frame. A frame is popped before the last of its dying children is
 * walked, and a child that has the kind of its parent is walked after the others. So a chain of any
 * length, such as a long context, takes only a few frames. */
static void walk_step(walk *w) {
    enum { AT_ONCE = 4 };
    pdl_obj *o = w->p[w->n - 1].o, *dying[AT_ONCE];
    size_t n = 0, *i = &w->p[w->n - 1].next;
    while (n < AT_ONCE && (dying[n] = next_dying(o, i)) != NULL) n++;
    uint8_t tag = o->tag;
    if (n < AT_ONCE) {
        w->n--; /* popped before free_shell calls fini, which may push frames */
        free_shell(o);
    }
    for (size_t k = 0; k < n; k++)
        if (dying[k]->tag == tag) walk_push(w, dying[k]);
    for (size_t k = 0; k < n; k++)
        if (dying[k]->tag != tag) walk_push(w, dying[k]);
}

void pdl_release(pdl_obj *o) {
    assert(o->refs == 0);
    if (is_leaf(o)) {
        free_leaf(o);
        return;
    }
    if (active) {
        if (active != &no_more) walk_push(active, o);
        return;
    }
    walk w;
    w.p = w.local;
    w.n = 0;
    w.cap = LOCAL_FRAMES;
    active = &w;
    walk_push(&w, o);
    while (w.n) walk_step(&w);
    active = NULL;
    if (w.p != w.local) pdl_free(w.p);
}

void pdl_leak_on_exit(void) {
    if (!active) active = &no_more;
}

/* --- names ------------------------------------------------------------------------------------ */

static const char *const type_names[PDL_V_COUNT] = {
    [PDL_V_ABSENT] = "NoneType",
    [PDL_V_NULL] = "NoneType",
    [PDL_V_BOOL] = "bool",
    [PDL_V_INT] = "int",
    [PDL_V_FLOAT] = "float",
    [PDL_V_BIGINT] = "int",
    [PDL_V_STR] = "str",
    [PDL_V_LIST] = "list",
    [PDL_V_DICT] = "dict",
    [PDL_V_TUPLE] = "tuple",
    [PDL_V_SET] = "set",
    [PDL_V_BYTES] = "bytes",
    [PDL_V_DATE] = "date",
    [PDL_V_DATETIME] = "datetime",
    [PDL_V_RANGE] = "range",
    [PDL_V_CONTEXT] = "DependentContext",
    [PDL_V_UNDEFINED] = "Undefined",
    [PDL_V_FUNC] = "ClosureBlock",
};

const char *pdl_type_name(pdl_vref v) {
    static const char *const views[] = {"dict_keys", "dict_values", "dict_items"};
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_STR && (v.flags & PDL_F_SAFE)) return "Markup";
    if (t == PDL_V_VIEW) return views[pdl_view_kind_of(v)];
    if (t == PDL_V_HANDLE) return pdl_str_get(pdl_handle_of(v)->type_name).p;
    if (type_names[t]) return type_names[t];
    return pdl_class_of(v)->type_name;
}

const char *pdl_type_full(pdl_vref v) {
    if (pdl_is(v, PDL_V_DATE)) return "datetime.date";
    if (pdl_is(v, PDL_V_DATETIME)) return "datetime.datetime";
    return pdl_type_name(v);
}
